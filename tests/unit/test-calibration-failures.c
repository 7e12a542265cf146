// SPDX-License-Identifier: GPL-2.0-or-later
/* What fails, is given up, or is not wanted any more. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "burst-mock.h"
#include "calibration.h"
#include "pipewatch/util.h"

static const char *burst_reason(const struct calibration *c)
{
	return atime(c)->by[COST_BURST].reason;
}

static void assert_ab_only(const struct calibration *c, const char *reason)
{
	assert_ns(&atime(c)->whole, 100);
	assert_true(atime(c)->undivided);
	assert_string_equal(burst_reason(c), reason);
}

static void test_bursts_are_forbidden(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with("BPF is forbidden.");

	(void)state;
	assert_int_equal(the.measured, 1);
	the.ab.updates[PIPE_ANONYMOUS][UPDATE_ATIME] = figure(200);
	step(c, START, 10000 * MSEC, true);
	assert_int_equal(the.measured, 2);
	assert_ns(&atime(c)->whole, 200);
	step(c, START + MINUTE - 1, 10000 * MSEC, false);
	the.ab.updates[PIPE_ANONYMOUS][UPDATE_ATIME] = figure(100);
	step(c, START + MINUTE, 10000 * MSEC, true);
	assert_int_equal(the.measured, 3);
	assert_ab_only(c, "BPF is forbidden.");
	assert_int_equal(the.loads, 0);
}

/* Takes the time of the loop only to look. */
static void test_loading_is_waited_for(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with(NULL);

	(void)state;
	the.loaded = -EAGAIN;
	for (int i = 0; i < 70; i++)
		step(c, START + i * 100 * MSEC, 100 * MSEC, false);
	assert_int_equal(the.loads, 1);
	assert_int_equal(the.measured, 1);
	the.loaded = 0;
	step(c, START + 7000 * MSEC, 0, false);
	assert_int_equal(the.threads, 0);
	assert_int_equal(the.measured, 2);
	assert_int_equal(the.begun, 0);
	the.begin_error = -EBUSY;
	step(c, START + 7030 * MSEC, 20 * MSEC, false);
	step(c, START + 7050 * MSEC, 20 * MSEC, false);
	assert_int_equal(the.begun, 0);
	the.begin_error = 0;
	step(c, START + 7070 * MSEC, 20 * MSEC, false);
	assert_int_equal(the.begun, 1);
	the.ready = 1;
	window_whole(c, START + 7100 * MSEC);
	assert_ns(&atime(c)->whole, 120);
	/* Of programs that are attached for loading nobody knows what they cost. */
	assert_seconds(calibration_attached_seconds(c), 0.26);
	assert_int_equal(the.measured, 2);
}

static void test_a_clock_that_is_too_slow(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with(NULL);
	uint64_t now = START;

	(void)state;
	the.loaded = -EOPNOTSUPP;
	step(c, now, 100 * MSEC, false);
	step(c, now, 0, false);
	step(c, now, 10000 * MSEC, true);
	assert_ab_only(c, "The clock is too slow.");
	for (int i = 0; i < 100; i++)
		step(c, now += MINUTE, 10000 * MSEC, true);
	/* That is no other clock. */
	the.frequency = "4000000\n";
	step(c, now += 1000 * MSEC, 10000 * MSEC, true);
	assert_int_equal(the.loads, 1);
	assert_int_equal(the.threads, 0);
	assert_ab_only(c, "The clock is too slow.");

	the.loaded = 0;
	the.clocksource = "hpet\n";
	burst_whole(c, now + 2000 * MSEC);
	assert_int_equal(the.loads, 2);
	assert_ns(&atime(c)->whole, 120);
}

/* With another clock programs are to be calibrated again; with a slow one they are of no use. */
static void test_a_clock_that_becomes_too_slow(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with(NULL);

	(void)state;
	burst_whole(c, START);
	assert_ns(&atime(c)->whole, 120);
	the.loaded = -EOPNOTSUPP;
	the.clocksource = "hpet\n";
	step(c, START + 1000 * MSEC, 100 * MSEC, false);
	assert_int_equal(the.alive, 0);
	step(c, START + 1100 * MSEC, 0, false);
	step(c, START + 1101 * MSEC, 10000 * MSEC, true);
	assert_ab_only(c, "The clock is too slow.");
	assert_seconds(calibration_pair_seconds(c), 0);
}

#define NO_MEMORY "The last burst failed: Cannot allocate memory."
#define CHILD_ENDED \
	"The last burst failed: the process that attaches for it was killed, or gave up."

/* In whatever phase, it is tried again after ten intervals, with programs that are loaded anew. */
static void test_a_burst_that_fails(void **state)
{
	const struct {
		int *error;
		unsigned int steps; /* before the one that fails */
		const char *reason;
		double attached_seconds;
		int value;
	} cases[] = {
		{ &the.thread_error, 0, NO_MEMORY, 0, -ENOMEM },
		{ &the.loaded, 1, "The clock is too slow.", 0, -ENOMEM },
		{ &the.begin_error, 2, NO_MEMORY, 0, -ENOMEM },
		{ &the.ready, 3, NO_MEMORY, 0.04, -ENOMEM },
		{ &the.stimulate_error, 3, NO_MEMORY, 0.04, -ENOMEM },
		{ &the.stimulate_error, 7, NO_MEMORY, 0.12, -ENOMEM },
		{ &the.end_error, 13, NO_MEMORY, 0.24, -ENOMEM },
		{ &the.ready, 3, CHILD_ENDED, 0.04, -ECHILD },
		{ &the.end_error, 13, CHILD_ENDED, 0.24, -ECHILD },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(calibration_freep) struct calibration *c = NULL;
		uint64_t now = START;
		bool changed = false;

		reset(state);
		c = calibration_with(NULL);
		the.ready = 1;
		for (unsigned int n = 0; n < cases[i].steps; n++)
			now += calibration_step(c, now, &changed);
		assert_false(changed);
		*cases[i].error = cases[i].value;
		/* It may want to be called again at once. */
		for (int n = 0; n < 2 && !changed; n++)
			now += calibration_step(c, now, &changed);
		assert_true(changed);
		assert_int_equal(the.threads, 0);
		assert_int_equal(the.cancelled, cases[i].attached_seconds > 0);
		assert_ab_only(c, cases[i].reason);
		assert_seconds(calibration_attached_seconds(c), cases[i].attached_seconds);

		*cases[i].error = 0;
		the.ready = the.measured = the.begun = the.loads = 0;
		for (int n = 0; n < 9; n++)
			step(c, now += MINUTE, 10000 * MSEC, true);
		assert_int_equal(the.measured, 9);
		assert_int_equal(the.begun, 0);
		assert_int_equal(the.loads, 0);
		assert_ab_only(c, cases[i].reason);
		burst_attaches(c, now += MINUTE, true);
		/* It is told as it is until one ends well. */
		assert_ab_only(c, cases[i].reason);
		the.ready = 1;
		window_whole(c, now + 20 * MSEC);
		assert_ns(&atime(c)->whole, 120);
		burst_attaches(c, now + 220 * MSEC + MINUTE, false);
	}
}

/* Also where what the burst took has put off whatever comes next. */
static void test_a_failure_is_told_at_once(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with(NULL);

	(void)state;
	burst_attaches(c, START, true);
	the.ready = -ECHILD;
	step(c, START + 20 * MSEC, 0, false);
	calibration_set_interval(c, 86400);
	step(c, START + 20 * MSEC, 10000 * MSEC, false);
	assert_ab_only(c, CHILD_ENDED);
}

static void test_it_is_retried_by_the_interval(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with(NULL);
	const uint64_t due = START + 59 * MINUTE;

	(void)state;
	calibration_set_interval(c, 3600);
	the.thread_error = -EAGAIN;
	step(c, due, 0, false);
	step(c, due, 10000 * MSEC, true);
	the.thread_error = 0;
	step(c, due + 600 * MINUTE - 1, 10000 * MSEC, true);
	assert_int_equal(the.loads, 0);
	step(c, due + 660 * MINUTE, 100 * MSEC, false);
	assert_int_equal(the.loads, 1);
}

/* What was timed before is still the best that is known. */
static void test_a_later_failure_keeps_the_last_result(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with(NULL);

	(void)state;
	burst_whole(c, START);
	the.begin_error = -EAGAIN;
	step(c, START + 2 * MINUTE, 0, false);
	step(c, START + 2 * MINUTE, 0, false);
	step(c, START + 2 * MINUTE, 10000 * MSEC, true);
	assert_ns(&atime(c)->whole, 120);
	assert_int_equal(atime(c)->agreement, COST_AGREE);
}

static void test_pause(void **state)
{
	const struct {
		unsigned int steps, loads, begun;
		double attached_seconds;
	} cases[] = {
		{ 0, 1, 0, 0 }, { 1, 1, 0, 0 },	   { 2, 1, 0, 0 },
		{ 3, 1, 1, 0 }, { 4, 1, 1, 0.04 }, { 5, 1, 1, 0.06 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(calibration_freep) struct calibration *c = NULL;
		uint64_t now = START;
		bool changed;

		reset(state);
		c = calibration_with(NULL);
		the.ready = 1;
		for (unsigned int n = 0; n < cases[i].steps; n++)
			now += calibration_step(c, now, &changed);
		assert_int_equal(the.begun, cases[i].begun);
		calibration_pause(c);
		calibration_pause(c);
		assert_int_equal(the.ended, 0);
		assert_int_equal(the.stopped, cases[i].steps == 1);
		assert_int_equal(the.cancelled, cases[i].begun);
		assert_string_equal(burst_reason(c), "No burst has ended yet.");
		/* Until it stopped it was attached, and takes as long again to detach. */
		assert_seconds(calibration_attached_seconds(c), cases[i].attached_seconds);
		/* It is as due as it was. */
		the.ready = 0;
		now += MINUTE;
		if (cases[i].steps <= 1)
			step(c, now, 100 * MSEC, false);
		step(c, now, 0, false);
		step(c, now, 20 * MSEC, false);
		assert_int_equal(the.begun, cases[i].begun + 1);
		assert_int_equal(the.loads, cases[i].loads);
	}
}

/* However often modes change, there is one thread at most. */
static void test_pause_while_loading(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with(NULL);
	uint64_t now = START;

	(void)state;
	the.loaded = -EAGAIN;
	for (int i = 0; i < 1000; i++) {
		step(c, now += MSEC, 100 * MSEC, false);
		calibration_pause(c);
	}
	assert_int_equal(the.loads, 1);
	step(c, now += MSEC, 100 * MSEC, false);
	step(c, now += MSEC, 100 * MSEC, false);
	the.loaded = -ECANCELED;
	step(c, now += MSEC, 0, false);
	assert_int_equal(the.threads, 0);
	the.loaded = 0;
	burst_attaches(c, now, true);
	assert_string_equal(burst_reason(c), "No burst has ended yet.");
}

static void test_what_is_forbidden_is_ended(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with(NULL);

	(void)state;
	burst_attaches(c, START, true);
	calibration_set_bursts(c, "Counting is refused.");
	assert_int_equal(the.cancelled, 1);
	assert_ab_only(c, "Counting is refused.");
	step(c, START + 20 * MSEC, 10000 * MSEC, true);
	assert_int_equal(the.begun, 1);
}

static void test_a_change_of_the_host_outlives_a_pause(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with(NULL);

	(void)state;
	burst_whole(c, START);
	the.ready = 0;
	the.frequency = "2000000\n";
	burst_attaches(c, START + 1000 * MSEC, false);
	calibration_pause(c);
	burst_attaches(c, START + 2000 * MSEC, false);
	assert_int_equal(the.begun, 3);
}

static void test_free_at_any_time(void **state)
{
	for (unsigned int steps = 0; steps <= 13; steps++) {
		struct calibration *c;
		uint64_t now = START;
		bool changed;

		reset(state);
		c = calibration_with(NULL);
		the.ready = 1;
		for (unsigned int n = 0; n < steps; n++)
			now += calibration_step(c, now, &changed);
		assert_int_equal(the.threads, steps == 1);
		assert_int_equal(the.alive, steps > 1);
		assert_null(calibration_free(c));
		assert_int_equal(the.alive, 0);
		assert_int_equal(the.threads, 0);
	}
	assert_null(calibration_free(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_bursts_are_forbidden, reset),
		cmocka_unit_test_setup(test_loading_is_waited_for, reset),
		cmocka_unit_test_setup(test_a_clock_that_is_too_slow, reset),
		cmocka_unit_test_setup(test_a_clock_that_becomes_too_slow, reset),
		cmocka_unit_test_setup(test_a_burst_that_fails, reset),
		cmocka_unit_test_setup(test_a_failure_is_told_at_once, reset),
		cmocka_unit_test_setup(test_it_is_retried_by_the_interval, reset),
		cmocka_unit_test_setup(test_a_later_failure_keeps_the_last_result, reset),
		cmocka_unit_test_setup(test_pause, reset),
		cmocka_unit_test_setup(test_pause_while_loading, reset),
		cmocka_unit_test_setup(test_what_is_forbidden_is_ended, reset),
		cmocka_unit_test_setup(test_a_change_of_the_host_outlives_a_pause, reset),
		cmocka_unit_test_setup(test_free_at_any_time, reset),
	};

	return cmocka_run_group_tests_name("calibration-failures", tests, NULL, NULL);
}
