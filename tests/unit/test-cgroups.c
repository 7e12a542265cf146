// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "cgroup-tree.h"
#include "cgroups.h"
#include "oom.h"
#include "pipewatch/util.h"

#define ENTRIES_MAX 8192 /* known cgroups, beyond which all are looked up anew */

static void test_no_proc(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = NULL;

	(void)state;
	assert_int_equal(cgroups_new("/nonexistent", &c), 0);
	assert_string_equal(cgroups_unit(c, 1, 1, 0), "");
	assert_null(cgroups_free(NULL));
}

static void test_v2_by_process(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = cgroups_v2();

	(void)state;
	set_cgroup(7, "0::/system.slice/cron.service/sub\n");
	assert_string_equal(cgroups_unit(c, id_of("tree/system.slice/cron.service/sub"), 7, 0),
			    "cron.service");
	/* From now on also without the process. */
	set_cgroup(7, "");
	assert_string_equal(cgroups_unit(c, id_of("tree/system.slice/cron.service/sub"), 7, 0),
			    "cron.service");
}

static void test_v2_of_a_process_that_is_gone(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = cgroups_v2();

	(void)state;
	assert_string_equal(cgroups_unit(c, id_of("tree/system.slice/cron.service"), NO_PID, 0),
			    "cron.service");
	assert_string_equal(cgroups_unit(c, id_of("tree/system.slice/cron.service/sub"), NO_PID, 0),
			    "cron.service");
	assert_string_equal(cgroups_unit(c, id_of("tree/system.slice"), NO_PID, 0), "");
	assert_string_equal(cgroups_unit(c, id_of("tree"), NO_PID, 0), "");
}

/* What /proc says now is of another cgroup than the operations were. */
static void test_v2_moved_since(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = cgroups_v2();

	(void)state;
	make_directory("tree/system.slice/ssh.service");
	set_cgroup(7, "0::/system.slice/ssh.service\n");
	assert_string_equal(cgroups_unit(c, id_of("tree/system.slice/cron.service"), 7, 0),
			    "cron.service");
	set_cgroup(8, "0::/gone.service\n");
	assert_string_equal(cgroups_unit(c, id_of("tree/system.slice/ssh.service"), 8, 0),
			    "ssh.service");
}

/* An id that is not in the tree costs one walk a second. A cgroup that is new shows when one was
 * made. */
static void test_walks_once_a_second(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = cgroups_v2();
	uint64_t first, second;

	(void)state;
	assert_string_equal(cgroups_unit(c, UINT64_MAX, NO_PID, 5 * SECOND), "");
	make_directory("tree/first.service");
	first = id_of("tree/first.service");
	assert_string_equal(cgroups_unit(c, first, NO_PID, 5 * SECOND), "");
	assert_string_equal(cgroups_unit(c, first, NO_PID, 6 * SECOND - 1), "");
	/* What the process tells needs no walk. */
	make_directory("tree/second.service");
	second = id_of("tree/second.service");
	set_cgroup(7, "0::/second.service\n");
	assert_string_equal(cgroups_unit(c, second, 7, 6 * SECOND - 1), "second.service");

	assert_string_equal(cgroups_unit(c, first, NO_PID, 6 * SECOND), "first.service");
	make_directory("tree/third.service");
	assert_string_equal(cgroups_unit(c, id_of("tree/third.service"), NO_PID, 7 * SECOND - 1),
			    "");
	/* The known ones need no walk, nor does the root. */
	assert_string_equal(cgroups_unit(c, first, NO_PID, 7 * SECOND), "first.service");
	assert_string_equal(cgroups_unit(c, id_of("tree"), NO_PID, 7 * SECOND), "");
	make_directory("tree/last.service");
	assert_string_equal(cgroups_unit(c, id_of("tree/last.service"), NO_PID, 7 * SECOND),
			    "last.service");
}

static void test_hybrid(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = NULL;
	char text[2048] = "";

	(void)state;
	make_directory("tree/unified");
	make_directory("tree/unified/at.service");
	mount_line(text, sizeof(text), "/", "tree", "tmpfs");
	mount_line(text, sizeof(text), "/", "tree/unified", "cgroup2");
	mount_line(text, sizeof(text), "/", "tree/systemd", "cgroup");
	mount_line(text, sizeof(text), "/", "tree/cpu", "cgroup");
	write_file("proc/self/mountinfo", text);
	c = cgroups_here();

	set_cgroup(7, "2:cpu:/wrong.service\n1:name=systemd:/wrong.service\n0::/at.service\n");
	assert_string_equal(cgroups_unit(c, id_of("tree/unified/at.service"), 7, 0), "at.service");
	/* Not below the mount of v2. */
	assert_string_equal(cgroups_unit(c, id_of("tree/system.slice/cron.service"), NO_PID, 0),
			    "");
}

static void test_v1_only(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = NULL;
	char text[2048] = "";

	(void)state;
	mount_line(text, sizeof(text), "/", "tree", "cgroup");
	write_file("proc/self/mountinfo", text);
	c = cgroups_here();

	set_cgroup(7, "3:cpu,cpuacct:/other.service\n2:name=systemd:/a.slice/b.service\n"
		      "1:memory:/third.service\n");
	assert_string_equal(cgroups_unit(c, 0, 7, 0), "b.service");
	/* It moves, or the number is another process by now: nothing is remembered. */
	set_cgroup(7, "2:name=systemd:/a.slice/c.service\n");
	assert_string_equal(cgroups_unit(c, 0, 7, 0), "c.service");
	/* No systemd: the first hierarchy. */
	set_cgroup(7, "3:cpu:/docker/0123456789abcdef0123456789abcdef"
		      "0123456789abcdef0123456789abcdef\n1:memory:/\n");
	assert_string_equal(cgroups_unit(c, 0, 7, 0), "docker/0123456789ab");
	assert_true(cgroups_known(c));
	assert_string_equal(cgroups_unit(c, 0, NO_PID, 0), "");
	assert_false(cgroups_known(c));
	/* That it is in none is known, too. */
	set_cgroup(7, "2:name=systemd:/\n");
	assert_string_equal(cgroups_unit(c, 0, 7, 0), "");
	assert_true(cgroups_known(c));
	set_cgroup(7, "");
	assert_string_equal(cgroups_unit(c, 0, 7, 0), "");
	set_cgroup(7, "nonsense\n::\n:\n\n");
	assert_string_equal(cgroups_unit(c, 0, 7, 0), "");
	/* Its tree is not looked at. */
	assert_string_equal(cgroups_unit(c, id_of("tree/system.slice/cron.service"), NO_PID, 0),
			    "");
}

static void test_no_mount(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = NULL;

	(void)state;
	write_file("proc/self/mountinfo", "1 0 254:1 / / rw - ext4 /dev/vda1 rw\n\nx\n - \n"
					  " - cgroup2 \n1 2 3 - cgroup2 cgroup2 rw\n");
	c = cgroups_here();
	set_cgroup(7, "0::/x.service\n");
	assert_string_equal(cgroups_unit(c, id_of("tree"), 7, 0), "x.service");
	assert_string_equal(cgroups_unit(c, id_of("tree"), NO_PID, 0), "");
}

/* The last mount counts, but the whole hierarchy before a part of it. */
static void test_many_mounts(void **state)
{
	static const struct {
		const char *roots[3], *points[3], *id, *unit;
	} cases[] = {
		{ { "/", "/" },
		  { "other", "tree" },
		  "tree/system.slice/cron.service",
		  "cron.service" },
		{ { "/", "/" }, { "tree", "other" }, "other/o.service", "o.service" },
		{ { "/", "/part" },
		  { "tree", "other" },
		  "tree/system.slice/cron.service",
		  "cron.service" },
		{ { "/part", "/" },
		  { "other", "tree" },
		  "tree/system.slice/cron.service",
		  "cron.service" },
		{ { "/..", "/../.." }, { "tree", "other" }, "other/o.service", "o.service" },
	};

	(void)state;
	make_directory("other");
	make_directory("other/o.service");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(cgroups_freep) struct cgroups *c = NULL;
		char text[2048] = "";

		for (size_t j = 0; cases[i].roots[j]; j++)
			mount_line(text, sizeof(text), cases[i].roots[j], cases[i].points[j],
				   "cgroup2");
		write_file("proc/self/mountinfo", text);
		c = cgroups_here();
		assert_string_equal(cgroups_unit(c, id_of(cases[i].id), NO_PID, 0), cases[i].unit);
	}
}

/* mountinfo writes some characters as octal numbers. */
static void test_mount_point_with_spaces(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = NULL;
	char text[2048] = "";

	(void)state;
	make_directory("a b\tc\nd\\e");
	make_directory("a b\tc\nd\\e/x.service");
	mount_line(text, sizeof(text), "/a\\040-\\040b", "a\\040b\\011c\\012d\\134e", "cgroup2");
	write_file("proc/self/mountinfo", text);
	c = cgroups_here();
	assert_string_equal(cgroups_unit(c, id_of("a b\tc\nd\\e/x.service"), NO_PID, 0),
			    "x.service");
}

static void test_backslash_without_digits(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = NULL;
	char text[2048] = "";

	(void)state;
	make_directory("a\\04");
	make_directory("a\\04/x.service");
	mount_line(text, sizeof(text), "/", "a\\04", "cgroup2");
	write_file("proc/self/mountinfo", text);
	c = cgroups_here();
	assert_string_equal(cgroups_unit(c, id_of("a\\04/x.service"), NO_PID, 0), "x.service");
}

static void test_weird_names(void **state)
{
	static const struct {
		const char *name, *unit;
	} cases[] = {
		{ "a b.service", "a b.service" },
		{ "a\nb.service", "a\nb.service" },
		{ "\xff.service", "\\xff.service" },
		{ "\xc3\xa4.scope", "\xc3\xa4.scope" },
		{ "%s%n.service", "%s%n.service" },
		{ ".hidden.service", ".hidden.service" },
		{ "...", "" },
		{ "foo.service (deleted)", "foo.service" },
	};
	_cleanup_(cgroups_freep) struct cgroups *c = cgroups_v2();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		make_directory("tree/%s", cases[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char relative[300];

		snprintf(relative, sizeof(relative), "tree/%s", cases[i].name);
		assert_string_equal(cgroups_unit(c, id_of(relative), NO_PID, 0), cases[i].unit);
	}
}

/* A name of 255 bytes, each of them no UTF-8: four times as long when rendered. */
static void test_longest_name(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = cgroups_v2();
	char name[256], relative[300];
	const char *unit;

	(void)state;
	memset(name, 0xff, 255);
	strcpy(name + 255 - strlen(".service"), ".service");
	make_directory("tree/%s", name);
	snprintf(relative, sizeof(relative), "tree/%s", name);
	unit = cgroups_unit(c, id_of(relative), NO_PID, 0);
	assert_int_equal(strlen(unit), 252);
	assert_int_equal(strncmp(unit, "\\xff\\xff", 8), 0);
}

static void test_links_and_files_are_not_followed(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = cgroups_v2();
	char link[PATH_MAX], target[PATH_MAX];

	(void)state;
	make_directory("other");
	make_directory("other/o.service");
	write_file("tree/file.service", "");
	snprintf(link, sizeof(link), "%s/tree/loop.service", base);
	assert_int_equal(symlink(".", link), 0);
	snprintf(link, sizeof(link), "%s/tree/user.slice/up.service", base);
	assert_int_equal(symlink("..", link), 0);
	snprintf(link, sizeof(link), "%s/tree/out", base);
	snprintf(target, sizeof(target), "%s/other", base);
	assert_int_equal(symlink(target, link), 0);

	assert_string_equal(cgroups_unit(c, id_of("other/o.service"), NO_PID, 0), "");
	assert_string_equal(cgroups_unit(c, id_of("tree/file.service"), NO_PID, 0), "");
	assert_string_equal(cgroups_unit(c, id_of("tree/loop.service"), NO_PID, 0), "");
	assert_string_equal(cgroups_unit(c, id_of("tree/system.slice/cron.service"), NO_PID, 0),
			    "cron.service");
}

/* Deep enough for anything but an attack: 33 levels, and no further. */
static void test_depth(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = cgroups_v2();
	char relative[400] = "tree/d.service";
	uint64_t ids[60];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		make_directory("%s", relative);
		ids[i] = id_of(relative);
		strcat(relative, "/d");
	}
	assert_string_equal(cgroups_unit(c, ids[0], NO_PID, 0), "d.service");
	assert_string_equal(cgroups_unit(c, ids[32], NO_PID, 0), "d.service");
	assert_string_equal(cgroups_unit(c, ids[33], NO_PID, 0), "");
}

/* Paths of more than PATH_MAX are there, but nobody can name them. */
static void test_longer_than_a_path(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = cgroups_v2();
	_cleanup_(closep) int fd = -1;
	char name[201];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 25; i++) {
		int next;

		assert_true(mkdirat(fd, i ? name : "tree/long", 0700) == 0);
		next = openat(fd, i ? name : "tree/long", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		close(fd);
		fd = next;
	}
	assert_string_equal(cgroups_unit(c, UINT64_MAX, NO_PID, 0), "");
	assert_string_equal(cgroups_unit(c, id_of("tree/system.slice/cron.service"), NO_PID, 0),
			    "cron.service");

	/* For teardown(), whose paths have an end, too. */
	for (int i = 24; i > 0; i--) {
		int up = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		assert_true(up >= 0);
		assert_int_equal(unlinkat(up, i ? name : "long", AT_REMOVEDIR), 0);
		close(fd);
		fd = up;
	}
}

/* Ten thousand cgroups come and go: those that are gone are forgotten some day. */
static void test_forgets(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = cgroups_v2();
	char from[PATH_MAX], to[PATH_MAX];
	uint64_t id, last;

	(void)state;
	make_directory("tree/x.service");
	id = id_of("tree/x.service");
	assert_string_equal(cgroups_unit(c, id, NO_PID, 0), "x.service");
	/* Away, though not removed, so that its number does not come back. */
	snprintf(from, sizeof(from), "%s/tree/x.service", base);
	snprintf(to, sizeof(to), "%s/away", base);
	assert_int_equal(rename(from, to), 0);
	assert_string_equal(cgroups_unit(c, id, NO_PID, 0), "x.service");

	make_directory("many");
	for (int i = 0; i <= ENTRIES_MAX; i++) {
		char name[64], text[64];

		snprintf(name, sizeof(name), "tree/r%d.scope", i);
		make_directory("%s", name);
		last = id_of(name);
		snprintf(text, sizeof(text), "0::/r%d.scope\n", i);
		set_cgroup(7, text);
		snprintf(text, sizeof(text), "r%d.scope", i);
		assert_string_equal(cgroups_unit(c, last, 7, 0), text);
		snprintf(from, sizeof(from), "%s/%s", base, name);
		snprintf(to, sizeof(to), "%s/many/%d", base, i);
		assert_int_equal(rename(from, to), 0);
	}
	assert_string_equal(cgroups_unit(c, last, NO_PID, 0), "r8192.scope");
	assert_string_equal(cgroups_unit(c, id, NO_PID, 0), "");
}

static void test_without_memory(void **state)
{
	uint64_t cron, ssh, at;
	bool complete = false;

	(void)state;
	make_directory("tree/ssh.service");
	make_directory("tree/at.service");
	cron = id_of("tree/system.slice/cron.service");
	ssh = id_of("tree/ssh.service");
	at = id_of("tree/at.service");
	set_cgroup(7, "0::/ssh.service\n");
	for (int after = 1; !complete; after++) {
		_cleanup_(cgroups_freep) struct cgroups *c = cgroups_v2();
		const char *unit;

		oom_after = after - 1;
		oom_failed = 0;
		unit = cgroups_unit(c, ssh, 7, 0);
		assert_string_equal(unit, oom_failed ? "" : "ssh.service");
		unit = cgroups_unit(c, at, NO_PID, SECOND);
		assert_true(!strcmp(unit, "at.service") || (oom_failed && !strcmp(unit, "")));
		oom_after = OOM_NEVER;
		complete = !oom_failed;

		/* With memory again, everything is known. */
		assert_string_equal(cgroups_unit(c, cron, NO_PID, 2 * SECOND), "cron.service");
		assert_string_equal(cgroups_unit(c, ssh, 7, 2 * SECOND), "ssh.service");
		assert_string_equal(cgroups_unit(c, at, NO_PID, 2 * SECOND), "at.service");
		assert_in_range(after, 1, 50);
	}
}

static void test_new_without_memory(void **state)
{
	struct cgroups *c = NULL;

	(void)state;
	oom_after = 0;
	assert_int_equal(cgroups_new("/proc", &c), -ENOMEM);
	oom_after = OOM_NEVER;
	assert_null(c);
}

/* The machine's own: whatever it is, it gives the same answer twice. */
static void test_this_machine(void **state)
{
	_cleanup_(cgroups_freep) struct cgroups *c = NULL;
	_cleanup_(freep) char *unit = NULL;

	(void)state;
	assert_int_equal(cgroups_new("/proc", &c), 0);
	unit = strdup(cgroups_unit(c, 1, getpid(), 0));
	assert_non_null(unit);
	assert_string_equal(cgroups_unit(c, 1, getpid(), 0), unit);
	assert_string_equal(cgroups_unit(c, 0, 0, 10 * SECOND), "");
}

static int teardown_oom(void **state)
{
	oom_after = OOM_NEVER;
	return teardown(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown_oom)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_proc),
		TEST(test_v2_by_process),
		TEST(test_v2_of_a_process_that_is_gone),
		TEST(test_v2_moved_since),
		TEST(test_walks_once_a_second),
		TEST(test_hybrid),
		TEST(test_v1_only),
		TEST(test_no_mount),
		TEST(test_many_mounts),
		TEST(test_mount_point_with_spaces),
		TEST(test_backslash_without_digits),
		TEST(test_weird_names),
		TEST(test_longest_name),
		TEST(test_links_and_files_are_not_followed),
		TEST(test_depth),
		TEST(test_longer_than_a_path),
		TEST(test_forgets),
		TEST(test_without_memory),
		TEST(test_new_without_memory),
		TEST(test_this_machine),
	};

	return cmocka_run_group_tests_name("cgroups", tests, NULL, NULL);
}
