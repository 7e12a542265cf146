// SPDX-License-Identifier: GPL-2.0-or-later
#include "bus-remedies.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The numbers, the names of remedy and scope, and the padding. */
#define FIXED_BYTES 96

struct list {
	const struct snapshot *s;
	struct bus_remedy *rows;
	size_t n;
};

/* Every row that @whose costs make, each like @whose but for the remedy and what it saves. */
static void list_add(struct list *l, struct bus_remedy whose,
		     const struct pipe_costs costs[PIPE_KINDS], double batch_seconds)
{
	for (enum remedy remedy = 0; remedy < REMEDIES; remedy++) {
		whose.remedy = remedy;
		if (snapshot_saving(l->s, remedy, costs, batch_seconds, &whose.seconds) &&
		    whose.seconds > 0)
			l->rows[l->n++] = whose;
	}
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int compare(const void *left, const void *right)
{
	const struct bus_remedy *a = left, *b = right;
	int c;

	c = COMPARE(b->seconds, a->seconds);
	if (c == 0)
		c = strcmp(a->unit, b->unit);
	if (c == 0)
		c = strcmp(a->comm, b->comm);
	if (c == 0)
		c = COMPARE(a->pid, b->pid);
	if (c == 0)
		c = COMPARE(a->remedy, b->remedy);
	return c;
}

/* Of the rows from @first on, which are of one scope, those that save most. */
static void list_cut(struct list *l, size_t first)
{
	size_t n = l->n - first;

	if (n > 0)
		qsort(l->rows + first, n, sizeof(*l->rows), compare);
	if (n > BUS_REMEDIES_MAX)
		l->n = first + BUS_REMEDIES_MAX;
}

int bus_remedies_new(const struct snapshot *s, struct bus_remedy **ret_remedies, size_t *ret_n)
{
	struct list l = { .s = s };
	size_t first;

	l.rows = reallocarray(NULL, (1 + s->n_groups + s->n_processes) * REMEDIES, sizeof(*l.rows));
	if (!l.rows)
		return -ENOMEM;

	list_add(&l, (struct bus_remedy){ .scope = "host", .unit = "", .comm = "" }, s->total_costs,
		 s->total_batch_seconds);
	list_cut(&l, 0);

	first = l.n;
	for (size_t i = 0; i < s->n_groups; i++) {
		const struct snapshot_group *g = &s->groups[i];

		list_add(&l,
			 (struct bus_remedy){ .scope = "group", .unit = g->unit, .comm = g->comm },
			 g->costs, g->batch_seconds);
	}
	list_cut(&l, first);

	first = l.n;
	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snapshot_process *p = &s->processes[i];

		if (!p->exited)
			list_add(&l,
				 (struct bus_remedy){ .scope = "process",
						      .unit = p->unit,
						      .comm = p->comm,
						      .pid = p->pid },
				 p->costs, p->batch_seconds);
	}
	list_cut(&l, first);

	*ret_remedies = l.rows;
	*ret_n = l.n;
	return 0;
}

int bus_remedies_append(sd_bus_message *reply, const struct snapshot *s,
			const struct bus_remedy *remedies, size_t n)
{
	const double seconds = snapshot_measured_seconds(s);
	int r;

	r = sd_bus_message_open_container(reply, 'a', BUS_REMEDY);
	for (size_t i = 0; i < n && r >= 0; i++) {
		const struct bus_remedy *row = &remedies[i];

		r = sd_bus_message_append(reply, BUS_REMEDY, remedy_name(row->remedy), row->scope,
					  row->unit, row->comm, row->pid, row->seconds,
					  seconds > 0 ? row->seconds / seconds : (double)NAN);
	}
	if (r < 0)
		return r;
	return sd_bus_message_close_container(reply);
}

size_t bus_remedy_bytes(const struct bus_remedy *remedy)
{
	return FIXED_BYTES + strlen(remedy->unit) + strlen(remedy->comm);
}
