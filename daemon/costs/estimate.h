/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One unit cost per kind of update and pipe, from what the estimators say. Pure arithmetic.
 *
 * A burst times the calls of the real load, but not what is inline around them: the call itself,
 * and a writer's access to the superblock. A/B includes all of that, but only on our own pipe. So
 * bursts time our own pipe too, and what A/B sees there beyond the burst is added to the burst of
 * the real load. Sampling is a check: it is right on average, but its error is large.
 */
#ifndef PIPEWATCH_ESTIMATE_H
#define PIPEWATCH_ESTIMATE_H

#include "ab.h"
#include "burst.h"
#include "cost.h"

struct estimates {
	struct cost_estimate updates[PIPE_KINDS][UPDATE_KINDS];
};

/*
 * @ab and @burst are NULL where there are none; @ab_reason and @burst_reason then say why. Paths
 * that are not paid have no cost. Fills all of *ret.
 */
void estimate_all(const enum path_state paths[PIPE_KINDS][UPDATE_KINDS], const struct ab *ab,
		  const char *ab_reason, const struct burst_result *burst, const char *burst_reason,
		  struct estimates *ret);

/* Adds the estimate by sampling: @seconds of CPU time in @updates updates of that kind, known from
 * @samples samples. */
void estimate_check_samples(struct cost_estimate *e, double seconds, uint64_t updates,
			    uint64_t samples);

#endif
