// SPDX-License-Identifier: GPL-2.0-or-later
#include "cost.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const cost_stage_names[COST_STAGES] = {
	[COST_UPDATE] = "update",
	[COST_SUPERBLOCK] = "superblock",
	[COST_MOUNT] = "mount",
	[COST_INODE] = "inode",
};

static const char *const cost_estimator_names[COST_ESTIMATORS] = {
	[COST_BURST] = "burst",
	[COST_AB] = "ab",
	[COST_SAMPLE] = "sample",
};

static const char *const cost_agreement_names[COST_AGREEMENTS] = {
	[COST_SINGLE] = "single",
	[COST_AGREE] = "agree",
	[COST_DISAGREE] = "disagree",
};

const char *cost_stage_name(enum cost_stage stage)
{
	return cost_stage_names[stage];
}

const char *cost_estimator_name(enum cost_estimator estimator)
{
	return cost_estimator_names[estimator];
}

const char *cost_agreement_name(enum cost_agreement agreement)
{
	return cost_agreement_names[agreement];
}

double cost_figure_value(const struct cost_figure *f, bool error)
{
	if (!error)
		return f->seconds;
	return f->seconds == 0 ? 1 : f->error_seconds / fabs(f->seconds);
}

void cost_figure_unknown(struct cost_figure *f, const char *format, ...)
{
	va_list ap;

	*f = (struct cost_figure){ .known = false };
	va_start(ap, format);
	vsnprintf(f->reason, sizeof(f->reason), format, ap);
	va_end(ap);
}

void cost_estimate_unknown(struct cost_estimate *e, const char *reason)
{
	*e = (struct cost_estimate){};
	cost_figure_unknown(&e->whole, "%s", reason);
	for (int stage = 0; stage < COST_STAGES; stage++)
		e->stages[stage] = e->whole;
	for (int by = 0; by < COST_ESTIMATORS; by++)
		e->by[by] = e->whole;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int cost_figure_average(double *samples, size_t n, struct cost_figure *ret)
{
	size_t cut = n / 4, kept = n - 2 * cut;
	double sum = 0, winsorized = 0, squares = 0, mean;

	if (n < COST_MIN_SAMPLES)
		return -1;
	qsort(samples, n, sizeof(*samples), compare);
	for (size_t i = cut; i < n - cut; i++)
		sum += samples[i];
	winsorized = (sum + (double)cut * (samples[cut] + samples[n - 1 - cut])) / (double)n;
	for (size_t i = 0; i < n; i++) {
		size_t at = i < cut ? cut : i >= n - cut ? n - 1 - cut : i;

		squares += (samples[at] - winsorized) * (samples[at] - winsorized);
	}
	mean = sum / (double)kept;
	*ret = (struct cost_figure){
		.known = true,
		.seconds = mean,
		.error_seconds = sqrt(squares / (double)(n - 1)) * (double)n /
				 ((double)kept * sqrt((double)n)),
	};
	return 0;
}
