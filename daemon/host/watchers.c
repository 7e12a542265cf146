// SPDX-License-Identifier: GPL-2.0-or-later
#include "watchers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "pipewatch/clock.h"
#include "name.h"
#include "pipewatch/util.h"
#include "process.h"

/* Any more are only counted. */
#define NAMED_MAX 64

struct watcher {
	uint32_t pid;
	uint32_t watches;
	char comm[SNAPSHOT_COMM_MAX];
	uint64_t round; /* in which it was seen last */
};

struct counts {
	unsigned int denied;  /* processes that may not be looked at */
	unsigned int unnamed; /* watchers that there was no room for */
};

#define FOLLOW_LIMIT_USEC    UINT64_C(20000)
#define FOLLOW_INTERVAL_USEC UINT64_C(60000000)

struct watchers {
	unsigned int pipefs; /* its device number as the kernel prints it */
	unsigned int mount;  /* the id of the mount that pipes are on */

	/* the scan under way: of all processes, and of the files of one */
	DIR *processes;
	DIR *files;
	int fdinfo_fd;
	bool links; /* files are links, which say of themselves what they are */
	uint32_t pid;
	uint32_t watches;
	uint64_t round;
	struct counts now;

	struct watcher named[NAMED_MAX];
	size_t n_named;
	bool completed; /* a scan, at some time */
	struct counts last;
	bool owners_only; /* /proc/PID/fdinfo belongs to the owner alone, as before Linux 5.14 */

	/* Of watchers_follow(). */
	bool scanning;
	double fsnotify_seconds;
	uint64_t due_usec;
};

/* The mount that the file @fd of this process is on. Returns 0 or -errno. */
static int mount_of(int fd, unsigned int *ret_mount)
{
	_cleanup_(fclosep) FILE *f = NULL;
	char path[64], line[256];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "mnt_id: %u", ret_mount) == 1)
			return 0;
	return -ENODATA;
}

int watchers_new(struct watchers **ret_watchers)
{
	_cleanup_(watchers_freep) struct watchers *w = calloc(1, sizeof(*w));
	_cleanup_(closep) int read_end = -1, write_end = -1;
	struct stat st;
	int fds[2], r;

	if (!w)
		return -ENOMEM;
	w->fdinfo_fd = -1;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	read_end = fds[0];
	write_end = fds[1];
	if (fstat(read_end, &st) < 0)
		return -errno;
	/* With 20 bits of minor number, unlike st_dev. */
	w->pipefs = major(st.st_dev) << 20 | minor(st.st_dev);
	r = mount_of(read_end, &w->mount);
	/* Without /proc nobody can be looked at, but everything else goes on. No mount has this id.
	 */
	if (r == -ENOENT)
		w->mount = UINT_MAX;
	else if (r < 0)
		return r;
	*ret_watchers = w;
	w = NULL;
	return 0;
}

static void files_close(struct watchers *w)
{
	if (w->files)
		closedir(w->files);
	w->files = NULL;
	closep(&w->fdinfo_fd);
	w->fdinfo_fd = -1;
}

static void scan_end(struct watchers *w)
{
	files_close(w);
	if (w->processes)
		closedir(w->processes);
	w->processes = NULL;
}

struct watchers *watchers_free(struct watchers *w)
{
	if (!w)
		return NULL;
	scan_end(w);
	free(w);
	return NULL;
}

static bool is_number(const char *name)
{
	return name[0] && !name[strspn(name, "0123456789")];
}

/* Opens a directory of the process. Returns 0 or -errno. */
static int directory_open(const struct watchers *w, const char *name, int *ret_fd)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%u/%s", w->pid, name);
	fd = openat(dirfd(w->processes), path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int files_open(struct watchers *w)
{
	_cleanup_(closep) int fd = -1;
	int r;

	r = directory_open(w, "fdinfo", &w->fdinfo_fd);
	if (r < 0)
		return r;
	/* To ask what a file is costs less than to read its marks, but needs more permissions. */
	r = directory_open(w, "fd", &fd);
	w->links = r >= 0;
	if (r == -EACCES || r == -EPERM)
		r = directory_open(w, "fdinfo", &fd);
	if (r < 0)
		return r;
	w->files = fdopendir(fd);
	if (!w->files)
		return -errno;
	fd = -1;
	return 0;
}

/* One process could not be looked at. Returns 0 where that is no reason to stop, else -errno. */
static int process_failed(struct watchers *w, const char *proc, int error)
{
	struct process process;

	files_close(w);
	switch (error) {
	case -ENOENT:
	case -ESRCH: return 0;
	case -EACCES:
	case -EPERM:
		if (process_read(proc, w->pid, &process) >= 0 && !process.kernel_thread &&
		    !process.ended)
			w->now.denied++;
		return 0;
	default: return error;
	}
}

static bool marks_pipe(const struct watchers *w, const char *line)
{
	unsigned int device, mount;

	if (sscanf(line, "inotify wd:%*x ino:%*x sdev:%x", &device) == 1 ||
	    sscanf(line, "fanotify ino:%*x sdev:%x", &device) == 1 ||
	    sscanf(line, "fanotify sdev:%x", &device) == 1)
		return device == w->pipefs;
	return sscanf(line, "fanotify mnt_id:%x", &mount) == 1 && mount == w->mount;
}

/* Counts the marks of one file. Returns 0 or -errno. */
static int marks_count(struct watchers *w, const char *name)
{
	_cleanup_(closep) int fd = -1;
	_cleanup_(fclosep) FILE *f = NULL;
	_cleanup_(freep) char *line = NULL;
	size_t size = 0;

	fd = openat(w->fdinfo_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	f = fdopen(fd, "r");
	if (!f)
		return -errno;
	fd = -1;
	while (getline(&line, &size, f) > 0)
		w->watches += marks_pipe(w, line);
	return 0;
}

/* Does the link of a file descriptor say that it is an inotify or fanotify instance? Returns 1, 0
 * or -errno. */
static int link_marks(int directory_fd, const char *name)
{
	char target[64];
	ssize_t n = readlinkat(directory_fd, name, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = '\0';
	return !strcmp(target, "anon_inode:inotify") || !strcmp(target, "anon_inode:[fanotify]");
}

/* Where to note the present process: its old place, a new one, or that of a process which has not
 * been seen in this scan. NULL when there is none. */
static struct watcher *place_find(struct watchers *w)
{
	struct watcher *old = NULL;

	for (size_t i = 0; i < w->n_named; i++) {
		if (w->named[i].pid == w->pid)
			return &w->named[i];
		if (w->named[i].round != w->round)
			old = &w->named[i];
	}
	return w->n_named < NAMED_MAX ? &w->named[w->n_named++] : old;
}

static void process_done(struct watchers *w, const char *proc)
{
	struct process process;
	struct watcher *place;

	files_close(w);
	if (w->watches == 0 || process_read(proc, w->pid, &process) < 0)
		return;
	place = place_find(w);
	if (!place) {
		w->now.unnamed++;
		return;
	}
	place->pid = w->pid;
	place->watches = w->watches;
	place->round = w->round;
	name_render(process.comm, sizeof(process.comm), place->comm, sizeof(place->comm));
}

/* Looks at the next file of the process. Returns 0 or -errno. */
static int file_next(struct watchers *w, const char *proc)
{
	const struct dirent *d = readdir(w->files);
	int r = 1;

	if (!d) {
		process_done(w, proc);
		return 0;
	}
	if (!is_number(d->d_name))
		return 0;
	if (w->links)
		r = link_marks(dirfd(w->files), d->d_name);
	if (r > 0)
		r = marks_count(w, d->d_name);
	/* Closed meanwhile. */
	if (r == -ENOENT)
		return 0;
	return r < 0 ? process_failed(w, proc, r) : 0;
}

static void scan_complete(struct watchers *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->n_named; i++)
		if (w->named[i].round == w->round)
			w->named[kept++] = w->named[i];
	w->n_named = kept;
	w->last = w->now;
	w->completed = true;
}

/* Goes to the next process. Returns 1, 0 when there is none, or -errno. */
static int process_next(struct watchers *w, const char *proc)
{
	const struct dirent *d;
	int r;

	do {
		errno = 0;
		d = readdir(w->processes);
	} while (d && !is_number(d->d_name));
	if (!d)
		return -errno;
	w->pid = strtoul(d->d_name, NULL, 10);
	w->watches = 0;
	r = files_open(w);
	if (r < 0)
		r = process_failed(w, proc, r);
	return r < 0 ? r : 1;
}

static int scan_begin(struct watchers *w, const char *proc)
{
	struct stat st;

	w->processes = opendir(proc);
	if (!w->processes)
		return -errno;
	w->round++;
	w->now = (struct counts){};
	w->owners_only = fstatat(dirfd(w->processes), "self/fdinfo", &st, 0) >= 0 &&
			 !(st.st_mode & S_IROTH);
	return 0;
}

int watchers_scan(struct watchers *w, const char *proc, uint64_t limit_usec)
{
	uint64_t begin_usec = monotonic_usec();
	int r = 0;

	if (!w->processes)
		r = scan_begin(w, proc);
	if (r < 0)
		return r;
	do {
		if (w->files) {
			r = file_next(w, proc);
		} else {
			r = process_next(w, proc);
			if (r == 0) {
				scan_complete(w);
				scan_end(w);
				return 1;
			}
		}
		if (r < 0) {
			scan_end(w);
			return r;
		}
	} while (monotonic_usec() - begin_usec < limit_usec);
	return 0;
}

static const char *processes(unsigned int n)
{
	return n == 1 ? "process" : "processes";
}

/* Why there may be others. */
static void explain(const struct watchers *w, FILE *f)
{
	const struct counts *counts = w->completed ? &w->last : &w->now;

	if (w->round == 0) {
		fputs("This is looked up once samples show time in fsnotify.", f);
		return;
	}
	fputs("Watches of FIFOs look like those of other files and are not seen.", f);
	if (!w->completed)
		fputs(" Not all processes have been looked at yet.", f);
	if (counts->denied > 0)
		fprintf(f, " %u %s could not be looked at: that takes CAP_SYS_PTRACE%s.",
			counts->denied, processes(counts->denied),
			w->owners_only ? " and, on this kernel, CAP_DAC_READ_SEARCH" : "");
	if (counts->unnamed > 0)
		fprintf(f, " %u more %s watch%s pipes.", counts->unnamed,
			processes(counts->unnamed), counts->unnamed == 1 ? "es" : "");
}

void watchers_follow(struct watchers *w, const char *proc, double fsnotify_seconds,
		     uint64_t now_usec)
{
	if (fsnotify_seconds > w->fsnotify_seconds && now_usec >= w->due_usec)
		w->scanning = true;
	w->fsnotify_seconds = fsnotify_seconds;
	if (w->scanning && watchers_scan(w, proc, FOLLOW_LIMIT_USEC) != 0) {
		w->scanning = false;
		w->due_usec = now_usec + FOLLOW_INTERVAL_USEC;
	}
}

int watchers_fill(const struct watchers *w, struct snapshot *s)
{
	char reason[512] = "";
	const char *kept;
	FILE *f = fmemopen(reason, sizeof(reason), "w");

	if (!f)
		return -ENOMEM;
	explain(w, f);
	fclose(f);
	kept = snapshot_string(s, reason);
	if (!kept)
		return -ENOMEM;
	s->watchers_reason = kept;
	for (size_t i = 0; i < w->n_named; i++) {
		struct snapshot_watcher *out = snapshot_add_watcher(s);

		if (!out)
			return -ENOMEM;
		out->pid = w->named[i].pid;
		out->watches = w->named[i].watches;
		memcpy(out->comm, w->named[i].comm, sizeof(out->comm));
	}
	return 0;
}
