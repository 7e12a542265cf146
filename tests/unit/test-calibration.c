// SPDX-License-Identifier: GPL-2.0-or-later
/* The order of things, with bursts, A/B and a clock of our own. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ab.h"
#include "burst.h"
#include "calibration.h"
#include "util.h"

#define MSEC   UINT64_C(1000)
#define MINUTE UINT64_C(60000000)
#define START  UINT64_C(5000000000)

struct burst {
	int new_error, begin_error, ready, stimulate_error, end_error;
	int alive;
	unsigned int begun, stimulated, ended, measured;
	int ab_error;
	const char *clocksource, *frequency; /* what the kernel says */
	struct burst_result result;
	struct ab ab;
};

static struct burst the;

static void unknown_all(struct burst_stage stages[PIPE_KINDS][UPDATE_KINDS][COST_STAGES])
{
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++)
			for (int stage = 0; stage < COST_STAGES; stage++)
				cost_figure_unknown(&stages[pipe][kind][stage].cost,
						    "Nothing was timed.");
}

static struct cost_figure figure(double ns)
{
	return (struct cost_figure){ .known = true,
				     .seconds = ns / 1e9,
				     .error_seconds = ns / 1e11 };
}

/* A/B says 100 ns, and a burst 90 of our own pipe and @others_ns of that of others. */
static void say_burst(double others_ns)
{
	unknown_all(the.result.own);
	unknown_all(the.result.others);
	the.result.own[PIPE_ANONYMOUS][UPDATE_ATIME][COST_UPDATE].cost = figure(90);
	the.result.others[PIPE_ANONYMOUS][UPDATE_ATIME][COST_UPDATE].cost = figure(others_ns);
}

static int reset(void **state)
{
	(void)state;
	memset(&the, 0, sizeof(the));
	the.clocksource = "tsc\n";
	the.frequency = "3000000\n";
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++)
			cost_figure_unknown(&the.ab.updates[pipe][kind], "Nothing switches it.");
	the.ab.updates[PIPE_ANONYMOUS][UPDATE_ATIME] = figure(100);
	say_burst(110);
	return 0;
}

int burst_new(const char *const *directories, char *ret_reason, size_t size,
	      struct burst **ret_burst)
{
	assert_string_equal(directories[0], "/run");
	if (the.new_error < 0) {
		snprintf(ret_reason, size, "The clock is too slow.");
		return the.new_error;
	}
	the.alive++;
	*ret_burst = &the;
	return 0;
}

struct burst *burst_free(struct burst *b)
{
	if (b)
		b->alive--;
	return NULL;
}

int burst_begin(struct burst *b)
{
	b->begun++;
	return b->begin_error;
}

int burst_ready(struct burst *b)
{
	return b->ready;
}

int burst_stimulate(struct burst *b)
{
	b->stimulated++;
	return b->stimulate_error;
}

int burst_end(struct burst *b, struct burst_result *ret)
{
	b->ended++;
	if (b->end_error == 0)
		*ret = b->result;
	return b->end_error;
}

int ab_measure(const char *const *directories, unsigned int duration_usec,
	       const enum path_state paths[PIPE_KINDS][UPDATE_KINDS], struct ab *ret)
{
	(void)directories;
	(void)paths;
	assert_int_equal(duration_usec, 20000);
	the.measured++;
	if (the.ab_error == 0)
		*ret = the.ab;
	return the.ab_error;
}

/* In place of libc's: the only files that are read here. */
FILE *fopen(const char *path, const char *mode)
{
	const char *text = NULL;

	(void)mode;
	if (strstr(path, "/current_clocksource"))
		text = the.clocksource;
	else if (strstr(path, "/scaling_max_freq"))
		text = the.frequency;
	else
		fail_msg("%s is read", path);
	if (!text)
		errno = ENOENT;
	return text ? fmemopen((char *)text, strlen(text), "r") : NULL;
}

static struct calibration *calibration_with(const char *no_burst_reason)
{
	static const char *const directories[] = { "/run", NULL };
	enum path_state paths[PIPE_KINDS][UPDATE_KINDS];
	struct calibration *c = NULL;

	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++)
			paths[pipe][kind] = PATH_PAID;
	assert_int_equal(calibration_new(paths, directories, no_burst_reason, &c), 0);
	assert_non_null(c);
	return c;
}

static const struct cost_estimate *atime(const struct calibration *c)
{
	return &calibration_estimates(c)->updates[PIPE_ANONYMOUS][UPDATE_ATIME];
}

static void assert_ns(const struct cost_figure *f, double ns)
{
	assert_true(f->known);
	assert_float_equal(f->seconds * 1e9, ns, 1e-6);
}

/* What the step says: when to come again, and whether there is something new. */
static void step(struct calibration *c, uint64_t now_usec, uint64_t next_usec, bool changed)
{
	bool got = !changed;

	assert_int_equal(calibration_step(c, now_usec, &got), next_usec);
	assert_int_equal(got, changed);
}

/* From before a burst to its end, @now_usec being when its window opens. */
static void burst_whole(struct calibration *c, uint64_t now_usec)
{
	the.ready = 0;
	step(c, now_usec - 20 * MSEC, 20 * MSEC, false);
	the.ready = 1;
	step(c, now_usec, 20 * MSEC, false);
	step(c, now_usec + 200 * MSEC, 10000 * MSEC, true);
}

static void test_at_the_start_there_is_ab(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with(NULL);
	uint64_t usec;

	(void)state;
	assert_int_equal(the.measured, 1);
	assert_int_equal(the.begun, 0);
	assert_ns(&atime(c)->whole, 100);
	assert_true(atime(c)->undivided);
	assert_int_equal(atime(c)->agreement, COST_SINGLE);
	assert_string_equal(atime(c)->by[COST_BURST].reason, "No burst has ended yet.");
	assert_true(calibration_reattaches(c));
	assert_int_equal(calibration_bursts(c, &usec), 0);
	assert_int_equal(usec, 0);
}

static void test_a_window_opens_and_closes(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with(NULL);
	uint64_t usec;

	(void)state;
	step(c, START, 20 * MSEC, false);
	assert_int_equal(the.begun, 1);
	assert_int_equal(the.measured, 2);
	/* Programs are being attached: nothing to time yet. */
	step(c, START + 20 * MSEC, 20 * MSEC, false);
	step(c, START + 40 * MSEC, 20 * MSEC, false);
	assert_int_equal(the.stimulated, 0);
	the.ready = 1;
	step(c, START + 60 * MSEC, 20 * MSEC, false);
	assert_int_equal(the.stimulated, 1);
	step(c, START + 80 * MSEC, 20 * MSEC, false);
	step(c, START + 240 * MSEC, 20 * MSEC, false);
	step(c, START + 259 * MSEC, 1 * MSEC, false);
	assert_int_equal(the.stimulated, 4);
	assert_int_equal(the.ended, 0);
	step(c, START + 261 * MSEC, 10000 * MSEC, true);
	assert_int_equal(the.stimulated, 4);
	assert_int_equal(the.ended, 1);
	assert_int_equal(the.begun, 1);
	assert_int_equal(the.measured, 2);
	assert_int_equal(calibration_bursts(c, &usec), 1);
	assert_int_equal(usec, 201 * MSEC);

	/* 110 of others, and the 10 that A/B has beyond the burst on our own pipe. */
	assert_ns(&atime(c)->whole, 120);
	assert_false(atime(c)->undivided);
	assert_int_equal(atime(c)->agreement, COST_AGREE);
}

/* A busy machine starves a measurement now and then. */
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
	uint64_t usec;

	(void)state;
	burst_whole(c, START);
	step(c, end + 10000 * MSEC, 10000 * MSEC, false);
	step(c, end + MINUTE - 1, 10000 * MSEC, false);
	assert_int_equal(the.begun, 1);
	assert_int_equal(the.measured, 2);

	say_burst(130);
	the.ready = 0;
	step(c, end + MINUTE, 20 * MSEC, false);
	assert_int_equal(the.begun, 2);
	assert_int_equal(the.measured, 3);
	assert_ns(&atime(c)->whole, 120);
	the.ready = 1;
	step(c, end + MINUTE + 20 * MSEC, 20 * MSEC, false);
	step(c, end + MINUTE + 220 * MSEC, 10000 * MSEC, true);
	assert_ns(&atime(c)->whole, 140);
	assert_int_equal(calibration_bursts(c, &usec), 2);
	assert_int_equal(usec, 400 * MSEC);
}

static void test_a_change_of_the_host_is_not_waited_for(void **state)
{
	const struct {
		const char *clocksource, *frequency;
		bool changed;
	} cases[] = {
		{ "tsc\n", "3000000\n", false }, { "tsc\n", "2700000\n", false },
		{ "tsc\n", "3300000\n", false }, { "tsc\n", "2699999\n", true },
		{ "tsc\n", "3300001\n", true },	 { "hpet\n", "3000000\n", true },
		{ NULL, "3000000\n", true },	 { "tsc\n", NULL, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(calibration_freep) struct calibration *c = NULL;

		reset(state);
		c = calibration_with(NULL);
		burst_whole(c, START);
		the.clocksource = cases[i].clocksource;
		the.frequency = cases[i].frequency;
		the.ready = 0;
		step(c, START + 1000 * MSEC, (cases[i].changed ? 20 : 10000) * MSEC, false);
		assert_int_equal(the.begun, cases[i].changed ? 2 : 1);
		/* Once is enough. */
		the.ready = 1;
		if (cases[i].changed) {
			step(c, START + 1100 * MSEC, 20 * MSEC, false);
			step(c, START + 1300 * MSEC, 10000 * MSEC, true);
		}
		step(c, START + 2000 * MSEC, 10000 * MSEC, false);
		assert_int_equal(the.begun, cases[i].changed ? 2 : 1);
	}
}

/* Many small changes are a large one in the end. */
static void test_a_frequency_that_creeps(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with(NULL);

	(void)state;
	burst_whole(c, START);
	the.ready = 0;
	the.frequency = "2800000\n";
	step(c, START + 1000 * MSEC, 10000 * MSEC, false);
	the.frequency = "2600000\n";
	step(c, START + 2000 * MSEC, 20 * MSEC, false);
	assert_int_equal(the.begun, 2);
}

static void assert_ab_only(const struct calibration *c, const char *reason)
{
	assert_false(calibration_reattaches(c));
	assert_ns(&atime(c)->whole, 100);
	assert_true(atime(c)->undivided);
	assert_string_equal(atime(c)->by[COST_BURST].reason, reason);
}

static void test_without_bursts(void **state)
{
	const char *const reasons[] = { "BPF is forbidden.", NULL };

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		_cleanup_(calibration_freep) struct calibration *c = NULL;
		const char *reason = reasons[i] ? reasons[i] : "The clock is too slow.";

		reset(state);
		the.new_error = -EOPNOTSUPP;
		c = calibration_with(reasons[i]);
		/* Whether the clock will do is found out by the first burst. */
		assert_int_equal(calibration_reattaches(c), !reasons[i]);
		assert_int_equal(the.measured, 1);
		the.ab.updates[PIPE_ANONYMOUS][UPDATE_ATIME] = figure(200);
		step(c, START, 10000 * MSEC, true);
		assert_int_equal(the.measured, 2);
		assert_ns(&atime(c)->whole, 200);
		step(c, START + MINUTE - 1, 10000 * MSEC, false);
		the.ab.updates[PIPE_ANONYMOUS][UPDATE_ATIME] = figure(100);
		step(c, START + MINUTE, 10000 * MSEC, true);
		assert_int_equal(the.measured, 3);
		assert_ab_only(c, reason);
		assert_int_equal(the.begun, 0);
	}
}

static void test_a_burst_that_fails_leaves_ab(void **state)
{
	const struct {
		int *error;
		unsigned int steps; /* before the one that fails */
	} cases[] = { { &the.begin_error, 0 },
		      { &the.ready, 1 },
		      { &the.stimulate_error, 1 },
		      { &the.stimulate_error, 5 },
		      { &the.end_error, 11 } };

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
		*cases[i].error = -ENOMEM;
		/* It may want to be called again at once. */
		for (int n = 0; n < 2 && !changed; n++)
			now += calibration_step(c, now, &changed);
		assert_true(changed);
		assert_int_equal(the.alive, 0);
		assert_ab_only(c, "The last burst failed: Cannot allocate memory.");

		the.measured = 0;
		step(c, now + MINUTE, 10000 * MSEC, true);
		assert_int_equal(the.measured, 1);
		assert_int_equal(the.begun, 1);
		assert_ab_only(c, "The last burst failed: Cannot allocate memory.");
	}
}

/* What was timed before is still the best that is known. */
static void test_a_later_failure_keeps_the_last_result(void **state)
{
	_cleanup_(calibration_freep) struct calibration *c = calibration_with(NULL);

	(void)state;
	burst_whole(c, START);
	the.begin_error = -EAGAIN;
	step(c, START + 2 * MINUTE, 10000 * MSEC, true);
	assert_int_equal(the.alive, 0);
	assert_ns(&atime(c)->whole, 120);
	assert_false(calibration_reattaches(c));
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

static void test_free_in_a_window(void **state)
{
	struct calibration *c = calibration_with(NULL);

	(void)state;
	step(c, START, 20 * MSEC, false);
	the.ready = 1;
	step(c, START + 20 * MSEC, 20 * MSEC, false);
	assert_int_equal(the.alive, 1);
	assert_null(calibration_free(c));
	assert_int_equal(the.alive, 0);
	assert_null(calibration_free(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_at_the_start_there_is_ab, reset),
		cmocka_unit_test_setup(test_a_window_opens_and_closes, reset),
		cmocka_unit_test_setup(test_a_figure_outlives_a_failed_round, reset),
		cmocka_unit_test_setup(test_a_burst_a_minute, reset),
		cmocka_unit_test_setup(test_a_change_of_the_host_is_not_waited_for, reset),
		cmocka_unit_test_setup(test_a_frequency_that_creeps, reset),
		cmocka_unit_test_setup(test_without_bursts, reset),
		cmocka_unit_test_setup(test_a_burst_that_fails_leaves_ab, reset),
		cmocka_unit_test_setup(test_a_later_failure_keeps_the_last_result, reset),
		cmocka_unit_test_setup(test_without_ab, reset),
		cmocka_unit_test_setup(test_free_in_a_window, reset),
	};

	return cmocka_run_group_tests_name("calibration", tests, NULL, NULL);
}
