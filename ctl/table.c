// SPDX-License-Identifier: GPL-2.0-or-later
#include "table.h"

#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "pipewatch/util.h"
#include "text.h"

/* Bytes of a name on a terminal: more than any has that needs no escapes. */
#define TERMINAL_MAX 20

struct table {
	const struct output *o;
	const struct table_column *columns;
	struct libscols_table *table;
	struct libscols_line *line;
	size_t next; /* cell */
	int error;   /* the first */
};

struct table *table_new(const struct output *o, const struct table_column *columns, size_t n)
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->o = o;
	t->columns = columns;
	t->table = scols_new_table();
	if (!t->table) {
		free(t);
		return NULL;
	}
	scols_table_set_stream(t->table, o->f);
	scols_table_enable_colors(t->table, o->colour);
	scols_table_set_termforce(t->table,
				  o->terminal ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
	/* It may take one column more than it is given. */
	scols_table_set_termwidth(t->table, o->width > 1 ? o->width - 1 : 1);
	for (size_t i = 0; i < n; i++) {
		static const int flags[] = {
			[TABLE_LEFT] = SCOLS_FL_TRUNC,
			[TABLE_FIRST] = SCOLS_FL_TRUNC,
			[TABLE_FIXED] = 0,
			[TABLE_RIGHT] = SCOLS_FL_RIGHT,
		};
		const struct libscols_column *column = scols_table_new_column(
			t->table, columns[i].name, columns[i].align == TABLE_FIRST ? 0.01 : 0,
			flags[columns[i].align]);

		if (!column)
			t->error = -ENOMEM;
	}
	return t;
}

struct table *table_free(struct table *t)
{
	if (!t)
		return NULL;
	scols_unref_table(t->table);
	free(t);
	return NULL;
}

void table_line(struct table *t)
{
	t->line = scols_table_new_line(t->table, NULL);
	t->next = 0;
	if (!t->line)
		t->error = -ENOMEM;
}

/*
 * libsmartcols takes room for an escape of its own in place of the \x of ours, and a column would
 * not be straight: in cells it is \X.
 */
void table_cell(struct table *t, const char *text)
{
	size_t length;
	char *copy;

	if (t->error)
		return;
	if (!*text)
		text = "-";
	length = strlen(text);
	/* One odd name must not take the room of everything else. */
	if (t->o->terminal && t->columns[t->next].align == TABLE_LEFT)
		length = (size_t)text_fit(text, TERMINAL_MAX);
	copy = strndup(text, length);
	if (!copy || scols_line_refer_data(t->line, t->next++, copy) < 0) {
		t->error = -ENOMEM;
		return;
	}
	for (char *at = copy; (at = strstr(at, "\\x")); at++)
		at[1] = 'X';
}

void table_paint(struct table *t, enum paint paint)
{
	if (!t->error && t->o->colour &&
	    scols_cell_set_color(scols_line_get_cell(t->line, t->next - 1),
				 output_paint(t->o, paint)) < 0)
		t->error = -ENOMEM;
}

int table_print(struct table *t, struct failure *f)
{
	int r = t->error;

	if (r == 0)
		r = scols_print_table(t->table);
	return r < 0 ? failure_os(f, "Printing the table failed", r) : 0;
}
