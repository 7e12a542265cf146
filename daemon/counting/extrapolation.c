// SPDX-License-Identifier: GPL-2.0-or-later
#include "extrapolation.h"

#include <math.h>

/* When 3 events are to be expected in the windows, the probability of seeing none is e^-3, or 5 %.
 */
#define UNSEEN_EVENTS 3

/* Of evenly spaced events, a window can count up to one too many or too few. */
#define EDGE_VARIANCE (1.0 / 6)

/*
 * At most, the time that counting takes in a window has held up a chain of processes that always
 * wait for each other, or every operation of a process that does nothing else.
 */
static double slowdown_max(uint64_t window_usec, uint64_t operations, double counting_seconds,
			   double counting_ratio)
{
	double chain = operations * counting_seconds / (window_usec * 1e-6);
	double busy = counting_ratio / (1 + counting_ratio);

	return 1 / (1 - fmin(chain, busy));
}

void extrapolation_factor(uint64_t window_usec, uint64_t elapsed_usec, uint64_t operations,
			  double counting_seconds, double counting_ratio,
			  struct extrapolation_factor *ret)
{
	double most, middle, between, factor;

	if (window_usec == 0 || elapsed_usec <= window_usec) {
		*ret = (struct extrapolation_factor){ .factor = 1 };
		return;
	}
	most = slowdown_max(window_usec, operations, counting_seconds, counting_ratio);
	middle = (1 + most) / 2;
	/* What was counted in the window itself is certain. */
	between = (double)(elapsed_usec - window_usec) / window_usec;
	factor = 1 + between * middle;
	*ret = (struct extrapolation_factor){
		.factor = factor,
		/* The standard deviation of an even distribution. */
		.systematic_ratio = between * (most - 1) / sqrt(12) / factor,
	};
}

/* Scales the running sum, so that the results add up to what the sum scales to. */
static void sizes_scale(double factor, uint64_t sizes[static SIZE_CLASSES], uint64_t *ret_sum)
{
	uint64_t counted = 0, scaled = 0;

	for (int i = 0; i < SIZE_CLASSES; i++) {
		uint64_t until;

		counted += sizes[i];
		until = llround(factor * counted);
		sizes[i] = until - scaled;
		scaled = until;
	}
	*ret_sum = scaled;
}

void extrapolation_scale(const struct extrapolation_factor *f, struct pipe_counts *counts,
			 struct pipe_sizes *sizes)
{
	if (f->factor == 1)
		return;
	sizes_scale(f->factor, sizes->reads, &counts->reads);
	sizes_scale(f->factor, sizes->writes, &counts->writes);
	counts->read_bytes = llround(f->factor * counts->read_bytes);
	counts->written_bytes = llround(f->factor * counts->written_bytes);
	counts->noatime_reads = llround(f->factor * counts->noatime_reads);
}

/* What was counted is certain: without time between windows there is no error. */
static double variance_scaled(double factor, double variance)
{
	return factor * (factor - 1) * fmax(variance, EDGE_VARIANCE);
}

void extrapolation_error_end(struct extrapolation_error *e, const struct extrapolation_factor *f)
{
	double window = e->window, last = e->last, variance = e->variance;

	/* Now that there is something to compare the first window with, both are judged by that,
	 * but no better than events at random times. */
	if (f->first_factor > 1 && last > 0)
		variance += variance_scaled(f->first_factor, last) -
			    variance_scaled(f->first_factor, last * last);
	variance = fmax(variance, 0);
	if (f->factor > 1 && f->first && window > 0)
		variance += variance_scaled(f->factor, window * window);
	else if (f->factor > 1 && !f->first && (window > 0 || last > 0))
		variance += (f->first_factor > 1 ? 2 : 1) *
			    variance_scaled(f->factor, (window - last) * (window - last) / 2);
	e->variance = variance;
	if (f->factor > 1)
		e->systematic += f->factor * window * f->systematic_ratio;
	e->last = e->window;
	e->window = 0;
}

float extrapolation_error(const struct extrapolation_error *e)
{
	return sqrt(e->variance + e->systematic * e->systematic);
}

double extrapolation_unseen_max(const struct extrapolation_factor *f)
{
	return f->factor > 1 ? UNSEEN_EVENTS * f->factor : 0;
}
