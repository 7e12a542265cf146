// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#include "ab.h"
#include "pipewatch/util.h"

#define N 100

#define NOTHING "This kernel makes none: there is nothing to measure."
#define NO_SWITCH \
	"Nothing switches it off on this kernel: there is no write without it to compare with."
#define WATCH "A/B cannot tell: a watch of our own would make every pipe of the host pay."

static const char *const directories[] = { "/dev/shm", "/run", "/tmp", NULL };
static const char *const all_there[PIPE_KINDS][2];

/* Before anonymous pipes were spared, and after. */
static const enum path_state old_kernel[PIPE_KINDS][UPDATE_KINDS] = {
	{ PATH_PAID, PATH_PAID, PATH_PAID },
	{ PATH_PAID, PATH_PAID, PATH_PAID },
};
static const enum path_state new_kernel[PIPE_KINDS][UPDATE_KINDS] = {
	{ PATH_REMOVED, PATH_REMOVED, PATH_PAID },
	{ PATH_PAID, PATH_PAID, PATH_PAID },
};

static struct round_part part(double ns)
{
	/* And a clock that costs 20 ns. */
	return (struct round_part){ (uint32_t)(ns * ROUND_OPERATIONS) + 20, true };
}

/*
 * Reads: 300 ns, with atime 380; writes: 310. FIFO: 10 more for the wrapper, 50 for cmtime.
 * Everything gets slower and slower, and what a tick or an interrupt falls into is far off.
 */
static void fill(struct round rounds[N])
{
	for (int i = 0; i < N; i++) {
		struct round_variant(*v)[2] = rounds[i].variants;

		for (int noatime = 0; noatime < 2; noatime++) {
			double atime = noatime ? 0 : 80;

			v[PIPE_ANONYMOUS][noatime].reads = part(300 + i + atime);
			v[PIPE_ANONYMOUS][noatime].writes = part(310 + i);
			v[PIPE_FIFO][noatime].reads = part(310 + i + atime);
			v[PIPE_FIFO][noatime].writes = part(370 + i);
		}
		if (i % 10 == 0) /* an interrupt, not noticed */
			v[i / 10 % 2][i / 20 % 2].reads.ns += 50000;
		if (i % 10 == 5) /* a tick, noticed */
			v[i / 10 % 2][i / 20 % 2].reads = (struct round_part){ 4000000, false };
	}
}

static void assert_ns(const struct cost_figure *f, double ns, double error_ns)
{
	assert_true(f->known);
	assert_true(fabs(f->seconds * 1e9 - ns) < 0.005);
	assert_true(fabs(f->error_seconds * 1e9 - error_ns) < 0.005);
}

static void assert_reason(const struct cost_figure *f, const char *reason)
{
	assert_false(f->known);
	assert_string_equal(f->reason, reason);
}

static void test_old_kernel(void **state)
{
	struct round rounds[N];
	struct ab ab;

	(void)state;
	fill(rounds);
	assert_int_equal(ab_conclude(rounds, N, 20e-9, all_there, old_kernel, &ab), 0);
	assert_true(ab.clock_read_seconds == 20e-9);
	/* Drift falls out of the differences: what is left of the error is that of placement. */
	assert_ns(&ab.updates[PIPE_ANONYMOUS][UPDATE_ATIME], 80,
		  0.006 * M_SQRT2 * ab.reads[PIPE_ANONYMOUS].seconds * 1e9);
	assert_ns(&ab.updates[PIPE_FIFO][UPDATE_ATIME], 80,
		  0.006 * M_SQRT2 * ab.reads[PIPE_FIFO].seconds * 1e9);
	assert_reason(&ab.updates[PIPE_ANONYMOUS][UPDATE_CMTIME], NO_SWITCH);
	assert_reason(&ab.updates[PIPE_FIFO][UPDATE_CMTIME], NO_SWITCH);
	assert_reason(&ab.updates[PIPE_ANONYMOUS][UPDATE_FSNOTIFY], WATCH);
	assert_reason(&ab.updates[PIPE_FIFO][UPDATE_FSNOTIFY], WATCH);
	/* Means over the drift: 310 + 49.5; its spread, of the winsorized kind, is the error. */
	assert_true(fabs(ab.writes[PIPE_ANONYMOUS].seconds * 1e9 - 359.5) < 0.005);
	assert_true(ab.writes[PIPE_ANONYMOUS].error_seconds > 3e-9 &&
		    ab.writes[PIPE_ANONYMOUS].error_seconds < 6e-9);
}

/* Without any spread, the doubt of placement is all of the error: of a read as of a write. */
static void test_placement(void **state)
{
	struct round rounds[N];
	struct ab ab;

	(void)state;
	fill(rounds);
	for (int i = 1; i < N; i++)
		rounds[i] = rounds[1];
	rounds[0] = rounds[1];
	assert_int_equal(ab_conclude(rounds, N, 20e-9, all_there, old_kernel, &ab), 0);
	assert_ns(&ab.reads[PIPE_ANONYMOUS], 381, 0.006 * 381);
	assert_ns(&ab.writes[PIPE_ANONYMOUS], 311, 0.006 * 311);
	assert_ns(&ab.reads[PIPE_FIFO], 391, 0.006 * 391);
	assert_ns(&ab.writes[PIPE_FIFO], 371, 0.006 * 371);
}

static void test_new_kernel(void **state)
{
	struct round rounds[N];
	struct ab ab;

	(void)state;
	fill(rounds);
	assert_int_equal(ab_conclude(rounds, N, 20e-9, all_there, new_kernel, &ab), 0);
	assert_reason(&ab.updates[PIPE_ANONYMOUS][UPDATE_ATIME], NOTHING);
	assert_reason(&ab.updates[PIPE_ANONYMOUS][UPDATE_CMTIME], NOTHING);
	assert_ns(&ab.updates[PIPE_FIFO][UPDATE_ATIME], 80,
		  0.006 * M_SQRT2 * ab.reads[PIPE_FIFO].seconds * 1e9);
	/* A quarter of the wrapper is in doubt. */
	assert_ns(&ab.updates[PIPE_FIFO][UPDATE_CMTIME], 50,
		  hypot(10 * 0.25, 0.006 * 2 * ab.writes[PIPE_FIFO].seconds * 1e9));
}

static void test_missing_variants(void **state)
{
	static const char *const no_fifo[PIPE_KINDS][2] = { { NULL, NULL },
							    { "no FIFO", "no FIFO" } };
	static const char *const atime_off[PIPE_KINDS][2] = { { NULL, NULL }, { "off", NULL } };
	static const char *const refused[PIPE_KINDS][2] = { { NULL, "no" }, { NULL, "no" } };
	enum path_state paths[PIPE_KINDS][UPDATE_KINDS];
	struct round rounds[N];
	struct ab ab;

	(void)state;
	fill(rounds);
	assert_int_equal(ab_conclude(rounds, N, 20e-9, no_fifo, old_kernel, &ab), 0);
	assert_true(ab.updates[PIPE_ANONYMOUS][UPDATE_ATIME].known);
	assert_reason(&ab.updates[PIPE_FIFO][UPDATE_ATIME], "Not measured: no FIFO.");
	assert_reason(&ab.reads[PIPE_FIFO], "Not measured: no FIFO.");
	assert_reason(&ab.writes[PIPE_FIFO], "Not measured: no FIFO.");

	/* A mount with noatime leaves writes to be compared. */
	assert_int_equal(ab_conclude(rounds, N, 20e-9, atime_off, new_kernel, &ab), 0);
	assert_reason(&ab.updates[PIPE_FIFO][UPDATE_ATIME], "Not measured: off.");
	assert_true(fabs(ab.updates[PIPE_FIFO][UPDATE_CMTIME].seconds * 1e9 - 50) < 0.005);
	assert_reason(&ab.reads[PIPE_FIFO], "Not measured: off.");
	assert_true(ab.writes[PIPE_FIFO].known);

	assert_int_equal(ab_conclude(rounds, N, 20e-9, refused, old_kernel, &ab), 0);
	assert_reason(&ab.updates[PIPE_ANONYMOUS][UPDATE_ATIME], "Not measured: no.");
	assert_true(ab.reads[PIPE_ANONYMOUS].known);

	memcpy(paths, new_kernel, sizeof(paths));
	paths[PIPE_ANONYMOUS][UPDATE_CMTIME] = paths[PIPE_FIFO][UPDATE_ATIME] = PATH_UNKNOWN;
	assert_int_equal(ab_conclude(rounds, N, 20e-9, all_there, paths, &ab), 0);
	assert_reason(&ab.updates[PIPE_FIFO][UPDATE_ATIME],
		      "It is not known whether this kernel makes them.");
	assert_reason(&ab.updates[PIPE_FIFO][UPDATE_CMTIME], NO_SWITCH);
}

static void test_too_few_rounds(void **state)
{
	struct round rounds[N];
	struct ab ab;

	(void)state;
	fill(rounds);
	for (int i = 0; i < N; i++)
		rounds[i].variants[PIPE_ANONYMOUS][true].reads.usual = i % 9 == 1 && i < 91;
	assert_int_equal(ab_conclude(rounds, N, 20e-9, all_there, old_kernel, &ab), 0);
	assert_reason(&ab.updates[PIPE_ANONYMOUS][UPDATE_ATIME],
		      "Only 10 of 100 rounds could be used: other work kept the CPU busy.");
	assert_int_equal(ab_conclude(rounds, 0, 0, all_there, old_kernel, &ab), 0);
	assert_reason(&ab.writes[PIPE_FIFO],
		      "Not one round came about: other work kept the CPU busy.");
}

static void test_average(void **state)
{
	double same[COST_MIN_SAMPLES], samples[16];
	struct cost_figure f;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		same[i] = 7;
	assert_int_equal(cost_figure_average(same, ARRAY_SIZE(same) - 1, &f), -1);
	assert_int_equal(cost_figure_average(same, ARRAY_SIZE(same), &f), 0);
	assert_true(f.known && f.seconds == 7 && f.error_seconds == 0);

	/* 0 to 15, the ends far out: winsorized 5 x 4, 4 .. 11, 5 x 11; variance 105.25 / 15 + ...
	 */
	for (size_t i = 0; i < 16; i++)
		samples[i] = (double)((i * 7) % 16);
	samples[7] += 1e6; /* was 1 */
	samples[9] -= 1e6; /* was 15 */
	assert_int_equal(cost_figure_average(samples, 16, &f), 0);
	assert_true(f.seconds == 7.5);
	/* Winsorized squares: 2 * (5 * 3.5^2 + 2.5^2 + 1.5^2 + 0.5^2) = 140 */
	assert_true(fabs(f.error_seconds - sqrt(140.0 / 15) * 16 / (8 * 4)) < 1e-12);
}

/* On whatever kernel this runs: figures or reasons, in time, and nothing of the process changed. */
static void test_here(void **state)
{
	static const enum path_state nothing_known[PIPE_KINDS][UPDATE_KINDS];
	struct timespec start, end;
	cpu_set_t before, after;
	long msec = 1000;
	int priority;
	struct ab ab;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	priority = getpriority(PRIO_PROCESS, 0);
	/* It takes at most a third of a second, unless the machine is paused: not three times. */
	for (int tries = 3; tries > 0 && msec >= 1000; tries--) {
		clock_gettime(CLOCK_MONOTONIC, &start);
		assert_int_equal(ab_measure(directories, 10000, nothing_known, &ab), 0);
		clock_gettime(CLOCK_MONOTONIC, &end);
		msec = (end.tv_sec - start.tv_sec) * 1000 + (end.tv_nsec - start.tv_nsec) / 1000000;
	}
	assert_true(msec < 1000);
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&before, &after));
	assert_int_equal(getpriority(PRIO_PROCESS, 0), priority);
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int update = 0; update < UPDATE_KINDS; update++)
			assert_reason(&ab.updates[pipe][update],
				      "It is not known whether this kernel makes them.");
	assert_true(ab.reads[PIPE_ANONYMOUS].known || *ab.reads[PIPE_ANONYMOUS].reason);
}

/* Where the machine is paused, the thread that measures may not come as far as to begin. */
#define TRIES 100

static void test_no_directory(void **state)
{
	static const char *const nowhere[] = { "/nonexistent", NULL };
	struct ab ab;

	(void)state;
	for (int tries = 0; tries < TRIES; tries++) {
		assert_int_equal(ab_measure(nowhere, 1000, old_kernel, &ab), 0);
		if (!strstr(ab.writes[PIPE_FIFO].reason, "Not one round"))
			break;
	}
	assert_reason(&ab.writes[PIPE_FIFO],
		      "Not measured: no own FIFO could be made (/nonexistent: ENOENT).");
}

/* Files left open, threads left behind: none, in a process that does it often. */
static void test_leaves_nothing(void **state)
{
	struct rlimit limit, few;
	struct ab ab;
	int r = 0;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = (struct rlimit){ 16, limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(ab_measure(directories, 100, old_kernel, &ab), 0);
	few.rlim_cur = 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (int tries = 0; tries < TRIES && r == 0; tries++)
		r = ab_measure(directories, 100, old_kernel, &ab);
	assert_int_equal(r, -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_old_kernel),     cmocka_unit_test(test_new_kernel),
		cmocka_unit_test(test_placement),      cmocka_unit_test(test_missing_variants),
		cmocka_unit_test(test_too_few_rounds), cmocka_unit_test(test_average),
		cmocka_unit_test(test_here),	       cmocka_unit_test(test_no_directory),
		cmocka_unit_test(test_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
