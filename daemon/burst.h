/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timed bursts: for a short window every call of the functions that update a pipe's times is timed,
 * by BPF programs at their entry and exit. Between windows nothing is attached.
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
	/* As others cause them, and as our own pipe does in the same window: what A/B can be
	 * compared with. */
	struct burst_stage others[PIPE_KINDS][UPDATE_KINDS][COST_STAGES];
	struct burst_stage own[PIPE_KINDS][UPDATE_KINDS][COST_STAGES];
	double pair_seconds;	  /* what a pair measures on a function that does nothing */
	double pair_cost_seconds; /* what a pair adds to the call that it times */
	double clock_read_seconds;
	uint64_t switched; /* samples thrown away: a context switch inside */
	uint64_t outliers; /* and those far above the rest: an interrupt inside */
	uint64_t missed;   /* runs that the kernel skipped */
};

/*
 * Opens, loads and calibrates, which takes a second or more; nothing stays attached. Returns 0;
 * -EOPNOTSUPP when reading the clock costs more than what would be measured (*ret_reason says so,
 * with the clock source); or -errno with a reason. @reason: 256 bytes. Soon after *stop has become
 * true it gives up; NULL: it never does.
 */
int burst_new(const char *const *directories, const atomic_bool *stop, char *ret_reason,
	      size_t size, struct burst **ret_burst);
struct burst *burst_free(struct burst *b); /* detaches, for which it waits up to a second */

static inline void burst_freep(struct burst **b)
{
	burst_free(*b);
}

/*
 * Begins to attach for a window, in a child process, since that takes up to a second. Returns 0;
 * -EBUSY as long as the child of the window before is not done; or -errno. To be called by a thread
 * that stays: the child ends with it. burst_ready() is 1 when all is attached and the window open,
 * 0 as long as it is not, -errno when it never will be.
 */
int burst_begin(struct burst *b);
int burst_ready(struct burst *b);

/*
 * Moves bytes through an own pipe and FIFO, so that there is something to time even on an idle
 * host. Under 2 ms, where 32 of each do not take longer. -EAGAIN: the window is not open.
 */
int burst_stimulate(struct burst *b);

/*
 * Closes the window, has the child detach, and sums up what was timed. Where there were too few
 * calls a figure is not known. The child may take a second for it, which is not waited for.
 * -ECHILD: it has ended before, so that it is not known for how long anything was timed.
 */
int burst_end(struct burst *b, struct burst_result *ret);

/* Likewise, at whatever point, without a result. */
void burst_cancel(struct burst *b);

/* CPU time so far of the children that attached and detached, as far as they have ended. */
double burst_cpu_seconds(struct burst *b);

#endif
