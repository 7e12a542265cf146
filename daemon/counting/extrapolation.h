/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extrapolates the counts of windows to the whole time, and says how far off that may be. Pure
 * arithmetic.
 *
 * What is counted in a window is multiplied by a factor, for the time that it stands for. This can
 * be wrong in two ways. A process may by chance do more in windows than between them. That shows in
 * how much consecutive windows differ, and is the random error, which grows with the square root of
 * time. A window that there is no earlier one to compare with may by chance hold everything that
 * was done, so its error is as large as what it was scaled to, until the next window tells. And a
 * busy process is slower while it is counted, by what counting adds to each operation, but one that
 * waits for others is not. Since the two cannot be told apart, the factor is the middle between
 * both, and the distance is the systematic error, which grows in proportion to time.
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
	bool first;		 /* there is no earlier window to compare with */
	double first_factor;	 /* of the previous window, if that was the first; else 0 */
};

/*
 * The factor of a window of @window_usec in which @operations were counted, @elapsed_usec being the
 * time from the end of the previous window to its own end. @counting_ratio is what counting adds to
 * an operation, as a share of one that is not counted.
 */
void extrapolation_factor(uint64_t window_usec, uint64_t elapsed_usec, uint64_t operations,
			  double counting_seconds, double counting_ratio,
			  struct extrapolation_factor *ret);

/* Scales the counts and sizes of a window, which stay consistent: sizes sum to operations. */
void extrapolation_scale(const struct extrapolation_factor *f, struct pipe_counts *counts,
			 struct pipe_sizes *sizes);

/* The error of one count of a process or group, over all windows. All zero at the start. */
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
 * A process that was seen in none of many windows has made fewer operations than this, with 95 %
 * confidence, if they come at random times.
 */
double extrapolation_unseen_max(const struct extrapolation_factor *f);

#endif
