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
#include "util.h"

static int path_of_four(void *userdata, uint64_t id, char *ret, size_t size)
{
	++*(int *)userdata;
	if (id != 4)
		return -ENOENT;
	snprintf(ret, size, "/system.slice/brief.service");
	return 0;
}

/* Cgroups that were gone before anybody looked, of one of which somebody else knows the path. */
static void test_paths_of_others(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = NULL;
	char proc[] = "/tmp/pipewatch-cgroups-XXXXXX", self[64], mountinfo[80];
	int asked = 0;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(proc));
	snprintf(self, sizeof(self), "%s/self", proc);
	snprintf(mountinfo, sizeof(mountinfo), "%s/mountinfo", self);
	assert_int_equal(mkdir(self, 0700), 0);
	f = fopen(mountinfo, "we");
	assert_non_null(f);
	fprintf(f, "30 23 0:26 / %s rw - cgroup2 cgroup2 rw\n", proc);
	assert_int_equal(fclose(f), 0);

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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_paths_of_others) };

	return cmocka_run_group_tests_name("cgroups-paths", tests, NULL, NULL);
}
