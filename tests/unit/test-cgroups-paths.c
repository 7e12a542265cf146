// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cgroups.h"
#include "pipewatch/util.h"

static int path_of_four(void *userdata, uint64_t id, char *ret, size_t size)
{
	++*(int *)userdata;
	if (id != 4)
		return -ENOENT;
	snprintf(ret, size, "/system.slice/brief.service");
	return 0;
}

/* A proc with a hierarchy that is itself. */
static void make_proc(char *proc, char self[static 64], char mountinfo[static 80])
{
	FILE *f;

	assert_non_null(mkdtemp(proc));
	snprintf(self, 64, "%s/self", proc);
	snprintf(mountinfo, 80, "%s/mountinfo", self);
	assert_int_equal(mkdir(self, 0700), 0);
	f = fopen(mountinfo, "we");
	assert_non_null(f);
	fprintf(f, "30 23 0:26 / %s rw - cgroup2 cgroup2 rw\n", proc);
	assert_int_equal(fclose(f), 0);
}

/* Cgroups that were gone before anybody looked, of one of which somebody else knows the path. */
static void test_paths_of_others(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = NULL;
	char proc[] = "/tmp/pipewatch-cgroups-XXXXXX", self[64], mountinfo[80];
	int asked = 0;

	(void)state;
	make_proc(proc, self, mountinfo);
	assert_int_equal(cgroups_new(proc, &c), 0);
	cgroups_set_paths(c, path_of_four, &asked);
	assert_string_equal(cgroups_unit(c, 4, 999, 1), "brief.service");
	assert_string_equal(cgroups_unit(c, 4, 999, 1), "brief.service");
	assert_int_equal(asked, 1);
	assert_string_equal(cgroups_unit(c, 5, 999, 1), "");
	assert_int_equal(asked, 2);
	cgroups_set_paths(c, NULL, NULL);
	assert_string_equal(cgroups_unit(c, 6, 999, 1), "");
	assert_int_equal(asked, 2);

	unlink(mountinfo);
	rmdir(self);
	rmdir(proc);
}

static int path_of_all(void *userdata, uint64_t id, char *ret, size_t size)
{
	++*(int *)userdata;
	snprintf(ret, size, "/system.slice/run-%d.scope", (int)id);
	return 0;
}

/* However many cgroups come and go, a bounded number is remembered; the others are asked for
 * again. */
static void test_paths_are_forgotten(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = NULL;
	char proc[] = "/tmp/pipewatch-cgroups-XXXXXX", self[64], mountinfo[80], unit[32];
	const int n = 8194;
	int asked = 0;

	(void)state;
	make_proc(proc, self, mountinfo);
	assert_int_equal(cgroups_new(proc, &c), 0);
	cgroups_set_paths(c, path_of_all, &asked);
	for (int id = 1; id <= n; id++) {
		snprintf(unit, sizeof(unit), "run-%d.scope", id);
		assert_string_equal(cgroups_unit(c, (uint64_t)id, 999, 1), unit);
	}
	assert_int_equal(asked, n);
	assert_string_equal(cgroups_unit(c, 1, 999, 1), "run-1.scope");
	assert_int_equal(asked, n + 1);
	unlink(mountinfo);
	rmdir(self);
	rmdir(proc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_of_others),
		cmocka_unit_test(test_paths_are_forgotten),
	};

	return cmocka_run_group_tests_name("cgroups-paths", tests, NULL, NULL);
}
