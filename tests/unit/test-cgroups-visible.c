// SPDX-License-Identifier: GPL-2.0-or-later
#include "cgroup-tree.h"

static int count_asked(void *userdata, uint64_t id, char *ret, size_t size)
{
	(void)id;
	(void)ret;
	(void)size;
	++*(int *)userdata;
	return -ENOENT;
}

/* A live process in a cgroup that cannot be seen from here is asked for less and less often, once
 * in a minute in the end. */
static void test_invisible(void **state)
{
	static const uint64_t seconds[] = { 100, 101, 103, 107, 115, 131, 163, 223, 283, 343 };
	_cleanup_(cgroups_freep) struct cgroups *c = cgroups_v2();
	const uint64_t id = UINT64_MAX;
	int asked = 0;

	(void)state;
	set_cgroup(getpid(), "0::/../elsewhere\n");
	cgroups_set_paths(c, count_asked, &asked);
	for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
		if (i > 0)
			assert_string_equal(cgroups_unit(c, id, getpid(), seconds[i] * SECOND - 1),
					    "");
		assert_false(i > 0 && cgroups_known(c));
		assert_int_equal(asked, i);
		for (int again = 0; again < 3; again++) {
			assert_string_equal(cgroups_unit(c, id, getpid(), seconds[i] * SECOND), "");
			assert_false(cgroups_known(c));
		}
		assert_int_equal(asked, i + 1);
	}
	/* Once it can be seen, it is known for good. */
	make_directory("tree/seen.service");
	set_cgroup(getpid(), "0::/seen.service\n");
	assert_string_equal(cgroups_unit(c, id_of("tree/seen.service"), getpid(), 343 * SECOND),
			    "seen.service");
	assert_true(cgroups_known(c));
	cgroups_set_paths(c, NULL, NULL);
}

/* One that could not be found for a while can be when it is asked for again. */
static void test_invisible_for_a_while(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = cgroups_v2();
	char from[PATH_MAX], to[PATH_MAX];
	uint64_t id;

	(void)state;
	snprintf(from, sizeof(from), "%s/hidden.service", base);
	snprintf(to, sizeof(to), "%s/tree/hidden.service", base);
	make_directory("hidden.service");
	id = id_of("hidden.service");
	set_cgroup(getpid(), "0::/../elsewhere\n");
	assert_string_equal(cgroups_unit(c, id, getpid(), 5 * SECOND), "");
	assert_int_equal(rename(from, to), 0);
	assert_string_equal(cgroups_unit(c, id, getpid(), 6 * SECOND - 1), "");
	assert_false(cgroups_known(c));
	assert_string_equal(cgroups_unit(c, id, getpid(), 6 * SECOND), "hidden.service");
	assert_true(cgroups_known(c));
}

/* A process that is gone says nothing of a cgroup that others are in. */
static void test_gone_postpones_nothing(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = cgroups_v2();
	uint64_t id;

	(void)state;
	assert_string_equal(cgroups_unit(c, UINT64_MAX, NO_PID, 5 * SECOND), "");
	make_directory("tree/shared.service");
	id = id_of("tree/shared.service");
	assert_string_equal(cgroups_unit(c, id, NO_PID, 5 * SECOND), "");
	assert_false(cgroups_known(c));
	set_cgroup(getpid(), "0::/shared.service\n");
	assert_string_equal(cgroups_unit(c, id, getpid(), 5 * SECOND), "shared.service");
	assert_true(cgroups_known(c));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_invisible),
		TEST(test_invisible_for_a_while),
		TEST(test_gone_postpones_nothing),
	};

	return cmocka_run_group_tests_name("cgroups-visible", tests, NULL, NULL);
}
