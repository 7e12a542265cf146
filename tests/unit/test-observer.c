// SPDX-License-Identifier: GPL-2.0-or-later
/* With a CPU time of our own. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "observer.h"
#include "pipewatch/util.h"

#define SECOND UINT64_C(1000000)

/* Microseconds, user and system. */
static struct {
	long self[2], children[2];
	int error;
} the_usage;

int getrusage(__rusage_who_t who, struct rusage *ret)
{
	const long *usec = who == RUSAGE_SELF ? the_usage.self : the_usage.children;

	if (the_usage.error) {
		errno = the_usage.error;
		return -1;
	}
	memset(ret, 0, sizeof(*ret));
	ret->ru_utime = (struct timeval){ usec[0] / 1000000, usec[0] % 1000000 };
	ret->ru_stime = (struct timeval){ usec[1] / 1000000, usec[1] % 1000000 };
	return 0;
}

static int setup(void **state)
{
	memset(&the_usage, 0, sizeof(the_usage));
	*state = observer_new();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	return observer_free(*state) ? -1 : 0;
}

static void assert_close(double actual, double expected)
{
	if (!(fabs(actual - expected) <= 1e-9))
		fail_msg("%.12g is not %.12g", actual, expected);
}

static struct cost_figure overhead(const struct observer *o)
{
	struct snapshot_observer s = {};

	observer_fill(o, &s);
	return s.overhead;
}

static void assert_unknown(const struct observer *o, const char *reason)
{
	struct cost_figure f = overhead(o);

	assert_false(f.known);
	assert_string_equal(f.reason, reason);
}

static void test_sums(void **state)
{
	struct observer *o = *state;
	struct snapshot_observer s = { .allowed = 7, .counting.seconds = 8 };

	the_usage.self[0] = 1250000;
	the_usage.self[1] = 2500000;
	the_usage.children[0] = 3;
	the_usage.children[1] = 4000000;
	observer_charge(o, OBSERVER_PROGRAMS, 0.5);
	observer_charge(o, OBSERVER_PROGRAMS, 0.25);
	observer_charge(o, OBSERVER_BURSTS, 2);
	observer_charge(o, OBSERVER_SAMPLING, 3);
	observer_look(o, 5 * SECOND);
	observer_fill(o, &s);
	assert_close(s.cpu_seconds[OBSERVER_PROGRAMS], 0.75);
	assert_close(s.cpu_seconds[OBSERVER_BURSTS], 2);
	assert_close(s.cpu_seconds[OBSERVER_SAMPLING], 3);
	assert_close(s.cpu_seconds[OBSERVER_DAEMON], 7.750003);
	/* What is not ours to fill. */
	assert_true(s.allowed == 7);
	assert_true(s.counting.seconds == 8);
}

static void test_never_falls(void **state)
{
	struct observer *o = *state;
	struct snapshot_observer s = {};

	the_usage.self[0] = 2000000;
	observer_charge(o, OBSERVER_BURSTS, 1);
	observer_charge(o, OBSERVER_BURSTS, -5);
	observer_charge(o, OBSERVER_BURSTS, NAN);
	observer_charge(o, OBSERVER_BURSTS, INFINITY);
	observer_pipe_time(o, -1);
	observer_pipe_time(o, NAN);
	observer_look(o, 1 * SECOND);
	the_usage.self[0] = 1000000;
	observer_look(o, 11 * SECOND);
	observer_fill(o, &s);
	assert_close(s.cpu_seconds[OBSERVER_BURSTS], 1);
	assert_close(s.cpu_seconds[OBSERVER_DAEMON], 2);
	assert_unknown(o, "No pipe operations in the last 10 s.");
	the_usage.error = EFAULT;
	observer_look(o, 12 * SECOND);
	observer_fill(o, &s);
	assert_close(s.cpu_seconds[OBSERVER_DAEMON], 2);
}

/* Each second 0.1 s in pipe operations and, in thousandths of that, 4 for programs, 2 for sampling
 * and 3 for the daemon. */
static void second_pass(struct observer *o, uint64_t now_usec)
{
	observer_pipe_time(o, 0.1);
	observer_charge(o, OBSERVER_PROGRAMS, 0.0004);
	observer_charge(o, OBSERVER_SAMPLING, 0.0002);
	the_usage.self[1] += 200;
	the_usage.children[0] += 100;
	observer_look(o, now_usec);
}

static void test_overhead(void **state)
{
	struct observer *o = *state;

	assert_unknown(o, "Measured for less than 10 s.");
	/* What was before the first look is of no time that is known. */
	observer_charge(o, OBSERVER_BURSTS, 100);
	observer_look(o, 100 * SECOND);
	for (int second = 1; second < 10; second++) {
		second_pass(o, (100 + second) * SECOND);
		assert_unknown(o, "Measured for less than 10 s.");
	}
	observer_look(o, 110 * SECOND - 1);
	assert_unknown(o, "Measured for less than 10 s.");
	second_pass(o, 110 * SECOND);
	assert_true(overhead(o).known);
	assert_close(overhead(o).seconds, 0.009);
	assert_close(overhead(o).error_seconds, 0);
	observer_set_errors(o, 0.3, 0.05);
	/* 0.3 of 0.004, and 0.05 of 0.009. */
	assert_close(overhead(o).error_seconds, sqrt(0.0012 * 0.0012 + 0.00045 * 0.00045));
	observer_set_errors(o, 0, 0.1);
	assert_close(overhead(o).error_seconds, 0.0009);
}

/* A burst is in the overhead for ten seconds, however often is looked. */
static void test_window_moves(void **state)
{
	struct observer *o = *state;

	observer_look(o, 100 * SECOND);
	for (int tenth = 1; tenth <= 1000; tenth++) {
		if (tenth == 300)
			observer_charge(o, OBSERVER_BURSTS, 0.5);
		observer_pipe_time(o, 0.1);
		observer_look(o, 100 * SECOND + tenth * SECOND / 10);
		/* Since the last full second that is at least ten ago. */
		if (tenth >= 300 && tenth < 400)
			assert_close(overhead(o).seconds, 0.5 / (10 + tenth % 10 * 0.1));
		else if (tenth >= 100)
			assert_true(overhead(o).known && overhead(o).seconds == 0);
	}
	/* Rarely: since the look before. */
	observer_pipe_time(o, 20);
	observer_charge(o, OBSERVER_BURSTS, 5);
	observer_look(o, 500 * SECOND);
	assert_close(overhead(o).seconds, 0.25);
}

static void test_mode_changed(void **state)
{
	struct observer *o = *state;
	struct snapshot_observer s = {};

	observer_look(o, 1 * SECOND);
	observer_charge(o, OBSERVER_PROGRAMS, 1);
	observer_pipe_time(o, 1);
	observer_look(o, 11 * SECOND);
	assert_close(overhead(o).seconds, 1);
	observer_charge(o, OBSERVER_PROGRAMS, 1);
	the_usage.self[0] = 500000;
	observer_mode_changed(o, 12 * SECOND);
	assert_unknown(o, "Measured for less than 10 s.");
	observer_fill(o, &s);
	assert_close(s.cpu_seconds[OBSERVER_PROGRAMS], 2);
	assert_close(s.cpu_seconds[OBSERVER_DAEMON], 0.5);
	observer_look(o, 22 * SECOND);
	assert_unknown(o, "No pipe operations in the last 10 s.");
	observer_charge(o, OBSERVER_PROGRAMS, 0.5);
	observer_pipe_time(o, 10);
	observer_look(o, 23 * SECOND);
	assert_close(overhead(o).seconds, 0.05);
}

static void test_other(void **state)
{
	struct observer *o = *state;

	assert_true(observer_other(o) == 0);
	observer_charge(o, OBSERVER_BURSTS, 100);
	observer_look(o, 1000 * SECOND);
	assert_true(observer_other(o) == 0);
	/* Per second 0.0002 for sampling and 0.0003 for the daemon, of which windows are a third.
	 */
	for (int second = 1; second <= 200; second++) {
		observer_window(o, 0.0001);
		if (second == 70)
			observer_mode_changed(o, (1000 + second) * SECOND);
		if (second == 100)
			observer_charge(o, OBSERVER_BURSTS, 0.6);
		second_pass(o, (1000 + second) * SECOND);
		if (second < 100 || second >= 166)
			assert_close(observer_other(o), 0.0004);
		if (second == 110)
			assert_close(observer_other(o), 0.0004 + 0.6 / 62);
	}
}

static void test_clock_stands(void **state)
{
	struct observer *o = *state;

	observer_look(o, 50 * SECOND);
	observer_charge(o, OBSERVER_BURSTS, 1);
	observer_look(o, 50 * SECOND);
	assert_true(observer_other(o) == 0);
	observer_look(o, 40 * SECOND);
	assert_true(observer_other(o) == 0);
	assert_unknown(o, "Measured for less than 10 s.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sums, setup, teardown),
		cmocka_unit_test_setup_teardown(test_never_falls, setup, teardown),
		cmocka_unit_test_setup_teardown(test_overhead, setup, teardown),
		cmocka_unit_test_setup_teardown(test_window_moves, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mode_changed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other, setup, teardown),
		cmocka_unit_test_setup_teardown(test_clock_stands, setup, teardown),
	};

	return cmocka_run_group_tests_name("observer", tests, NULL, NULL);
}
