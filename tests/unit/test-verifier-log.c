// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "verifier-log.h"

static void assert_summary(const char *log, const char *wanted)
{
	char summary[32];

	verifier_log_summarize(log, summary, sizeof(summary));
	assert_string_equal(summary, wanted);
}

static void test_cause_before_statistics(void **state)
{
	(void)state;
	assert_summary("0: R1=ctx()\n"
		       "3: invalid access to map value\n"
		       "processed 4 insns (limit 1000000)\n"
		       "stack depth 16\n"
		       "-- END PROG LOAD LOG --\n",
		       "3: invalid access to map value");
	assert_summary("R3 invalid mem access 'scalar'\n\nprocessed 9 insns",
		       "R3 invalid mem access 'scalar'");
}

static void test_anything_else(void **state)
{
	(void)state;
	assert_summary("", "");
	assert_summary("cause", "cause");
	assert_summary("a cause that is longer than there is room for\n",
		       "a cause that is longer than the");
	assert_summary("processed 4 insns\n", "processed 4 insns");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cause_before_statistics),
		cmocka_unit_test(test_anything_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
