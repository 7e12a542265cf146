/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chooses the mode, by what each would cost and what the budget allows, without flapping. Pure
 * arithmetic: no I/O, no clock.
 *
 * The budget is a share of the time that the host spends in pipe operations. Counting adds the same
 * share to each operation, about 20 %, however many there are: by that measure alone exact counting
 * would never be allowed, not even of a hundred operations a second, which cost nobody anything. So
 * the budget is a share of at least a tenth of the CPUs' time: the default of 1 % always allows 0.1
 * % of each CPU.
 *
 * On a small or slow machine the daemon itself may cost that much. Not counting would then save
 * next to nothing, so counting always has a tenth of what is allowed, in addition to it if need be;
 * the reason says so.
 */
#ifndef PIPEWATCH_GOVERNOR_H
#define PIPEWATCH_GOVERNOR_H

#include <stdbool.h>

#include "snapshot.h"

/* The least that the budget is a share of, as a share of the CPUs' time. */
#define GOVERNOR_FLOOR 0.1

/* The share of what is allowed that is left for counting, whatever the rest costs. */
#define GOVERNOR_RESERVE 0.1

/*
 * For how long unused room is saved up. A spurt of pipe operations is still counted exactly, a
 * lasting load is not.
 */
#define GOVERNOR_CREDIT_SEC 120.0

/* The longest and the shortest time from window to window; the latter is also at least four times
 * as long as the programs are attached for one. */
#define GOVERNOR_LONGEST_SEC  300.0
#define GOVERNOR_SHORTEST_SEC 1.0

/* A more costly mode is returned to when for this long it would have taken less than this share of
 * its room. */
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
	double allowed;	  /* CPU seconds per second */
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
 * To be called about once a second. With MODE_AUTO the choice depends on the previous ones: exact
 * is left when the saved room is used up; windows are left at once when they take more than twice
 * what is allowed, else when they were too costly twice in a row. The first choice, and the first
 * one after another mode was asked for or something became impossible, has no past.
 */
void governor_choose(struct governor *g, const struct governor_facts *facts,
		     struct governor_choice *ret);

#endif
