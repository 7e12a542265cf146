/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the unit costs up to date: A/B at the start and before each burst, and a burst every
 * minute, or sooner when the clock source or the CPU's frequency has changed. A burst that failed
 * is tried again after ten intervals; where the clock is too slow, when the clock source has
 * changed.
 */
#ifndef PIPEWATCH_CALIBRATION_H
#define PIPEWATCH_CALIBRATION_H

#include <stdbool.h>
#include <stdint.h>

#include "estimate.h"

struct calibration;

/*
 * Measures A/B at once, which takes under 50 ms; the first burst is due a minute after @now_usec.
 * @directories (NULL-terminated, kept by the caller) are for the FIFO. Returns 0 or -ENOMEM.
 */
int calibration_new(const enum path_state paths[PIPE_KINDS][UPDATE_KINDS],
		    const char *const *directories, uint64_t now_usec,
		    struct calibration **ret_calibration);
struct calibration *calibration_free(struct calibration *c); /* detaches, and waits for it */

static inline void calibration_freep(struct calibration **c)
{
	calibration_free(*c);
}

/*
 * Does what is due at @now_usec (CLOCK_MONOTONIC) and returns in how many microseconds to call
 * again; *ret_changed: there are new estimates.
 */
uint64_t calibration_step(struct calibration *c, uint64_t now_usec, bool *ret_changed);

/* Allows bursts (@no_reason is NULL) or forbids them, for that reason. They are forbidden until
 * this is called. */
void calibration_set_bursts(struct calibration *c, const char *no_reason);

/* The time from one calibration to the next; at least a minute, which it is until this is called.
 */
void calibration_set_interval(struct calibration *c, double seconds);

/* Ends a burst that has begun, without a result and without waiting. */
void calibration_pause(struct calibration *c);

/* Likewise, and unloads the programs; may wait up to a second for them to be detached. */
void calibration_unload(struct calibration *c);

/* The cost of one operation on a pipe of our own, as A/B measured it last. */
void calibration_operation(const struct calibration *c, struct cost_figure *ret);

const struct estimates *calibration_estimates(const struct calibration *c);

/*
 * For how long the programs of bursts have been attached so far, and what they added to each
 * operation in that time (0 when not known yet).
 */
double calibration_attached_seconds(const struct calibration *c);
double calibration_pair_seconds(const struct calibration *c);

/* Our own CPU time so far for loading the programs of bursts, and for attaching and detaching them.
 */
double calibration_loading_seconds(const struct calibration *c);
double calibration_attaching_seconds(const struct calibration *c);

#endif
