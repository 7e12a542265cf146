// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oom.h"
#include "pipewatch/util.h"
#include "text.h"

static void test_nothing(void **state)
{
	_cleanup_(freep) char *data = NULL;
	struct text text;
	size_t size = 1;

	(void)state;
	assert_int_equal(text_open(&text), 0);
	assert_int_equal(text_close(&text, &data, &size), 0);
	assert_int_equal(size, 0);
	assert_string_equal(data, "");
}

#define LINES 5000

static void write_lines(FILE *f)
{
	for (int i = 0; i < LINES; i++)
		fprintf(f, "line %04d\n", i);
}

static void test_all_of_it(void **state)
{
	_cleanup_(freep) char *data = NULL;
	struct text text;
	size_t size = 0;

	(void)state;
	assert_int_equal(text_open(&text), 0);
	write_lines(text.stream);
	assert_int_equal(text_close(&text, &data, &size), 0);
	assert_int_equal(size, 10 * LINES);
	assert_int_equal(strlen(data), size);
	for (int i = 0; i < LINES; i++) {
		char line[24];

		snprintf(line, sizeof(line), "line %04d\n", i);
		assert_memory_equal(data + (size_t)10 * i, line, 10);
	}
}

/* Each growth fails in turn: there is all of it or an error. */
static void test_without_memory(void **state)
{
	long after = 0;
	int r;

	(void)state;
	do {
		char *data = NULL;
		struct text text;
		size_t size = 0;

		oom_after = after++;
		oom_failed = 0;
		r = text_open(&text);
		if (r == 0) {
			write_lines(text.stream);
			r = text_close(&text, &data, &size);
		}
		oom_after = OOM_NEVER;
		assert_int_equal(r, oom_failed ? -ENOMEM : 0);
		if (r < 0)
			assert_null(data);
		else
			assert_int_equal(size, 10 * LINES);
		free(data);
	} while (r < 0);
	assert_in_range(after, 4, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_all_of_it),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
