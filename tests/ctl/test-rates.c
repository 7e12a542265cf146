// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "rates.h"
#include "record.h"
#include "row.h"

struct pair {
	struct model *before;
	struct model *after;
};

static int set_up(void **state)
{
	static struct pair pair;

	pair.before = record_parse("full");
	pair.after = record_parse("later");
	*state = &pair;
	return 0;
}

static int tear_down(void **state)
{
	struct pair *pair = *state;

	pair->before = model_free(pair->before);
	pair->after = model_free(pair->after);
	return 0;
}

/* Two seconds: 20000 reads and 0.125 s of 185, 4000 and 0.25 s of 2000, and a new process. */
static void test_difference(void **state)
{
	const struct pair *pair = *state;
	struct rates r = {};

	assert_int_equal(rates_make(pair->after, pair->before, false, &r), 0);
	rates_sort(&r, RATES_COST);
	assert_false(r.since_start);
	assert_true(r.seconds == 2);
	assert_int_equal(r.n, 3);
	assert_int_equal(r.rows[0].pid, 2000);
	assert_true(rates_cost(&r, &r.rows[0]).value == 0.125);
	assert_true(rates_share(&r, &r.rows[0]).value == 0.25);
	assert_true(rates_per_second(&r, row_operations(&r.rows[0])).value == 2000);
	assert_true(row_bytes_per_operation(&r.rows[0]).value == 100);
	assert_int_equal(r.rows[1].pid, 185);
	assert_true(rates_cost(&r, &r.rows[1]).value == 0.0625);
	assert_true(rates_per_second(&r, row_updates(&r.rows[1])).value == 10000);
	/* What it did is all there is of it. */
	assert_int_equal(r.rows[2].pid, 3000);
	assert_true(rates_per_second(&r, row_reads(&r.rows[2])).value == 50);
	assert_true(rates_per_second(&r, row_reads(&r.host)).value == 12000);
	assert_true(rates_cost(&r, &r.host).value == 0.1875);
	rates_clear(&r);
}

static void test_orders(void **state)
{
	const struct pair *pair = *state;
	struct rates r = {};

	assert_int_equal(rates_make(pair->after, pair->before, false, &r), 0);
	rates_sort(&r, RATES_OPERATIONS);
	assert_int_equal(r.rows[0].pid, 185);
	assert_int_equal(r.rows[1].pid, 2000);
	rates_sort(&r, RATES_PID);
	assert_int_equal(r.rows[0].pid, 185);
	assert_int_equal(r.rows[2].pid, 3000);
	rates_clear(&r);
}

static void test_groups(void **state)
{
	const struct pair *pair = *state;
	struct rates r = {};

	assert_int_equal(rates_make(pair->after, pair->before, true, &r), 0);
	rates_sort(&r, RATES_COST);
	assert_int_equal(r.n, 2);
	assert_string_equal(r.rows[0].unit, "docker/0123456789ab");
	assert_string_equal(r.rows[1].comm, "log-filter");
	rates_clear(&r);
}

static void test_first(void **state)
{
	const struct pair *pair = *state;
	struct rates r = {};

	assert_int_equal(rates_make(pair->before, NULL, false, &r), 0);
	rates_sort(&r, RATES_COST);
	assert_true(r.since_start);
	assert_true(r.seconds == 1000);
	assert_int_equal(r.n, 4);
	assert_true(rates_cost(&r, &r.rows[0]).value == 0.005);
	assert_true(rates_share(&r, &r.rows[0]).value == 0.1653);
	rates_clear(&r);
}

/* Counters that began anew are not compared with those from before. */
static void test_restarted(void **state)
{
	const struct pair *pair = *state;
	struct rates r = {};

	pair->after->start_time_usec++;
	assert_int_equal(rates_make(pair->after, pair->before, false, &r), 0);
	assert_true(r.since_start);
	assert_true(r.seconds == 1002);
	rates_clear(&r);
}

/* Where the clock stood still or was set back there is the average since the start. */
static void test_no_time(void **state)
{
	const struct pair *pair = *state;
	struct rates r = {};

	assert_int_equal(rates_make(pair->before, pair->before, false, &r), 0);
	assert_true(r.since_start);
	assert_true(r.seconds == 1000);
	rates_clear(&r);
	assert_int_equal(rates_make(pair->before, pair->after, false, &r), 0);
	assert_true(r.since_start);
	assert_true(r.seconds == 1000);
	rates_clear(&r);

	pair->after->seconds = 0;
	assert_int_equal(rates_make(pair->after, NULL, false, &r), -EAGAIN);
	assert_null(r.rows);
}

/* Of a process that was there and not listed, nobody knows what it did before. */
static void test_unlisted(void **state)
{
	const struct pair *pair = *state;
	struct rates r = {};

	pair->before->omitted = 1;
	pair->after->processes[4].start_time_usec = pair->before->now_usec - 1;
	assert_int_equal(rates_make(pair->after, pair->before, false, &r), 0);
	assert_int_equal(r.n, 2);
	rates_clear(&r);
	pair->after->processes[4].start_time_usec = pair->before->now_usec;
	assert_int_equal(rates_make(pair->after, pair->before, false, &r), 0);
	assert_int_equal(r.n, 3);
	rates_clear(&r);
}

/* A process under a new number's old owner is another one. */
static void test_reused_pid(void **state)
{
	const struct pair *pair = *state;
	struct rates r = {};

	pair->after->processes[0].start_time_usec++;
	assert_int_equal(rates_make(pair->after, pair->before, false, &r), 0);
	rates_sort(&r, RATES_COST);
	assert_int_equal(r.rows[0].pid, 185);
	assert_true(row_reads(&r.rows[0]).value == 108914000);
	rates_clear(&r);
}

static void test_fallen(void **state)
{
	const struct pair *pair = *state;
	struct model_row d;

	d = row_difference(&pair->before->processes[0], &pair->after->processes[0]);
	assert_true(row_reads(&d).value == 0);
	assert_true(row_cost(&d).value == 0);
}

#define test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(test_difference), test(test_orders),     test(test_groups),
		test(test_first),      test(test_restarted),  test(test_no_time),
		test(test_unlisted),   test(test_reused_pid), test(test_fallen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
