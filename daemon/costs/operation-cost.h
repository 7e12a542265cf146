/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one pipe operation of our own costs, counted and not counted: the difference is what
 * counting adds to everybody's operations. The ratio is found once, by A/B before and after
 * attaching; later measurements of either kind follow the speed of the CPU.
 */
#ifndef PIPEWATCH_OPERATION_COST_H
#define PIPEWATCH_OPERATION_COST_H

#include "cost.h"
#include "pipe.h"

struct operation_cost {
	struct cost_figure operation; /* not counted */
	struct cost_figure counting;  /* what counting adds to it */
	double ratio, ratio_error;    /* of counting to operation; 0: not known */
	/* Of the programs for reads and writes, as the kernel times them; 0: not known. */
	double run_seconds[2];
};

void operation_cost_init(struct operation_cost *c);

/* Takes over the measured cost of an operation that was not counted, or that was. One that is not
 * known is ignored. */
void operation_cost_without(struct operation_cost *c, const struct cost_figure *figure);
void operation_cost_with(struct operation_cost *c, const struct cost_figure *figure);

/*
 * Measures operations that are counted, 20 ms or a little more, and again while the kernel times
 * the programs @fds (-1: none), where it lets us. @directories and @paths as for ab_measure().
 */
void operation_cost_try(struct operation_cost *c, const char *const *directories,
			const enum path_state paths[PIPE_KINDS][UPDATE_KINDS], const int fds[2]);

#endif
