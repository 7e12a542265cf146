// SPDX-License-Identifier: GPL-2.0-or-later
/* How fast pipes are here, by load and kind of pipe, as the host is now. */
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "tree.h"
#include "load.h"
#include "pipewatch/clock.h"
#include "pipewatch/util.h"
#include "table.h"
#include "text.h"
#include "verb.h"

#define ROUNDS_MIN 3
#define ROUNDS_MAX 400

/* How long a daemon that is there may take to say what it does. */
#define PATIENCE_SEC 2

/* Seconds a message. */
struct cell {
	double rounds[ROUNDS_MAX];
	unsigned int n;
	int error;		  /* of the first round that failed: no more are tried */
	double median, low, high; /* quartiles */
};

struct bench {
	struct cell cells[LOADS][LOAD_PIPES];
	char daemon[512]; /* a sentence */
	bool running;
	char version[64];
	char mode[32];
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double quantile(const struct cell *c, double q)
{
	double at = q * (c->n - 1);
	unsigned int below = (unsigned int)at;
	double rest = at - below;

	if (below + 1 >= c->n)
		return c->rounds[c->n - 1];
	return c->rounds[below] * (1 - rest) + c->rounds[below + 1] * rest;
}

static void measure_round(struct bench *b, enum load load, enum load_pipe pipe, bool keep)
{
	struct cell *c = &b->cells[load][pipe];
	double seconds;

	if (c->error)
		return;
	c->error = load_round(load, pipe, &seconds);
	if (!c->error && keep)
		c->rounds[c->n++] = seconds;
}

/* The kinds of pipe take turns, so that what disturbs meets all of them. */
static void measure(struct bench *b, double seconds)
{
	double start = clock_seconds(CLOCK_MONOTONIC);

	for (enum load load = 0; load < LOADS; load++) {
		double end = start + seconds * (load + 1) / LOADS;

		/* A first round for caches and the first touch of pages. */
		for (enum load_pipe pipe = 0; pipe < LOAD_PIPES; pipe++)
			measure_round(b, load, pipe, false);
		for (unsigned int i = 0;
		     i < ROUNDS_MAX && (i < ROUNDS_MIN || clock_seconds(CLOCK_MONOTONIC) < end);
		     i++)
			for (enum load_pipe pipe = 0; pipe < LOAD_PIPES; pipe++)
				measure_round(b, load, pipe, true);
		for (enum load_pipe pipe = 0; pipe < LOAD_PIPES; pipe++) {
			struct cell *c = &b->cells[load][pipe];

			if (c->error || c->n == 0)
				continue;
			qsort(c->rounds, c->n, sizeof(*c->rounds), compare);
			c->median = quantile(c, 0.5);
			c->low = quantile(c, 0.25);
			c->high = quantile(c, 0.75);
		}
	}
}

/* Whether programs of pipewatchd are part of what is measured. It is not started for this. */
static void ask_daemon(const struct options *options, const struct output *o, struct bench *b)
{
	_cleanup_(client_freep) struct client *c = NULL;
	_cleanup_(model_freep) struct model *m = NULL;
	struct failure f = {};
	int r;

	r = client_new(options->bus, -1, false, &c, &f);
	if (r == 0) {
		client_set_patience(c, PATIENCE_SEC);
		r = verb_describe(c, o, &m, &f);
	}
	if (r != 0) {
		snprintf(b->daemon, sizeof(b->daemon),
			 "No pipewatchd answers on the bus: if none runs, the figures are of pipes "
			 "alone.");
		return;
	}
	b->running = true;
	snprintf(b->version, sizeof(b->version), "%s", m->version);
	snprintf(b->mode, sizeof(b->mode), "%s", m->mode);
	snprintf(
		b->daemon, sizeof(b->daemon),
		m->counting && m->coverage.value > 0
			? "pipewatchd %.60s is in %.30s mode: what its programs add to an operation "
			  "is in these figures. Stop it to compare."
			: "pipewatchd %.60s is in %.30s mode and counts no operations now: the "
			  "figures are of pipes alone.",
		m->version, m->mode);
}

static int print_table(const struct bench *b, const struct output *o, struct failure *f)
{
	static const struct table_column columns[] = {
		{ "LOAD", TABLE_LEFT },	       { "PIPE", TABLE_LEFT },
		{ "MESSAGE", TABLE_RIGHT },    { "QUARTILES", TABLE_RIGHT },
		{ "MESSAGES/S", TABLE_RIGHT }, { "ROUNDS", TABLE_RIGHT },
	};
	_cleanup_(table_freep) struct table *t = table_new(o, columns, ARRAY_SIZE(columns));
	char text[2 * TEXT_NUMBER_MAX], low[TEXT_NUMBER_MAX], high[TEXT_NUMBER_MAX];

	if (!t)
		return failure_os(f, "Making the table failed", ENOMEM);
	for (enum load load = 0; load < LOADS; load++)
		for (enum load_pipe pipe = 0; pipe < LOAD_PIPES; pipe++) {
			const struct cell *c = &b->cells[load][pipe];

			table_line(t);
			table_cell(t, pipe == 0 ? load_names[load] : " ");
			table_cell(t, load_pipe_names[pipe]);
			if (c->error) {
				table_cell(t, "failed");
				continue;
			}
			table_cell(t, text_seconds(c->median, text));
			snprintf(text, sizeof(text), "%s - %s", text_seconds(c->low, low),
				 text_seconds(c->high, high));
			table_cell(t, text);
			table_cell(t, text_rate(1 / c->median, text));
			snprintf(text, sizeof(text), "%u", c->n);
			table_cell(t, text);
		}
	return table_print(t, f);
}

/* What the access time costs in the loop that does nothing else. */
static void say_difference(const struct bench *b, const struct output *o)
{
	const struct cell *with = &b->cells[LOAD_FILL][LOAD_ANONYMOUS];
	const struct cell *without = &b->cells[LOAD_FILL][LOAD_NOATIME];
	char ns[TEXT_NUMBER_MAX], share[TEXT_NUMBER_MAX], text[512];

	if (with->error || without->error)
		return;
	if (with->low > without->high)
		snprintf(text, sizeof(text),
			 "O_NOATIME on the read end saves %s a message in the loop that fills and "
			 "drains, %s of it.",
			 text_seconds(with->median - without->median, ns),
			 text_ratio((with->median - without->median) / with->median, share));
	else
		snprintf(text, sizeof(text),
			 "What O_NOATIME on the read end saves is within the spread of these "
			 "figures: a kernel that does not update the times of anonymous pipes has "
			 "nothing to save.");
	output_say(o, "", "", "%s", text);
}

static int print_text(const struct bench *b, const struct output *o, struct failure *f)
{
	int r;

	fprintf(o->f,
		"What a message of %d bytes takes, written and read: median and quartiles.\n\n",
		LOAD_MESSAGE_BYTES);
	r = print_table(b, o, f);
	if (r != 0)
		return r;
	fputc('\n', o->f);
	for (enum load load = 0; load < LOADS; load++)
		for (enum load_pipe pipe = 0; pipe < LOAD_PIPES; pipe++)
			if (b->cells[load][pipe].error)
				output_say(o, "", "", "%s on %s failed: %s%s.", load_names[load],
					   load_pipe_names[pipe],
					   strerror(-b->cells[load][pipe].error),
					   pipe == LOAD_FIFO
						   ? " (FIFOs are made in TMPDIR, or in /tmp)"
						   : "");
	say_difference(b, o);
	output_say(o, "", "", "%s", b->daemon);
	return output_flush(o, f);
}

static int print_json(const struct bench *b, const struct output *o, struct failure *f)
{
	struct tree j = tree_begin();
	struct json_object *daemon, *array;
	struct utsname kernel;

	tree_string(&j, j.root, "version", PIPEWATCH_VERSION);
	if (uname(&kernel) == 0)
		tree_string(&j, j.root, "kernel_release", kernel.release);
	tree_count(&j, j.root, "message_bytes", LOAD_MESSAGE_BYTES);
	daemon = tree_object(&j, j.root, "pipewatchd");
	tree_bool(&j, daemon, "answers", b->running);
	if (b->running) {
		tree_string(&j, daemon, "version", b->version);
		tree_string(&j, daemon, "mode", b->mode);
	}
	array = tree_array(&j, j.root, "results");
	for (enum load load = 0; load < LOADS; load++)
		for (enum load_pipe pipe = 0; pipe < LOAD_PIPES; pipe++) {
			const struct cell *c = &b->cells[load][pipe];
			struct json_object *result = tree_object(&j, array, NULL);

			tree_string(&j, result, "load", load_names[load]);
			tree_string(&j, result, "pipe", load_pipe_names[pipe]);
			if (c->error) {
				tree_string(&j, result, "reason", strerror(-c->error));
				continue;
			}
			tree_double(&j, result, "median_seconds", c->median);
			tree_double(&j, result, "lower_quartile_seconds", c->low);
			tree_double(&j, result, "upper_quartile_seconds", c->high);
			tree_count(&j, result, "rounds", c->n);
			tree_count(&j, result, "messages_per_round", load_messages(load));
		}
	return output_json(o, tree_done(&j), false, f);
}

int bench_run(const struct options *options, struct output *o, struct failure *f)
{
	_cleanup_(freep) struct bench *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return failure_os(f, "Starting the benchmark failed", ENOMEM);
	ask_daemon(options, o, b);
	measure(b, options->seconds);
	r = options->json ? print_json(b, o, f) : print_text(b, o, f);
	if (r != 0)
		return r;
	for (enum load load = 0; load < LOADS; load++)
		for (enum load_pipe pipe = 0; pipe < LOAD_PIPES; pipe++)
			if (b->cells[load][pipe].error)
				return PIPEWATCH_EXIT_OS;
	return 0;
}
