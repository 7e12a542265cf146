/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A directory tree with proc/ and, standing in for a hierarchy of cgroups, tree/.
 */
#ifndef PIPEWATCH_TESTS_CGROUP_TREE_H
#define PIPEWATCH_TESTS_CGROUP_TREE_H

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "cgroups.h"
#include "pipewatch/util.h"

#define SECOND UINT64_C(1000000)
#define NO_PID INT32_MAX

static char base[64];

static inline void __attribute__((format(printf, 1, 2))) make_directory(const char *format, ...)
{
	char relative[PATH_MAX / 2], path[PATH_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(relative, sizeof(relative), format, arguments);
	va_end(arguments);
	snprintf(path, sizeof(path), "%s/%s", base, relative);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		fail_msg("%s: %s", path, strerror(errno));
}

static inline uint64_t id_of(const char *relative)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", base, relative);
	assert_int_equal(lstat(path, &st), 0);
	return st.st_ino;
}

static inline void write_file(const char *relative, const char *text)
{
	_cleanup_(fclosep) FILE *f = NULL;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", base, relative);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
}

/* proc/PID/cgroup */
static inline void set_cgroup(unsigned int pid, const char *text)
{
	char path[64];

	make_directory("proc/%u", pid);
	snprintf(path, sizeof(path), "proc/%u/cgroup", pid);
	write_file(path, text);
}

/* A line of mountinfo for the directory @point of the tree, written as mountinfo has it. */
static inline void mount_line(char *text, size_t size, const char *root, const char *point,
			      const char *type)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used,
		 "30 23 0:26 %s %s/%s rw,nosuid,nodev - %s %s rw,nsdelegate\n", root, base, point,
		 type, type);
}

static inline struct cgroups *cgroups_here(void)
{
	struct cgroups *c = NULL;
	char proc[PATH_MAX];

	snprintf(proc, sizeof(proc), "%s/proc", base);
	assert_int_equal(cgroups_new(proc, &c), 0);
	assert_non_null(c);
	return c;
}

/* cgroup v2 on tree/. */
static inline struct cgroups *cgroups_v2(void)
{
	char text[1024] = "1 0 254:1 / / rw - ext4 /dev/vda1 rw\n";

	mount_line(text, sizeof(text), "/", "tree", "cgroup2");
	write_file("proc/self/mountinfo", text);
	return cgroups_here();
}

static inline int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline int setup(void **state)
{
	(void)state;
	/* In memory if possible, for there will be many directories. */
	strcpy(base, "/dev/shm/pipewatch-cgroups-XXXXXX");
	if (!mkdtemp(base)) {
		strcpy(base, "/tmp/pipewatch-cgroups-XXXXXX");
		assert_non_null(mkdtemp(base));
	}
	make_directory("proc");
	make_directory("proc/self");
	make_directory("tree");
	make_directory("tree/system.slice");
	make_directory("tree/system.slice/cron.service");
	make_directory("tree/system.slice/cron.service/sub");
	make_directory("tree/user.slice");
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	return nftw(base, remove_one, 64, FTW_DEPTH | FTW_PHYS);
}

#endif
