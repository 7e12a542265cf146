/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one metadata update costs: three estimates that check each other, and the one value that is
 * published. Pure arithmetic: no I/O.
 *
 * The cost of an update is all the CPU time that a read or write would not spend without it: the
 * call, the function, and for writes the write access to the superblock around it. Its stages are
 * self times: they sum to the whole.
 */
#ifndef PIPEWATCH_COST_H
#define PIPEWATCH_COST_H

#include <stdbool.h>
#include <stddef.h>

#include "pipe.h"

enum cost_stage {
	COST_UPDATE,	 /* deciding whether a time has changed */
	COST_SUPERBLOCK, /* write access to the superblock, inline in the writer */
	COST_MOUNT,	 /* write access to the mount, when a time has changed */
	COST_INODE,	 /* storing the new time, when it has changed */
	COST_STAGES,
};

enum cost_estimator {
	COST_BURST,  /* timed calls of others, in a short window */
	COST_AB,     /* own pipe, with the update and without */
	COST_SAMPLE, /* share of samples in the function, by calls */
	COST_ESTIMATORS,
};

/* A figure with its error, or the reason why there is none. */
struct cost_figure {
	bool known;
	double seconds;
	double error_seconds; /* one standard error, systematic parts included */
	char reason[160];     /* a sentence, when not known */
};

enum cost_agreement {
	COST_SINGLE,   /* only one estimator has a figure */
	COST_AGREE,    /* within their errors */
	COST_DISAGREE, /* beyond them: take the value with care */
	COST_AGREEMENTS,
};

/* What one update of one kind on one kind of pipe costs. */
struct cost_estimate {
	struct cost_figure whole;
	/* The known ones sum to the whole, unless undivided. */
	struct cost_figure stages[COST_STAGES];
	bool undivided;				/* only the whole is known */
	struct cost_figure by[COST_ESTIMATORS]; /* the whole, as each of them has it */
	enum cost_agreement agreement;		/* where the whole is known */
};

/* Sets the whole, its stages and all opinions to not known, for @reason. */
void cost_estimate_unknown(struct cost_estimate *e, const char *reason);

/* The seconds or, with @error, the standard error as a share of them. */
double cost_figure_value(const struct cost_figure *f, bool error);

/* Makes the figure not known, for a reason that is a sentence. */
__attribute__((format(printf, 2, 3))) void cost_figure_unknown(struct cost_figure *f,
							       const char *format, ...);

/*
 * The mean of the middle half of @samples (which get sorted), with the standard error of such a
 * mean. Interrupts and other rare disturbances drop out, and a coarse clock averages out, which it
 * would not in a median. Returns 0, or -1 with fewer than COST_MIN_SAMPLES.
 */
#define COST_MIN_SAMPLES 12
int cost_figure_average(double *samples, size_t n, struct cost_figure *ret);

const char *cost_agreement_name(enum cost_agreement agreement);
const char *cost_stage_name(enum cost_stage stage);
const char *cost_estimator_name(enum cost_estimator estimator);

#endif
