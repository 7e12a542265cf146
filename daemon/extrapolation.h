/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts of windows as an estimate of the whole, and how far off it may be. Pure arithmetic.
 *
 * What a window counts is multiplied by the factor of the time that it stands for. Two things can
 * be wrong with that. Somebody may do more in windows than between them by chance: that shows in
 * how much consecutive windows differ, and is the random error, which grows with the square root of
 * time. A window that there is none to compare with may by chance hold all that was done, so its
 * error is as large as what it was scaled to, until the next one tells. And who is busy is slower
 * while counted, by what counting adds to each operation, while who waits for others is not: which
 * of them it is cannot be told, so the factor takes the middle between both, and the distance is
 * the systematic error, which grows with time.
 */
#ifndef PIPEWATCH_EXTRAPOLATION_H
#define PIPEWATCH_EXTRAPOLATION_H

#include <stdbool.h>
#include <stdint.h>

#include "pipe.h"

/* What a window stands for. */
struct extrapolation_factor {
	double factor;		 /* at least 1; 1 exactly: all was counted, nothing is estimated */
	double systematic_ratio; /* standard error of the factor, as a share of it */
	bool first; /* the window before was none, or not of this length: nothing to compare with */
	double first_factor; /* of the one before, which was the first; 0: it was not */
};

/*
 * Of a window of @window_usec in which @operations were counted, with the @elapsed_usec from the
 * end of the one before to its own end. @counting_ratio is what counting adds to an operation, as a
 * share of one that is not counted.
 */
void extrapolation_factor(uint64_t window_usec, uint64_t elapsed_usec, uint64_t operations,
			  double counting_seconds, double counting_ratio,
			  struct extrapolation_factor *ret);

/* Scales the counts and sizes of a window, which stay consistent: sizes sum to operations. */
void extrapolation_scale(const struct extrapolation_factor *f, struct pipe_counts *counts,
			 struct pipe_sizes *sizes);

/* The error of one count of somebody, over all windows. All zero at the start. */
struct extrapolation_error {
	uint32_t window; /* counted in this window */
	uint32_t last;	 /* in the one before */
	float variance;
	float systematic;
};

/* At the end of a window. */
void extrapolation_error_end(struct extrapolation_error *e, const struct extrapolation_factor *f);

/* One standard error of the whole count. */
float extrapolation_error(const struct extrapolation_error *e);

/*
 * Somebody who was in none of many windows has made fewer operations than this, with 95 %
 * confidence, if they come at random times.
 */
double extrapolation_unseen_max(const struct extrapolation_factor *f);

#endif
