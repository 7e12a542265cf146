// SPDX-License-Identifier: GPL-2.0-or-later
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "governor-facts.h"
#include "pipewatch/util.h"

static void assert_close(double actual, double expected)
{
	if (!(fabs(actual - expected) <= 1e-9 * fmax(1, fabs(expected))))
		fail_msg("%.12g is not %.12g", actual, expected);
}

/* What a governor without a past chooses. */
static struct governor_choice choose(const struct governor_facts *facts)
{
	_cleanup_(governor_freep) struct governor *g = governor_new();
	struct governor_choice choice;

	assert_non_null(g);
	memset(&choice, 0xff, sizeof(choice));
	governor_choose(g, facts, &choice);
	return choice;
}

static void test_low_rate(void **state)
{
	struct governor_facts f = usual;
	struct governor_choice c;

	(void)state;
	f.operations_per_second = 1000;
	c = choose(&f);
	assert_int_equal(c.mode, MODE_EXACT);
	assert_true(c.period_seconds == 0);
	assert_close(c.allowed, 0.002);
	assert_close(c.predicted[MODE_EXACT], 0.0002);
	/* A window costs 0.00005 s: the shortest period will do. */
	assert_close(c.predicted[MODE_BURST], 0.00005);
	assert_true(c.predicted[MODE_PROFILE] == 0);
	assert_true(c.predicted[MODE_OFF] == 0);
	assert_true(c.predicted[MODE_AUTO] < 0);
	assert_string_equal(c.reason, "Counting every operation costs 0.01 % of the CPU time, "
				      "within the 0.1 % that the budget of 1 % allows.");
}

/* Exactly what is allowed is allowed, and not a bit more. */
static void test_limit(void **state)
{
	struct governor_facts f = usual;

	(void)state;
	f.counting_seconds = 0.25e-6;
	f.operations_per_second = 8000;
	assert_int_equal(choose(&f).mode, MODE_EXACT);
	f.operations_per_second = 8001;
	assert_int_equal(choose(&f).mode, MODE_BURST);
	/* Two digits would say that it is as much as is allowed. */
	assert_string_equal(choose(&f).reason,
			    "Counting every operation would cost 0.10001 % of the CPU time, "
			    "more than the 0.1 % that the budget of 1 % allows: "
			    "counted in windows, 0.2 s of every 1 s.");
}

static void test_saturation(void **state)
{
	struct governor_facts f = usual;
	struct governor_choice c;

	(void)state;
	/* 0.5 s in operations per second, of which 0.005 s are allowed and 0.002 s are taken. */
	f.operations_per_second = 500000;
	f.other_seconds = 0.002;
	f.window_cpu_seconds = 0.005;
	c = choose(&f);
	assert_int_equal(c.mode, MODE_BURST);
	assert_close(c.allowed, 0.005);
	assert_close(c.predicted[MODE_EXACT], 0.102);
	/* 0.25 s of counting at 0.1 s per second, and 0.005 s: 0.03 s in 10 s. */
	assert_close(c.period_seconds, 10);
	assert_close(c.predicted[MODE_BURST], 0.005);
	assert_close(c.predicted[MODE_PROFILE], 0.002);
	assert_string_equal(c.reason,
			    "Counting every operation would cost 20 % of the time spent in pipe "
			    "operations, more than the budget of 1 %: counted in windows, 0.2 s of "
			    "every 10 s.");
}

/* The floor and the share of pipe operations meet without a step. */
static void test_floor(void **state)
{
	struct governor_facts f = usual;

	(void)state;
	f.operations_per_second = 199999;
	assert_close(choose(&f).allowed, 0.002);
	f.operations_per_second = 200000;
	assert_close(choose(&f).allowed, 0.002);
	f.operations_per_second = 200100;
	assert_close(choose(&f).allowed, 0.002001);
	f.cpus = 1;
	assert_close(choose(&f).allowed, 0.002001);
	f.cpus = 256;
	assert_close(choose(&f).allowed, 0.256);
	/* On 256 CPUs these can all be counted: 0.04 of 0.256 s. */
	assert_int_equal(choose(&f).mode, MODE_EXACT);
	assert_string_equal(choose(&f).reason,
			    "Counting every operation costs 0.016 % of the CPU time, within the "
			    "0.1 % that the budget of 1 % allows.");
	f.operations_per_second = 100;
	f.cpus = 1;
	assert_close(choose(&f).allowed, 0.001);
	f.cpus = 0; /* not known */
	assert_close(choose(&f).allowed, 0.001);
}

static void test_period(void **state)
{
	struct governor_facts f = usual;

	(void)state;
	f.configured = MODE_BURST;
	/* Nothing to do: windows as often as can be. */
	assert_close(choose(&f).period_seconds, 1);
	f.attached_seconds = 0.5;
	assert_close(choose(&f).period_seconds, 2);
	f.attached_seconds = 0; /* no shorter than the window */
	f.window_seconds = 0.75;
	assert_close(choose(&f).period_seconds, 3);
	f.window_cpu_seconds = 0.6; /* of 0.002 s per second: just the longest */
	assert_close(choose(&f).period_seconds, 300);
	assert_close(choose(&f).predicted[MODE_BURST], 0.002);
	f.window_cpu_seconds = 6;
	assert_close(choose(&f).period_seconds, 300);
	assert_close(choose(&f).predicted[MODE_BURST], 0.02);
	assert_string_equal(choose(&f).reason,
			    "Mode burst was asked for: counted in windows, 0.75 s of every 300 s, "
			    "at 1 % of the CPU time, more than the 0.1 % that the budget of 1 % "
			    "allows.");
	f.attached_seconds = 100; /* never more than a quarter of the time */
	assert_close(choose(&f).period_seconds, 400);
}

static void test_profile(void **state)
{
	struct governor_facts f = usual;
	struct governor_choice c;

	(void)state;
	f.operations_per_second = 20000;
	f.other_seconds = 0.001;
	f.window_cpu_seconds = 0.599;
	c = choose(&f);
	/* 0.6 s in 300 s fill 0.002 s, of which half is taken. */
	assert_int_equal(c.mode, MODE_PROFILE);
	assert_true(c.period_seconds == 0);
	assert_close(c.predicted[MODE_BURST], 0.003);
	assert_close(c.predicted[MODE_PROFILE], 0.001);
	assert_string_equal(c.reason,
			    "Counting in windows as rare as can be would cost 0.15 % of the CPU "
			    "time, more than the 0.1 % that the budget of 1 % allows: CPU time is "
			    "sampled instead.");
	f.can_sample = false;
	c = choose(&f);
	assert_int_equal(c.mode, MODE_BURST);
	assert_close(c.period_seconds, 300);
	assert_true(c.predicted[MODE_PROFILE] < 0);
	assert_string_equal(c.reason,
			    "Counting every operation would cost 0.25 % of the CPU time, more than "
			    "the 0.1 % that the budget of 1 % allows: counted in windows, 0.2 s of "
			    "every 300 s, even so at 0.15 %.");
}

static void test_impossible(void **state)
{
	static const struct {
		enum snapshot_mode configured;
		bool can_count, can_sample;
		enum snapshot_mode mode;
		const char *reason;
	} cases[] = {
		{ MODE_AUTO, false, true, MODE_PROFILE,
		  "Operations cannot be counted: CPU time is sampled instead." },
		{ MODE_AUTO, false, false, MODE_OFF,
		  "Operations cannot be counted, nor can CPU time be sampled: nothing is counted "
		  "or sampled." },
		{ MODE_EXACT, false, true, MODE_PROFILE,
		  "Mode exact was asked for. Operations cannot be counted: CPU time is sampled "
		  "instead." },
		{ MODE_BURST, false, false, MODE_OFF,
		  "Mode burst was asked for. Operations cannot be counted, nor can CPU time be "
		  "sampled: nothing is counted or sampled." },
		{ MODE_PROFILE, true, false, MODE_OFF,
		  "Mode profile was asked for. CPU time cannot be sampled: nothing is counted or "
		  "sampled." },
		{ MODE_PROFILE, false, true, MODE_PROFILE,
		  "Mode profile was asked for: CPU time is sampled, at 0 % of the CPU time, within "
		  "the 0.1 % that the budget of 1 % allows, and operations are not counted." },
		{ MODE_OFF, false, false, MODE_OFF,
		  "Mode off was asked for: nothing is counted or sampled." },
		{ MODE_EXACT, true, false, MODE_EXACT,
		  "Mode exact was asked for. Counting every operation costs 10 % of the CPU time, "
		  "more than the 0.1 % that the budget of 1 % allows." },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct governor_facts f = usual;
		struct governor_choice c;

		f.configured = cases[i].configured;
		f.can_count = cases[i].can_count;
		f.can_sample = cases[i].can_sample;
		f.operations_per_second = 100000;
		f.counting_seconds = 2e-6;
		c = choose(&f);
		assert_int_equal(c.mode, cases[i].mode);
		assert_string_equal(c.reason, cases[i].reason);
		assert_true((c.predicted[MODE_EXACT] < 0) == !f.can_count);
		assert_true((c.predicted[MODE_BURST] < 0) == !f.can_count);
		assert_true((c.predicted[MODE_PROFILE] < 0) == !f.can_sample);
		assert_true(c.predicted[MODE_OFF] == 0);
	}
}

static void test_not_measured(void **state)
{
	struct governor_facts f = usual;
	struct governor_choice c;

	(void)state;
	f.operations_per_second = 1e6;
	f.counting_seconds = 0;
	c = choose(&f);
	assert_int_equal(c.mode, MODE_EXACT);
	assert_true(c.predicted[MODE_EXACT] < 0);
	assert_true(c.predicted[MODE_BURST] < 0);
	assert_true(c.predicted[MODE_PROFILE] == 0);
	assert_string_equal(c.reason, "What counting adds to an operation is not measured yet: "
				      "every operation is counted.");
	f.configured = MODE_BURST;
	c = choose(&f);
	assert_int_equal(c.mode, MODE_BURST);
	assert_close(c.period_seconds, 1);
	assert_string_equal(
		c.reason, "Mode burst was asked for: counted in windows, 0.2 s of every 1 s. What "
			  "counting adds to an operation is not measured yet.");
}

static void test_asked_for(void **state)
{
	struct governor_facts f = usual;

	(void)state;
	f.operations_per_second = 1e6;
	f.configured = MODE_EXACT;
	assert_string_equal(choose(&f).reason,
			    "Mode exact was asked for. Counting every operation costs 20 % of the "
			    "time spent in pipe operations, more than the budget of 1 %.");
	f.configured = MODE_BURST;
	assert_string_equal(choose(&f).reason,
			    "Mode burst was asked for: counted in windows, 0.2 s of every 5 s, at "
			    "1 % of the time spent in pipe operations, within the budget of 1 %.");
	f.configured = MODE_PROFILE;
	f.other_seconds = 0.0123;
	assert_string_equal(choose(&f).reason,
			    "Mode profile was asked for: CPU time is sampled, at 1.2 % of the time "
			    "spent in pipe operations, more than the budget of 1 %, and operations "
			    "are not counted.");
	f.configured = MODE_OFF;
	assert_int_equal(choose(&f).mode, MODE_OFF);
}

/* The daemon alone costs more than is allowed: counting has a tenth of that, not nothing. */
static void test_reserve(void **state)
{
	struct governor_facts f = usual;
	struct governor_choice c;

	(void)state;
	f.other_seconds = 0.01;
	f.operations_per_second = 500;
	c = choose(&f);
	assert_int_equal(c.mode, MODE_EXACT);
	assert_close(c.predicted[MODE_EXACT], 0.0101);
	assert_string_equal(c.reason,
			    "Counting every operation costs only 0.005 % of the CPU time; with the "
			    "rest of the daemon it is 0.51 %, more than the 0.1 % that the budget "
			    "of 1 % allows.");
	f.operations_per_second = 1001;
	c = choose(&f);
	assert_int_equal(c.mode, MODE_BURST);
	assert_close(c.period_seconds, 1);
	f.operations_per_second = 16000;
	c = choose(&f);
	assert_close(c.period_seconds, 4); /* 0.0008 s each, at 0.0002 s per second */
	assert_string_equal(c.reason,
			    "Counting every operation would cost 0.66 % of the CPU time, more than "
			    "the 0.1 % that the budget of 1 % allows: counted in windows, 0.2 s of "
			    "every 4 s, even so at 0.51 %.");
}

static void test_budgets(void **state)
{
	struct governor_facts f = usual;
	struct governor_choice c;

	(void)state;
	f.budget_ratio = 0;
	c = choose(&f);
	assert_int_equal(c.mode, MODE_EXACT); /* of nothing */
	assert_true(c.allowed == 0);
	f.operations_per_second = 1;
	c = choose(&f);
	assert_int_equal(c.mode, MODE_PROFILE);
	assert_string_equal(
		c.reason,
		"Counting in windows as rare as can be would cost under 0.0001 % "
		"of the CPU time, more than the 0 % that the budget of 0 % allows: CPU time "
		"is sampled instead.");
	f.can_sample = false;
	c = choose(&f);
	assert_int_equal(c.mode, MODE_BURST);
	assert_close(c.period_seconds, 300);

	f = usual;
	f.budget_ratio = 1;
	f.operations_per_second = 1e6;
	c = choose(&f);
	assert_int_equal(c.mode, MODE_EXACT);
	assert_close(c.allowed, 1);
	assert_string_equal(c.reason, "Counting every operation costs 20 % of the time spent in "
				      "pipe operations, within the budget of 100 %.");
	f.budget_ratio = 0.00125;
	f.operations_per_second = 150000;
	assert_string_equal(choose(&f).reason,
			    "Counting every operation would cost 1.5 % of the CPU time, more than "
			    "the 0.0125 % that the budget of 0.125 % allows: counted in windows, "
			    "0.2 s of every 30 s.");
}

/* Every combination of extreme figures: a mode that is possible, finite figures and whole
 * sentences. */
static void test_extremes(void **state)
{
	static const double extremes[] = { NAN,	 -1, -INFINITY, 0,    DBL_MIN, 1e-9,	1e-6,
					   0.01, 1,  123456,	1e12, DBL_MAX, INFINITY };
	static const unsigned int cpus[] = { 0, 1, 256, UINT32_MAX };
	_cleanup_(governor_freep) struct governor *g = governor_new();
	uint32_t random = 1;

	(void)state;
	assert_non_null(g);
	for (int i = 0; i < 200000; i++) {
		struct governor_choice c;
		struct governor_facts f = {};
		double *const figures[] = {
			&f.now_seconds,	     &f.operations_per_second, &f.operation_seconds,
			&f.counting_seconds, &f.other_seconds,	       &f.window_seconds,
			&f.attached_seconds, &f.window_cpu_seconds,    &f.budget_ratio,
		};

		for (size_t k = 0; k < ARRAY_SIZE(figures); k++) {
			random = random * 1664525 + 1013904223;
			*figures[k] = extremes[(random >> 16) % ARRAY_SIZE(extremes)];
		}
		random = random * 1664525 + 1013904223;
		f.configured = (random >> 16) % SNAPSHOT_MODES;
		f.can_count = random >> 24 & 1;
		f.can_sample = random >> 25 & 1;
		f.cpus = cpus[random >> 26 & 3];
		governor_choose(g, &f, &c);
		assert_true(c.mode > MODE_AUTO && c.mode < SNAPSHOT_MODES);
		assert_true(f.can_count || (c.mode != MODE_EXACT && c.mode != MODE_BURST));
		assert_true(f.can_sample || c.mode != MODE_PROFILE);
		assert_true(isfinite(c.allowed) && c.allowed >= 0);
		assert_true(isfinite(c.period_seconds));
		assert_true(c.mode == MODE_BURST ? c.period_seconds >= 1 : c.period_seconds == 0);
		for (int mode = 0; mode < SNAPSHOT_MODES; mode++)
			assert_true(isfinite(c.predicted[mode]));
		assert_in_range(strlen(c.reason), 1, sizeof(c.reason) - 2);
		assert_int_equal(c.reason[strlen(c.reason) - 1], '.');
		assert_true(!strstr(c.reason, "nan") && !strstr(c.reason, "inf "));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_low_rate),   cmocka_unit_test(test_limit),
		cmocka_unit_test(test_saturation), cmocka_unit_test(test_floor),
		cmocka_unit_test(test_period),	   cmocka_unit_test(test_profile),
		cmocka_unit_test(test_impossible), cmocka_unit_test(test_not_measured),
		cmocka_unit_test(test_asked_for),  cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_budgets),	   cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests_name("governor", tests, NULL, NULL);
}
