/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A calibration to be tested, with bursts, A/B and a clock of our own. */
#ifndef PIPEWATCH_TESTS_BURST_MOCK_H
#define PIPEWATCH_TESTS_BURST_MOCK_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ab.h"
#include "burst-loading.h"
#include "calibration.h"
#include "pipewatch/util.h"

#define MSEC   UINT64_C(1000)
#define MINUTE UINT64_C(60000000)
#define START  UINT64_C(5000000000)
#define DUE    (START - 20 * MSEC)

/* In place of everything that burst.h and burst-loading.h offer. */

struct burst {
	int thread_error;
	int loaded; /* what loading has come to: -EAGAIN while it lasts */
	int begin_error, ready, stimulate_error, end_error;
	int alive, threads;
	unsigned int loads, stopped, begun, stimulated, ended, cancelled, measured;
	int ab_error;
	const char *clocksource, *frequency; /* what the kernel says */
	double cpu_seconds;
	struct burst_result result;
	struct ab ab;
};

static struct burst the;

static inline void unknown_all(struct burst_stage stages[PIPE_KINDS][UPDATE_KINDS][COST_STAGES])
{
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++)
			for (int stage = 0; stage < COST_STAGES; stage++)
				cost_figure_unknown(&stages[pipe][kind][stage].cost,
						    "Nothing was timed.");
}

static inline struct cost_figure figure(double ns)
{
	return (struct cost_figure){ .known = true,
				     .seconds = ns / 1e9,
				     .error_seconds = ns / 1e11 };
}

/* A/B says 100 ns, and a burst 90 of our own pipe and @others_ns of that of others. */
static inline void say_burst(double others_ns)
{
	unknown_all(the.result.own);
	unknown_all(the.result.others);
	the.result.own[PIPE_ANONYMOUS][UPDATE_ATIME][COST_UPDATE].cost = figure(90);
	the.result.others[PIPE_ANONYMOUS][UPDATE_ATIME][COST_UPDATE].cost = figure(others_ns);
}

static inline int reset(void **state)
{
	(void)state;
	memset(&the, 0, sizeof(the));
	the.clocksource = "tsc\n";
	the.frequency = "3000000\n";
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++)
			cost_figure_unknown(&the.ab.updates[pipe][kind], "Nothing switches it.");
	the.ab.updates[PIPE_ANONYMOUS][UPDATE_ATIME] = figure(100);
	the.ab.reads[PIPE_ANONYMOUS] = figure(1000);
	the.result.pair_cost_seconds = 5e-7;
	say_burst(110);
	return 0;
}

/* There is at most one, and at most one burst. */
int burst_loading_new(const char *const *directories, struct burst_loading **ret_loading)
{
	assert_string_equal(directories[0], "/run");
	assert_int_equal(the.threads, 0);
	assert_int_equal(the.alive, 0);
	if (the.thread_error < 0)
		return the.thread_error;
	the.threads++;
	the.loads++;
	*ret_loading = (struct burst_loading *)&the;
	return 0;
}

void burst_loading_stop(struct burst_loading *l)
{
	assert_ptr_equal(l, &the);
	assert_int_equal(the.threads, 1);
	the.stopped++;
}

double burst_cpu_seconds(struct burst *b)
{
	assert_int_equal(b->alive, 1);
	return b->cpu_seconds;
}

double burst_loading_cpu_seconds(const struct burst_loading *l)
{
	(void)l;
	return 0.25;
}

int burst_loading_result(struct burst_loading *l, char *ret_reason, size_t size,
			 struct burst **ret_burst)
{
	assert_ptr_equal(l, &the);
	assert_int_equal(the.threads, 1);
	if (the.loaded >= 0) {
		the.alive++;
		*ret_burst = &the;
	} else if (the.loaded != -EAGAIN) {
		snprintf(ret_reason, size, "The clock is too slow.");
	}
	return the.loaded;
}

struct burst_loading *burst_loading_free(struct burst_loading *l)
{
	if (l)
		the.threads--;
	return NULL;
}

void burst_cancel(struct burst *b)
{
	assert_int_equal(b->alive, 1);
	b->cancelled++;
}

struct burst *burst_free(struct burst *b)
{
	if (b)
		b->alive--;
	return NULL;
}

int burst_begin(struct burst *b)
{
	assert_int_equal(b->alive, 1);
	b->begun += b->begin_error != -EBUSY;
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

void ab_operation(const struct ab *ab, struct cost_figure *ret)
{
	*ret = ab->reads[PIPE_ANONYMOUS];
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

/* The first calibration is due at DUE, a minute later. */
static inline struct calibration *calibration_new_only(void)
{
	static const char *const directories[] = { "/run", NULL };
	enum path_state paths[PIPE_KINDS][UPDATE_KINDS];
	struct calibration *c = NULL;

	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++)
			paths[pipe][kind] = PATH_PAID;
	assert_int_equal(calibration_new(paths, directories, DUE - MINUTE, &c), 0);
	assert_non_null(c);
	return c;
}

static inline struct calibration *calibration_with(const char *no_burst_reason)
{
	struct calibration *c = calibration_new_only();

	calibration_set_bursts(c, no_burst_reason);
	return c;
}

static inline const struct cost_estimate *atime(const struct calibration *c)
{
	return &calibration_estimates(c)->updates[PIPE_ANONYMOUS][UPDATE_ATIME];
}

static inline void assert_ns(const struct cost_figure *f, double ns)
{
	assert_true(f->known);
	assert_float_equal(f->seconds * 1e9, ns, 1e-6);
}

static inline void assert_seconds(double seconds, double wanted)
{
	assert_float_equal(seconds, wanted, 1e-9);
}

/* What the step says: when to come again, and whether there is something new. */
static inline void step(struct calibration *c, uint64_t now_usec, uint64_t next_usec, bool changed)
{
	bool got = !changed;

	assert_int_equal(calibration_step(c, now_usec, &got), next_usec);
	assert_int_equal(got, changed);
}

/* From when one is due until programs are being attached, loaded before or not. */
static inline void burst_attaches(struct calibration *c, uint64_t now_usec, bool loads)
{
	unsigned int loaded = the.loads + loads;

	if (loads)
		step(c, now_usec, 100 * MSEC, false);
	step(c, now_usec, 0, false);
	step(c, now_usec, 20 * MSEC, false);
	assert_int_equal(the.loads, loaded);
}

/* From when it opens to its end. */
static inline void window_whole(struct calibration *c, uint64_t now_usec)
{
	for (int i = 0; i < 8; i++)
		step(c, now_usec + i * 20 * MSEC, 20 * MSEC, false);
	step(c, now_usec + 200 * MSEC, 10000 * MSEC, true);
}

/* From when one is due to its end, @now_usec being when its window opens. */
static inline void burst_whole(struct calibration *c, uint64_t now_usec)
{
	unsigned int begun = the.begun;
	bool changed = false;

	the.ready = 0;
	for (int i = 0; i < 3 && the.begun == begun; i++) {
		calibration_step(c, now_usec - 20 * MSEC, &changed);
		assert_false(changed);
	}
	assert_int_equal(the.begun, begun + 1);
	the.ready = 1;
	window_whole(c, now_usec);
}

#endif
