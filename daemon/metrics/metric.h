/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The grammar of metrics: families, samples, escaping, numbers, in the Prometheus text format 0.0.4
 * or OpenMetrics 1.0. Knows nothing of what is measured.
 */
#ifndef PIPEWATCH_METRIC_H
#define PIPEWATCH_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_INFO, METRIC_HISTOGRAM };

struct metric_family {
	const char *name; /* without _total or _info, which the type adds */
	enum metric_type type;
	const char *unit; /* the last word of the name, or NULL */
	const char *help;
};

struct metric_label {
	const char *name;
	const char *value; /* any valid UTF-8 */
};

/* Two arguments of a function that takes labels: METRIC_LABELS({ "unit", unit }, { "comm", comm }).
 */
#define METRIC_LABELS(...)                                              \
	((const struct metric_label[]){ __VA_ARGS__ }),                 \
		(sizeof((const struct metric_label[]){ __VA_ARGS__ }) / \
		 sizeof(struct metric_label))
#define METRIC_NO_LABELS NULL, 0

struct metric_writer {
	FILE *f;
	bool openmetrics;
	const struct metric_family *family;
	bool announced; /* the family's HELP and TYPE are written */
	/* What is not in the file yet: there can be tens of thousands of samples, of a dozen pieces
	 * each. */
	char text[1024];
	size_t n_text;
	int error; /* -errno of the first write that failed, or 0 */
};

/* Begins a family. Its HELP and TYPE come with its first sample: without samples nothing is
 * written. */
void metric_begin(struct metric_writer *w, const struct metric_family *family);

void metric_u64(struct metric_writer *w, const struct metric_label *labels, size_t n_labels,
		uint64_t value);
void metric_double(struct metric_writer *w, const struct metric_label *labels, size_t n_labels,
		   double value);

/*
 * The samples of one histogram: @classes[i] observations lie above @bounds[i - 1] and at or below
 * @bounds[i]; all that @count has more than their sum is above the last bound. @n_labels is at
 * most 7.
 */
void metric_histogram(struct metric_writer *w, const struct metric_label *labels, size_t n_labels,
		      const uint64_t *bounds, const uint64_t *classes, size_t n_classes,
		      uint64_t count, uint64_t sum);

/* Ends the exposition; not before is all of it in the file. Returns 0, or -errno of the first write
 * that failed. */
int metric_end(struct metric_writer *w);

#endif
