/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What watching costs: sums of our own cost by part, and their share of the time that the host
 * spends in pipe operations. Reads nothing but our own CPU time.
 */
#ifndef PIPEWATCH_OBSERVER_H
#define PIPEWATCH_OBSERVER_H

#include <stdint.h>

#include "snapshot.h"

/* What observer_other() is averaged over: the time from one calibration to the next, or else each
 * would look like a sudden rise. */
#define OBSERVER_OTHER_SEC 60

struct observer;

/* NULL when out of memory. */
struct observer *observer_new(void);
struct observer *observer_free(struct observer *o); /* takes NULL; returns NULL */

static inline void observer_freep(struct observer **o)
{
	observer_free(*o);
}

/* Charges the CPU time that a part has cost since it was last charged; for OBSERVER_DAEMON this is
 * never called, since observer_look() reads it. What is not positive or not finite is ignored, so
 * that sums never fall. */
void observer_charge(struct observer *o, enum observer_part part, double seconds);

/* Adds the time that the host has spent in pipe operations since the last call, or whatever else
 * the overhead is to be a share of; likewise. */
void observer_pipe_time(struct observer *o, double seconds);

/* Adds the part of our CPU time that went into opening and closing a window: it is in
 * OBSERVER_DAEMON, but not in observer_other(). */
void observer_window(struct observer *o, double seconds);

/* Standard errors, as a share, of what is charged for OBSERVER_PROGRAMS and of the time in pipe
 * operations; 0 until set. */
void observer_set_errors(struct observer *o, double programs_ratio, double pipe_time_ratio);

/* To be called about once a second, after the charges for that second. @now_usec is
 * CLOCK_MONOTONIC. */
void observer_look(struct observer *o, uint64_t now_usec);

/* What was charged so far belongs to another mode: the overhead starts anew. */
void observer_mode_changed(struct observer *o, uint64_t now_usec);

/* Sets cpu_seconds and overhead, both as of the last look, and leaves the rest alone. */
void observer_fill(const struct observer *o, struct snapshot_observer *ret);

/* Our cost per second without OBSERVER_PROGRAMS and windows, over the last OBSERVER_OTHER_SEC or a
 * little more, or since the first look, across changes of mode. 0 when not known yet. */
double observer_other(const struct observer *o);

#endif
