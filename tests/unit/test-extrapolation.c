// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "extrapolation.h"
#include "pipewatch/util.h"
#include "random.h"

#define SEC UINT64_C(1000000)

static void assert_near(double value, double wanted)
{
	assert_float_equal(value, wanted, 1e-9 * fmax(1, fabs(wanted)));
}

static struct extrapolation_factor factor_of(uint64_t window_usec, uint64_t elapsed_usec)
{
	struct extrapolation_factor f;

	extrapolation_factor(window_usec, elapsed_usec, 0, 0, 0, &f);
	return f;
}

static void assert_one(const struct extrapolation_factor *f)
{
	assert_true(f->factor == 1);
	assert_true(f->systematic_ratio == 0);
	assert_false(f->first);
	assert_true(f->first_factor == 0);
	assert_true(extrapolation_unseen_max(f) == 0);
}

static void test_one_where_all_is_counted(void **state)
{
	const uint64_t cases[][2] = {
		{ SEC, SEC }, { SEC + 1, SEC }, { 0, SEC }, { 0, 0 }, { 1, 0 }
	};
	struct extrapolation_factor f;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		memset(&f, 0xff, sizeof(f));
		extrapolation_factor(cases[i][0], cases[i][1], 1000000, 1e-6, 0.2, &f);
		assert_one(&f);
	}
}

static void test_the_share_of_time(void **state)
{
	struct extrapolation_factor f = factor_of(SEC / 5, 2 * SEC);

	(void)state;
	assert_near(f.factor, 10);
	assert_true(f.systematic_ratio == 0);
	assert_near(extrapolation_unseen_max(&f), 30);
	f = factor_of(SEC, SEC + 1);
	assert_near(f.factor, 1.000001);
}

/* Counting adds a quarter to each operation of 4 us. */
static void test_the_middle_between_busy_and_waiting(void **state)
{
	struct extrapolation_factor f;

	(void)state;
	/* One process all along, 200 000 of 5 us: 5 / 4 as many without. Nine tenths are so. */
	extrapolation_factor(SEC, 10 * SEC, 200000, 1e-6, 0.25, &f);
	assert_near(f.factor, 1 + 9 * 1.125);
	assert_near(f.systematic_ratio * f.factor, 9 * 0.25 / sqrt(12));
	/* On many CPUs the sum is more than the window, and each still only so much. */
	extrapolation_factor(SEC, 10 * SEC, 64 * 200000, 1e-6, 0.25, &f);
	assert_near(f.factor, 1 + 9 * 1.125);
	/* A tenth of that can hold up nobody for longer than it takes: 2 %. */
	extrapolation_factor(SEC, 10 * SEC, 20000, 1e-6, 0.25, &f);
	assert_near(f.factor, 1 + 9 * (1 + 1 / 0.98) / 2);
	assert_near(f.systematic_ratio * f.factor, 9 * (1 / 0.98 - 1) / sqrt(12));
	/* What is counted itself was so: the more of it, the less there is to be wrong. */
	extrapolation_factor(9 * SEC, 10 * SEC, 9 * 200000, 1e-6, 0.25, &f);
	assert_near(f.factor, 1 + 1.125 / 9);
	assert_near(f.systematic_ratio * f.factor, 0.25 / 9 / sqrt(12));
}

static void test_scaled_sizes_sum_to_operations(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct extrapolation_factor f = { .factor = 1 + 50 * random_unit(&seed) };
		struct pipe_counts counts = {}, scaled;
		struct pipe_sizes sizes, big;
		uint64_t reads = 0, writes = 0;

		for (int class = 0; class < SIZE_CLASSES; class ++) {
			sizes.reads[class] = random_next(&seed) % 3 * (random_next(&seed) % 100);
			sizes.writes[class] = random_next(&seed) % 2;
			counts.reads += sizes.reads[class];
			counts.writes += sizes.writes[class];
		}
		counts.noatime_reads = random_next(&seed) % (counts.reads + 1);
		counts.read_bytes = 100 * counts.reads;
		counts.written_bytes = 7 * counts.writes;
		scaled = counts;
		big = sizes;
		extrapolation_scale(&f, &scaled, &big);
		for (int class = 0; class < SIZE_CLASSES; class ++) {
			reads += big.reads[class];
			writes += big.writes[class];
			/* Of rounding at both ends. */
			assert_true(fabs(big.reads[class] - f.factor * sizes.reads[class]) <= 1);
			assert_true(fabs(big.writes[class] - f.factor * sizes.writes[class]) <= 1);
		}
		assert_int_equal(scaled.reads, reads);
		assert_int_equal(scaled.writes, writes);
		assert_int_equal(scaled.reads, llround(f.factor * counts.reads));
		assert_int_equal(scaled.writes, llround(f.factor * counts.writes));
		assert_int_equal(scaled.read_bytes, llround(f.factor * counts.read_bytes));
		assert_int_equal(scaled.written_bytes, llround(f.factor * counts.written_bytes));
		assert_true(scaled.noatime_reads <= scaled.reads);
		assert_int_equal(scaled.noatime_reads, llround(f.factor * counts.noatime_reads));
	}
}

/* Not even what a double cannot hold. */
static void test_one_changes_nothing(void **state)
{
	const struct extrapolation_factor f = { .factor = 1 };
	struct pipe_counts counts = { .reads = 1, .writes = 2, .read_bytes = UINT64_MAX };
	struct pipe_sizes sizes = { .reads = { [3] = UINT64_MAX }, .writes = { [1] = 7 } };
	const struct pipe_counts counts_before = counts;
	const struct pipe_sizes sizes_before = sizes;

	(void)state;
	extrapolation_scale(&f, &counts, &sizes);
	assert_memory_equal(&counts, &counts_before, sizeof(counts));
	assert_memory_equal(&sizes, &sizes_before, sizeof(sizes));
}

static float error_of(const uint32_t *windows, size_t n, double factor, double systematic_ratio)
{
	struct extrapolation_error e = {};

	for (size_t i = 0; i < n; i++) {
		const struct extrapolation_factor f = { .factor = factor,
							.systematic_ratio = systematic_ratio,
							.first = i == 0,
							.first_factor = i == 1 ? factor : 0 };

		e.window = windows[i];
		extrapolation_error_end(&e, &f);
		assert_int_equal(e.window, 0);
		assert_int_equal(e.last, windows[i]);
	}
	return extrapolation_error(&e);
}

#define ERROR_OF(factor, systematic, ...)           \
	error_of((const uint32_t[]){ __VA_ARGS__ }, \
		 sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), factor, systematic)

static void test_errors_follow_from_differences(void **state)
{
	(void)state;
	assert_true(ERROR_OF(1, 0, 100, 300) == 0);
	assert_true(ERROR_OF(5, 0, 0, 0, 0) == 0);
	/* One alone could have all there was in it, or as much as any other. */
	assert_float_equal(ERROR_OF(5, 0, 80), sqrt(20) * 80, 1e-3);
	/* The second stands for the first as well. */
	assert_float_equal(ERROR_OF(5, 0, 80, 100), sqrt(20 * (80 + 2 * 200)), 1e-3);
	assert_float_equal(ERROR_OF(5, 0, 80, 100, 90), sqrt(20 * (80 + 2 * 200 + 50)), 1e-3);
	/* Events on time are off by one at most. */
	assert_float_equal(ERROR_OF(5, 0, 80, 80, 80), sqrt(20 * (80 + 3 / 6.)), 1e-2);
	/* Who comes and who goes. */
	assert_float_equal(ERROR_OF(5, 0, 0, 0, 40), sqrt(20 * 800), 1e-3);
	assert_float_equal(ERROR_OF(5, 0, 0, 0, 40, 0), sqrt(20 * 1600), 1e-3);
	/* What is systematic adds up without chance, and is no part of nothing. */
	assert_float_equal(ERROR_OF(5, 0.1, 80, 80, 80),
			   hypot(3 * 0.1 * 5 * 80, sqrt(20 * (80 + 3 / 6.))), 1e-3);
}

/* Windows of another spell are nothing to compare with. */
static void test_a_new_spell_begins_anew(void **state)
{
	const struct extrapolation_factor one = { .factor = 1 },
					  first = { .factor = 5, .first = true };
	struct extrapolation_error e = { .window = UINT32_MAX };

	(void)state;
	extrapolation_error_end(&e, &one);
	assert_true(extrapolation_error(&e) == 0);
	e.window = 0;
	extrapolation_error_end(&e, &first);
	assert_true(extrapolation_error(&e) == 0);
	e.window = 80;
	extrapolation_error_end(&e, &first);
	assert_float_equal(extrapolation_error(&e), sqrt(20) * 80, 1e-3);
}

/* ---- against the truth ---- */

#define WINDOW	0.2
#define PERIOD	2.0
#define WINDOWS 60
#define RUNS	1000

/* Somebody whose operations are told by what is done from one time to the next. */
struct load {
	double (*events)(struct load *l, double begin, double end, double slowdown);
	uint64_t seed;
	double rate;  /* per second, while on */
	double phase; /* of what is equidistant; or when on and off change next */
	double mean;  /* length of on and off */
	bool on;
};

static double events_steady(struct load *l, double begin, double end, double slowdown)
{
	(void)slowdown;
	return floor(end * l->rate + l->phase) - floor(begin * l->rate + l->phase);
}

static double events_random(struct load *l, double begin, double end, double slowdown)
{
	(void)slowdown;
	return random_poisson(&l->seed, (end - begin) * l->rate);
}

static double events_on_off(struct load *l, double begin, double end, double slowdown)
{
	double sum = 0;

	(void)slowdown;
	while (begin < end) {
		double until = fmin(end, l->phase);

		sum += l->on ? (until - begin) * l->rate : 0;
		if (until == l->phase) {
			l->on = !l->on;
			l->phase += random_exponential(&l->seed, l->mean);
		}
		begin = until;
	}
	return round(sum);
}

/* Does nothing else, and what is added to its operations is missing. */
static double events_busy(struct load *l, double begin, double end, double slowdown)
{
	return random_poisson(&l->seed, (end - begin) * l->rate / slowdown);
}

struct verdict {
	unsigned int covered; /* runs whose truth is within three standard errors */
	double spread;	      /* root of the mean square of deviations, in standard errors */
	double excess;	      /* of the estimate over the truth, as a share, on average */
};

static void run(struct load *l, double ratio, int windows, double *ret_truth, double *ret_estimate,
		double *ret_error)
{
	struct extrapolation_error e = {};
	double now = 0, truth = 0, first_factor = 0;
	uint64_t estimate = 0;

	for (int i = 0; i < windows; i++) {
		double begin = now + PERIOD * (0.8 + 0.4 * random_unit(&l->seed)) - WINDOW;
		double end = begin + WINDOW, operation = ratio > 0 ? 1 / l->rate : 0;
		struct extrapolation_factor f;
		struct pipe_counts counts = {};
		struct pipe_sizes sizes = {};

		truth += l->events(l, now, begin, 1);
		counts.reads = sizes.reads[0] = l->events(l, begin, end, 1 + ratio);
		truth += counts.reads;
		extrapolation_factor(llround((end - begin) * 1e6), llround((end - now) * 1e6),
				     counts.reads, operation * ratio, ratio, &f);
		f.first = i == 0;
		f.first_factor = i == 1 ? first_factor : 0;
		if (i == 0)
			first_factor = f.factor;
		e.window = counts.reads;
		extrapolation_error_end(&e, &f);
		extrapolation_scale(&f, &counts, &sizes);
		estimate += counts.reads;
		now = end;
	}
	*ret_truth = truth;
	*ret_estimate = estimate;
	*ret_error = extrapolation_error(&e);
}

static struct verdict judge(struct load load, double ratio, int windows)
{
	struct verdict v = {};

	for (int i = 0; i < RUNS; i++) {
		struct load l = load;
		double truth, estimate, error, deviation;

		l.seed = UINT64_C(20240229) + i;
		random_next(&l.seed);
		l.phase = load.mean > 0 ? random_exponential(&l.seed, load.mean)
					: random_unit(&l.seed);
		l.on = random_unit(&l.seed) < 0.5;
		run(&l, ratio, windows, &truth, &estimate, &error);
		deviation = error > 0 ? (estimate - truth) / error : estimate - truth;
		v.covered += fabs(deviation) <= 3;
		v.spread += deviation * deviation / RUNS;
		v.excess += (estimate - truth) / truth / RUNS;
	}
	v.spread = sqrt(v.spread);
	return v;
}

static void assert_between(double value, double low, double high)
{
	if (!(value >= low && value <= high))
		fail_msg("%g is not from %g to %g", value, low, high);
}

static void assert_verdict(const struct verdict *v, double spread_low, double spread_high,
			   double excess_max)
{
	assert_in_range(v->covered, 99 * RUNS / 100, RUNS);
	assert_between(v->spread, spread_low, spread_high);
	assert_between(v->excess, -excess_max, excess_max);
}

static void test_on_time(void **state)
{
	struct load l = { .events = events_steady, .rate = 1234.5 };
	struct verdict v = judge(l, 0, WINDOWS);

	(void)state;
	/* What the first window may have been is never forgotten. */
	assert_verdict(&v, 0.1, 0.2, 0.0001);
}

static void test_at_random(void **state)
{
	const double rates[] = { 3, 100, 20000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		struct load l = { .events = events_random, .rate = rates[i] };
		struct verdict v = judge(l, 0, WINDOWS);

		assert_verdict(&v, 0.9, 1.1, 0.002);
	}
}

static void test_a_single_window(void **state)
{
	struct load l = { .events = events_random, .rate = 500 };
	struct verdict v = judge(l, 0, 1);

	(void)state;
	/* Of a hundred that came at random ten could be more or less, but so could a hundred of one
	 * kind. */
	assert_verdict(&v, 0.09, 0.11, 0.01);
}

static void test_on_and_off(void **state)
{
	const struct {
		double mean, spread_low, spread_high;
	} cases[] = {
		{ 0.1, 0.9, 1.1 },
		{ 0.4, 0.9, 1.1 },
		/* Phases that are longer than the period are between windows what they are in them,
		 * but for one in many: the error is up to twice as large as it need be. */
		{ 1.6, 0.6, 0.8 },
		{ 6.4, 0.4, 0.6 },
		{ 20, 0.4, 0.8 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct load l = { .events = events_on_off, .rate = 10000, .mean = cases[i].mean };
		struct verdict v = judge(l, 0, WINDOWS);

		assert_verdict(&v, cases[i].spread_low, cases[i].spread_high, 0.01);
	}
}

/* The truth is at one end of what is possible, the root of three errors from the middle. */
static void test_who_is_slowed_down_by_counting(void **state)
{
	struct load l = { .events = events_busy, .rate = 20000 };
	struct verdict v = judge(l, 0.25, WINDOWS);

	(void)state;
	assert_verdict(&v, 1.6, 1.8, 0.1);
	assert_between(v.excess, -0.1, -0.09);
	/* And at the other: who is not, for all that can be seen. */
	l.events = events_random;
	v = judge(l, 0.25, WINDOWS);
	assert_verdict(&v, 1.6, 1.8, 0.12);
	assert_between(v.excess, 0.11, 0.12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_where_all_is_counted),
		cmocka_unit_test(test_the_share_of_time),
		cmocka_unit_test(test_the_middle_between_busy_and_waiting),
		cmocka_unit_test(test_scaled_sizes_sum_to_operations),
		cmocka_unit_test(test_one_changes_nothing),
		cmocka_unit_test(test_errors_follow_from_differences),
		cmocka_unit_test(test_a_new_spell_begins_anew),
		cmocka_unit_test(test_on_time),
		cmocka_unit_test(test_at_random),
		cmocka_unit_test(test_a_single_window),
		cmocka_unit_test(test_on_and_off),
		cmocka_unit_test(test_who_is_slowed_down_by_counting),
	};

	return cmocka_run_group_tests_name("extrapolation", tests, NULL, NULL);
}
