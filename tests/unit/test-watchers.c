// SPDX-License-Identifier: GPL-2.0-or-later
/* Mostly in a /proc of our own making; its texts are those of Linux 6.12. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "oom.h"
#include "pipewatch/util.h"
#include "snapshot.h"
#include "watchers.h"

#define NOBODY	   65534
#define FOR_EVER   UINT64_C(60000000)
#define FIFOS	   "Watches of FIFOs look like those of other files and are not seen."
#define CAPABILITY "that takes CAP_SYS_PTRACE"
#define INOTIFY	   "anon_inode:inotify"
#define FANOTIFY   "anon_inode:[fanotify]"
#define HEAD	   "pos:\t0\nflags:\t02004000\nmnt_id:\t15\nino:\t1057\n"

/* A mark on an inode, with all that follows it in a line. */
#define INOTIFY_LINE                                                                          \
	"inotify wd:%x ino:%lx sdev:%x mask:2 ignored_mask:0 fhandle-bytes:8 fhandle-type:1 " \
	"f_handle:f2e1ce0000000000\n"

static char base[] = "/tmp/pipewatch-watchers-XXXXXX";
static unsigned int pipefs; /* as the kernel prints it */
static unsigned int mount;  /* of pipes */

static int pipe_find(void **state)
{
	char path[64], line[256];
	struct stat st;
	FILE *f;
	int fds[2];

	(void)state;
	if (pipe(fds) < 0 || fstat(fds[0], &st) < 0)
		return -1;
	pipefs = minor(st.st_dev) | major(st.st_dev) << 20;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fds[0]);
	f = fopen(path, "re");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "mnt_id:", 7))
			mount = atoi(line + 7);
	fclose(f);
	close(fds[0]);
	close(fds[1]);
	return mount ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int tree_begin(void **state)
{
	(void)state;
	strcpy(base + strlen(base) - 6, "XXXXXX");
	return mkdtemp(base) ? chmod(base, 0755) : -1;
}

static int tree_end(void **state)
{
	(void)state;
	return nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

__attribute__((format(printf, 1, 2))) static const char *at(const char *format, ...)
{
	static char path[PATH_MAX];
	size_t length = snprintf(path, sizeof(path), "%s/", base);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(path + length, sizeof(path) - length, format, arguments);
	va_end(arguments);
	return path;
}

static void write_file(const char *path, const char *text)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
}

static void set_process(unsigned int pid, const char *comm, char state, unsigned int flags)
{
	char text[256];

	assert_int_equal(mkdir(at("%u", pid), 0755), 0);
	assert_int_equal(mkdir(at("%u/fd", pid), 0755), 0);
	assert_int_equal(mkdir(at("%u/fdinfo", pid), 0755), 0);
	snprintf(text, sizeof(text), "%u (%s) %c 1 1 1 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 6 0 0 0\n",
		 pid, comm, state, flags);
	write_file(at("%u/stat", pid), text);
}

/* @fdinfo NULL: there is none, so that reading it would be noticed as a file that is closed. */
static void set_file(unsigned int pid, unsigned int fd, const char *link, const char *fdinfo)
{
	assert_int_equal(symlink(link, at("%u/fd/%u", pid, fd)), 0);
	if (fdinfo)
		write_file(at("%u/fdinfo/%u", pid, fd), fdinfo);
}

/* An inotify instance with @others marks elsewhere and @pipes on pipes. */
static void set_inotify(unsigned int pid, unsigned int fd, unsigned int others, unsigned int pipes)
{
	char text[4096] = HEAD;
	size_t used = strlen(text);

	for (unsigned int i = 0; i < others + pipes; i++)
		used += snprintf(text + used, sizeof(text) - used, INOTIFY_LINE, i + 1, 0xcee1f2UL,
				 i < others ? pipefs + 1 : pipefs);
	assert_true(used < sizeof(text));
	set_file(pid, fd, INOTIFY, text);
}

static struct watchers *begin(void)
{
	struct watchers *w = NULL;

	assert_int_equal(watchers_new(&w), 0);
	assert_non_null(w);
	return w;
}

/* By somebody to whom permissions matter. */
static int scan_unprivileged(struct watchers *w)
{
	bool root = geteuid() == 0;
	int r;

	if (root)
		assert_int_equal(seteuid(NOBODY), 0);
	r = watchers_scan(w, base, FOR_EVER);
	if (root)
		assert_int_equal(seteuid(0), 0);
	return r;
}

static struct snapshot *view(const struct watchers *w)
{
	struct snapshot *s = snapshot_new();

	assert_non_null(s);
	assert_int_equal(watchers_fill(w, s), 0);
	return s;
}

static void assert_watcher(const struct snapshot *s, uint32_t pid, const char *comm,
			   uint32_t watches)
{
	const struct snapshot_watcher *found = NULL;

	for (size_t i = 0; i < s->n_watchers; i++) {
		if (s->watchers[i].pid != pid)
			continue;
		assert_null(found);
		found = &s->watchers[i];
	}
	assert_non_null(found);
	assert_string_equal(found->comm, comm);
	assert_int_equal(found->watches, watches);
}

static void test_marks(void **state)
{
	_cleanup_(watchers_freep) struct watchers *w = begin();
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	char text[1024];

	(void)state;
	set_process(7, "none", 'S', 0);
	set_file(7, 0, "/dev/null", NULL);
	set_file(7, 1, "pipe:[1234]", NULL);
	set_inotify(7, 2, 3, 0);
	set_process(8, "two \x01\xff", 'S', 0);
	set_inotify(8, 0, 2, 1);
	set_inotify(8, 63, 0, 1);
	/* fanotify: an inode, a file system and a mount; twice others, and what only looks like
	 * one.
	 */
	set_process(9, "fan", 'S', 0);
	snprintf(text, sizeof(text),
		 HEAD "fanotify flags:0 event-flags:8000\n"
		      "fanotify ino:cee1f2 sdev:%x mflags:0 mask:3 ignored_mask:0 fhandle-bytes:8\n"
		      "fanotify sdev:%x mflags:0 mask:3 ignored_mask:0\n"
		      "fanotify mnt_id:%x mflags:0 mask:3 ignored_mask:0\n"
		      "fanotify ino:%x sdev:%x mflags:0 mask:3 ignored_mask:0\n"
		      "fanotify mnt_id:%x mflags:0 mask:3 ignored_mask:0\n"
		      "inotify\nfanotify\n sdev:%x\ninotify wd: ino: sdev:\n",
		 pipefs, pipefs, mount, pipefs, pipefs + 1, mount + 1, pipefs);
	set_file(9, 4, FANOTIFY, text);
	/* Neither processes nor files. */
	assert_int_equal(mkdir(at("self"), 0755), 0);
	write_file(at("12a"), "");

	assert_int_equal(watchers_scan(w, base, FOR_EVER), 1);
	s = view(w);
	assert_int_equal(s->n_watchers, 2);
	assert_watcher(s, 8, "two \x01\\xff", 2);
	assert_watcher(s, 9, "fan", 3);
	assert_string_equal(s->watchers_reason, FIFOS);
}

/* Where links may not be looked at, as on newer kernels without CAP_DAC_READ_SEARCH: by fdinfo
 * alone, and also what is no inotify instance. */
static void test_without_links(void **state)
{
	_cleanup_(watchers_freep) struct watchers *w = begin();
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;

	(void)state;
	set_process(7, "cat", 'S', 0);
	set_file(7, 0, "pipe:[1234]", HEAD);
	set_inotify(7, 5, 1, 2);
	assert_int_equal(chmod(at("7/fd"), 0), 0);
	assert_int_equal(scan_unprivileged(w), 1);
	assert_int_equal(chmod(at("7/fd"), 0755), 0);
	s = view(w);
	assert_int_equal(s->n_watchers, 1);
	assert_watcher(s, 7, "cat", 2);
	assert_string_equal(s->watchers_reason, FIFOS);
}

/* Kernel threads and zombies have no files to be seen. */
static void test_forbidden(void **state)
{
	static const unsigned int pids[] = { 7, 8, 9, 10 };
	_cleanup_(watchers_freep) struct watchers *w = begin();
	_cleanup_(snapshot_unrefp) struct snapshot *one = NULL, *two = NULL, *private = NULL;

	(void)state;
	set_process(7, "kthreadd", 'S', 0x208040);
	set_process(8, "gone", 'Z', 0);
	set_process(9, "hidden", 'S', 0);
	set_process(10, "secret", 'S', 0);
	assert_int_equal(mkdir(at("self"), 0755), 0);
	assert_int_equal(mkdir(at("self/fdinfo"), 0555), 0);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		assert_int_equal(chmod(at("%u/fdinfo", pids[i]), 0), 0);
	assert_int_equal(scan_unprivileged(w), 1);
	two = view(w);
	assert_int_equal(two->n_watchers, 0);
	assert_string_equal(two->watchers_reason,
			    FIFOS " 2 processes could not be looked at: " CAPABILITY ".");

	assert_int_equal(chmod(at("10/fdinfo"), 0755), 0);
	assert_int_equal(scan_unprivileged(w), 1);
	one = view(w);
	assert_string_equal(one->watchers_reason,
			    FIFOS " 1 process could not be looked at: " CAPABILITY ".");

	assert_int_equal(chmod(at("self/fdinfo"), 0500), 0);
	assert_int_equal(scan_unprivileged(w), 1);
	private = view(w);
	assert_string_equal(private->watchers_reason,
			    FIFOS " 1 process could not be looked at: " CAPABILITY
				  " and, on this kernel, CAP_DAC_READ_SEARCH.");
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		assert_int_equal(chmod(at("%u/fdinfo", pids[i]), 0755), 0);
}

/* What a process does while it is looked at: it closes a file, and ends. */
static void test_vanishing(void **state)
{
	_cleanup_(watchers_freep) struct watchers *w = begin();
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;

	(void)state;
	set_process(7, "closing", 'S', 0);
	set_file(7, 3, INOTIFY, NULL);
	set_inotify(7, 4, 0, 1);
	assert_int_equal(mkdir(at("8"), 0755), 0);
	set_process(9, "ending", 'S', 0);
	set_inotify(9, 3, 0, 1);
	assert_int_equal(remove(at("9/stat")), 0);
	assert_int_equal(watchers_scan(w, base, FOR_EVER), 1);
	s = view(w);
	assert_int_equal(s->n_watchers, 1);
	assert_watcher(s, 7, "closing", 1);
}

static void test_little_time(void **state)
{
	_cleanup_(watchers_freep) struct watchers *w = begin();
	_cleanup_(snapshot_unrefp) struct snapshot *nobody = NULL, *part = NULL, *all = NULL,
						   *fewer = NULL;
	int calls = 1, r;

	(void)state;
	nobody = view(w);
	assert_int_equal(nobody->n_watchers, 0);
	assert_string_equal(nobody->watchers_reason,
			    "This is looked up once samples show time in fsnotify.");
	for (unsigned int pid = 1; pid <= 3; pid++) {
		set_process(pid, "cat", 'S', 0);
		set_inotify(pid, 3, 0, pid);
	}
	assert_int_equal(watchers_scan(w, base, 0), 0);
	part = view(w);
	assert_int_equal(part->n_watchers, 0);
	assert_string_equal(part->watchers_reason,
			    FIFOS " Not all processes have been looked at yet.");
	while ((r = watchers_scan(w, base, 0)) == 0)
		calls++;
	assert_int_equal(r, 1);
	/* Of each: itself, three entries of its directory, and the end; then the end of all. */
	assert_int_equal(calls, 15);
	all = view(w);
	assert_int_equal(all->n_watchers, 3);
	for (unsigned int pid = 1; pid <= 3; pid++)
		assert_watcher(all, pid, "cat", pid);
	assert_string_equal(all->watchers_reason, FIFOS);

	/* The next scan: who is no more is dropped when it is complete. */
	assert_int_equal(remove(at("2/fd/3")), 0);
	for (calls = 0; calls < 14; calls++)
		assert_int_equal(watchers_scan(w, base, 0), 0);
	snapshot_unref(part);
	part = view(w);
	assert_int_equal(part->n_watchers, 3);
	assert_string_equal(part->watchers_reason, FIFOS);
	assert_int_equal(watchers_scan(w, base, 0), 1);
	fewer = view(w);
	assert_int_equal(fewer->n_watchers, 2);
	assert_watcher(fewer, 1, "cat", 1);
	assert_watcher(fewer, 3, "cat", 3);
}

static void test_many(void **state)
{
	_cleanup_(watchers_freep) struct watchers *w = begin();
	_cleanup_(snapshot_unrefp) struct snapshot *many = NULL, *others = NULL;

	(void)state;
	for (unsigned int pid = 1; pid <= 66; pid++) {
		set_process(pid, "cat", 'S', 0);
		set_inotify(pid, 3, 0, 1);
	}
	assert_int_equal(watchers_scan(w, base, FOR_EVER), 1);
	many = view(w);
	assert_int_equal(many->n_watchers, 64);
	assert_string_equal(many->watchers_reason, FIFOS " 2 more processes watch pipes.");

	/* Those who took their places in the meantime have room. */
	for (unsigned int pid = 1; pid <= 66; pid++)
		assert_int_equal(remove(at("%u/fd/3", pid)), 0);
	for (unsigned int pid = 101; pid <= 165; pid++) {
		set_process(pid, "dog", 'S', 0);
		set_inotify(pid, 3, 0, 2);
	}
	assert_int_equal(watchers_scan(w, base, FOR_EVER), 1);
	others = view(w);
	assert_int_equal(others->n_watchers, 64);
	for (size_t i = 0; i < others->n_watchers; i++)
		assert_watcher(others, others->watchers[i].pid, "dog", 2);
	assert_string_equal(others->watchers_reason, FIFOS " 1 more process watches pipes.");
}

static void test_errors(void **state)
{
	_cleanup_(watchers_freep) struct watchers *w = begin();
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct rlimit limit, none;

	(void)state;
	assert_int_equal(watchers_scan(w, at("nowhere"), FOR_EVER), -ENOENT);
	set_process(7, "cat", 'S', 0);
	set_inotify(7, 3, 0, 1);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	/* Enough for one more file each time, until all succeeds: whatever fails leaves none open.
	 */
	for (int open = 3, r = -1; r < 0; open++) {
		none.rlim_cur = open;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
		r = watchers_scan(w, base, FOR_EVER);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		assert_in_range(open, 3, 20);
		assert_int_equal(r, r < 0 ? -EMFILE : 1);
	}
	s = view(w);
	assert_int_equal(s->n_watchers, 1);
	assert_watcher(s, 7, "cat", 1);
}

static void test_no_memory(void **state)
{
	_cleanup_(watchers_freep) struct watchers *w = begin();
	struct watchers *untouched = w;
	int failures = 0, r;

	(void)state;
	set_process(7, "cat", 'S', 0);
	set_inotify(7, 3, 0, 1);
	assert_int_equal(watchers_scan(w, base, FOR_EVER), 1);
	oom_after = 0;
	assert_int_equal(watchers_new(&untouched), -ENOMEM);
	oom_after = OOM_NEVER;
	assert_ptr_equal(untouched, w);
	do {
		_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();

		assert_non_null(s);
		oom_after = failures;
		r = watchers_fill(w, s);
		oom_after = OOM_NEVER;
		assert_int_equal(r, r < 0 ? -ENOMEM : 0);
		failures += r < 0;
	} while (r < 0);
	assert_in_range(failures, 1, 10);
}

/* In /proc itself: an own instance, on a pipe and on another file. */
static void test_real(void **state)
{
	_cleanup_(watchers_freep) struct watchers *w = begin();
	_cleanup_(snapshot_unrefp) struct snapshot *before = NULL, *after = NULL, *end = NULL;
	char path[64];
	int fd = inotify_init1(IN_CLOEXEC), fds[2];

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_true(inotify_add_watch(fd, "/", IN_MODIFY) >= 0);
	assert_int_equal(watchers_scan(w, "/proc", FOR_EVER), 1);
	before = view(w);
	for (size_t i = 0; i < before->n_watchers; i++)
		assert_int_not_equal(before->watchers[i].pid, getpid());

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), fds[0]);
	assert_true(inotify_add_watch(fd, path, IN_MODIFY) >= 0);
	assert_int_equal(watchers_scan(w, "/proc", FOR_EVER), 1);
	after = view(w);
	assert_watcher(after, getpid(), "test-watchers", 1);

	close(fd);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(watchers_scan(w, "/proc", FOR_EVER), 1);
	end = view(w);
	for (size_t i = 0; i < end->n_watchers; i++)
		assert_int_not_equal(end->watchers[i].pid, getpid());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_marks, tree_begin, tree_end),
		cmocka_unit_test_setup_teardown(test_without_links, tree_begin, tree_end),
		cmocka_unit_test_setup_teardown(test_forbidden, tree_begin, tree_end),
		cmocka_unit_test_setup_teardown(test_vanishing, tree_begin, tree_end),
		cmocka_unit_test_setup_teardown(test_little_time, tree_begin, tree_end),
		cmocka_unit_test_setup_teardown(test_many, tree_begin, tree_end),
		cmocka_unit_test_setup_teardown(test_errors, tree_begin, tree_end),
		cmocka_unit_test_setup_teardown(test_no_memory, tree_begin, tree_end),
		cmocka_unit_test(test_real),
	};

	return cmocka_run_group_tests_name("watchers", tests, pipe_find, NULL);
}
