// SPDX-License-Identifier: GPL-2.0-or-later
#include "calibration.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ab.h"
#include "burst-loading.h"
#include "sysfs.h"

#define AB_USEC		  20000
#define WINDOW_USEC	  UINT64_C(200000)
#define STIMULUS_USEC	  UINT64_C(20000)
#define STIMULI_MIN	  8 /* enough calls for a mean, however seldom we get to run */
#define LOADING_LOOK_USEC UINT64_C(100000)
#define ATTACH_LOOK_USEC  UINT64_C(20000)
#define LOOK_USEC	  UINT64_C(10000000)
#define INTERVAL_USEC	  UINT64_C(60000000)
#define INTERVAL_USEC_MAX 1e15 /* thirty years */

/* After a burst that failed. */
#define RETRY_INTERVALS 10

/* The frequency changes all the time; only a change that moves a cost beyond its error is worth a
 * burst. */
#define FREQUENCY_CHANGE_RATIO 0.1

enum phase {
	WAITING,
	LOADING,   /* only before the first burst, and after one that failed */
	BEGINNING, /* A/B has been measured */
	ATTACHING,
	IN_WINDOW,
};

struct calibration {
	enum path_state paths[PIPE_KINDS][UPDATE_KINDS];
	const char *const *directories;
	char forbidden[256];	       /* why bursts are forbidden; "" when they are not */
	char failure[256];	       /* why the last burst that failed did; "" when none has */
	uint64_t retry_usec;	       /* no burst before this time */
	struct burst_loading *loading; /* may be left over from when it was stopped */
	struct burst *burst;	       /* NULL before the first */
	bool burst_stale; /* to be prepared anew, since it failed or the clock has changed */
	enum phase phase;
	uint64_t window_usec; /* when it opened */
	unsigned int stimuli; /* in it */
	uint64_t due_usec;
	uint64_t interval_usec;
	uint64_t begun_usec;	  /* of the burst */
	uint64_t stepped_usec;	  /* last */
	double loading_seconds;	  /* CPU time */
	double attaching_seconds; /* likewise, of bursts that are unloaded */
	double attached_seconds;  /* of those that are over */

	bool ab_known;
	char ab_reason[128];
	struct ab ab;
	bool result_known;
	struct burst_result result;
	struct estimates estimates;

	/* As of the last calibration. */
	char clocksource[64];
	double frequency;
};

/* Has anything changed that costs depend on, since this was last called? */
static bool host_changed(struct calibration *c, bool *ret_clocksource_changed)
{
	char clocksource[sizeof(c->clocksource)], text[32];
	double frequency;

	sysfs_read(SYSFS_CLOCKSOURCE, clocksource, sizeof(clocksource));
	sysfs_read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", text, sizeof(text));
	frequency = strtod(text, NULL);
	*ret_clocksource_changed = strcmp(clocksource, c->clocksource) != 0;
	if (!*ret_clocksource_changed &&
	    fabs(frequency - c->frequency) <= FREQUENCY_CHANGE_RATIO * c->frequency)
		return false;
	memcpy(c->clocksource, clocksource, sizeof(clocksource));
	c->frequency = frequency;
	return true;
}

static const char *no_burst_reason(const struct calibration *c)
{
	if (c->forbidden[0])
		return c->forbidden;
	return c->failure[0] ? c->failure : "No burst has ended yet.";
}

static void estimate(struct calibration *c)
{
	estimate_all(c->paths, c->ab_known ? &c->ab : NULL, c->ab_reason,
		     c->result_known ? &c->result : NULL, no_burst_reason(c), &c->estimates);
}

/* A busy machine can starve a measurement: the previous figure is better than none. */
static void figure_renew(struct cost_figure *f, const struct cost_figure *fresh)
{
	if (fresh->known || !f->known)
		*f = *fresh;
}

static void measure_ab(struct calibration *c)
{
	struct ab fresh;
	int r = ab_measure(c->directories, AB_USEC, c->paths, &fresh);

	if (r < 0) {
		snprintf(c->ab_reason, sizeof(c->ab_reason), "No own pipe could be had: %s.",
			 strerror(-r));
		return;
	}
	c->ab_known = true;
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		figure_renew(&c->ab.reads[pipe], &fresh.reads[pipe]);
		figure_renew(&c->ab.writes[pipe], &fresh.writes[pipe]);
		for (int kind = 0; kind < UPDATE_KINDS; kind++)
			figure_renew(&c->ab.updates[pipe][kind], &fresh.updates[pipe][kind]);
	}
}

int calibration_new(const enum path_state paths[PIPE_KINDS][UPDATE_KINDS],
		    const char *const *directories, uint64_t now_usec,
		    struct calibration **ret_calibration)
{
	struct calibration *c = calloc(1, sizeof(*c));
	bool clocksource_changed;

	if (!c)
		return -ENOMEM;
	memcpy(c->paths, paths, sizeof(c->paths));
	c->directories = directories;
	host_changed(c, &clocksource_changed);
	measure_ab(c);
	c->interval_usec = INTERVAL_USEC;
	c->due_usec = now_usec + INTERVAL_USEC;
	snprintf(c->forbidden, sizeof(c->forbidden), "There are no bursts.");
	estimate(c);
	*ret_calibration = c;
	return 0;
}

struct calibration *calibration_free(struct calibration *c)
{
	if (!c)
		return NULL;
	burst_loading_free(c->loading);
	burst_free(c->burst);
	free(c);
	return NULL;
}

void calibration_set_interval(struct calibration *c, double seconds)
{
	uint64_t begin_usec = c->due_usec - c->interval_usec;
	double usec = seconds * 1e6;

	/* Also when it is not a number. */
	c->interval_usec = usec > INTERVAL_USEC ? fmin(usec, INTERVAL_USEC_MAX) : INTERVAL_USEC;
	c->due_usec = begin_usec + c->interval_usec;
}

/* Detaching takes as long as attaching does. */
static void attached_until(struct calibration *c, uint64_t now_usec)
{
	uint64_t open_usec = c->phase == IN_WINDOW ? c->window_usec : now_usec;

	c->attached_seconds += (now_usec - c->begun_usec + open_usec - c->begun_usec) * 1e-6;
}

void calibration_pause(struct calibration *c)
{
	switch (c->phase) {
	case LOADING: burst_loading_stop(c->loading); break;
	case ATTACHING:
	case IN_WINDOW:
		attached_until(c, c->stepped_usec);
		burst_cancel(c->burst);
		break;
	default: break;
	}
	c->phase = WAITING;
}

void calibration_set_bursts(struct calibration *c, const char *no_reason)
{
	if (no_reason)
		calibration_pause(c);
	snprintf(c->forbidden, sizeof(c->forbidden), "%s", no_reason ?: "");
	estimate(c);
}

void calibration_operation(const struct calibration *c, struct cost_figure *ret)
{
	if (c->ab_known)
		ab_operation(&c->ab, ret);
	else
		cost_figure_unknown(ret, "%s", c->ab_reason);
}

double calibration_attached_seconds(const struct calibration *c)
{
	return c->attached_seconds;
}

double calibration_loading_seconds(const struct calibration *c)
{
	return c->loading_seconds;
}

double calibration_attaching_seconds(const struct calibration *c)
{
	return c->attaching_seconds + (c->burst ? burst_cpu_seconds(c->burst) : 0);
}

/* The CPU time of a child that has not ended yet is lost. */
static void burst_unload(struct calibration *c)
{
	if (c->burst)
		c->attaching_seconds += burst_cpu_seconds(c->burst);
	c->burst = burst_free(c->burst);
}

void calibration_unload(struct calibration *c)
{
	calibration_pause(c);
	burst_unload(c);
}

double calibration_pair_seconds(const struct calibration *c)
{
	return c->result_known ? c->result.pair_cost_seconds : 0;
}

/* The next step goes on without a burst, unless it has been put off meanwhile: what has failed is
 * told at once. */
static void fail(struct calibration *c, uint64_t again_usec, const char *reason)
{
	if (c->phase == ATTACHING || c->phase == IN_WINDOW) {
		attached_until(c, c->stepped_usec);
		burst_cancel(c->burst);
	}
	c->burst_stale = true;
	c->retry_usec = again_usec;
	snprintf(c->failure, sizeof(c->failure), "%s", reason);
	c->phase = WAITING;
	estimate(c);
}

static uint64_t retry_usec(const struct calibration *c)
{
	return c->stepped_usec + RETRY_INTERVALS * c->interval_usec;
}

static void burst_fail(struct calibration *c, int error)
{
	char reason[128];

	snprintf(reason, sizeof(reason), "The last burst failed: %s.",
		 error == -ECHILD ? "the process that attaches for it was killed, or gave up"
				  : strerror(-error));
	fail(c, retry_usec(c), reason);
}

/* The functions of one phase return how long to wait before looking again. */

static uint64_t loading_begin(struct calibration *c)
{
	int r;

	/* Its child, if any, ended long ago: this does not wait. */
	burst_unload(c);
	c->burst_stale = false;
	if (!c->loading) {
		r = burst_loading_new(c->directories, &c->loading);
		if (r < 0) {
			burst_fail(c, r);
			return 0;
		}
	}
	c->phase = LOADING;
	return LOADING_LOOK_USEC;
}

static uint64_t burst_prepare(struct calibration *c)
{
	measure_ab(c);
	c->phase = BEGINNING;
	return 0;
}

static uint64_t loading_look(struct calibration *c)
{
	char reason[sizeof(c->failure)];
	int r = burst_loading_result(c->loading, reason, sizeof(reason), &c->burst);

	if (r == -EAGAIN)
		return LOADING_LOOK_USEC;
	c->loading_seconds += burst_loading_cpu_seconds(c->loading);
	c->loading = burst_loading_free(c->loading);
	if (r >= 0)
		return burst_prepare(c);
	if (r == -ECANCELED) {
		/* By calibration_pause(), after which there was a new start. */
		c->phase = WAITING;
	} else if (r == -EOPNOTSUPP) {
		/* This clock is of no use, and neither are results that were taken with it. */
		c->result_known = false;
		fail(c, UINT64_MAX, reason);
	} else {
		fail(c, retry_usec(c), reason);
	}
	return 0;
}

static uint64_t beginning(struct calibration *c, uint64_t now_usec)
{
	int r = burst_begin(c->burst);

	if (r == -EBUSY)
		return ATTACH_LOOK_USEC;
	if (r < 0) {
		burst_fail(c, r);
		return 0;
	}
	c->begun_usec = now_usec;
	c->phase = ATTACHING;
	return ATTACH_LOOK_USEC;
}

/* Several times and throughout the window: a slow machine does little each time, and the speed of a
 * CPU changes. */
static uint64_t window_stimulate(struct calibration *c, uint64_t now_usec)
{
	uint64_t until_usec = c->window_usec + WINDOW_USEC;
	int r = burst_stimulate(c->burst);

	if (r < 0) {
		burst_fail(c, r);
		return 0;
	}
	c->stimuli++;
	if (until_usec <= now_usec || until_usec - now_usec > STIMULUS_USEC)
		return STIMULUS_USEC;
	return until_usec - now_usec;
}

static uint64_t window_open(struct calibration *c, uint64_t now_usec)
{
	int r = burst_ready(c->burst);

	if (r == 0)
		return ATTACH_LOOK_USEC;
	if (r < 0) {
		burst_fail(c, r);
		return 0;
	}
	c->phase = IN_WINDOW;
	c->window_usec = now_usec;
	c->stimuli = 0;
	return window_stimulate(c, now_usec);
}

static void window_close(struct calibration *c, uint64_t now_usec)
{
	int r = burst_end(c->burst, &c->result);

	c->due_usec = now_usec + c->interval_usec;
	if (r < 0) {
		burst_fail(c, r);
		return;
	}
	attached_until(c, now_usec);
	c->phase = WAITING;
	c->result_known = true;
}

/* Without bursts A/B is all there is. */
static void calibrate_without_burst(struct calibration *c, uint64_t now_usec)
{
	measure_ab(c);
	c->due_usec = now_usec + c->interval_usec;
}

static bool is_due(struct calibration *c, uint64_t now_usec)
{
	bool clocksource_changed;

	if (host_changed(c, &clocksource_changed)) {
		c->due_usec = now_usec;
		if (clocksource_changed) {
			c->retry_usec = 0;
			c->burst_stale = true;
		}
	}
	return now_usec >= c->due_usec;
}

uint64_t calibration_step(struct calibration *c, uint64_t now_usec, bool *ret_changed)
{
	*ret_changed = false;
	c->stepped_usec = now_usec;
	switch (c->phase) {
	case WAITING:
		if (!is_due(c, now_usec))
			return LOOK_USEC;
		if (!c->forbidden[0] && now_usec >= c->retry_usec)
			return c->burst && !c->burst_stale ? burst_prepare(c) : loading_begin(c);
		calibrate_without_burst(c, now_usec);
		break;
	case LOADING: return loading_look(c);
	case BEGINNING: return beginning(c, now_usec);
	case ATTACHING: return window_open(c, now_usec);
	case IN_WINDOW:
		if (now_usec - c->window_usec < WINDOW_USEC || c->stimuli < STIMULI_MIN)
			return window_stimulate(c, now_usec);
		window_close(c, now_usec);
		break;
	}
	estimate(c);
	*ret_changed = true;
	return LOOK_USEC;
}

const struct estimates *calibration_estimates(const struct calibration *c)
{
	return &c->estimates;
}
