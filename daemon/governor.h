/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which mode is in force: what each would cost, what the budget allows, and a choice that does not
 * flap. Pure arithmetic: no I/O, no clock.
 *
 * The budget is a share of the time that the host spends in pipe operations. Counting adds the same
 * share, about 20 %, to an operation at any rate: measured by that alone it could never be exact,
 * not even where a hundred operations a second cost nobody anything. So the budget is of a tenth of
 * the CPUs' time at the least: the default of 1 % always allows 0.1 % of each CPU.
 *
 * The daemon itself may cost as much as that, on a small or slow machine. Not to count would then
 * save next to nothing, so counting always has a tenth of what is allowed, on top of it if need be;
 * the reason says so.
 */
#ifndef PIPEWATCH_GOVERNOR_H
#define PIPEWATCH_GOVERNOR_H

#include <stdbool.h>

#include "snapshot.h"

/* The share of the CPUs' time that the budget is of at the least. */
#define GOVERNOR_FLOOR 0.1

/* The share of what is allowed that counting has, whatever the rest costs. */
#define GOVERNOR_RESERVE 0.1

/* From window to window: at the most, and at the least, of which the latter is also four times as
 * long as programs are attached for a window. */
#define GOVERNOR_LONGEST_SEC  300.0
#define GOVERNOR_SHORTEST_SEC 1.0

/* A mode that costs more is returned to when it would have taken less than that share of its room
 * for so long. */
#define GOVERNOR_RETURN_RATIO 0.7
#define GOVERNOR_RETURN_SEC   10.0

/* Seconds and rates below zero, or not finite, count as 0. */
struct governor_facts {
	enum snapshot_mode configured;
	bool can_count, can_sample;
	double now_seconds; /* monotonic */
	/* Of the host: as counted, as extrapolated, or estimated from sampled CPU time. */
	double operations_per_second;
	double operation_seconds; /* one pipe operation that is not counted */
	double counting_seconds;  /* what counting adds to one; 0: not measured yet */
	double other_seconds;	  /* own cost per second apart from counting */
	double window_seconds;	  /* how long a window counts */
	/* How long programs are attached for one window, attaching and detaching included. */
	double attached_seconds;
	double window_cpu_seconds; /* the daemon's CPU time for one window */
	double budget_ratio;
	unsigned int cpus;
};

struct governor_choice {
	enum snapshot_mode mode; /* never MODE_AUTO */
	double period_seconds;	 /* in burst mode: from window to window; else 0 */
	/* CPU seconds per second of each mode, burst with the period that fits; negative: not
	 * known, or not possible. Of MODE_AUTO always, since it is one of the others. */
	double predicted[SNAPSHOT_MODES];
	double allowed;	  /* likewise */
	char reason[256]; /* whole sentences */
};

struct governor;

/* NULL when out of memory. */
struct governor *governor_new(void);
struct governor *governor_free(struct governor *g); /* takes NULL; returns NULL */

static inline void governor_freep(struct governor **g)
{
	governor_free(*g);
}

/*
 * To be asked about once a second. With MODE_AUTO the choice depends on the ones before: a mode is
 * left at once when it takes more than twice what is allowed, else when it was too much twice
 * running. The first choice, and the first one after another mode was asked for or something became
 * impossible, knows no past.
 */
void governor_choose(struct governor *g, const struct governor_facts *facts,
		     struct governor_choice *ret);

#endif
