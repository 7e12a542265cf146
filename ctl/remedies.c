// SPDX-License-Identifier: GPL-2.0-or-later
/* What each remedy would save: on the host, and for the groups and processes that it would help. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "pipewatch/util.h"
#include "tree.h"
#include "row.h"
#include "table.h"
#include "text.h"
#include "verb.h"

#define USUAL_ROWS 8

/* Rows that a remedy saves something for, the most first. */
struct selection {
	const struct model_row **rows;
	size_t n;
};

static void selection_freep(struct selection *s)
{
	free(s->rows);
}

static double best_saving(const struct model_row *row)
{
	int best = row_best_remedy(row);

	return best < 0 ? 0 : row->savings[best].value;
}

static int compare(const void *a, const void *b)
{
	const struct model_row *x = *(const struct model_row *const *)a;
	const struct model_row *y = *(const struct model_row *const *)b;
	double of_x = best_saving(x), of_y = best_saving(y);

	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	/* As pipewatchd has them. */
	return x < y ? -1 : x > y;
}

static int select_rows(const struct model_row *rows, size_t n, struct selection *ret)
{
	ret->rows = calloc(n + 1, sizeof(*ret->rows));
	if (!ret->rows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (best_saving(&rows[i]) > 0)
			ret->rows[ret->n++] = &rows[i];
	qsort(ret->rows, ret->n, sizeof(*ret->rows), compare);
	return 0;
}

static void add_savings(struct tree *j, struct json_object *to, const struct model *m,
			const struct model_row *row)
{
	struct json_object *remedies = tree_object(j, to, "remedies");

	for (int i = 0; i < MODEL_REMEDIES; i++) {
		struct json_object *remedy;

		if (!row->savings[i].known)
			continue;
		remedy = tree_object(j, remedies, model_remedy_names[i]);
		tree_double(j, remedy, "saved_cpu_seconds", row->savings[i].value);
		if (m->seconds > 0)
			tree_double(j, remedy, "cpu_seconds_per_second",
				    row->savings[i].value / m->seconds);
	}
}

static void add_rows(struct tree *j, const char *key, const struct options *options,
		     const struct model *m, const struct selection *s)
{
	struct json_object *array = tree_array(j, j->root, key), *object;
	size_t limit = verb_limit(options, s->n, USUAL_ROWS);

	for (size_t i = 0; i < limit; i++) {
		object = tree_object(j, array, NULL);
		tree_member(j, object, "pid", s->rows[i]->json);
		tree_member(j, object, "comm", s->rows[i]->json);
		tree_member(j, object, "unit", s->rows[i]->json);
		add_savings(j, object, m, s->rows[i]);
	}
}

static int print_json(const struct options *options, const struct model *m,
		      const struct selection *groups, const struct selection *processes,
		      const struct output *o, struct failure *f)
{
	struct tree j = tree_begin();
	struct json_object *host;

	tree_string(&j, j.root, "version", m->version);
	if (m->seconds > 0)
		tree_double(&j, j.root, "measured_seconds", m->seconds);
	tree_bool(&j, j.root, "estimated", m->estimated);
	host = tree_object(&j, j.root, "host");
	add_savings(&j, host, m, &m->host);
	add_rows(&j, "groups", options, m, groups);
	add_rows(&j, "processes", options, m, processes);
	tree_member(&j, j.root, "watchers", m->json);
	tree_member(&j, j.root, "watchers_reason", m->json);
	return output_json(o, tree_done(&j), false, f);
}

static void table_row(struct table *t, const struct model *m, const struct model_row *row,
		      const char *what)
{
	char text[TEXT_NUMBER_MAX + 2];
	int best = row_best_remedy(row);

	table_line(t);
	table_cell(t, what);
	table_cell(t, row->comm);
	table_cell(t, row->unit);
	for (int i = 0; i < MODEL_REMEDIES; i++) {
		if (row->savings[i].known)
			snprintf(text + strlen(text_seconds(row->savings[i].value / m->seconds,
							    text)),
				 3, "/s");
		table_cell(t, row->savings[i].known ? text : "");
		if (i == best)
			table_paint(t, PAINT_GOOD);
	}
}

static int print_table(const struct options *options, const struct model *m,
		       const struct selection *groups, const struct selection *processes,
		       const struct output *o, struct failure *f)
{
	static const struct table_column columns[] = {
		{ "WHO", TABLE_FIXED },	   { "PROGRAM", TABLE_LEFT },  { "UNIT", TABLE_FIRST },
		{ "KERNEL", TABLE_RIGHT }, { "NOATIME", TABLE_RIGHT }, { "UNWATCH", TABLE_RIGHT },
		{ "BATCH", TABLE_RIGHT },
	};
	_cleanup_(table_freep) struct table *t = table_new(o, columns, ARRAY_SIZE(columns));
	size_t n_groups = verb_limit(options, groups->n, USUAL_ROWS);
	size_t n_processes = verb_limit(options, processes->n, USUAL_ROWS);
	char pid[32];
	int r;

	if (!t)
		return failure_os(f, "Making the table failed", ENOMEM);
	table_row(t, m, &m->host, "host");
	for (size_t i = 0; i < n_groups; i++)
		table_row(t, m, groups->rows[i], "group");
	for (size_t i = 0; i < n_processes; i++) {
		snprintf(pid, sizeof(pid), "pid %" PRIu32, processes->rows[i]->pid);
		table_row(t, m, processes->rows[i], pid);
	}
	r = table_print(t, f);
	if (r != 0)
		return r;
	verb_print_rest(o, n_groups + n_processes, groups->n + processes->n, 0);
	return 0;
}

static void explain(const struct model *m, const struct output *o)
{
	char time[TEXT_NUMBER_MAX];

	output_say(o, "", "",
		   "CPU time per second that each remedy would have saved, on average over the %s "
		   "since pipewatchd started. Remedies overlap: do not add them up.",
		   text_duration(m->seconds, time));
	for (int i = 0; i < MODEL_REMEDIES; i++)
		output_say(o, "  ", "    ", "%s: %s%s", model_remedy_names[i], row_remedy_text(i),
			   m->host.savings[i].known
				   ? "."
				   : "; it would save nothing here, or that is not known.");
	for (size_t i = 0; i < m->n_watchers; i++)
		output_say(o, "  ", "    ", "%s (pid %" PRIu32 ") watches %" PRIu64 " pipe%s.",
			   m->watchers[i].comm, m->watchers[i].pid, m->watchers[i].watches,
			   m->watchers[i].watches == 1 ? "" : "s");
	verb_print_caveats(o, m, &m->host);
}

int remedies_run(const struct options *options, struct output *o, struct failure *f)
{
	_cleanup_(selection_freep) struct selection groups = {}, processes = {};
	_cleanup_(model_freep) struct model *m = NULL;
	int r;

	r = verb_describe_rows(options, o, &m, f);
	if (r != 0)
		return r;
	if (!m->remedies_known)
		return failure_set(
			f, PIPEWATCH_EXIT_UNAVAILABLE,
			"The running pipewatchd is %s, which does not report what remedies would "
			"save. If a newer one is installed, restart it (sudo systemctl restart "
			"pipewatchd); otherwise upgrade it.",
			m->version);
	if (select_rows(m->groups, m->n_groups, &groups) < 0 ||
	    select_rows(m->processes, m->n_processes, &processes) < 0)
		return failure_os(f, "Sorting failed", ENOMEM);
	if (options->json)
		return print_json(options, m, &groups, &processes, o, f);
	if (row_best_remedy(&m->host) < 0 || m->seconds <= 0) {
		fputs("No remedy is known to save anything here.\n", o->f);
		return output_flush(o, f);
	}
	r = print_table(options, m, &groups, &processes, o, f);
	if (r != 0)
		return r;
	explain(m, o);
	return output_flush(o, f);
}
