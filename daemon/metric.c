// SPDX-License-Identifier: GPL-2.0-or-later
#include "metric.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipewatch/util.h"

#define MAX_LABELS 8

static const char *type_name(const struct metric_writer *w)
{
	switch (w->family->type) {
	case METRIC_COUNTER: return "counter";
	case METRIC_HISTOGRAM: return "histogram";
	case METRIC_INFO:
		/* The text format has no such type. */
		if (w->openmetrics)
			return "info";
		return "gauge";
	default: return "gauge";
	}
}

static const char *type_suffix(const struct metric_family *family)
{
	switch (family->type) {
	case METRIC_COUNTER: return "_total";
	case METRIC_INFO: return "_info";
	default: return "";
	}
}

static void write_escaped(FILE *f, const char *text, bool quotes)
{
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\\n", f);
		else if (*text == '\\')
			fputs("\\\\", f);
		else if (*text == '"' && quotes)
			fputs("\\\"", f);
		else
			putc_unlocked(*text, f);
	}
}

void metric_begin(struct metric_writer *w, const struct metric_family *family)
{
	w->family = family;
	w->announced = false;
}

static void announce(struct metric_writer *w)
{
	/* In OpenMetrics the family has the bare name, in the text format that of its samples. */
	const char *suffix = w->openmetrics ? "" : type_suffix(w->family);

	if (w->announced)
		return;
	w->announced = true;

	fprintf(w->f, "# HELP %s%s ", w->family->name, suffix);
	write_escaped(w->f, w->family->help, w->openmetrics);
	fprintf(w->f, "\n# TYPE %s%s %s\n", w->family->name, suffix, type_name(w));
	if (w->openmetrics && w->family->unit)
		fprintf(w->f, "# UNIT %s %s\n", w->family->name, w->family->unit);
}

static void write_series(struct metric_writer *w, const char *suffix,
			 const struct metric_label *labels, size_t n_labels)
{
	fputs(w->family->name, w->f);
	fputs(suffix, w->f);
	for (size_t i = 0; i < n_labels; i++) {
		putc_unlocked(i == 0 ? '{' : ',', w->f);
		fputs(labels[i].name, w->f);
		fputs("=\"", w->f);
		write_escaped(w->f, labels[i].value, true);
		putc_unlocked('"', w->f);
	}
	if (n_labels > 0)
		putc_unlocked('}', w->f);
	putc_unlocked(' ', w->f);
}

/* The shortest decimal that reads back as the same double. */
static void write_double(FILE *f, double value)
{
	char text[32];

	if (isnan(value)) {
		fputs("NaN", f);
		return;
	}
	if (isinf(value)) {
		fputs(value > 0 ? "+Inf" : "-Inf", f);
		return;
	}
	for (int precision = 15; precision <= 17; precision++) {
		snprintf(text, sizeof(text), "%.*g", precision, value);
		if (strtod(text, NULL) == value)
			break;
	}
	fputs(text, f);
}

static void write_u64_sample(struct metric_writer *w, const char *suffix,
			     const struct metric_label *labels, size_t n_labels, uint64_t value)
{
	write_series(w, suffix, labels, n_labels);
	fprintf(w->f, "%" PRIu64 "\n", value);
}

void metric_u64(struct metric_writer *w, const struct metric_label *labels, size_t n_labels,
		uint64_t value)
{
	announce(w);
	write_u64_sample(w, type_suffix(w->family), labels, n_labels, value);
}

void metric_double(struct metric_writer *w, const struct metric_label *labels, size_t n_labels,
		   double value)
{
	announce(w);
	write_series(w, type_suffix(w->family), labels, n_labels);
	write_double(w->f, value);
	putc_unlocked('\n', w->f);
}

void metric_histogram(struct metric_writer *w, const struct metric_label *labels, size_t n_labels,
		      const uint64_t *bounds, const uint64_t *classes, size_t n_classes,
		      uint64_t count, uint64_t sum)
{
	struct metric_label with_le[MAX_LABELS];
	uint64_t cumulative = 0;
	char le[32];

	if (n_labels >= MAX_LABELS)
		return;
	for (size_t i = 0; i < n_labels; i++)
		with_le[i] = labels[i];
	with_le[n_labels] = (struct metric_label){ "le", le };

	announce(w);
	for (size_t i = 0; i < n_classes; i++) {
		cumulative += classes[i];
		/* Live counters are read one after another: the classes may be a moment ahead of
		 * the count. */
		if (cumulative > count)
			cumulative = count;
		snprintf(le, sizeof(le), w->openmetrics ? "%" PRIu64 ".0" : "%" PRIu64, bounds[i]);
		write_u64_sample(w, "_bucket", with_le, n_labels + 1, cumulative);
	}
	with_le[n_labels].value = "+Inf";
	write_u64_sample(w, "_bucket", with_le, n_labels + 1, count);
	write_u64_sample(w, "_sum", labels, n_labels, sum);
	write_u64_sample(w, "_count", labels, n_labels, count);
}

int metric_end(struct metric_writer *w)
{
	if (w->openmetrics)
		fputs("# EOF\n", w->f);
	if (fflush(w->f) != 0)
		return -errno;
	return ferror(w->f) ? -EIO : 0;
}
