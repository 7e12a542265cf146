// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <sys/wait.h>

#include "load.h"
#include "pipewatch/util.h"

static size_t open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static size_t entries(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Every load ends on every kind of pipe, and leaves neither processes, files nor names behind. */
static void test_rounds(void **state)
{
	char directory[] = "/tmp/test-load-XXXXXX";
	size_t before = open_files();

	(void)state;
	assert_non_null(mkdtemp(directory));
	setenv("TMPDIR", directory, 1);
	for (enum load load = 0; load < LOADS; load++)
		for (enum load_pipe pipe = 0; pipe < LOAD_PIPES; pipe++) {
			double seconds = -1;

			assert_int_equal(load_round(load, pipe, &seconds), 0);
			/* A message of no time at all, or of a second, is none. */
			assert_true(seconds > 1e-9 && seconds < 1);
			assert_int_equal(open_files(), before);
			assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
			assert_int_equal(errno, ECHILD);
		}
	assert_int_equal(entries(directory), 2);
	rmdir(directory);
}

static void test_messages(void **state)
{
	(void)state;
	assert_int_equal(load_messages(LOAD_FILL), 2000);
	assert_int_equal(load_messages(LOAD_PING_PONG), 600);
	assert_int_equal(load_messages(LOAD_FAN_IN), 2000);
	assert_int_equal(load_messages(LOAD_MESSAGING), 2000);
}

static void test_no_directory(void **state)
{
	double seconds = -1;

	(void)state;
	setenv("TMPDIR", "/nowhere", 1);
	assert_int_equal(load_round(LOAD_FILL, LOAD_FIFO, &seconds), -ENOENT);
	assert_true(seconds == -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_no_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
