// SPDX-License-Identifier: GPL-2.0-or-later
#include "burst-sum.h"

#include <math.h>

/*
 * How much a pair may differ on the functions that are timed from where it was calibrated, since
 * caches and branch predictors are in another state: a standard error, as a share of the pair.
 */
#define PAIR_ELSEWHERE 0.05

/* Likewise for the call of a function, which has other arguments. */
#define CALL_ELSEWHERE 0.5

/* Calls that miss all caches take several times the median, and must be kept. */
#define OUTLIER_MEDIANS 8

static const enum cost_stage part_stages[BURST_PARTS] = {
	[BURST_MOUNT] = COST_MOUNT,
	[BURST_INODE] = COST_INODE,
};

static double square(double x)
{
	return x * x;
}

static void stage_set(struct burst_stage *s, uint64_t calls, double ns, double error_ns)
{
	s->calls = calls;
	s->cost = (struct cost_figure){
		.known = true,
		.seconds = ns * 1e-9,
		.error_seconds = error_ns * 1e-9,
	};
}

/* Too few calls for a figure of any stage that could be timed. */
static void stages_unknown(uint64_t calls, struct burst_stage ret[static COST_STAGES])
{
	for (int i = 0; i < COST_STAGES; i++) {
		if (i == COST_SUPERBLOCK)
			continue;
		ret[i].calls = calls;
		if (calls == 0)
			cost_figure_unknown(&ret[i].cost, "No call came in the window.");
		else
			cost_figure_unknown(&ret[i].cost,
					    "Only %u calls came in the window, too few for a mean.",
					    (unsigned int)calls);
	}
}

void burst_sum(const struct histogram spans[static BURST_SPANS], const struct burst_cost *cost,
	       const char *const no_part_reason[static BURST_PARTS],
	       struct burst_stage ret[static COST_STAGES], uint64_t *ret_outliers)
{
	/* A call's time less this is what it takes without us. */
	double own_ns = cost->pair_ns - cost->call_ns;
	double own_error_ns = sqrt(square(cost->pair_error_ns) +
				   square(PAIR_ELSEWHERE * cost->pair_ns) +
				   square(CALL_ELSEWHERE * cost->call_ns));
	struct histogram_mean means[BURST_SPANS];
	double changed_ratio, update_ns, variance;
	uint64_t count;

	for (int i = 0; i < BURST_SPANS; i++) {
		histogram_mean(&spans[i], OUTLIER_MEDIANS, &means[i]);
		*ret_outliers += means[i].outliers;
	}
	count = means[BURST_PLAIN].count + means[BURST_CHANGED].count;

	cost_figure_unknown(&ret[COST_SUPERBLOCK].cost,
			    "It is inline in its callers, so there is no function to time.");
	ret[COST_SUPERBLOCK].calls = 0;
	if (count < BURST_CALLS_MIN) {
		stages_unknown(count, ret);
		return;
	}

	changed_ratio = (double)means[BURST_CHANGED].count / (double)count;
	update_ns = (1 - changed_ratio) * means[BURST_PLAIN].mean_ns +
		    changed_ratio * means[BURST_CHANGED].mean_ns - own_ns;
	variance = square((1 - changed_ratio) * means[BURST_PLAIN].error_ns) +
		   square(changed_ratio * means[BURST_CHANGED].error_ns) + square(own_error_ns);
	for (int part = 0; part < BURST_PARTS; part++) {
		const struct histogram_mean *m = &means[BURST_PART + part];
		struct burst_stage *stage = &ret[part_stages[part]];
		double ratio = (double)m->count / (double)count;
		double part_ns = ratio * (m->mean_ns - own_ns);
		double part_error_ns = ratio * hypot(m->error_ns, own_error_ns);

		if (no_part_reason[part]) {
			cost_figure_unknown(&stage->cost, "%s", no_part_reason[part]);
			stage->calls = 0;
			continue;
		}
		/* None was seen: on average it is no more than one would have been. */
		if (m->count == 0) {
			part_ns = 0;
			part_error_ns = cost->pair_ns / (double)count;
		}
		stage_set(stage, m->count, part_ns, part_error_ns);
		update_ns -= part_ns + ratio * cost->nested_ns;
		variance += square(part_error_ns) +
			    square(PAIR_ELSEWHERE * ratio * cost->nested_ns);
	}
	stage_set(&ret[COST_UPDATE], count, update_ns, sqrt(variance));
}

double burst_sum_seconds(const struct burst_stage stages[static COST_STAGES])
{
	double seconds = 0;

	for (int i = 0; i < COST_STAGES; i++)
		if (stages[i].cost.known)
			seconds += stages[i].cost.seconds;
	return seconds;
}
