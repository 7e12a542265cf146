/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the unit costs up to date: A/B at the start and before each burst, a burst every minute,
 * and sooner when the clock source or the CPU's frequency has changed.
 */
#ifndef PIPEWATCH_CALIBRATION_H
#define PIPEWATCH_CALIBRATION_H

#include <stdbool.h>
#include <stdint.h>

#include "estimate.h"

struct calibration;

/*
 * Measures A/B at once, under 50 ms. @directories (NULL-terminated, kept by the caller) are for the
 * FIFO; @no_burst_reason says why bursts are out of the question, NULL: they are not. Returns 0 or
 * -ENOMEM.
 */
int calibration_new(const enum path_state paths[PIPE_KINDS][UPDATE_KINDS],
		    const char *const *directories, const char *no_burst_reason,
		    struct calibration **ret_calibration);
struct calibration *calibration_free(struct calibration *c); /* detaches */

static inline void calibration_freep(struct calibration **c)
{
	calibration_free(*c);
}

/*
 * Does what is due at @now_usec (CLOCK_MONOTONIC) and returns in how many microseconds to call
 * again; *ret_changed: there are new estimates.
 */
uint64_t calibration_step(struct calibration *c, uint64_t now_usec, bool *ret_changed);

/* Will there be bursts? */
bool calibration_reattaches(const struct calibration *c);

const struct estimates *calibration_estimates(const struct calibration *c);

/* Windows of bursts so far, and the time that they lasted, both for the own cost. */
uint64_t calibration_bursts(const struct calibration *c, uint64_t *ret_usec);

#endif
