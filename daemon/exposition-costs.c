// SPDX-License-Identifier: GPL-2.0-or-later
#include "exposition-costs.h"

#include "util.h"

static void write_updates_cpu(struct metric_writer *w, const struct snapshot *s)
{
	static const struct metric_family family = {
		"pipewatch_metadata_cpu_seconds", METRIC_COUNTER, "seconds",
		"CPU time that the kernel spent on these updates, as the number of updates times the cost of one: "
		"see pipewatch_metadata_unit_cost_seconds for it and its error. Absent where it is not known."
	};

	metric_begin(w, &family);
	for (size_t i = 0; i < s->n_groups; i++) {
		const struct snapshot_group *g = &s->groups[i];

		for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
			if (g->counts[pipe].reads + g->counts[pipe].writes == 0)
				continue;
			for (int kind = 0; kind < UPDATE_KINDS; kind++) {
				const struct metric_label labels[] = {
					{ "unit", g->unit },
					{ "comm", g->comm },
					{ "pipe", pipe_kind_name(pipe) },
					{ "kind", update_kind_name(kind) },
				};

				if (snapshot_cost_known(s, pipe, kind))
					metric_double(w, labels, ARRAY_SIZE(labels),
						      g->costs[pipe].seconds[kind]);
			}
		}
	}
}

static void write_pipe_cpu(struct metric_writer *w, const struct snapshot *s)
{
	static const struct metric_family family = {
		"pipewatch_pipe_cpu_seconds", METRIC_COUNTER, "seconds",
		"CPU time inside the kernel's pipe read and write functions, both kinds of pipe together, by sampling: right on average. "
		"Absent where it cannot be sampled."
	};

	metric_begin(w, &family);
	for (size_t i = 0; i < s->n_groups; i++) {
		const struct metric_label labels[] = {
			{ "unit", s->groups[i].unit },
			{ "comm", s->groups[i].comm },
		};

		metric_double(w, labels, ARRAY_SIZE(labels), s->groups[i].pipe_cpu_seconds);
	}
}

void exposition_write_costs(struct metric_writer *w, const struct snapshot *s)
{
	write_updates_cpu(w, s);
	if (s->sampling)
		write_pipe_cpu(w, s);
}

/* One series a stage that is known, or one for the whole where only that is. */
static void write_unit_cost(struct metric_writer *w, const struct metric_family *family,
			    const struct snapshot *s, bool error)
{
	metric_begin(w, family);
	for (int kind = 0; kind < UPDATE_KINDS; kind++) {
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
			const struct cost_estimate *e = &s->unit_costs[pipe][kind];
			struct metric_label labels[] = {
				{ "kind", update_kind_name(kind) },
				{ "pipe", pipe_kind_name(pipe) },
				{ "stage", "whole" },
			};

			if (!e->whole.known)
				continue;
			if (e->undivided)
				metric_double(w, labels, ARRAY_SIZE(labels),
					      cost_figure_value(&e->whole, error));
			for (int stage = 0; stage < COST_STAGES && !e->undivided; stage++) {
				labels[2].value = cost_stage_name(stage);
				if (e->stages[stage].known)
					metric_double(w, labels, ARRAY_SIZE(labels),
						      cost_figure_value(&e->stages[stage], error));
			}
		}
	}
}

void exposition_write_unit_costs(struct metric_writer *w, const struct snapshot *s)
{
	static const struct metric_family cost = {
		"pipewatch_metadata_unit_cost_seconds", METRIC_GAUGE, "seconds",
		"What one update costs, by stage; the stages sum to the whole. Stage whole where it cannot be divided. "
		"Absent where it is not known."
	};
	static const struct metric_family error = {
		"pipewatch_metadata_unit_cost_error_ratio", METRIC_GAUGE, "ratio",
		"Standard error of pipewatch_metadata_unit_cost_seconds, as a share of it."
	};
	static const struct metric_family agreement = {
		"pipewatch_metadata_unit_cost_agreement", METRIC_GAUGE, NULL,
		"Whether independent estimators of the cost of an update agree within their errors: 1 for the state that applies, "
		"one of single (there is one estimator only), agree and disagree. Absent where the cost is not known."
	};

	write_unit_cost(w, &cost, s, false);
	write_unit_cost(w, &error, s, true);
	metric_begin(w, &agreement);
	for (int kind = 0; kind < UPDATE_KINDS; kind++)
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
			const struct cost_estimate *e = &s->unit_costs[pipe][kind];
			const struct metric_label labels[] = {
				{ "kind", update_kind_name(kind) },
				{ "pipe", pipe_kind_name(pipe) },
				{ "state", cost_agreement_name(e->agreement) },
			};

			if (e->whole.known)
				metric_u64(w, labels, ARRAY_SIZE(labels), 1);
		}
}
