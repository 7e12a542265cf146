/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timed bursts: in a short window BPF programs at entry and exit time every call of the functions
 * that update a pipe's times. Between windows nothing is attached.
 */
#ifndef PIPEWATCH_BURST_H
#define PIPEWATCH_BURST_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "cost.h"

struct burst;

struct burst_stage {
	struct cost_figure cost; /* self time of one update, on average over all updates, the pair's
				    own cost subtracted */
	uint64_t calls;
};

struct burst_result {
	/* Of updates that others cause, and of those on our own pipe in the same window, which A/B
	 * can be compared with. */
	struct burst_stage others[PIPE_KINDS][UPDATE_KINDS][COST_STAGES];
	struct burst_stage own[PIPE_KINDS][UPDATE_KINDS][COST_STAGES];
	double pair_seconds;	  /* what a pair measures around a function that does nothing */
	double pair_cost_seconds; /* what a pair adds to the call that it times */
	double clock_read_seconds;
	uint64_t switched; /* calls left out because of a context switch inside */
	uint64_t outliers; /* and those far above the rest, with an interrupt inside */
	uint64_t missed;   /* runs that the kernel skipped */
};

/*
 * Opens, loads and calibrates, which takes a second or more; nothing stays attached. Returns 0;
 * -EOPNOTSUPP when reading the clock costs more than what would be measured; or another -errno. In
 * both cases @ret_reason (256 bytes) says why. Gives up with -ECANCELED soon after *stop has become
 * true; @stop may be NULL.
 */
int burst_new(const char *const *directories, const atomic_bool *stop, char *ret_reason,
	      size_t size, struct burst **ret_burst);
struct burst *burst_free(struct burst *b); /* detaches, for which it waits up to a second */

static inline void burst_freep(struct burst **b)
{
	burst_free(*b);
}

/*
 * Starts attaching for a window, in a child process, since that takes up to a second. Returns 0;
 * -EBUSY while the child of the previous window has not ended; or -errno. The child is killed when
 * the calling thread ends. burst_ready() returns 1 when everything is attached and the window is
 * open, 0 as long as it is not, and -errno when it never will be.
 */
int burst_begin(struct burst *b);
int burst_ready(struct burst *b);

/*
 * Moves bytes through our own pipe and FIFO, so that there is something to time even on an idle
 * host. Takes under 2 ms, unless 32 operations on each take longer. Returns 0; -EAGAIN when the
 * window is not open; or -errno.
 */
int burst_stimulate(struct burst *b);

/*
 * Closes the window, makes the child detach without waiting for it, and sums up what was timed.
 * Where there were too few calls a figure is not known. -ECHILD: the child had ended before, so
 * that it is not known for how long anything was timed.
 */
int burst_end(struct burst *b, struct burst_result *ret);

/* Likewise, at any time and without a result. */
void burst_cancel(struct burst *b);

/* CPU time of all children that have ended so far. */
double burst_cpu_seconds(struct burst *b);

#endif
