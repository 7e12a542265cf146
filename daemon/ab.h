/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A/B: the cost of an update as the difference between an operation with it and one without, on our own pipes. Needs
 * neither BPF nor privileges. On anonymous pipes and FIFOs O_NOATIME switches the update of a read off; writes have no
 * switch, but where anonymous pipes are not updated a FIFO differs from one by just the update and the wrapper around
 * it, and the wrapper's cost is the difference between reads of both with O_NOATIME.
 */
#ifndef PIPEWATCH_AB_H
#define PIPEWATCH_AB_H

#include "cost.h"

struct ab {
	/* The whole cost of one update; of UPDATE_FSNOTIFY never known. */
	struct cost_figure updates[PIPE_KINDS][UPDATE_KINDS];
	/* One whole operation of 100 bytes, in a loop that fills and drains the pipe: system call and all. */
	struct cost_figure reads[PIPE_KINDS];
	struct cost_figure writes[PIPE_KINDS];
	double clock_read_seconds; /* what reading CLOCK_MONOTONIC once costs */
};

/*
 * Measures for about @duration_usec in all, on the CPU that we are on, in many short interleaved rounds, of which the
 * medians count: interrupts and frequency changes touch all variants alike. @directories (NULL-terminated) are tried in
 * turn for the FIFO. Returns 0, always with every figure known or with its reason, or -errno when no own pipe can be had.
 */
int ab_measure(const char *const *directories, unsigned int duration_usec,
	       const enum path_state paths[PIPE_KINDS][UPDATE_KINDS], struct ab *ret);

#endif
