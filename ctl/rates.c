// SPDX-License-Identifier: GPL-2.0-or-later
#include "rates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipewatch/util.h"
#include "row.h"

/* By what one and the same process or group is found again. */
static int compare_identity(const void *a, const void *b)
{
	const struct model_row *x = *(const struct model_row *const *)a;
	const struct model_row *y = *(const struct model_row *const *)b;
	int r;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->start_time_usec != y->start_time_usec)
		return x->start_time_usec < y->start_time_usec ? -1 : 1;
	/* A process keeps its identity under another name. */
	if (x->pid > 0)
		return 0;
	r = strcmp(x->unit, y->unit);
	return r != 0 ? r : strcmp(x->comm, y->comm);
}

static const struct model_row **index_rows(const struct model_row *rows, size_t n)
{
	const struct model_row **index = calloc(n + 1, sizeof(*index));

	if (!index)
		return NULL;
	for (size_t i = 0; i < n; i++)
		index[i] = &rows[i];
	qsort(index, n, sizeof(*index), compare_identity);
	return index;
}

/* Was there before, and unlisted: what it did since cannot be told from what it did before. */
static bool unlisted_before(const struct model *before, const struct model_row *row)
{
	return row->pid > 0 && before->omitted > 0 && row->start_time_usec < before->now_usec;
}

int rates_make(const struct model *after, const struct model *before, bool groups,
	       struct rates *ret)
{
	const struct model_row *rows = groups ? after->groups : after->processes;
	size_t n = groups ? after->n_groups : after->n_processes;
	_cleanup_(freep) const struct model_row **index = NULL;
	size_t n_before = 0;
	struct rates r = {};

	/* The daemon has been started anew, or its clock been set back. */
	if (before && (before->start_time_usec != after->start_time_usec ||
		       after->now_usec <= before->now_usec))
		before = NULL;
	if (before) {
		r.seconds = (double)(after->now_usec - before->now_usec) / 1e6;
		r.host = row_difference(&after->host, &before->host);
		n_before = groups ? before->n_groups : before->n_processes;
		index = index_rows(groups ? before->groups : before->processes, n_before);
		if (!index)
			return -ENOMEM;
	} else {
		if (after->seconds <= 0)
			return -EAGAIN;
		r.since_start = true;
		r.seconds = after->seconds;
		r.host = after->host;
	}

	r.rows = calloc(n + 1, sizeof(*r.rows));
	if (!r.rows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct model_row *row = &rows[i], **found = NULL;
		struct model_row d = *row;

		if (before)
			found = bsearch(&row, index, n_before, sizeof(*index), compare_identity);
		if (found)
			d = row_difference(row, *found);
		else if (before && unlisted_before(before, row))
			continue;
		if (row_operations(&d).value > 0 || row_cost(&d).value > 0 ||
		    d.pipe_cpu_seconds.value > 0)
			r.rows[r.n++] = d;
	}
	*ret = r;
	return 0;
}

static int compare(const void *a, const void *b, void *userdata)
{
	const struct model_row *x = a, *y = b;
	const enum rates_order *order = userdata;
	double cost_x = row_cost(x).value, cost_y = row_cost(y).value;
	uint64_t n_x = row_operations(x).value, n_y = row_operations(y).value;

	if (*order == RATES_COST && cost_x != cost_y)
		return cost_x > cost_y ? -1 : 1;
	if (*order != RATES_PID && n_x != n_y)
		return n_x > n_y ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	/* Groups have no number, and an order that does not jump. */
	if (strcmp(x->unit, y->unit))
		return strcmp(x->unit, y->unit);
	return strcmp(x->comm, y->comm);
}

void rates_sort(struct rates *r, enum rates_order order)
{
	qsort_r(r->rows, r->n, sizeof(*r->rows), compare, &order);
}

void rates_clear(struct rates *r)
{
	free(r->rows);
	*r = (struct rates){};
}

struct amount rates_cost(const struct rates *r, const struct model_row *row)
{
	struct amount cost = row_cost(row);

	cost.value /= r->seconds;
	return cost;
}

struct amount rates_share(const struct rates *r, const struct model_row *row)
{
	const struct amount cost = row_cost(row);

	/* Since the start, the daemon knows better what is of the same time. */
	if (r->since_start && cost.known)
		return row->cpu_share;
	if (!cost.known || !row->cpu_seconds.known || row->cpu_seconds.value <= 0)
		return (struct amount){};
	return (struct amount){ true, cost.value < row->cpu_seconds.value
					      ? cost.value / row->cpu_seconds.value
					      : 1 };
}

struct amount rates_per_second(const struct rates *r, struct count count)
{
	return (struct amount){ count.known, (double)count.value / r->seconds };
}
