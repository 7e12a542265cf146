// SPDX-License-Identifier: GPL-2.0-or-later
/* Who pays now: on a terminal live, with keys; elsewhere one round after another. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "pipewatch/clock.h"
#include "pipewatch/util.h"
#include "tree.h"
#include "rates.h"
#include "row.h"
#include "screen.h"
#include "table.h"
#include "text.h"
#include "verb.h"

#define USUAL_ROWS   20
#define USEC_PER_SEC UINT64_C(1000000)

/* Lines around the table on a screen: two above, its head, one below. */
#define FRAME_LINES 4

struct top {
	const struct options *options;
	struct output *o;
	struct client *client;
	struct screen *screen; /* NULL: rounds one after another */
	struct model *after;
	struct model *before; /* NULL as long as there is but one */
	bool groups;
	enum rates_order order;
	uint32_t rounds;	/* so far */
	struct failure trouble; /* why there is no newer round; on a screen that may pass */
};

static void cell_amount(struct table *t, struct amount value,
			const char *(*format)(double value, char *ret))
{
	char text[TEXT_NUMBER_MAX];

	table_cell(t, value.known ? format(value.value, text) : "");
}

static int print_table(const struct top *top, const struct rates *r, size_t limit,
		       const struct output *o, struct failure *f)
{
	static const struct table_column processes[] = {
		{ "PID", TABLE_RIGHT },	  { "PROGRAM", TABLE_LEFT }, { "UNIT", TABLE_FIRST },
		{ "OPS/S", TABLE_RIGHT }, { "B/OP", TABLE_RIGHT },   { "UPD/S", TABLE_RIGHT },
		{ "CPU", TABLE_RIGHT },	  { "SHARE", TABLE_RIGHT },
	};
	static const struct table_column groups[] = {
		{ "LIVE", TABLE_RIGHT },  { "PROGRAM", TABLE_LEFT }, { "UNIT", TABLE_FIRST },
		{ "OPS/S", TABLE_RIGHT }, { "B/OP", TABLE_RIGHT },   { "UPD/S", TABLE_RIGHT },
		{ "CPU", TABLE_RIGHT },
	};
	_cleanup_(table_freep) struct table *t =
		top->groups ? table_new(o, groups, ARRAY_SIZE(groups))
			    : table_new(o, processes, ARRAY_SIZE(processes));
	char text[TEXT_NUMBER_MAX];

	if (!t)
		return failure_os(f, "Making the table failed", ENOMEM);
	for (size_t i = 0; i < limit; i++) {
		const struct model_row *row = &r->rows[i];

		table_line(t);
		if (top->groups)
			snprintf(text, sizeof(text), "%" PRIu64, row->processes);
		else
			snprintf(text, sizeof(text), "%" PRIu32 "%s", row->pid,
				 row->exited ? "*" : "");
		table_cell(t, text);
		table_cell(t, row->comm);
		table_cell(t, row->unit);
		cell_amount(t, rates_per_second(r, row_operations(row)), text_rate);
		cell_amount(t, row_bytes_per_operation(row), text_rate);
		cell_amount(t, rates_per_second(r, row_updates(row)), text_rate);
		cell_amount(t, rates_cost(r, row), text_ratio);
		if (!top->groups)
			cell_amount(t, rates_share(r, row), text_ratio);
	}
	return table_print(t, f);
}

static void print_head(const struct top *top, const struct rates *r, const struct output *o)
{
	static const char *const orders[] = { "cost", "operations", "pid" };
	const struct amount operations = rates_per_second(r, row_operations(&r->host));
	const struct amount cost = rates_cost(r, &r->host);
	char a[TEXT_NUMBER_MAX], b[TEXT_NUMBER_MAX], c[TEXT_NUMBER_MAX];

	fprintf(o->f, "%sHost: %s operations/s, metadata updates %s of one CPU%s%s\n",
		output_paint(o, PAINT_HEAD),
		operations.known ? text_rate(operations.value, a) : "?",
		cost.known ? text_ratio(cost.value, b) : "?",
		top->after->estimated ? " (estimates)" : "", output_paint(o, PAINT_NONE));
	if (r->since_start)
		fprintf(o->f, "Average of the %s since the start", text_duration(r->seconds, c));
	else
		fprintf(o->f, "In the last %s", text_seconds(r->seconds, c));
	fprintf(o->f, ", %s by %s; mode %s\n", top->groups ? "groups" : "processes",
		orders[top->order], top->after->mode);
}

static int print_round(const struct top *top, const struct rates *r, size_t limit,
		       const struct output *o, struct failure *f)
{
	print_head(top, r, o);
	if (r->n > 0)
		return print_table(top, r, limit, o, f);
	fputs("Nobody used a pipe.\n", o->f);
	return 0;
}

static void add_row(struct tree *j, struct json_object *object, const struct rates *r,
		    const struct model_row *row)
{
	struct json_object *remedies;

	tree_amount(j, object, "reads_per_second", rates_per_second(r, row_reads(row)));
	tree_amount(j, object, "writes_per_second", rates_per_second(r, row_writes(row)));
	tree_amount(j, object, "bytes_per_operation", row_bytes_per_operation(row));
	tree_amount(j, object, "updates_per_second", rates_per_second(r, row_updates(row)));
	tree_amount(j, object, "metadata_cpu_ratio", rates_cost(r, row));
	tree_amount(j, object, "metadata_cpu_share", rates_share(r, row));
	remedies = tree_object(j, object, "remedies");
	for (int i = 0; i < MODEL_REMEDIES; i++)
		if (row->savings[i].known)
			tree_double(j, remedies, model_remedy_names[i],
				    row->savings[i].value / r->seconds);
}

/* A round is a line. */
static int print_json(const struct top *top, const struct rates *r, size_t limit,
		      const struct output *o, struct failure *f)
{
	static const char *const members[] = { "pid",  "start_time_usec", "comm",
					       "unit", "exited",	  "processes" };
	struct tree j = tree_begin();
	struct json_object *object, *array;

	tree_count(&j, j.root, "now_usec", top->after->now_usec);
	tree_double(&j, j.root, "seconds", r->seconds);
	tree_bool(&j, j.root, "since_start", r->since_start);
	tree_string(&j, j.root, "mode", top->after->mode);
	tree_bool(&j, j.root, "estimated", top->after->estimated);
	object = tree_object(&j, j.root, "host");
	add_row(&j, object, r, &r->host);
	array = tree_array(&j, j.root, top->groups ? "groups" : "processes");
	for (size_t i = 0; i < limit; i++) {
		object = tree_object(&j, array, NULL);
		for (size_t k = 0; k < ARRAY_SIZE(members); k++)
			tree_member(&j, object, members[k], r->rows[i].json);
		add_row(&j, object, r, &r->rows[i]);
	}
	return output_json(o, tree_done(&j), true, f);
}

/* The rates of what is there now, sorted. */
static int make_rates(const struct top *top, struct rates *ret, struct failure *f)
{
	int r = rates_make(top->after, top->before, top->groups, ret);

	if (r == -EAGAIN)
		return failure_set(f, PIPEWATCH_EXIT_UNAVAILABLE,
				   "pipewatchd has only just started, so there are no rates yet. "
				   "Try again.");
	if (r < 0)
		return failure_os(f, "Comparing two rounds failed", r);
	rates_sort(ret, top->order);
	return 0;
}

/* One more description. CLIENT_INTERRUPTED: there is an event on the screen to see to first. */
static int fetch(struct top *top, struct failure *f)
{
	_cleanup_(model_freep) struct model *m = NULL;
	int r;

	r = verb_describe(top->client, top->o, &m, f);
	if (r == 0)
		r = verb_need_rows(m, f);
	if (r != 0)
		return r;
	/* One and the same as before tells nothing new. */
	if (top->after && m->now_usec == top->after->now_usec &&
	    m->start_time_usec == top->after->start_time_usec)
		return 0;
	model_free(top->before);
	top->before = top->after;
	top->after = m;
	m = NULL;
	return 0;
}

/* ---- rounds one after another ---- */

static void sleep_seconds(double seconds)
{
	struct timespec time = { .tv_sec = (time_t)seconds };

	time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
	while (nanosleep(&time, &time) < 0 && errno == EINTR)
		;
}

static int print_batch(struct top *top, struct failure *f)
{
	struct rates r = {};
	size_t limit;
	int error = make_rates(top, &r, f);

	if (error != 0)
		return error;
	limit = verb_limit(top->options, r.n, USUAL_ROWS);
	if (top->options->json) {
		error = print_json(top, &r, limit, top->o, f);
	} else {
		if (top->rounds > 0)
			fputc('\n', top->o->f);
		error = print_round(top, &r, limit, top->o, f);
		if (error == 0)
			verb_print_rest(top->o, limit, r.n, 0);
	}
	rates_clear(&r);
	return error != 0 ? error : output_flush(top->o, f);
}

static int run_batch(struct top *top, struct failure *f)
{
	int r = fetch(top, f);

	while (r == 0 && (top->options->count == 0 || top->rounds < top->options->count)) {
		sleep_seconds(top->options->delay);
		r = fetch(top, f);
		if (r == 0)
			r = print_batch(top, f);
		top->rounds++;
	}
	return r;
}

/* ---- a screen ---- */

static int compose(struct top *top, const struct output *o, struct failure *f)
{
	struct rates r = {};
	size_t limit, room = o->height > FRAME_LINES ? o->height - FRAME_LINES : 0;
	int error;

	if (!top->after) {
		fputs("Asking pipewatchd.\n", o->f);
		return 0;
	}
	error = make_rates(top, &r, f);
	if (error == PIPEWATCH_EXIT_UNAVAILABLE) {
		/* A later round will have some. */
		fprintf(o->f, "%s\n", f->message);
		*f->message = 0;
		return 0;
	}
	if (error != 0)
		return error;
	limit = verb_limit(top->options, r.n, room);
	error = print_round(top, &r, limit < room ? limit : room, o, f);
	rates_clear(&r);
	return error;
}

static int draw(struct top *top, struct failure *f)
{
	_cleanup_(freep) char *frame = NULL;
	struct output o = *top->o;
	char trouble[300];
	size_t size;
	int r;

	o.f = open_memstream(&frame, &size);
	if (!o.f)
		return failure_os(f, "Drawing failed", ENOMEM);
	if (*top->trouble.message) {
		text_safe(top->trouble.message, o.utf8, trouble, sizeof(trouble));
		fprintf(o.f, "%s%s%s\n", output_paint(&o, PAINT_BAD), trouble,
			output_paint(&o, PAINT_NONE));
	}
	r = compose(top, &o, f);
	fputs("q quit  c by cost  o by operations  p by pid  g groups or processes", o.f);
	if (fclose(o.f) != 0 && r == 0)
		r = failure_os(f, "Drawing failed", ENOMEM);
	if (r == 0)
		screen_show(top->screen, frame);
	return r;
}

/* Returns false when the user has seen enough. */
static bool obey(struct top *top, char key)
{
	switch (key) {
	case 'q':
	case 'Q': return false;
	case 'c': top->order = RATES_COST; break;
	case 'o': top->order = RATES_OPERATIONS; break;
	case 'p': top->order = RATES_PID; break;
	case 'g': top->groups = !top->groups; break;
	default: break;
	}
	return true;
}

/* Sees to events until the next round is due; returns false when it is time to end. */
static bool attend(struct top *top, uint64_t deadline_usec, int *ret_error, struct failure *f)
{
	for (;;) {
		char key = 0;
		enum screen_event event = screen_wait(top->screen, deadline_usec, &key);

		if (event == SCREEN_NONE)
			return true;
		if (event == SCREEN_QUIT || (event == SCREEN_KEY && !obey(top, key)))
			return false;
		*ret_error = draw(top, f);
		if (*ret_error != 0)
			return false;
	}
}

/* The first round must succeed; later a daemon that is gone may come back. */
static int run_screen(struct top *top, struct failure *f)
{
	const struct options *options = top->options;
	int r;

	r = draw(top, f);
	if (r != 0)
		return r;
	for (;;) {
		uint64_t next = monotonic_usec() + (uint64_t)(options->delay * USEC_PER_SEC);
		struct failure trouble = {};
		int error = fetch(top, &trouble);

		if (error == CLIENT_INTERRUPTED) {
			if (!attend(top, 0, &r, f))
				return r;
			continue;
		}
		if (error != 0 && !top->after) {
			*f = trouble;
			return error;
		}
		top->trouble = trouble;
		r = draw(top, f);
		top->rounds++;
		if (r != 0 || (options->count > 0 && top->rounds >= options->count) ||
		    !attend(top, next, &r, f))
			return r;
	}
}

int top_run(const struct options *options, struct output *o, struct failure *f)
{
	_cleanup_(screen_freep) struct screen *screen = NULL;
	struct top top = { .options = options, .o = o, .groups = options->groups };
	const char *term = getenv("TERM");
	int r = 0;

	if (o->terminal && !options->json && term && *term && strcmp(term, "dumb"))
		r = screen_new(o, &screen, f);
	top.screen = screen;
	if (r == 0)
		r = client_new(options->bus, screen ? screen_fd(screen) : -1, true, &top.client, f);
	if (r == 0)
		r = screen ? run_screen(&top, f) : run_batch(&top, f);
	client_free(top.client);
	model_free(top.before);
	model_free(top.after);
	return r;
}
