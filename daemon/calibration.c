// SPDX-License-Identifier: GPL-2.0-or-later
#include "calibration.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "ab.h"
#include "burst.h"
#include "spell.h"
#include "util.h"

#define AB_USEC		 20000
#define WINDOW_USEC	 UINT64_C(200000)
#define STIMULUS_USEC	 UINT64_C(20000)
#define ATTACH_LOOK_USEC UINT64_C(20000)
#define LOOK_USEC	 UINT64_C(10000000)
#define INTERVAL_USEC	 UINT64_C(60000000)

/* A governor moves the frequency all the time; only what shifts a cost beyond its error is worth a
 * burst. */
#define FREQUENCY_CHANGE_RATIO 0.1

struct calibration {
	enum path_state paths[PIPE_KINDS][UPDATE_KINDS];
	const char *const *directories;
	char no_burst_reason[256];
	bool bursts;	     /* there will be some; if not, with the reason above */
	struct burst *burst; /* NULL before the first */
	enum { WAITING, ATTACHING, IN_WINDOW } phase;
	uint64_t window_usec; /* when it opened; 0: not yet */
	uint64_t due_usec;
	uint64_t interval_usec;
	uint64_t begun_usec;	 /* of the burst */
	double attached_seconds; /* of those that are over */

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

static void file_read(const char *path, char *ret, size_t size)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "re");

	ret[0] = '\0';
	if (f && fgets(ret, size, f))
		ret[strcspn(ret, "\n")] = '\0';
}

/* What costs depend on: has it changed since it was last noted? */
static bool host_changed(struct calibration *c)
{
	char clocksource[sizeof(c->clocksource)], text[32];
	double frequency;
	bool changed;

	file_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", clocksource,
		  sizeof(clocksource));
	file_read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", text, sizeof(text));
	frequency = strtod(text, NULL);
	changed = strcmp(clocksource, c->clocksource) != 0 ||
		  fabs(frequency - c->frequency) > FREQUENCY_CHANGE_RATIO * c->frequency;
	if (changed) {
		memcpy(c->clocksource, clocksource, sizeof(clocksource));
		c->frequency = frequency;
	}
	return changed;
}

static void estimate(struct calibration *c)
{
	estimate_all(c->paths, c->ab_known ? &c->ab : NULL, c->ab_reason,
		     c->result_known ? &c->result : NULL,
		     c->bursts ? "No burst has ended yet." : c->no_burst_reason, &c->estimates);
}

/* A busy machine can starve a measurement: the figure that was known before is better than none. */
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
		    const char *const *directories, struct calibration **ret_calibration)
{
	struct calibration *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	memcpy(c->paths, paths, sizeof(c->paths));
	c->directories = directories;
	host_changed(c);
	measure_ab(c);
	c->interval_usec = INTERVAL_USEC;
	c->due_usec = monotonic_usec() + INTERVAL_USEC;
	snprintf(c->no_burst_reason, sizeof(c->no_burst_reason), "There are no bursts.");
	estimate(c);
	*ret_calibration = c;
	return 0;
}

struct calibration *calibration_free(struct calibration *c)
{
	if (!c)
		return NULL;
	burst_free(c->burst);
	free(c);
	return NULL;
}

void calibration_set_bursts(struct calibration *c, const char *no_reason)
{
	c->bursts = !no_reason;
	if (no_reason)
		snprintf(c->no_burst_reason, sizeof(c->no_burst_reason), "%.250s", no_reason);
	estimate(c);
}

void calibration_set_interval(struct calibration *c, double seconds)
{
	uint64_t usec = seconds * 1e6;

	c->interval_usec = usec > INTERVAL_USEC ? usec : INTERVAL_USEC;
}

void calibration_pause(struct calibration *c)
{
	if (c->phase == WAITING)
		return;
	c->burst = burst_free(c->burst);
	c->phase = WAITING;
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

double calibration_pair_seconds(const struct calibration *c)
{
	return c->result_known ? c->result.pair_cost_seconds : 0;
}

static void burst_fail(struct calibration *c, int error)
{
	snprintf(c->no_burst_reason, sizeof(c->no_burst_reason), "The last burst failed: %s.",
		 strerror(-error));
	c->burst = burst_free(c->burst);
	c->bursts = false;
}

static int burst_start(struct calibration *c)
{
	int r;

	/* Loading and calibrating takes a second or more: not at the start of the daemon. */
	if (!c->burst) {
		r = burst_new(c->directories, c->no_burst_reason, sizeof(c->no_burst_reason),
			      &c->burst);
		if (r < 0) {
			c->bursts = false;
			return r;
		}
	}
	measure_ab(c);
	c->begun_usec = monotonic_usec();
	r = burst_begin(c->burst);
	if (r < 0)
		burst_fail(c, r);
	else
		c->phase = ATTACHING;
	return r;
}

/* Several times, and at all times of the window: a slow machine does little in one, and the speed
 * of a CPU changes. */
static uint64_t window_stimulate(struct calibration *c, uint64_t now_usec)
{
	uint64_t left_usec = WINDOW_USEC - (now_usec - c->window_usec);
	int r = burst_stimulate(c->burst);

	if (r < 0) {
		burst_fail(c, r);
		c->phase = WAITING;
		return 0;
	}
	return left_usec < STIMULUS_USEC ? left_usec : STIMULUS_USEC;
}

/* Returns how long to wait before looking again. */
static uint64_t window_open(struct calibration *c, uint64_t now_usec)
{
	int r = burst_ready(c->burst);

	if (r == 0)
		return ATTACH_LOOK_USEC;
	if (r < 0) {
		burst_fail(c, r);
		c->phase = WAITING;
		return 0;
	}
	c->phase = IN_WINDOW;
	c->window_usec = now_usec;
	return window_stimulate(c, now_usec);
}

static void window_close(struct calibration *c, uint64_t now_usec)
{
	int r = burst_end(c->burst, &c->result);

	c->phase = WAITING;
	/* Detaching takes as long as attaching did. */
	c->attached_seconds += (now_usec - c->begun_usec + c->window_usec - c->begun_usec) * 1e-6;
	c->due_usec = now_usec + c->interval_usec;
	if (r < 0)
		burst_fail(c, r);
	else
		c->result_known = true;
}

/* Without bursts A/B is all there is. */
static void calibrate_without_burst(struct calibration *c, uint64_t now_usec)
{
	measure_ab(c);
	c->due_usec = now_usec + c->interval_usec;
}

uint64_t calibration_step(struct calibration *c, uint64_t now_usec, bool *ret_changed)
{
	*ret_changed = false;
	switch (c->phase) {
	case WAITING:
		if (!host_changed(c) && now_usec < c->due_usec)
			return LOOK_USEC;
		if (c->bursts && burst_start(c) >= 0)
			return ATTACH_LOOK_USEC;
		calibrate_without_burst(c, now_usec);
		break;
	case ATTACHING: return window_open(c, now_usec);
	case IN_WINDOW:
		if (now_usec - c->window_usec < WINDOW_USEC)
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
