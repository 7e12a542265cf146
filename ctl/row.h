/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arithmetic on what a process, a group or the host did.
 */
#ifndef PIPEWATCH_CTL_ROW_H
#define PIPEWATCH_CTL_ROW_H

#include "model.h"

/* *sum += *add. What only one of them knows is kept. */
void row_add(struct model_row *sum, const struct model_row *add);

/* What happened between @before and @after, of the same. Counters that fell give 0. */
struct model_row row_difference(const struct model_row *after, const struct model_row *before);

/* Sums over kinds of pipe; not known where no part is. */
struct count row_reads(const struct model_row *row);
struct count row_writes(const struct model_row *row);
struct count row_operations(const struct model_row *row);
struct count row_updates(const struct model_row *row);
struct amount row_bytes_per_read(const struct model_row *row);
struct amount row_bytes_per_write(const struct model_row *row);
struct amount row_bytes_per_operation(const struct model_row *row);

/*
 * What all its updates cost, as far as that is known. Not known where none of them has a cost, also
 * where others, that were never made, would have one.
 */
struct amount row_cost(const struct model_row *row);

/* Were updates of @kind made that have no cost yet? */
bool row_kind_uncharged(const struct model_row *row, int kind);

/* All such kinds: "atime and cmtime"; NULL where there are none. */
#define ROW_KINDS_MAX 32
const char *row_uncharged(const struct model_row *row, char ret[ROW_KINDS_MAX]);

/* The remedy that saves most, or -1 where none is known to save anything. */
int row_best_remedy(const struct model_row *row);

/* As sentences name a remedy: "Linux 6.15 or newer". */
const char *row_remedy_text(int remedy);

#endif
