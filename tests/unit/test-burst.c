// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "burst-sum.h"

static const char *const all_parts[BURST_PARTS];
static const struct burst_cost cost = {
	.pair_ns = 180,
	.nested_ns = 500,
	.call_ns = 5,
};

static void add(struct histogram *h, int bucket, uint64_t count, uint64_t ns)
{
	h->buckets[bucket].count += count;
	h->buckets[bucket].sum_ns += count * ns;
}

/* Of @s in tenths of a nanosecond, so that sums of doubles can be compared. */
static long tenths(const struct burst_stage *s)
{
	assert_true(s->cost.known);
	return (long)(s->cost.seconds * 1e10 + (s->cost.seconds < 0 ? -0.5 : 0.5));
}

static void test_mean_of_nothing(void **state)
{
	struct histogram h = { 0 };
	struct histogram_mean m = { .count = 7, .mean_ns = 7 };

	(void)state;
	histogram_mean(&h, 8, &m);
	assert_int_equal(m.count, 0);
	assert_int_equal(m.outliers, 0);
	assert_true(m.mean_ns == 0);
}

static void test_mean(void **state)
{
	struct histogram h = { 0 };
	struct histogram_mean m;

	(void)state;
	add(&h, 10, 50, 100);
	add(&h, 11, 50, 120);
	histogram_mean(&h, 8, &m);
	assert_int_equal(m.count, 100);
	assert_true(m.mean_ns == 110);
	/* A standard deviation of 10 over the root of 100. */
	assert_true(m.error_ns > 0.999 && m.error_ns < 1.001);
}

/* Just within the limit of medians counts, just beyond does not. */
static void test_outliers(void **state)
{
	struct histogram h = { 0 };
	struct histogram_mean m;

	(void)state;
	add(&h, 10, 98, 100);
	add(&h, 30, 1, 800);
	add(&h, 31, 1, 801);
	histogram_mean(&h, 8, &m);
	assert_int_equal(m.count, 100);
	assert_int_equal(m.outliers, 1);
	assert_true(m.mean_ns == (98 * 100 + 800) / 99.0);
	histogram_mean(&h, 2, &m);
	assert_int_equal(m.outliers, 2);
	assert_true(m.mean_ns == 100);
}

/* A clock that stands still gives times of 0: these are no reason to call the rest outliers. */
static void test_median_of_zero(void **state)
{
	struct histogram h = { 0 };
	struct histogram_mean m;

	(void)state;
	add(&h, 0, 60, 0);
	add(&h, 16, 40, 280);
	histogram_mean(&h, 8, &m);
	assert_int_equal(m.outliers, 0);
	assert_true(m.mean_ns == 112);
}

static void test_plain(void **state)
{
	struct histogram spans[BURST_SPANS] = { 0 };
	struct burst_stage stages[COST_STAGES];
	uint64_t outliers = 0;

	(void)state;
	add(&spans[BURST_PLAIN], 16, 999, 325);
	add(&spans[BURST_PLAIN], 40, 1, 30000);
	burst_sum(spans, &cost, all_parts, stages, &outliers);
	assert_int_equal(outliers, 1);
	assert_int_equal(tenths(&stages[COST_UPDATE]), 1500);
	assert_int_equal(stages[COST_UPDATE].calls, 1000);
	assert_int_equal(tenths(&stages[COST_MOUNT]), 0);
	assert_int_equal(stages[COST_MOUNT].calls, 0);
	assert_float_equal(stages[COST_MOUNT].cost.error_seconds * 1e9, 0.18, 1e-9);
	/* In doubt are a twentieth of the pair, half of the call, and the parts that were not seen.
	 */
	assert_float_equal(stages[COST_UPDATE].cost.error_seconds * 1e9,
			   sqrt(9 * 9 + 2.5 * 2.5 + 2 * 0.18 * 0.18), 1e-9);
	assert_false(stages[COST_SUPERBLOCK].cost.known);
	assert_true(burst_sum_seconds(stages) == stages[COST_UPDATE].cost.seconds);
}

/* One call in ten changes a time: 150 ns of its own, a mount of 25 and an inode of 125 in it, each
 * with a pair around. */
static void test_parts(void **state)
{
	struct histogram spans[BURST_SPANS] = { 0 };
	struct burst_stage stages[COST_STAGES];
	uint64_t outliers = 0;

	(void)state;
	add(&spans[BURST_PLAIN], 16, 90, 100 + 175);
	add(&spans[BURST_CHANGED], 40, 10, 150 + 25 + 125 + 2 * 500 + 175);
	add(&spans[BURST_PART + BURST_MOUNT], 12, 10, 25 + 175);
	add(&spans[BURST_PART + BURST_INODE], 15, 10, 125 + 175);
	burst_sum(spans, &cost, all_parts, stages, &outliers);
	assert_int_equal(outliers, 0);
	assert_int_equal(tenths(&stages[COST_UPDATE]), 900 + 150);
	assert_int_equal(tenths(&stages[COST_MOUNT]), 25);
	assert_int_equal(tenths(&stages[COST_INODE]), 125);
	assert_int_equal(stages[COST_UPDATE].calls, 100);
	assert_int_equal(stages[COST_MOUNT].calls, 10);
	assert_int_equal((long)(burst_sum_seconds(stages) * 1e10 + 0.5), 900 + 300);
}

/* What cannot be timed is in the rest, not lost and not zero. */
static void test_part_without_hook(void **state)
{
	static const char *const no_inode[BURST_PARTS] = { [BURST_INODE] = "It is inline." };
	struct histogram spans[BURST_SPANS] = { 0 };
	struct burst_stage stages[COST_STAGES];
	uint64_t outliers = 0;

	(void)state;
	add(&spans[BURST_CHANGED], 40, 100, 275 + 25 + 500 + 175);
	add(&spans[BURST_PART + BURST_MOUNT], 12, 100, 25 + 175);
	burst_sum(spans, &cost, no_inode, stages, &outliers);
	assert_int_equal(tenths(&stages[COST_UPDATE]), 2750);
	assert_int_equal(tenths(&stages[COST_MOUNT]), 250);
	assert_false(stages[COST_INODE].cost.known);
	assert_string_equal(stages[COST_INODE].cost.reason, "It is inline.");
}

static void test_few(void **state)
{
	struct histogram spans[BURST_SPANS] = { 0 };
	struct burst_stage stages[COST_STAGES];
	uint64_t outliers = 0;

	(void)state;
	burst_sum(spans, &cost, all_parts, stages, &outliers);
	assert_false(stages[COST_UPDATE].cost.known);
	assert_string_equal(stages[COST_UPDATE].cost.reason, "No call came in the window.");
	add(&spans[BURST_PLAIN], 16, BURST_CALLS_MIN - 1, 325);
	burst_sum(spans, &cost, all_parts, stages, &outliers);
	assert_false(stages[COST_UPDATE].cost.known);
	assert_int_equal(stages[COST_UPDATE].calls, 63);
	assert_string_equal(stages[COST_UPDATE].cost.reason,
			    "Only 63 calls came in the window, too few for a mean.");
	assert_true(burst_sum_seconds(stages) == 0);
	add(&spans[BURST_PLAIN], 16, 1, 325);
	burst_sum(spans, &cost, all_parts, stages, &outliers);
	assert_int_equal(tenths(&stages[COST_UPDATE]), 1500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mean_of_nothing),
		cmocka_unit_test(test_mean),
		cmocka_unit_test(test_outliers),
		cmocka_unit_test(test_median_of_zero),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_part_without_hook),
		cmocka_unit_test(test_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
