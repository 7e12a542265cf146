/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What watching costs: sums of the daemon's own cost by part, and what share they have of the time
 * that the host spends in pipe operations. Reads nothing but the own CPU time.
 */
#ifndef PIPEWATCH_OBSERVER_H
#define PIPEWATCH_OBSERVER_H

#include <stdint.h>

#include "snapshot.h"

/* The time that observer_other() is of: as long as from one calibration to the next, or each would
 * look like a sudden rise. */
#define OBSERVER_OTHER_SEC 60

struct observer;

/* NULL when out of memory. */
struct observer *observer_new(void);
struct observer *observer_free(struct observer *o); /* takes NULL; returns NULL */

static inline void observer_freep(struct observer **o)
{
	observer_free(*o);
}

/* CPU time that a part has cost since it was last charged. OBSERVER_DAEMON is not charged: it is
 * looked at. What is not above zero, or not finite, is ignored, so that sums never fall. */
void observer_charge(struct observer *o, enum observer_part part, double seconds);

/* Time that the host has spent in pipe operations since the last call; likewise. */
void observer_pipe_time(struct observer *o, double seconds);

/* What of the daemon's own CPU time went into opening and closing a window: part of
 * OBSERVER_DAEMON, but not of observer_other(). */
void observer_window(struct observer *o, double seconds);

/* Standard errors, as a share, of what is charged for OBSERVER_PROGRAMS and of the time in pipe
 * operations; 0 until set. */
void observer_set_errors(struct observer *o, double programs_ratio, double pipe_time_ratio);

/* To be called about once a second, after the charges of that second. @now_usec is monotonic. */
void observer_look(struct observer *o, uint64_t now_usec);

/* What was charged so far belongs to another mode: the overhead starts anew. */
void observer_mode_changed(struct observer *o, uint64_t now_usec);

/* Sets cpu_seconds and overhead, both as of the last look, and leaves the rest alone. */
void observer_fill(const struct observer *o, struct snapshot_observer *ret);

/* Own cost per second without OBSERVER_PROGRAMS and windows, of the last OBSERVER_OTHER_SEC or a
 * little more, or since the first look; across changes of mode. 0 when not known yet. */
double observer_other(const struct observer *o);

#endif
