/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Times in buckets, each of which also has their sum: a mean over buckets is exact, and only the
 * decision what to leave out is as coarse as the buckets. Pure arithmetic.
 */
#ifndef PIPEWATCH_HISTOGRAM_H
#define PIPEWATCH_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BUCKETS 64

struct histogram {
	struct {
		uint64_t count;
		uint64_t sum_ns;
	} buckets[HISTOGRAM_BUCKETS]; /* ascending */
};

struct histogram_mean {
	uint64_t count; /* of all times, outliers among them */
	uint64_t outliers;
	double mean_ns; /* without outliers; 0 when there are no times */
	double error_ns;
};

/*
 * The mean and its standard error. Times above @outlier_medians medians are left out, since
 * something else is in them: an interrupt, or a hypervisor that ran another guest.
 */
void histogram_mean(const struct histogram *h, unsigned int outlier_medians,
		    struct histogram_mean *ret);

#endif
