// SPDX-License-Identifier: GPL-2.0-or-later
/* The order of things. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "burst-mock.h"
#include "calibration.h"
#include "pipewatch/util.h"

static void test_at_the_start_there_is_ab(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with(NULL);

	(void)state;
	assert_int_equal(the.measured, 1);
	assert_int_equal(the.begun, 0);
	assert_ns(&atime(c)->whole, 100);
	assert_true(atime(c)->undivided);
	assert_int_equal(atime(c)->agreement, COST_SINGLE);
	assert_string_equal(atime(c)->by[COST_BURST].reason, "No burst has ended yet.");
	assert_seconds(calibration_attached_seconds(c), 0);
	assert_seconds(calibration_pair_seconds(c), 0);
	/* Not before a minute is over. */
	step(c, DUE - 1, 10000 * MSEC, false);
	assert_int_equal(the.measured, 1);
	assert_int_equal(the.begun, 0);
}

static void test_nothing_bursts_before_it_is_told(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_new_only();

	(void)state;
	assert_string_equal(atime(c)->by[COST_BURST].reason, "There are no bursts.");
	step(c, START, 10000 * MSEC, true);
	assert_int_equal(the.measured, 2);
	calibration_set_bursts(c, "Counting is refused.");
	assert_string_equal(atime(c)->by[COST_BURST].reason, "Counting is refused.");
	step(c, START + MINUTE, 10000 * MSEC, true);
	assert_int_equal(the.begun, 0);
	calibration_set_bursts(c, NULL);
	assert_string_equal(atime(c)->by[COST_BURST].reason, "No burst has ended yet.");
	burst_whole(c, START + 2 * MINUTE + 20 * MSEC);
	assert_int_equal(the.begun, 1);
	assert_ns(&atime(c)->whole, 120);
	/* What was timed is known still. */
	calibration_set_bursts(c, "Counting is refused.");
	assert_ns(&atime(c)->whole, 120);
	step(c, START + 4 * MINUTE, 10000 * MSEC, true);
	assert_int_equal(the.begun, 1);
}

static void test_a_window_opens_and_closes(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with(NULL);

	(void)state;
	burst_attaches(c, START, true);
	assert_int_equal(the.begun, 1);
	assert_int_equal(the.measured, 2);
	/* Programs are being attached: nothing to time yet. */
	step(c, START + 20 * MSEC, 20 * MSEC, false);
	step(c, START + 40 * MSEC, 20 * MSEC, false);
	assert_int_equal(the.stimulated, 0);
	the.ready = 1;
	step(c, START + 60 * MSEC, 20 * MSEC, false);
	assert_int_equal(the.stimulated, 1);
	for (int i = 80; i < 220; i += 20)
		step(c, START + i * MSEC, 20 * MSEC, false);
	step(c, START + 240 * MSEC, 20 * MSEC, false);
	step(c, START + 259 * MSEC, 1 * MSEC, false);
	assert_int_equal(the.stimulated, 10);
	assert_int_equal(the.ended, 0);
	step(c, START + 261 * MSEC, 10000 * MSEC, true);
	assert_int_equal(the.stimulated, 10);
	assert_int_equal(the.ended, 1);
	assert_int_equal(the.begun, 1);
	assert_int_equal(the.measured, 2);
	/* Detaching takes as long as the 60 ms of attaching. */
	assert_seconds(calibration_attached_seconds(c), 0.321);
	assert_seconds(calibration_pair_seconds(c), 5e-7);

	/* 110 of others, and the 10 that A/B has beyond the burst on our own pipe. */
	assert_ns(&atime(c)->whole, 120);
	assert_false(atime(c)->undivided);
	assert_int_equal(atime(c)->agreement, COST_AGREE);
}

/* On a busy machine a window of its length may see us run once. */
static void test_a_window_lasts_until_there_are_calls_enough(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with(NULL);

	(void)state;
	burst_attaches(c, START, true);
	the.ready = 1;
	for (unsigned int i = 1; i <= 8; i++) {
		step(c, START + i * 1000 * MSEC, 20 * MSEC, false);
		assert_int_equal(the.stimulated, i);
	}
	step(c, START + 9000 * MSEC, 10000 * MSEC, true);
	assert_int_equal(the.stimulated, 8);
	assert_int_equal(the.ended, 1);
}

/* Of loading, and of attaching by the burst that there is and by those before it. */
static void test_own_time(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with(NULL);

	(void)state;
	assert_seconds(calibration_loading_seconds(c), 0);
	assert_seconds(calibration_attaching_seconds(c), 0);
	burst_whole(c, START);
	assert_seconds(calibration_loading_seconds(c), 0.25);
	the.cpu_seconds = 0.5;
	assert_seconds(calibration_attaching_seconds(c), 0.5);
	calibration_unload(c);
	assert_seconds(calibration_attaching_seconds(c), 0.5);
	the.cpu_seconds = 0.125;
	burst_whole(c, START + 2 * MINUTE);
	assert_seconds(calibration_loading_seconds(c), 0.5);
	assert_seconds(calibration_attaching_seconds(c), 0.625);
}

static void test_a_figure_outlives_a_failed_round(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with("BPF is forbidden.");

	(void)state;
	the.ab.updates[PIPE_ANONYMOUS][UPDATE_ATIME] = (struct cost_figure){ .reason = "Starved." };
	step(c, START, 10000 * MSEC, true);
	assert_int_equal(the.measured, 2);
	assert_ns(&atime(c)->whole, 100);
}

static void test_a_burst_a_minute(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with(NULL);
	const uint64_t end = START + 200 * MSEC;

	(void)state;
	burst_whole(c, START);
	step(c, end + 10000 * MSEC, 10000 * MSEC, false);
	step(c, end + MINUTE - 1, 10000 * MSEC, false);
	assert_int_equal(the.begun, 1);
	assert_int_equal(the.measured, 2);

	say_burst(130);
	the.ready = 0;
	burst_attaches(c, end + MINUTE, false);
	assert_int_equal(the.begun, 2);
	assert_int_equal(the.measured, 3);
	assert_ns(&atime(c)->whole, 120);
	the.ready = 1;
	window_whole(c, end + MINUTE + 20 * MSEC);
	assert_ns(&atime(c)->whole, 140);
	assert_seconds(calibration_attached_seconds(c), 0.48);
}

static void test_the_interval(void **state)
{
	const struct {
		double seconds;
		uint64_t usec;
	} cases[] = { { 0, MINUTE },
		      { 59.9, MINUTE },
		      { 60, MINUTE },
		      { 90, 3 * MINUTE / 2 },
		      { 1e5, UINT64_C(100000000000) } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(calibration_freep) struct calibration *c = NULL;
		const uint64_t end = START + 200 * MSEC;

		reset(state);
		c = calibration_with(NULL);
		burst_whole(c, START);
		/* It holds for the one that is running already. */
		calibration_set_interval(c, 7);
		calibration_set_interval(c, cases[i].seconds);
		step(c, end + cases[i].usec - 1, 10000 * MSEC, false);
		assert_int_equal(the.begun, 1);
		the.ready = 0;
		burst_attaches(c, end + cases[i].usec, false);
		assert_int_equal(the.begun, 2);
	}
}

static void test_an_interval_beyond_all_numbers(void **state)
{
	const double cases[] = { INFINITY, NAN, 1e300, -1 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(calibration_freep) struct calibration *c = NULL;

		reset(state);
		c = calibration_with(NULL);
		burst_whole(c, START);
		calibration_set_interval(c, cases[i]);
		the.ready = 0;
		step(c, START + 200 * MSEC + MINUTE - 1, 10000 * MSEC, false);
		assert_int_equal(the.begun, 1);
	}
}

static void test_what_an_operation_costs(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with("BPF is forbidden.");
	struct cost_figure f;

	(void)state;
	calibration_operation(c, &f);
	assert_ns(&f, 1000);
	the.ab.reads[PIPE_ANONYMOUS] = figure(1500);
	step(c, START, 10000 * MSEC, true);
	calibration_operation(c, &f);
	assert_ns(&f, 1500);
	/* The last that is known. */
	the.ab_error = -EMFILE;
	step(c, START + MINUTE, 10000 * MSEC, true);
	calibration_operation(c, &f);
	assert_ns(&f, 1500);
}

static void test_a_frequency_that_creeps(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with(NULL);

	(void)state;
	burst_whole(c, START);
	the.ready = 0;
	the.frequency = "2800000\n";
	step(c, START + 1000 * MSEC, 10000 * MSEC, false);
	the.frequency = "2600000\n";
	burst_attaches(c, START + 2000 * MSEC, false);
	assert_int_equal(the.begun, 2);
}

static void test_a_change_of_the_host_is_not_waited_for(void **state)
{
	const struct {
		const char *clocksource, *frequency;
		bool changed, loads; /* programs are calibrated by a clock */
	} cases[] = {
		{ "tsc\n", "3000000\n", false, false }, { "tsc\n", "2700000\n", false, false },
		{ "tsc\n", "3300000\n", false, false }, { "tsc\n", "2699999\n", true, false },
		{ "tsc\n", "3300001\n", true, false },	{ "hpet\n", "3000000\n", true, true },
		{ NULL, "3000000\n", true, true },	{ "tsc\n", NULL, true, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(calibration_freep) struct calibration *c = NULL;

		reset(state);
		c = calibration_with(NULL);
		burst_whole(c, START);
		the.clocksource = cases[i].clocksource;
		the.frequency = cases[i].frequency;
		the.ready = 0;
		if (cases[i].changed)
			burst_attaches(c, START + 1000 * MSEC, cases[i].loads);
		else
			step(c, START + 1000 * MSEC, 10000 * MSEC, false);
		assert_int_equal(the.begun, cases[i].changed ? 2 : 1);
		/* Once is enough. */
		the.ready = 1;
		if (cases[i].changed)
			window_whole(c, START + 1100 * MSEC);
		step(c, START + 2000 * MSEC, 10000 * MSEC, false);
		assert_int_equal(the.begun, cases[i].changed ? 2 : 1);
	}
}

static void test_without_ab(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = NULL;

	(void)state;
	the.ab_error = -EMFILE;
	c = calibration_with(NULL);
	assert_false(atime(c)->whole.known);
	assert_string_equal(atime(c)->by[COST_AB].reason,
			    "No own pipe could be had: Too many open files.");
	burst_whole(c, START);
	assert_ns(&atime(c)->whole, 110);
	assert_int_equal(atime(c)->agreement, COST_SINGLE);
	/* It comes back. */
	the.ab_error = 0;
	burst_whole(c, START + 2 * MINUTE);
	assert_ns(&atime(c)->whole, 120);
	assert_int_equal(atime(c)->agreement, COST_AGREE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_at_the_start_there_is_ab, reset),
		cmocka_unit_test_setup(test_nothing_bursts_before_it_is_told, reset),
		cmocka_unit_test_setup(test_a_window_opens_and_closes, reset),
		cmocka_unit_test_setup(test_a_window_lasts_until_there_are_calls_enough, reset),
		cmocka_unit_test_setup(test_own_time, reset),
		cmocka_unit_test_setup(test_a_figure_outlives_a_failed_round, reset),
		cmocka_unit_test_setup(test_a_burst_a_minute, reset),
		cmocka_unit_test_setup(test_the_interval, reset),
		cmocka_unit_test_setup(test_an_interval_beyond_all_numbers, reset),
		cmocka_unit_test_setup(test_what_an_operation_costs, reset),
		cmocka_unit_test_setup(test_a_frequency_that_creeps, reset),
		cmocka_unit_test_setup(test_a_change_of_the_host_is_not_waited_for, reset),
		cmocka_unit_test_setup(test_without_ab, reset),
	};

	return cmocka_run_group_tests_name("calibration", tests, NULL, NULL);
}
