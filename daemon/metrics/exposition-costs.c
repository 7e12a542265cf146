// SPDX-License-Identifier: GPL-2.0-or-later
#include "exposition-costs.h"

#include "pipewatch/util.h"

#define GROUP_LABELS(g, ...) \
	METRIC_LABELS({ "unit", (g)->unit }, { "comm", (g)->comm }, ##__VA_ARGS__)

static void write_updates_cpu(struct metric_writer *w, const struct snapshot *s)
{
	static const struct metric_family family = {
		"pipewatch_metadata_cpu_seconds", METRIC_COUNTER, "seconds",
		"CPU time that the kernel spent on these updates: the number of updates times the cost of one "
		"(see pipewatch_metadata_unit_cost_seconds for it and its error), and for kind fsnotify by sampling. "
		"Absent where it is not known."
	};

	metric_begin(w, &family);
	for (size_t i = 0; i < s->n_groups; i++) {
		const struct snapshot_group *g = &s->groups[i];

		for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
			if (!snapshot_pipe_used(s, pipe, &g->counts[pipe], &g->costs[pipe]))
				continue;
			for (int kind = 0; kind < UPDATE_KINDS; kind++)
				if (snapshot_cost_known(s, pipe, kind))
					metric_double(
						w,
						GROUP_LABELS(g, { "pipe", pipe_kind_name(pipe) },
							     { "kind", update_kind_name(kind) }),
						g->costs[pipe].seconds[kind]);
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
	for (size_t i = 0; i < s->n_groups; i++)
		metric_double(w, GROUP_LABELS(&s->groups[i]), s->groups[i].pipe_cpu_seconds);
}

static void write_sampled(struct metric_writer *w, const struct snapshot *s)
{
	static const struct metric_family family = {
		"pipewatch_sampled_metadata_cpu_seconds", METRIC_COUNTER, "seconds",
		"CPU time spent on these updates, both kinds of pipe together, by sampling: an opinion of its own on "
		"pipewatch_metadata_cpu_seconds_total, also where nothing is counted. Absent for a kind that samples do not show."
	};

	metric_begin(w, &family);
	for (size_t i = 0; i < s->n_groups; i++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++)
			if (s->sampling_sees[kind])
				metric_double(w,
					      GROUP_LABELS(&s->groups[i],
							   { "kind", update_kind_name(kind) }),
					      s->groups[i].sampled_seconds[kind]);
}

static void write_savings(struct metric_writer *w, const struct snapshot *s)
{
	static const struct metric_family family = {
		"pipewatch_remedy_saving_cpu_seconds", METRIC_COUNTER, "seconds",
		"CPU time that a remedy would have saved: kernel is Linux 6.15 or newer, noatime is O_NOATIME on the read end, "
		"unwatch is that nobody watches a pipe, batch is operations of 4096 bytes. They overlap: do not add them. "
		"Absent where a remedy has nothing to save on this kernel or where that is not known."
	};
	double seconds;

	metric_begin(w, &family);
	for (size_t i = 0; i < s->n_groups; i++) {
		const struct snapshot_group *g = &s->groups[i];

		for (int remedy = 0; remedy < REMEDIES; remedy++)
			if (snapshot_saving(s, remedy, g->costs, g->batch_seconds, &seconds))
				metric_double(w,
					      METRIC_LABELS({ "remedy", remedy_name(remedy) },
							    { "unit", g->unit },
							    { "comm", g->comm }),
					      seconds);
	}
}

void exposition_write_costs(struct metric_writer *w, const struct snapshot *s)
{
	write_updates_cpu(w, s);
	if (s->sampling) {
		write_pipe_cpu(w, s);
		write_sampled(w, s);
	}
	write_savings(w, s);
}

static void write_cost_figure(struct metric_writer *w, enum pipe_kind pipe, enum update_kind kind,
			      const char *stage, const struct cost_figure *figure, bool error)
{
	metric_double(w,
		      METRIC_LABELS({ "kind", update_kind_name(kind) },
				    { "pipe", pipe_kind_name(pipe) }, { "stage", stage }),
		      cost_figure_value(figure, error));
}

/* One series a stage that is known, or one for the whole where only that is. */
static void write_unit_cost(struct metric_writer *w, const struct metric_family *family,
			    const struct snapshot *s, bool error)
{
	metric_begin(w, family);
	for (int kind = 0; kind < UPDATE_KINDS; kind++) {
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
			const struct cost_estimate *e = &s->unit_costs[pipe][kind];

			if (!e->whole.known)
				continue;
			if (e->undivided)
				write_cost_figure(w, pipe, kind, "whole", &e->whole, error);
			for (int stage = 0; stage < COST_STAGES && !e->undivided; stage++)
				if (e->stages[stage].known)
					write_cost_figure(w, pipe, kind, cost_stage_name(stage),
							  &e->stages[stage], error);
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

			if (e->whole.known)
				metric_u64(w,
					   METRIC_LABELS(
						   { "kind", update_kind_name(kind) },
						   { "pipe", pipe_kind_name(pipe) },
						   { "state", cost_agreement_name(e->agreement) }),
					   1);
		}
}
