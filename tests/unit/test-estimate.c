// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "estimate.h"

static const enum path_state all_paid[PIPE_KINDS][UPDATE_KINDS] = {
	{ PATH_PAID, PATH_PAID, PATH_PAID },
	{ PATH_PAID, PATH_PAID, PATH_PAID },
};

static struct cost_figure known(double seconds, double error_seconds)
{
	return (struct cost_figure){ .known = true,
				     .seconds = seconds,
				     .error_seconds = error_seconds };
}

static void assert_close(double got, double wanted)
{
	if (fabs(got - wanted) > 1e-9 * fabs(wanted))
		fail_msg("got %.12g, wanted %.12g", got, wanted);
}

/* 100 update + 10 inode with others, 90 + 10 with us, where A/B says 107: 7 are missed. */
static struct burst_result burst_of_reads(void)
{
	struct burst_result b = {};

	b.others[PIPE_ANONYMOUS][UPDATE_ATIME][COST_UPDATE].cost = known(100, 3);
	b.others[PIPE_ANONYMOUS][UPDATE_ATIME][COST_INODE].cost = known(10, 0);
	b.own[PIPE_ANONYMOUS][UPDATE_ATIME][COST_UPDATE].cost = known(90, 4);
	b.own[PIPE_ANONYMOUS][UPDATE_ATIME][COST_INODE].cost = known(10, 0);
	return b;
}

static void test_blind_part_is_added(void **state)
{
	const struct burst_result burst = burst_of_reads();
	struct ab ab = {};
	struct estimates all;
	const struct cost_estimate *e = &all.updates[PIPE_ANONYMOUS][UPDATE_ATIME];

	(void)state;
	ab.updates[PIPE_ANONYMOUS][UPDATE_ATIME] = known(107, 0);
	estimate_all(all_paid, &ab, "", &burst, "", &all);
	assert_true(e->whole.known);
	assert_false(e->undivided);
	assert_close(e->whole.seconds, 117);
	assert_close(e->whole.error_seconds, 5); /* of 3 and 4 */
	assert_close(e->stages[COST_UPDATE].seconds, 107);
	assert_close(e->stages[COST_INODE].seconds, 10);
	assert_false(e->stages[COST_SUPERBLOCK].known);
	assert_close(e->by[COST_BURST].seconds, 110);
	assert_close(e->by[COST_AB].seconds, 107);
	assert_int_equal(e->agreement, COST_AGREE);
}

/* A burst that sees more than A/B does: beyond the errors that is no noise. */
static void test_disagreement(void **state)
{
	const struct burst_result burst = burst_of_reads();
	struct ab ab = {};
	struct estimates all;
	const struct cost_estimate *e = &all.updates[PIPE_ANONYMOUS][UPDATE_ATIME];

	(void)state;
	ab.updates[PIPE_ANONYMOUS][UPDATE_ATIME] = known(89, 0);
	estimate_all(all_paid, &ab, "", &burst, "", &all);
	assert_int_equal(e->agreement, COST_AGREE); /* 11 under, of 3 times 4 */
	assert_close(e->whole.seconds, 110);
	ab.updates[PIPE_ANONYMOUS][UPDATE_ATIME] = known(87, 0);
	estimate_all(all_paid, &ab, "", &burst, "", &all);
	assert_int_equal(e->agreement, COST_DISAGREE);
	ab.updates[PIPE_ANONYMOUS][UPDATE_ATIME] = known(250, 0);
	estimate_all(all_paid, &ab, "", &burst, "", &all);
	assert_int_equal(e->agreement, COST_DISAGREE);
}

/* What A/B sees beyond a write's function is the superblock; without A/B only the call is put back.
 */
static void test_writes(void **state)
{
	struct burst_result burst = burst_of_reads();
	struct ab ab = {};
	struct estimates all;
	const struct cost_estimate *fifo = &all.updates[PIPE_FIFO][UPDATE_CMTIME];
	const struct cost_estimate *anonymous = &all.updates[PIPE_ANONYMOUS][UPDATE_CMTIME];

	(void)state;
	ab.updates[PIPE_ANONYMOUS][UPDATE_ATIME] = known(107, 0);
	ab.updates[PIPE_FIFO][UPDATE_CMTIME] = known(150, 1);
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		burst.others[pipe][UPDATE_CMTIME][COST_UPDATE].cost = known(120, 0);
		burst.own[pipe][UPDATE_CMTIME][COST_UPDATE].cost = known(125, 0);
	}
	estimate_all(all_paid, &ab, "", &burst, "", &all);
	assert_close(fifo->stages[COST_UPDATE].seconds, 120);
	assert_close(fifo->stages[COST_SUPERBLOCK].seconds, 25);
	assert_close(fifo->whole.seconds, 145);
	assert_int_equal(fifo->agreement, COST_AGREE);

	assert_close(anonymous->whole.seconds, 127);
	assert_false(anonymous->stages[COST_SUPERBLOCK].known);
	assert_true(anonymous->stages[COST_SUPERBLOCK].reason[0]);
	assert_int_equal(anonymous->agreement, COST_SINGLE);
}

static void test_idle_host(void **state)
{
	struct burst_result burst = burst_of_reads();
	struct estimates all;
	const struct cost_estimate *e = &all.updates[PIPE_ANONYMOUS][UPDATE_ATIME];

	(void)state;
	burst.others[PIPE_ANONYMOUS][UPDATE_ATIME][COST_UPDATE].cost =
		(struct cost_figure){ .reason = "Too few calls." };
	estimate_all(all_paid, NULL, "No pipe.", &burst, "", &all);
	assert_close(e->whole.seconds, 100);
	assert_close(e->by[COST_BURST].seconds, 100);
	assert_string_equal(e->by[COST_AB].reason, "No pipe.");
	assert_int_equal(e->agreement, COST_SINGLE);
}

static void test_without_burst(void **state)
{
	struct ab ab = {};
	struct estimates all;
	const struct cost_estimate *e = &all.updates[PIPE_FIFO][UPDATE_ATIME];

	(void)state;
	ab.updates[PIPE_FIFO][UPDATE_ATIME] = known(80, 2);
	estimate_all(all_paid, &ab, "", NULL, "Not permitted.", &all);
	assert_true(e->undivided);
	assert_close(e->whole.seconds, 80);
	assert_close(e->whole.error_seconds, 2);
	assert_string_equal(e->by[COST_BURST].reason, "Not permitted.");
	for (int stage = 0; stage < COST_STAGES; stage++) {
		assert_false(e->stages[stage].known);
		assert_string_equal(e->stages[stage].reason, "Only the whole is known, from A/B.");
	}

	/* One that has timed nothing of the kind is as good as none. */
	estimate_all(all_paid, &ab, "", &(struct burst_result){}, "", &all);
	assert_true(e->undivided);
	assert_close(e->whole.seconds, 80);
	assert_int_equal(e->agreement, COST_SINGLE);

	estimate_all(all_paid, NULL, "No pipe.", NULL, "Not permitted.", &all);
	assert_false(e->whole.known);
	assert_string_equal(e->whole.reason, "No pipe.");
}

static void test_nothing_is_paid(void **state)
{
	const enum path_state none[PIPE_KINDS][UPDATE_KINDS] = {
		{ PATH_REMOVED, PATH_UNKNOWN, PATH_REMOVED },
	};
	struct ab ab = {};
	struct estimates all;

	(void)state;
	ab.updates[PIPE_ANONYMOUS][UPDATE_ATIME] = known(80, 2);
	estimate_all(none, &ab, "", NULL, "", &all);
	assert_false(all.updates[PIPE_ANONYMOUS][UPDATE_ATIME].whole.known);
	assert_string_equal(all.updates[PIPE_ANONYMOUS][UPDATE_ATIME].whole.reason,
			    "This kernel makes no such update.");
	assert_string_equal(all.updates[PIPE_ANONYMOUS][UPDATE_CMTIME].whole.reason,
			    "Whether this kernel pays is not known.");
}

static void test_samples(void **state)
{
	struct ab ab = {};
	struct estimates all;
	struct cost_estimate *e = &all.updates[PIPE_FIFO][UPDATE_ATIME];

	(void)state;
	ab.updates[PIPE_FIFO][UPDATE_ATIME] = known(80, 0);
	estimate_all(all_paid, &ab, "", NULL, "", &all);
	estimate_check_samples(e, 8000, 100, 24);
	assert_false(e->by[COST_SAMPLE].known);
	assert_int_equal(e->agreement, COST_SINGLE);

	estimate_check_samples(e, 10000, 100, 100); /* 100, to 10 */
	assert_close(e->by[COST_SAMPLE].seconds, 100);
	assert_close(e->by[COST_SAMPLE].error_seconds, 10);
	assert_int_equal(e->agreement, COST_AGREE);
	estimate_check_samples(e, 12000, 100, 100); /* 120, to 12 */
	assert_int_equal(e->agreement, COST_DISAGREE);
	assert_close(e->whole.seconds, 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blind_part_is_added),
		cmocka_unit_test(test_disagreement),
		cmocka_unit_test(test_writes),
		cmocka_unit_test(test_idle_host),
		cmocka_unit_test(test_without_burst),
		cmocka_unit_test(test_nothing_is_paid),
		cmocka_unit_test(test_samples),
	};

	return cmocka_run_group_tests_name("estimate", tests, NULL, NULL);
}
