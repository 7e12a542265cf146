// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cpus.h"
#include "kallsyms.h"
#include "pipewatch/util.h"

/* Writes @text to a new file at @path, a template. */
static void file_make(char *path, const char *text)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int find(const char *text, struct kallsyms_range *ret, size_t max, size_t *ret_n)
{
	static const char *const functions[] = { "pipe_read", "touch_atime", "absent", NULL };
	char path[] = "/tmp/kallsyms.XXXXXX";
	int r;

	file_make(path, text);
	r = kallsyms_find(path, functions, ret, max, ret_n);
	unlink(path);
	return r;
}

static void test_parts(void **state)
{
	struct kallsyms_range ranges[4];
	size_t n = 99;

	(void)state;
	assert_int_equal(find("ffffffff81000000 T _text\n"
			      "ffffffff81000100 t pipe_read.cold\n"
			      "ffffffff81000110 t other\n"
			      "ffffffff81002000 t anon_pipe_read\n"
			      "ffffffff81003000 t pipe_read\n"
			      "ffffffff81003000 t alias\n"
			      "ffffffff81003400 t __pfx_touch_atime\n"
			      "ffffffff81003410 T touch_atime\n"
			      "ffffffff81003500 d data\n"
			      "ffffffff81003600 d touch_atime\n"
			      "ffffffff81003700 t touch_atimes\n"
			      "ffffffffc0000000 t pipe_read\t[fuse]\n"
			      "ffffffffc0000100 t end\t[fuse]\n",
			      ranges, ARRAY_SIZE(ranges), &n),
			 0);
	assert_int_equal(n, 3);
	assert_int_equal(ranges[0].function, 0);
	assert_true(ranges[0].begin == 0xffffffff81000100 && ranges[0].end == 0xffffffff81000110);
	assert_int_equal(ranges[1].function, 0);
	assert_true(ranges[1].begin == 0xffffffff81003000 && ranges[1].end == 0xffffffff81003400);
	assert_int_equal(ranges[2].function, 1);
	assert_true(ranges[2].begin == 0xffffffff81003410 && ranges[2].end == 0xffffffff81003500);
}

static void test_hidden(void **state)
{
	struct kallsyms_range ranges[4];
	size_t n = 99;

	(void)state;
	assert_int_equal(find("0000000000000000 t pipe_read\n0000000000000000 T touch_atime\n",
			      ranges, ARRAY_SIZE(ranges), &n),
			 -EACCES);
	assert_int_equal(n, 99);
}

static void test_useless(void **state)
{
	static const char *const none[] = { NULL };
	struct kallsyms_range ranges[2];
	size_t n = 99;

	(void)state;
	assert_int_equal(find("", ranges, 2, &n), -ENODATA);
	assert_int_equal(find("no symbols\n\n81000000t x\n", ranges, 2, &n), -ENODATA);
	/* Nothing follows. */
	assert_int_equal(find("ffffffff81000100 t pipe_read\n", ranges, 2, &n), -ENODATA);
	assert_int_equal(find("1000 t pipe_read\n2000 t pipe_read.a\n3000 t pipe_read.b\n4000 t x",
			      ranges, 2, &n),
			 -ENOSPC);
	assert_int_equal(kallsyms_find("/nonexistent", none, ranges, 2, &n), -ENOENT);
	assert_int_equal(n, 99);
	assert_int_equal(find("1000 t other\n2000 t x\n", ranges, 2, &n), 0);
	assert_int_equal(n, 0);
}

static void test_passed(void **state)
{
	static const char *const functions[] = { "vfs_read", NULL };
	struct kallsyms_range again[16], ranges[16];
	int fd = open("/proc/kallsyms", O_RDONLY), file, pipe_fds[2], r;
	size_t n = 99, n_again = 99;

	(void)state;
	assert_true(fd >= 0);
	/* As the file's owner would see it, any number of times. */
	r = kallsyms_find("/proc/kallsyms", functions, ranges, ARRAY_SIZE(ranges), &n);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			kallsyms_find_passed(fd, functions, again, ARRAY_SIZE(again), &n_again), r);
		assert_int_equal(n_again, n);
		if (r == 0)
			assert_memory_equal(again, ranges, n * sizeof(*ranges));
	}
	close(fd);
	assert_int_equal(kallsyms_find_passed(fd, functions, again, ARRAY_SIZE(again), &n_again),
			 -EBADF);
	file = open("/dev/null", O_RDONLY);
	assert_int_equal(kallsyms_find_passed(file, functions, again, ARRAY_SIZE(again), &n_again),
			 -ENOTTY);
	close(file);
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(
		kallsyms_find_passed(pipe_fds[0], functions, again, ARRAY_SIZE(again), &n_again),
		-ENOTTY);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	file = open("/proc/self/status", O_RDONLY);
	assert_int_equal(kallsyms_find_passed(file, functions, again, ARRAY_SIZE(again), &n_again),
			 -ENODATA);
	close(file);
	assert_int_equal(n_again, n);
}

static void assert_online(const char *list, const char *wanted)
{
	char path[] = "/tmp/online.XXXXXX", got[9] = "";
	bool online[8] = { true, true, true, true, true, true, true, true };

	file_make(path, list);
	assert_int_equal(cpus_read(path, online, 8), 0);
	unlink(path);
	for (int i = 0; i < 8; i++)
		got[i] = online[i] ? '1' : '0';
	assert_string_equal(got, wanted);
}

static void test_cpus(void **state)
{
	(void)state;
	assert_online("0\n", "10000000");
	assert_online("0-3\n", "11110000");
	assert_online("0,2-3,7", "10110001");
	assert_online("6-200000000\n", "00000011");
	assert_online("9\n", "00000000");
}

static void test_cpus_bad(void **state)
{
	static const char *const lists[] = {
		"",
		"\n",
		"a",
		"1-",
		"-1",
		"3-1",
		"1,",
		"1,,2",
		"1 2",
		"1\n2",
		"99999999999999999999",
	};
	bool online[2] = { true, false };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		assert_int_equal(cpus_parse(lists[i], online, 2), -EBADMSG);
	assert_true(online[0] && !online[1]);
	assert_int_equal(cpus_read("/nonexistent", online, 2), -ENOENT);
	assert_int_equal(cpus_read("/dev/null", online, 2), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),	cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_useless), cmocka_unit_test(test_passed),
		cmocka_unit_test(test_cpus),	cmocka_unit_test(test_cpus_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
