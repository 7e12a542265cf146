// SPDX-License-Identifier: GPL-2.0-or-later
#include "cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "name.h"
#include "process.h"
#include "pipewatch/util.h"

/* Ids of removed cgroups are of no use: the table is made anew when it gets larger than any host
 * needs. */
#define ENTRIES_MAX	   8192
#define WALK_INTERVAL_USEC UINT64_C(1000000)
#define PAUSE_MAX_USEC	   UINT64_C(60000000)
#define DEPTH_MAX	   32
#define UNIT_MAX	   256

struct entry {
	uint64_t id;
	UT_hash_handle hh;
	/* Until when it is not asked for again, and for how long it was not; 0: it is known. */
	uint64_t due_usec, pause_usec;
	char unit[];
};

struct cgroups {
	char proc[PATH_MAX / 2];
	char mount[PATH_MAX / 2]; /* of cgroup v2; "" when there is none */
	struct entry *entries;
	bool walked;
	uint64_t walked_usec;
	cgroups_path_fn paths; /* may be NULL */
	void *paths_userdata;
	char unit[UNIT_MAX]; /* what was returned last, when it has no entry */
	bool known;	     /* what was returned last */
};

/* mountinfo has spaces, tabs, newlines and backslashes as \ooo, three octal digits. */
static void octal_unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && strspn(from + 1, "01234567") >= 3) {
			*to = (from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0');
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/*
 * The mount point of cgroup v2; the last mounted one is what is seen. Where only a part of the
 * hierarchy is mounted, that is not its root, but better than nothing.
 */
static void mount_find(struct cgroups *c)
{
	bool whole = false;
	_cleanup_(fclosep) FILE *f = NULL;
	_cleanup_(freep) char *line = NULL;
	char path[PATH_MAX];
	size_t size = 0;

	snprintf(path, sizeof(path), "%s/self/mountinfo", c->proc);
	f = fopen(path, "re");
	if (!f)
		return;
	while (getline(&line, &size, f) > 0) {
		char root[PATH_MAX / 2], point[PATH_MAX / 2];
		char *type = strstr(line, " - ");

		if (!type || strncmp(type, " - cgroup2 ", 11))
			continue;
		*type = '\0';
		if (sscanf(line, "%*s %*s %*s %2047s %2047s", root, point) != 2)
			continue;
		if (whole && strcmp(root, "/"))
			continue;
		whole = !strcmp(root, "/");
		octal_unescape(point);
		snprintf(c->mount, sizeof(c->mount), "%s", point);
	}
}

int cgroups_new(const char *proc, struct cgroups **ret_cgroups)
{
	struct cgroups *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	snprintf(c->proc, sizeof(c->proc), "%s", proc);
	mount_find(c);
	*ret_cgroups = c;
	return 0;
}

static void entries_clear(struct cgroups *c)
{
	struct entry *e, *next;

	HASH_ITER (hh, c->entries, e, next) {
		HASH_DEL(c->entries, e);
		free(e);
	}
}

/* What is forgotten is looked up again. Not while a walk adds many. */
static void entries_bound(struct cgroups *c)
{
	if (HASH_COUNT(c->entries) > ENTRIES_MAX)
		entries_clear(c);
}

struct cgroups *cgroups_free(struct cgroups *c)
{
	if (!c)
		return NULL;
	entries_clear(c);
	free(c);
	return NULL;
}

static struct entry *entry_find(struct cgroups *c, uint64_t id)
{
	struct entry *e;

	HASH_FIND(hh, c->entries, &id, sizeof(id), e);
	return e;
}

static void entry_remove(struct cgroups *c, struct entry *e)
{
	HASH_DEL(c->entries, e);
	free(e);
}

static struct entry *entry_new(struct cgroups *c, uint64_t id, const char *unit)
{
	struct entry *e = calloc(1, sizeof(*e) + strlen(unit) + 1);

	if (!e)
		return NULL;
	e->id = id;
	strcpy(e->unit, unit);
	HASH_ADD(hh, c->entries, id, sizeof(e->id), e);
	if (!e->hh.tbl) {
		free(e);
		return NULL;
	}
	return e;
}

/* NULL when out of memory. */
static struct entry *entry_add(struct cgroups *c, uint64_t id, const char *path)
{
	struct entry *e = entry_find(c, id);
	char unit[UNIT_MAX];

	if (e && !e->due_usec)
		return e;
	if (e)
		entry_remove(c, e);
	name_unit_from_cgroup(path, unit, sizeof(unit));
	return entry_new(c, id, unit);
}

/* It cannot be found out now. Without memory it is asked for again. */
static void entry_postpone(struct cgroups *c, uint64_t id, uint64_t now_usec)
{
	struct entry *e = entry_find(c, id);

	if (!e)
		e = entry_new(c, id, "");
	if (!e)
		return;
	e->due_usec = c->walked_usec + WALK_INTERVAL_USEC;
	/* It is not in the hierarchy. */
	if (c->walked_usec == now_usec) {
		e->pause_usec = e->pause_usec ? 2 * e->pause_usec : WALK_INTERVAL_USEC;
		if (e->pause_usec > PAUSE_MAX_USEC)
			e->pause_usec = PAUSE_MAX_USEC;
		e->due_usec = now_usec + e->pause_usec;
	}
}

/* A directory's inode number is its cgroup's id, and readdir(3) gives it without a stat(2). */
static void hierarchy_walk(struct cgroups *c, int parent, const char *name, char *path, int depth)
{
	size_t length = strlen(path);
	const struct dirent *d;
	DIR *dir;
	int fd;

	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return;
	}
	while ((d = readdir(dir))) {
		if (d->d_type != DT_DIR || !strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		if (length + strlen(d->d_name) + 2 > PATH_MAX)
			continue;
		path[length] = '/';
		strcpy(path + length + 1, d->d_name);
		entry_add(c, d->d_ino, path);
		if (depth < DEPTH_MAX)
			hierarchy_walk(c, fd, d->d_name, path, depth + 1);
		path[length] = '\0';
	}
	closedir(dir);
}

/*
 * The path of @pid in the v2 hierarchy or, where there is none, in systemd's of v1 (else in the
 * first named). Returns 0 or -errno.
 */
static int process_path(const struct cgroups *c, uint32_t pid, char *ret, size_t size)
{
	_cleanup_(fclosep) FILE *f = NULL;
	_cleanup_(freep) char *line = NULL;
	char file[PATH_MAX];
	size_t allocated = 0;
	int found = -ENOENT;

	snprintf(file, sizeof(file), "%s/%u/cgroup", c->proc, pid);
	f = fopen(file, "re");
	if (!f)
		return -errno;
	while (getline(&line, &allocated, f) > 0) {
		const char *controllers = strchr(line, ':');
		const char *path = controllers ? strchr(controllers + 1, ':') : NULL;
		bool best;

		if (!path)
			continue;
		line[strcspn(line, "\n")] = '\0';
		best = c->mount[0] ? !strncmp(line, "0::", 3)
				   : !strncmp(controllers, ":name=systemd:", 14);
		if (c->mount[0] && !best)
			continue;
		if (!best && found == 0)
			continue;
		snprintf(ret, size, "%s", path + 1);
		found = 0;
		if (best)
			break;
	}
	return found;
}

/* The path of @pid in the v2 hierarchy, and its id; 0: it cannot be seen. Returns 0 or -errno. */
static int process_cgroup(const struct cgroups *c, uint32_t pid, char ret_path[static PATH_MAX],
			  uint64_t *ret_id)
{
	char directory[2 * PATH_MAX];
	struct stat st;
	int r = process_path(c, pid, ret_path, PATH_MAX);

	if (r < 0)
		return r;
	snprintf(directory, sizeof(directory), "%s%s", c->mount, ret_path);
	*ret_id = stat(directory, &st) == 0 ? st.st_ino : 0;
	return 0;
}

uint64_t cgroups_id(const struct cgroups *c, uint32_t pid, uint64_t id)
{
	char path[PATH_MAX];
	uint64_t now_id = 0;

	if (c->mount[0])
		process_cgroup(c, pid, path, &now_id);
	return now_id ? now_id : id;
}

/* Returns the entry; or NULL, and in *ret_alive whether it may still be alive and will not help. */
static struct entry *entry_from_process(struct cgroups *c, uint64_t id, uint32_t pid,
					bool *ret_alive)
{
	char path[PATH_MAX];
	uint64_t now_id = 0;
	int r;

	r = process_cgroup(c, pid, path, &now_id);
	*ret_alive = r == 0 || (r == -ENOENT && (kill(pid, 0) == 0 || errno != ESRCH));
	if (r < 0)
		return NULL;
	/* It may have been moved since, or be another process by now: only its id tells. */
	if (!now_id || now_id != id)
		return NULL;
	entries_bound(c);
	return entry_add(c, id, path);
}

void cgroups_set_paths(struct cgroups *c, cgroups_path_fn paths, void *userdata)
{
	c->paths = paths;
	c->paths_userdata = userdata;
}

static struct entry *entry_from_paths(struct cgroups *c, uint64_t id)
{
	char path[PATH_MAX];

	if (!c->paths || c->paths(c->paths_userdata, id, path, sizeof(path)) < 0)
		return NULL;
	entries_bound(c);
	return entry_add(c, id, path);
}

static void hierarchy_learn(struct cgroups *c)
{
	char path[PATH_MAX] = "";
	struct stat st;

	entries_bound(c);
	if (stat(c->mount, &st) == 0)
		entry_add(c, st.st_ino, "/");
	hierarchy_walk(c, AT_FDCWD, c->mount, path, 0);
}

static struct entry *entry_from_hierarchy(struct cgroups *c, uint64_t id, uint64_t now_usec)
{
	struct entry *e;

	if (c->walked && now_usec - c->walked_usec < WALK_INTERVAL_USEC)
		return NULL;
	c->walked = true;
	c->walked_usec = now_usec;
	hierarchy_learn(c);
	e = entry_find(c, id);
	return e && !e->due_usec ? e : NULL;
}

/* NULL where it is not known. */
static struct entry *entry_learn(struct cgroups *c, uint64_t id, uint32_t pid, uint64_t now_usec)
{
	struct entry *e = entry_find(c, id);
	bool alive = false;

	if (e && !e->due_usec)
		return e;
	if (e && now_usec < e->due_usec)
		return NULL;
	e = entry_from_paths(c, id);
	if (!e)
		e = entry_from_process(c, id, pid, &alive);
	if (!e)
		e = entry_from_hierarchy(c, id, now_usec);
	/* Of one that is gone another one in the same cgroup may tell. */
	if (!e && alive)
		entry_postpone(c, id, now_usec);
	return e;
}

const char *cgroups_unit(struct cgroups *c, uint64_t id, uint32_t pid, uint64_t start_boottime_ns,
			 uint64_t now_usec)
{
	const struct entry *e;
	struct process process;
	char path[PATH_MAX];

	if (c->mount[0]) {
		e = entry_learn(c, id, pid, now_usec);
		c->known = e;
		return e ? e->unit : "";
	}
	c->known = process_path(c, pid, path, sizeof(path)) >= 0;
	if (!c->known)
		return "";
	name_unit_from_cgroup(path, c->unit, sizeof(c->unit));
	/* There are no ids: if it is the same process still, it was so when its path was read. */
	if (c->unit[0] && (process_read(c->proc, pid, &process) < 0 ||
			   process.start_ticks != process_ticks(start_boottime_ns))) {
		c->known = false;
		return "";
	}
	return c->unit;
}

bool cgroups_known(const struct cgroups *c)
{
	return c->known;
}
