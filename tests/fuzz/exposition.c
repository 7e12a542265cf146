// SPDX-License-Identifier: GPL-2.0-or-later
/* A snapshot of the input's making as text: a strict reader understands every line, finds each
 * series once, and each group's counts and names as they were put in. */
#include "exposition.h"

#include <inttypes.h>

#include "fuzz.h"
#include "fuzz-snapshot.h"

#define LABELS_MAX 8
#define LABEL_MAX  256

struct sample {
	char name[96];
	size_t n_labels;
	struct {
		char name[32];
		char value[LABEL_MAX];
	} labels[LABELS_MAX];
	char value[64];
};

static const char *expect(const char *p, const char *text)
{
	FUZZ_CHECK(strncmp(p, text, strlen(text)) == 0);
	return p + strlen(text);
}

static const char *take_name(const char *p, char *ret, size_t size)
{
	size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	FUZZ_CHECK(n > 0 && n < size && !(*p >= '0' && *p <= '9'));
	memcpy(ret, p, n);
	ret[n] = '\0';
	return p + n;
}

/* Up to the closing quotes; undoes \n, \\ and \", and knows no other escape. */
static const char *take_quoted(const char *p, char *ret, size_t size)
{
	size_t n = 0;

	p = expect(p, "\"");
	for (; *p != '"'; p++) {
		char c = *p;

		FUZZ_CHECK(c != '\0' && c != '\n');
		if (c == '\\') {
			p++;
			FUZZ_CHECK(*p == 'n' || *p == '\\' || *p == '"');
			c = *p == 'n' ? '\n' : *p;
		}
		FUZZ_CHECK(n + 1 < size);
		ret[n++] = c;
	}
	ret[n] = '\0';
	return p + 1;
}

static void parse_sample(const char *line, struct sample *ret)
{
	const char *p = take_name(line, ret->name, sizeof(ret->name));
	char *end;

	ret->n_labels = 0;
	if (*p == '{') {
		do {
			FUZZ_CHECK(ret->n_labels < LABELS_MAX);
			p = take_name(p + 1, ret->labels[ret->n_labels].name,
				      sizeof(ret->labels[0].name));
			p = expect(p, "=");
			p = take_quoted(p, ret->labels[ret->n_labels].value,
					sizeof(ret->labels[0].value));
			FUZZ_CHECK(fuzz_is_utf8(ret->labels[ret->n_labels].value));
			ret->n_labels++;
		} while (*p == ',');
		p = expect(p, "}");
	}
	p = expect(p, " ");
	FUZZ_CHECK(strlen(p) < sizeof(ret->value));
	strcpy(ret->value, p);
	strtod(p, &end);
	FUZZ_CHECK(end != p && *end == '\0');
}

static const char *label(const struct sample *sample, const char *name)
{
	for (size_t i = 0; i < sample->n_labels; i++)
		if (strcmp(sample->labels[i].name, name) == 0)
			return sample->labels[i].value;
	return NULL;
}

/* Which of the counts is it, if any? */
static bool count_of(const char *name, const struct pipe_counts *counts, uint64_t *ret)
{
	if (strcmp(name, "pipewatch_pipe_reads_total") == 0)
		*ret = counts->reads;
	else if (strcmp(name, "pipewatch_pipe_writes_total") == 0)
		*ret = counts->writes;
	else if (strcmp(name, "pipewatch_pipe_read_bytes_total") == 0)
		*ret = counts->read_bytes;
	else if (strcmp(name, "pipewatch_pipe_written_bytes_total") == 0)
		*ret = counts->written_bytes;
	else
		return false;
	return true;
}

/* Checks a count against the group that it names, and marks it as seen. */
static void check_count(const struct snapshot *s, const struct sample *sample, unsigned int *seen)
{
	const char *unit = label(sample, "unit"), *comm = label(sample, "comm"),
		   *pipe_name = label(sample, "pipe");
	uint64_t wanted;

	if (!count_of(sample->name, &s->totals[0], &wanted))
		return;
	FUZZ_CHECK(unit && comm && pipe_name && sample->n_labels == 3);
	for (size_t i = 0; i < s->n_groups; i++) {
		const struct snapshot_group *g = &s->groups[i];
		int pipe = strcmp(pipe_name, pipe_kind_name(PIPE_FIFO)) == 0 ? PIPE_FIFO
									     : PIPE_ANONYMOUS;

		if (strcmp(g->unit, unit) || strcmp(g->comm, comm))
			continue;
		FUZZ_CHECK(strcmp(pipe_name, pipe_kind_name(pipe)) == 0);
		FUZZ_CHECK(count_of(sample->name, &g->counts[pipe], &wanted));
		FUZZ_CHECK(strtoull(sample->value, NULL, 10) == wanted);
		FUZZ_CHECK(strspn(sample->value, "0123456789") == strlen(sample->value));
		(*seen)++;
		return;
	}
	FUZZ_CHECK(!"a group that is not in the snapshot");
}

static unsigned int counts_wanted(const struct snapshot *s)
{
	unsigned int n = 0;

	for (size_t i = 0; i < s->n_groups; i++)
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
			if (s->groups[i].counts[pipe].reads + s->groups[i].counts[pipe].writes > 0)
				n += 2 * !s->reads_missing + 2 * !s->writes_missing;
	return s->counting ? n : 0;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* No series twice: the same line but for the value. */
static void check_unique(char **series, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*strrchr(series[i], ' ') = '\0';
	qsort(series, n, sizeof(*series), compare_lines);
	for (size_t i = 1; i < n; i++)
		FUZZ_CHECK(strcmp(series[i - 1], series[i]) != 0);
}

/* The samples of a family follow its HELP and TYPE, and nobody else's come between. */
static void check(const struct snapshot *s, enum exposition_format format)
{
	_cleanup_(freep) char *text = NULL;
	_cleanup_(freep) char **series = NULL;
	char family[96] = "", help[96] = "", *line, *next;
	size_t size = 0, n_series = 0, n_lines = 0;
	unsigned int seen = 0;
	bool ended = false;
	FILE *f = open_memstream(&text, &size);

	FUZZ_CHECK(f && exposition_write(s, NULL, format, f) == 0 && fclose(f) == 0);
	FUZZ_CHECK(size > 0 && strlen(text) == size && text[size - 1] == '\n');
	for (line = text; *line; line++)
		n_lines += *line == '\n';
	series = calloc(n_lines, sizeof(*series));
	FUZZ_CHECK(series);

	for (line = text; *line; line = next) {
		struct sample sample;

		next = strchr(line, '\n');
		*next++ = '\0';
		FUZZ_CHECK(!ended);
		if (strcmp(line, "# EOF") == 0) {
			ended = true;
		} else if (strncmp(line, "# HELP ", 7) == 0) {
			FUZZ_CHECK(*take_name(line + 7, help, sizeof(help)) == ' ');
		} else if (strncmp(line, "# TYPE ", 7) == 0) {
			FUZZ_CHECK(*take_name(line + 7, family, sizeof(family)) == ' ');
			FUZZ_CHECK(strcmp(family, help) == 0);
		} else if (strncmp(line, "# UNIT ", 7) == 0) {
			FUZZ_CHECK(format == EXPOSITION_OPENMETRICS);
		} else {
			parse_sample(line, &sample);
			FUZZ_CHECK(family[0] && strncmp(sample.name, family, strlen(family)) == 0);
			check_count(s, &sample, &seen);
			series[n_series++] = line;
		}
	}
	FUZZ_CHECK(ended == (format == EXPOSITION_OPENMETRICS));
	FUZZ_CHECK(seen == counts_wanted(s));
	check_unique(series, n_series);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	_cleanup_(snapshot_unrefp) struct snapshot *s = fuzz_snapshot(&in);

	check(s, EXPOSITION_TEXT);
	check(s, EXPOSITION_OPENMETRICS);
	return 0;
}
