/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What processes or groups did between two descriptions, by the second.
 */
#ifndef PIPEWATCH_CTL_RATES_H
#define PIPEWATCH_CTL_RATES_H

#include "model.h"

enum rates_order { RATES_COST, RATES_OPERATIONS, RATES_PID };

struct rates {
	double seconds;		/* between the two */
	bool since_start;	/* there is but one: since the daemon's start */
	struct model_row host;	/* differences, not yet divided by seconds */
	struct model_row *rows; /* of those that did something */
	size_t n;
};

/*
 * @before may be NULL, and is of no use when the daemon has been started anew since, or its clock
 * been set back: then it is the time since the start. Strings stay those of @after. Returns 0;
 * -EAGAIN when no time has passed since then; -ENOMEM.
 */
int rates_make(const struct model *after, const struct model *before, bool groups,
	       struct rates *ret);
void rates_sort(struct rates *r, enum rates_order order);
void rates_clear(struct rates *r);

/* CPU time of metadata updates by the second: a share of one CPU. */
struct amount rates_cost(const struct rates *r, const struct model_row *row);
/* The same as a share of what the process took of CPU time. */
struct amount rates_share(const struct rates *r, const struct model_row *row);
/* Operations, and so on, by the second. */
struct amount rates_per_second(const struct rates *r, struct count count);

#endif
