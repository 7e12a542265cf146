// SPDX-License-Identifier: GPL-2.0-or-later
#include "operation-cost.h"

#include <math.h>
#include <unistd.h>

#include "ab.h"
#include "pipewatch/util.h"
#include "run-time.h"

#define TRIAL_USEC 20000

void operation_cost_init(struct operation_cost *c)
{
	*c = (struct operation_cost){};
	cost_figure_unknown(&c->operation, "It has not been measured yet.");
	cost_figure_unknown(&c->counting, "It has not been measured yet.");
}

static void counting_follow(struct operation_cost *c)
{
	if (!(c->ratio > 0))
		return;
	c->counting = (struct cost_figure){
		.known = true,
		.seconds = c->ratio * c->operation.seconds,
		.error_seconds = c->ratio_error * c->operation.seconds,
	};
}

void operation_cost_without(struct operation_cost *c, const struct cost_figure *figure)
{
	if (!figure->known || !(figure->seconds > 0))
		return;
	c->operation = *figure;
	counting_follow(c);
}

void operation_cost_with(struct operation_cost *c, const struct cost_figure *figure)
{
	double added;

	if (!figure->known || !(figure->seconds > 0) || !c->operation.known)
		return;
	added = figure->seconds - c->operation.seconds;
	if (c->ratio > 0) {
		c->operation.seconds = figure->seconds / (1 + c->ratio);
		c->operation.error_seconds = figure->error_seconds / (1 + c->ratio);
	} else if (added > 0) {
		c->ratio = added / c->operation.seconds;
		c->ratio_error = hypot(figure->error_seconds, c->operation.error_seconds) /
				 c->operation.seconds;
	}
	counting_follow(c);
}

static void run_times(struct operation_cost *c, const char *const *directories,
		      const enum path_state paths[PIPE_KINDS][UPDATE_KINDS], const int fds[2])
{
	_cleanup_(closep) int enabled = run_time_enable();
	uint64_t before[2], after[2];
	double begin[2], end[2];
	struct ab ab;

	if (enabled < 0)
		return;
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0 && run_time_read(fds[i], &before[i], &begin[i]) < 0)
			return;
	if (ab_measure(directories, TRIAL_USEC, paths, &ab) < 0)
		return;
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0 && run_time_read(fds[i], &after[i], &end[i]) >= 0 &&
		    after[i] > before[i])
			c->run_seconds[i] = (end[i] - begin[i]) / (after[i] - before[i]);
}

void operation_cost_try(struct operation_cost *c, const char *const *directories,
			const enum path_state paths[PIPE_KINDS][UPDATE_KINDS], const int fds[2])
{
	struct cost_figure figure;
	struct ab ab;

	if (ab_measure(directories, TRIAL_USEC, paths, &ab) < 0)
		return;
	ab_operation(&ab, &figure);
	operation_cost_with(c, &figure);
	run_times(c, directories, paths, fds);
}
