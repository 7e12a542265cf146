/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A/B: the cost of an update as the difference between operations with and without it, on our own
 * pipes. Needs neither BPF nor privileges. On anonymous pipes and FIFOs O_NOATIME switches off the
 * update of a read. For writes there is no switch. But where anonymous pipes are not updated, a
 * FIFO differs from one only by the update and the wrapper around it, and the cost of the wrapper
 * is the difference between reads of both with O_NOATIME.
 */
#ifndef PIPEWATCH_AB_H
#define PIPEWATCH_AB_H

#include "cost.h"
#include "rounds.h"

struct ab {
	/*
	 * The whole cost of one update that finds its time unchanged. The first one on a pipe in
	 * each tick of the clock (1 to 10 ms) stores the new time and costs two to four times as
	 * much; it is left out. UPDATE_FSNOTIFY is never known.
	 */
	struct cost_figure updates[PIPE_KINDS][UPDATE_KINDS];
	/* One whole operation of 100 bytes, including the system call, in a loop that fills and
	 * drains the pipe. */
	struct cost_figure reads[PIPE_KINDS];
	struct cost_figure writes[PIPE_KINDS];
	double clock_read_seconds; /* what reading CLOCK_MONOTONIC once costs; 0: not known */
};

/*
 * Measures for about @duration_usec, from the next tick of the clock (1 to 10 ms), and at most 0.5
 * s longer on a CPU that others keep busy. This is done in many short rounds, and the middle half
 * of their differences is averaged: interrupts and changes of the frequency affect all variants
 * alike.
 * @directories (NULL-terminated) are tried in turn for the FIFO. Returns 0, with every figure known
 * or with its reason; or -errno when no pipe or no thread can be had.
 */
int ab_measure(const char *const *directories, unsigned int duration_usec,
	       const enum path_state paths[PIPE_KINDS][UPDATE_KINDS], struct ab *ret);

/* The mean of a read and a write of an anonymous pipe, or of a FIFO where only that is known. */
void ab_operation(const struct ab *ab, struct cost_figure *ret);

/* Draws the conclusion from @n rounds. @missing: rounds_missing() of each variant. Returns 0 or
 * -ENOMEM. */
int ab_conclude(const struct round *rounds, size_t n, double clock_read_seconds,
		const char *const missing[PIPE_KINDS][2],
		const enum path_state paths[PIPE_KINDS][UPDATE_KINDS], struct ab *ret);

#endif
