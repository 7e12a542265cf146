/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables for people. Cells are copied, and must be safe to print.
 */
#ifndef PIPEWATCH_CTL_TABLE_H
#define PIPEWATCH_CTL_TABLE_H

#include <stddef.h>

#include "output.h"

struct table;

/* Where the terminal is too narrow TABLE_LEFT gives way, and TABLE_FIRST before it. */
enum table_align { TABLE_LEFT, TABLE_FIRST, TABLE_FIXED, TABLE_RIGHT };

struct table_column {
	const char *name;
	enum table_align align;
};

/* @columns stay the caller's. NULL when out of memory. */
struct table *table_new(const struct output *o, const struct table_column *columns, size_t n);
struct table *table_free(struct table *t); /* takes NULL; returns NULL */

static inline void table_freep(struct table **t)
{
	table_free(*t);
}

/* A new line. What goes wrong is told by table_print(). */
void table_line(struct table *t);
void table_cell(struct table *t, const char *text);
void table_paint(struct table *t, enum paint paint); /* the cell before */

/* 0 or an exit code, with @f filled. */
int table_print(struct table *t, struct failure *f);

#endif
