// SPDX-License-Identifier: GPL-2.0-or-later
#include "estimate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Beyond so many standard errors two estimators disagree: one false alarm in 370 if errors were
 * normal. */
#define DISAGREE_ERRORS 3

/* For an error of a fifth; with a larger one hardly anything could disagree. */
#define SAMPLES_MIN 25

/* A burst misses only a few instructions around the call. If it misses more than this share of the
 * whole, the two contradict each other. */
#define BLIND_MAX_RATIO 0.5

static void figure_set(struct cost_figure *f, double seconds, double error_seconds)
{
	memset(f, 0, sizeof(*f));
	f->known = true;
	f->seconds = seconds;
	f->error_seconds = error_seconds;
}

/* *sum += @add, errors independent. */
static void figure_add(struct cost_figure *sum, const struct cost_figure *add)
{
	sum->seconds += add->seconds;
	sum->error_seconds = hypot(sum->error_seconds, add->error_seconds);
}

/* The sum of the known stages; not known unless the stage COST_UPDATE is. */
static void stages_sum(const struct burst_stage stages[static COST_STAGES], struct cost_figure *ret)
{
	if (!stages[COST_UPDATE].cost.known) {
		*ret = stages[COST_UPDATE].cost;
		return;
	}
	figure_set(ret, 0, 0);
	for (int stage = 0; stage < COST_STAGES; stage++)
		if (stages[stage].cost.known)
			figure_add(ret, &stages[stage].cost);
}

static bool figures_disagree(const struct cost_figure *a, const struct cost_figure *b)
{
	return fabs(a->seconds - b->seconds) >
	       DISAGREE_ERRORS * hypot(a->error_seconds, b->error_seconds);
}

/*
 * What the burst misses on our own pipe, compared with A/B; known only where both are. A little
 * below zero is noise, and counts as zero.
 */
static void find_blind(const struct cost_figure *ab, const struct cost_figure *own,
		       struct cost_figure *ret)
{
	if (!ab->known || !own->known) {
		cost_figure_unknown(ret, "A/B and burst are not both known.");
		return;
	}
	figure_set(ret, fmax(ab->seconds - own->seconds, 0),
		   hypot(ab->error_seconds, own->error_seconds));
}

static bool blind_plausible(const struct cost_figure *ab, const struct cost_figure *own)
{
	double blind = ab->seconds - own->seconds;
	double error = DISAGREE_ERRORS * hypot(ab->error_seconds, own->error_seconds);

	return blind > -error && blind < BLIND_MAX_RATIO * ab->seconds + error;
}

static void estimate_undivided(struct cost_estimate *e, const struct cost_figure *whole)
{
	e->whole = *whole;
	e->undivided = true;
	e->agreement = COST_SINGLE;
	for (int stage = 0; stage < COST_STAGES; stage++)
		cost_figure_unknown(&e->stages[stage], "Only the whole is known, from A/B.");
}

/*
 * @blind, what the burst misses, goes to the stage that it mostly belongs to: of writes the
 * superblock, of reads the update. Where that is not known, @call is used instead, the cost of
 * calling a timed function, which may be unknown as well.
 */
static void estimate_from_burst(struct cost_estimate *e, enum update_kind kind,
				const struct burst_stage stages[static COST_STAGES],
				const struct cost_figure *blind, const struct cost_figure *call)
{
	for (int stage = 0; stage < COST_STAGES; stage++)
		e->stages[stage] = stages[stage].cost;

	if (blind->known && kind == UPDATE_CMTIME) {
		e->stages[COST_SUPERBLOCK] = *blind;
	} else if (blind->known) {
		figure_add(&e->stages[COST_UPDATE], blind);
	} else if (call->known) {
		figure_add(&e->stages[COST_UPDATE], call);
	}
	if (kind == UPDATE_CMTIME && !blind->known)
		cost_figure_unknown(
			&e->stages[COST_SUPERBLOCK],
			"It is inline in the writer, and nothing on this kernel switches it off.");
	if (kind == UPDATE_ATIME && !e->stages[COST_SUPERBLOCK].known)
		cost_figure_unknown(
			&e->stages[COST_SUPERBLOCK],
			"Reads take it only when the time has changed; it is part of the update.");

	figure_set(&e->whole, 0, 0);
	for (int stage = 0; stage < COST_STAGES; stage++)
		if (e->stages[stage].known)
			figure_add(&e->whole, &e->stages[stage]);
}

/* The cost of calling a timed function, as A/B shows it on reads of either kind of pipe: the
 * instructions are the same for every function. */
static void find_call(const struct ab *ab, const struct burst_result *burst,
		      struct cost_figure *ret)
{
	struct cost_figure own;

	cost_figure_unknown(ret, "A/B and burst are not both known.");
	if (!ab || !burst)
		return;
	for (int pipe = 0; pipe < PIPE_KINDS && !ret->known; pipe++) {
		stages_sum(burst->own[pipe][UPDATE_ATIME], &own);
		find_blind(&ab->updates[pipe][UPDATE_ATIME], &own, ret);
	}
}

static void estimate_one(enum pipe_kind pipe, enum update_kind kind, const struct ab *ab,
			 const char *ab_reason, const struct burst_result *burst,
			 const char *burst_reason, const struct cost_figure *call,
			 struct cost_estimate *e)
{
	struct cost_figure own, blind;

	if (ab)
		e->by[COST_AB] = ab->updates[pipe][kind];
	else
		cost_figure_unknown(&e->by[COST_AB], "%s", ab_reason);
	cost_figure_unknown(&e->by[COST_SAMPLE],
			    "Nothing was sampled in the time that was counted.");
	if (!burst) {
		cost_figure_unknown(&e->by[COST_BURST], "%s", burst_reason);
		estimate_undivided(e, &e->by[COST_AB]);
		return;
	}

	stages_sum(burst->others[pipe][kind], &e->by[COST_BURST]);
	stages_sum(burst->own[pipe][kind], &own);
	if (!e->by[COST_BURST].known && !own.known) {
		estimate_undivided(e, &e->by[COST_AB]);
		return;
	}
	find_blind(&e->by[COST_AB], &own, &blind);
	estimate_from_burst(e, kind,
			    e->by[COST_BURST].known ? burst->others[pipe][kind]
						    : burst->own[pipe][kind],
			    &blind, call);
	if (!e->by[COST_BURST].known)
		e->by[COST_BURST] = own;
	if (!e->by[COST_AB].known)
		e->agreement = COST_SINGLE;
	else
		e->agreement = blind_plausible(&e->by[COST_AB], &own) ? COST_AGREE : COST_DISAGREE;
}

void estimate_all(const enum path_state paths[PIPE_KINDS][UPDATE_KINDS], const struct ab *ab,
		  const char *ab_reason, const struct burst_result *burst, const char *burst_reason,
		  struct estimates *ret)
{
	struct cost_figure call;

	memset(ret, 0, sizeof(*ret));
	find_call(ab, burst, &call);
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++) {
			struct cost_estimate *e = &ret->updates[pipe][kind];

			if (paths[pipe][kind] == PATH_PAID) {
				estimate_one(pipe, kind, ab, ab_reason, burst, burst_reason, &call,
					     e);
				continue;
			}
			cost_estimate_unknown(e,
					      paths[pipe][kind] == PATH_REMOVED
						      ? "This kernel makes no such update."
						      : "Whether this kernel pays is not known.");
		}
}

void estimate_check_samples(struct cost_estimate *e, double seconds, uint64_t updates,
			    uint64_t samples)
{
	struct cost_figure *sample = &e->by[COST_SAMPLE], seen = e->whole;

	if (updates == 0 || samples < SAMPLES_MIN) {
		cost_figure_unknown(sample, "%llu samples are too few.",
				    (unsigned long long)samples);
		return;
	}
	figure_set(sample, seconds / updates, seconds / updates / sqrt(samples));
	if (!e->whole.known) {
		estimate_undivided(e, sample);
		return;
	}
	/* What is inline in the writer is not in the functions that are sampled. */
	if (e->stages[COST_SUPERBLOCK].known)
		seen.seconds -= e->stages[COST_SUPERBLOCK].seconds;
	if (figures_disagree(&seen, sample))
		e->agreement = COST_DISAGREE;
	else if (e->agreement == COST_SINGLE)
		e->agreement = COST_AGREE;
}
