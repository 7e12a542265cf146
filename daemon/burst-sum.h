/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From times as the programs of a burst took them to what an update costs by stages. Pure
 * arithmetic.
 */
#ifndef PIPEWATCH_BURST_SUM_H
#define PIPEWATCH_BURST_SUM_H

#include "burst.h"
#include "histogram.h"
#include "pipewatch/burst-wire.h"

/*
 * The cost of timing. A pair of programs is in its own time with pair_ns, which is what it takes on
 * a function that does nothing, that function's few instructions included. A call of such a
 * function, with the call itself, is call_ns without the programs. So a call that was timed at t
 * takes t - pair_ns + call_ns. Within another call that is timed, a whole pair adds nested_ns.
 */
struct burst_cost {
	double pair_ns;
	double pair_error_ns;
	double nested_ns;
	double call_ns;
	double clock_ns; /* one reading of the clock, part of pair_ns */
	double step_ns;	 /* by which the clock moves on, 0: less than that */
};

/* Fewer timed calls than this give no figure. */
#define BURST_CALLS_MIN 64

/*
 * Sums up one kind of call of one owner on one kind of pipe. @no_part_reason: for each part NULL,
 * or why it cannot be timed: then its time is in the stage COST_UPDATE. Adds what was left out to
 * *ret_outliers.
 */
void burst_sum(const struct histogram spans[static BURST_SPANS], const struct burst_cost *cost,
	       const char *const no_part_reason[static BURST_PARTS],
	       struct burst_stage ret[static COST_STAGES], uint64_t *ret_outliers);

/* All stages together; 0 where they are not known. */
double burst_sum_seconds(const struct burst_stage stages[static COST_STAGES]);

#endif
