// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes and groups as tables, by cost as pipewatchd has them. */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>

#include "pipewatch/util.h"
#include "tree.h"
#include "row.h"
#include "table.h"
#include "text.h"
#include "verb.h"

#define USUAL_ROWS 20

static void cell_count(struct table *t, struct count value)
{
	char text[TEXT_NUMBER_MAX];

	table_cell(t, value.known ? text_short_count(value.value, text) : "");
}

static void cells_of_row(struct table *t, const struct model_row *row)
{
	const struct amount bytes = row_bytes_per_operation(row), cost = row_cost(row);
	char text[TEXT_NUMBER_MAX];

	cell_count(t, row_reads(row));
	cell_count(t, row_writes(row));
	table_cell(t, bytes.known ? text_rate(bytes.value, text) : "");
	cell_count(t, row_updates(row));
	table_cell(t, cost.known ? text_seconds(cost.value, text) : "");
}

static int print_json(const struct model *m, const char *key, const struct model_row *rows,
		      size_t n, size_t limit, uint64_t omitted, const struct output *o,
		      struct failure *f)
{
	struct tree j = tree_begin();
	struct json_object *array;

	tree_string(&j, j.root, "version", m->version);
	tree_string(&j, j.root, "mode", m->mode);
	tree_bool(&j, j.root, "estimated", m->estimated);
	if (m->seconds > 0)
		tree_double(&j, j.root, "measured_seconds", m->seconds);
	array = tree_array(&j, j.root, key);
	for (size_t i = 0; i < limit; i++) {
		verb_add_cost(&j, rows[i].json, &rows[i]);
		tree_share(&j, array, NULL, rows[i].json);
	}
	tree_count(&j, j.root, "omitted", n - limit + omitted);
	return output_json(o, tree_done(&j), false, f);
}

static int print_processes(const struct model *m, size_t limit, const struct output *o,
			   struct failure *f)
{
	static const struct table_column columns[] = {
		{ "PID", TABLE_RIGHT },	    { "PROGRAM", TABLE_LEFT }, { "UNIT", TABLE_FIRST },
		{ "READS", TABLE_RIGHT },   { "WRITES", TABLE_RIGHT }, { "B/OP", TABLE_RIGHT },
		{ "UPDATES", TABLE_RIGHT }, { "CPU", TABLE_RIGHT },    { "SHARE", TABLE_RIGHT },
	};
	_cleanup_(table_freep) struct table *t = table_new(o, columns, ARRAY_SIZE(columns));
	char text[TEXT_NUMBER_MAX];

	if (!t)
		return failure_os(f, "Making the table failed", ENOMEM);
	for (size_t i = 0; i < limit; i++) {
		const struct model_row *row = &m->processes[i];

		table_line(t);
		snprintf(text, sizeof(text), "%" PRIu32 "%s", row->pid, row->exited ? "*" : "");
		table_cell(t, text);
		table_cell(t, row->comm);
		table_cell(t, row->unit);
		cells_of_row(t, row);
		table_cell(t, row_cost(row).known && row->cpu_share.known
				      ? text_ratio(row->cpu_share.value, text)
				      : "");
	}
	return table_print(t, f);
}

static int print_groups(const struct model *m, size_t limit, const struct output *o,
			struct failure *f)
{
	static const struct table_column columns[] = {
		{ "UNIT", TABLE_FIRST },    { "PROGRAM", TABLE_LEFT }, { "LIVE", TABLE_RIGHT },
		{ "READS", TABLE_RIGHT },   { "WRITES", TABLE_RIGHT }, { "B/OP", TABLE_RIGHT },
		{ "UPDATES", TABLE_RIGHT }, { "CPU", TABLE_RIGHT },
	};
	_cleanup_(table_freep) struct table *t = table_new(o, columns, ARRAY_SIZE(columns));

	if (!t)
		return failure_os(f, "Making the table failed", ENOMEM);
	for (size_t i = 0; i < limit; i++) {
		const struct model_row *row = &m->groups[i];

		table_line(t);
		table_cell(t, row->unit);
		table_cell(t, row->comm);
		cell_count(t, (struct count){ true, row->processes });
		cells_of_row(t, row);
	}
	return table_print(t, f);
}

static bool some_exited(const struct model *m, size_t limit)
{
	for (size_t i = 0; i < limit; i++)
		if (m->processes[i].exited)
			return true;
	return false;
}

int list_run(const struct options *options, struct output *o, struct failure *f)
{
	_cleanup_(model_freep) struct model *m = NULL;
	size_t limit;
	int r;

	r = verb_describe_rows(options, o, &m, f);
	if (r != 0)
		return r;
	limit = verb_limit(options, m->n_processes, USUAL_ROWS);
	if (options->json)
		return print_json(m, "processes", m->processes, m->n_processes, limit, m->omitted,
				  o, f);
	if (m->n_processes == 0) {
		verb_print_nobody(o, m);
		return output_flush(o, f);
	}
	r = print_processes(m, limit, o, f);
	if (r != 0)
		return r;
	if (some_exited(m, limit))
		fputs("* has ended\n", o->f);
	verb_print_rest(o, limit, m->n_processes, m->omitted);
	verb_print_caveats(o, m, &m->host);
	return output_flush(o, f);
}

int groups_run(const struct options *options, struct output *o, struct failure *f)
{
	_cleanup_(model_freep) struct model *m = NULL;
	size_t limit;
	int r;

	r = verb_describe_rows(options, o, &m, f);
	if (r != 0)
		return r;
	limit = verb_limit(options, m->n_groups, USUAL_ROWS);
	if (options->json)
		return print_json(m, "groups", m->groups, m->n_groups, limit, 0, o, f);
	if (m->n_groups == 0) {
		verb_print_nobody(o, m);
		return output_flush(o, f);
	}
	r = print_groups(m, limit, o, f);
	if (r != 0)
		return r;
	verb_print_rest(o, limit, m->n_groups, 0);
	verb_print_caveats(o, m, &m->host);
	return output_flush(o, f);
}
