// SPDX-License-Identifier: GPL-2.0-or-later
#include "metric.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipewatch/number.h"
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

static void write_out(struct metric_writer *w, const char *text, size_t length)
{
	if (fwrite(text, 1, length, w->f) < length && !w->error)
		w->error = -errno;
}

static void flush(struct metric_writer *w)
{
	write_out(w, w->text, w->n_text);
	w->n_text = 0;
}

static void put(struct metric_writer *w, const char *text, size_t length)
{
	if (length > sizeof(w->text) - w->n_text)
		flush(w);
	if (length > sizeof(w->text)) {
		write_out(w, text, length);
		return;
	}
	memcpy(w->text + w->n_text, text, length);
	w->n_text += length;
}

static void put_string(struct metric_writer *w, const char *text)
{
	put(w, text, strlen(text));
}

static void put_char(struct metric_writer *w, char c)
{
	if (w->n_text == sizeof(w->text))
		flush(w);
	w->text[w->n_text++] = c;
}

static const char *escape_of(char c, bool quotes)
{
	switch (c) {
	case '\n': return "\\n";
	case '\\': return "\\\\";
	case '"': return quotes ? "\\\"" : NULL;
	default: return NULL;
	}
}

static void put_escaped(struct metric_writer *w, const char *text, bool quotes)
{
	const char *plain = text;

	for (; *text; text++) {
		const char *escape = escape_of(*text, quotes);

		if (!escape)
			continue;
		put(w, plain, text - plain);
		put_string(w, escape);
		plain = text + 1;
	}
	put(w, plain, text - plain);
}

static void put_u64(struct metric_writer *w, uint64_t value)
{
	char digits[20];
	size_t i = sizeof(digits);

	do {
		digits[--i] = '0' + value % 10;
		value /= 10;
	} while (value > 0);
	put(w, digits + i, sizeof(digits) - i);
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

	put_string(w, "# HELP ");
	put_string(w, w->family->name);
	put_string(w, suffix);
	put_char(w, ' ');
	put_escaped(w, w->family->help, w->openmetrics);
	put_string(w, "\n# TYPE ");
	put_string(w, w->family->name);
	put_string(w, suffix);
	put_char(w, ' ');
	put_string(w, type_name(w));
	put_char(w, '\n');
	if (!w->openmetrics || !w->family->unit)
		return;
	put_string(w, "# UNIT ");
	put_string(w, w->family->name);
	put_char(w, ' ');
	put_string(w, w->family->unit);
	put_char(w, '\n');
}

static void put_series(struct metric_writer *w, const char *suffix,
		       const struct metric_label *labels, size_t n_labels)
{
	put_string(w, w->family->name);
	put_string(w, suffix);
	for (size_t i = 0; i < n_labels; i++) {
		put_char(w, i == 0 ? '{' : ',');
		put_string(w, labels[i].name);
		put_string(w, "=\"");
		put_escaped(w, labels[i].value, true);
		put_char(w, '"');
	}
	if (n_labels > 0)
		put_char(w, '}');
	put_char(w, ' ');
}

static void put_double(struct metric_writer *w, double value)
{
	char text[NUMBER_MAX];

	if (isnan(value)) {
		put_string(w, "NaN");
		return;
	}
	if (isinf(value)) {
		put_string(w, value > 0 ? "+Inf" : "-Inf");
		return;
	}
	number_format(value, text);
	put_string(w, text);
}

static void write_u64_sample(struct metric_writer *w, const char *suffix,
			     const struct metric_label *labels, size_t n_labels, uint64_t value)
{
	put_series(w, suffix, labels, n_labels);
	put_u64(w, value);
	put_char(w, '\n');
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
	put_series(w, type_suffix(w->family), labels, n_labels);
	put_double(w, value);
	put_char(w, '\n');
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
		put_string(w, "# EOF\n");
	flush(w);
	if (!w->error && fflush(w->f) != 0)
		w->error = -errno;
	return w->error;
}
