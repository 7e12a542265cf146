/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns the times that the programs of a burst took into the cost of an update by stage. Pure
 * arithmetic.
 */
#ifndef PIPEWATCH_BURST_SUM_H
#define PIPEWATCH_BURST_SUM_H

#include "burst.h"
#include "histogram.h"
#include "pipewatch/burst-wire.h"

/*
 * The cost of timing. Around a function that does nothing a pair measures pair_ns, which includes
 * the few instructions of that function. Without the programs, a call of such a function takes
 * call_ns. So a call that was timed at t takes t - pair_ns + call_ns. A whole pair adds nested_ns
 * to the time of another call around it.
 */
struct burst_cost {
	double pair_ns;
	double pair_error_ns;
	double nested_ns;
	double call_ns;
	double clock_ns; /* one reading of the clock, part of pair_ns */
	double step_ns;	 /* of a clock that stands still between two reads; else 0 */
};

/* Fewer timed calls than this give no figure. */
#define BURST_CALLS_MIN 64

/*
 * Sums up one kind of call of one owner on one kind of pipe. @no_part_reason has for each part
 * NULL, or why it cannot be timed, in which case its time is in the stage COST_UPDATE. Adds the
 * number of calls that were left out to *ret_outliers.
 */
void burst_sum(const struct histogram spans[static BURST_SPANS], const struct burst_cost *cost,
	       const char *const no_part_reason[static BURST_PARTS],
	       struct burst_stage ret[static COST_STAGES], uint64_t *ret_outliers);

/* All stages together; 0 where they are not known. */
double burst_sum_seconds(const struct burst_stage stages[static COST_STAGES]);

#endif
