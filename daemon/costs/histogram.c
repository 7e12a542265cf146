// SPDX-License-Identifier: GPL-2.0-or-later
#include "histogram.h"

#include <math.h>

static double bucket_mean(const struct histogram *h, int bucket)
{
	return (double)h->buckets[bucket].sum_ns / (double)h->buckets[bucket].count;
}

void histogram_mean(const struct histogram *h, unsigned int outlier_medians,
		    struct histogram_mean *ret)
{
	uint64_t count = 0, below = 0, kept = 0, sum_ns = 0;
	double limit_ns = 0, squares = 0, mean_ns;
	int end = 0;

	for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
		count += h->buckets[i].count;
	if (count == 0) {
		*ret = (struct histogram_mean){ 0 };
		return;
	}

	for (int i = 0; i < HISTOGRAM_BUCKETS && limit_ns == 0; i++) {
		below += h->buckets[i].count;
		if (2 * below >= count)
			limit_ns = outlier_medians * bucket_mean(h, i);
	}
	for (; end < HISTOGRAM_BUCKETS; end++) {
		if (h->buckets[end].count == 0)
			continue;
		if (limit_ns > 0 && bucket_mean(h, end) > limit_ns)
			break;
		kept += h->buckets[end].count;
		sum_ns += h->buckets[end].sum_ns;
	}
	mean_ns = (double)sum_ns / (double)kept;
	for (int i = 0; i < end; i++) {
		double distance;

		if (h->buckets[i].count == 0)
			continue;
		distance = bucket_mean(h, i) - mean_ns;
		squares += (double)h->buckets[i].count * distance * distance;
	}
	*ret = (struct histogram_mean){
		.count = count,
		.outliers = count - kept,
		.mean_ns = mean_ns,
		.error_ns = sqrt(squares / (double)kept) / sqrt((double)kept),
	};
}
