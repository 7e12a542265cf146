// SPDX-License-Identifier: GPL-2.0-or-later
#include "exposition-observer.h"

#define PROGRAM_LABELS(p) METRIC_LABELS({ "program", (p)->program }, { "hook", (p)->hook })

static void write_programs(struct metric_writer *w, const struct snapshot *s)
{
	static const struct metric_family attached = {
		"pipewatch_program_attached", METRIC_GAUGE, NULL,
		"1 where the BPF program is attached to the kernel function or tracepoint, 0 where it should be but is not."
	};
	static const struct metric_family missed = {
		"pipewatch_program_missed_runs", METRIC_COUNTER, NULL,
		"Runs of a BPF program that the kernel skipped, because a task was preempted inside the same program on that CPU. "
		"Happens where the kernel itself can be preempted. Absent for a program that is not attached."
	};
	static const struct metric_family run = {
		"pipewatch_program_run_seconds", METRIC_GAUGE, "seconds",
		"How long a run of a BPF program takes on average, as the kernel timed it at the start. Absent where it was not timed."
	};

	metric_begin(w, &attached);
	for (size_t i = 0; i < s->n_programs; i++)
		metric_u64(w, PROGRAM_LABELS(&s->programs[i]), s->programs[i].attached);

	metric_begin(w, &missed);
	for (size_t i = 0; i < s->n_programs; i++)
		if (s->programs[i].attached)
			metric_u64(w, PROGRAM_LABELS(&s->programs[i]), s->programs[i].missed);

	metric_begin(w, &run);
	for (size_t i = 0; i < s->n_programs; i++)
		if (s->programs[i].run_seconds > 0)
			metric_double(w, PROGRAM_LABELS(&s->programs[i]),
				      s->programs[i].run_seconds);
}

static void write_figure(struct metric_writer *w, const struct metric_family *family,
			 const struct cost_figure *figure)
{
	metric_begin(w, family);
	if (figure->known)
		metric_double(w, METRIC_NO_LABELS, figure->seconds);
}

static void write_own_cost(struct metric_writer *w, const struct snapshot_observer *observer)
{
	static const struct metric_family cpu = {
		"pipewatch_observer_cpu_seconds", METRIC_COUNTER, "seconds",
		"CPU time that the measuring has taken: programs and bursts run in the processes that they look at, "
		"sampling on all CPUs, and daemon is pipewatchd itself."
	};
	static const struct metric_family overhead = {
		"pipewatch_observer_overhead_ratio", METRIC_GAUGE, "ratio",
		"What the measuring costs, as a share of the time spent in pipe operations, or of a tenth of the CPUs' time where that is more, of the last seconds. "
		"To be compared with pipewatch_budget_ratio. Absent where it is not known."
	};
	static const struct metric_family operation = {
		"pipewatch_observer_operation_seconds", METRIC_GAUGE, "seconds",
		"What one operation on a pipe costs that is not counted, measured on a pipe of pipewatchd's own. Absent where it is not known."
	};
	static const struct metric_family counting = {
		"pipewatch_observer_counting_seconds", METRIC_GAUGE, "seconds",
		"What counting adds to one operation on a pipe, measured on a pipe of pipewatchd's own. Absent where it is not known."
	};

	metric_begin(w, &cpu);
	for (int part = 0; part < OBSERVER_PARTS; part++)
		metric_double(w, METRIC_LABELS({ "part", observer_part_name(part) }),
			      observer->cpu_seconds[part]);
	write_figure(w, &overhead, &observer->overhead);
	write_figure(w, &operation, &observer->operation);
	write_figure(w, &counting, &observer->counting);
}

static void write_budget(struct metric_writer *w, const struct snapshot *s)
{
	static const struct metric_family budget = {
		"pipewatch_budget_ratio", METRIC_GAUGE, "ratio",
		"What measuring may cost, as a share of the time spent in pipe operations, or of a tenth of the CPUs' time where that is more."
	};
	static const struct metric_family allowed = {
		"pipewatch_observer_allowed_cpu_ratio", METRIC_GAUGE, "ratio",
		"CPU seconds per second that the budget comes to at present. Absent where that is not known."
	};
	static const struct metric_family predicted = {
		"pipewatch_observer_predicted_cpu_ratio", METRIC_GAUGE, "ratio",
		"CPU seconds per second that each mode would cost at present. Absent where that is not known."
	};

	metric_begin(w, &budget);
	metric_double(w, METRIC_NO_LABELS, s->budget_ratio);

	metric_begin(w, &allowed);
	if (s->observer.allowed >= 0)
		metric_double(w, METRIC_NO_LABELS, s->observer.allowed);

	metric_begin(w, &predicted);
	for (int mode = MODE_EXACT; mode < MODE_OFF; mode++)
		if (s->observer.predicted[mode] >= 0)
			metric_double(w, METRIC_LABELS({ "mode", snapshot_mode_name(mode) }),
				      s->observer.predicted[mode]);
}

static void write_sampler(struct metric_writer *w, const struct snapshot *s)
{
	static const struct metric_family lost = {
		"pipewatch_sampler_lost_samples", METRIC_COUNTER, NULL,
		"Samples in pipe operations that there was no room for. Absent where nothing is sampled."
	};

	metric_begin(w, &lost);
	if (s->sampling)
		metric_u64(w, METRIC_NO_LABELS, s->sampling_lost);
}

static void write_watches(struct metric_writer *w, const struct snapshot *s)
{
	static const struct metric_family watches = {
		"pipewatch_pipe_watches", METRIC_GAUGE, NULL,
		"Watches on pipes with inotify or fanotify, by name of the watching process, as far as they can be seen. "
		"Pipes pay for fsnotify because of them."
	};
	uint64_t n;

	metric_begin(w, &watches);
	for (size_t i = 0; i < s->n_watchers; i++)
		if (snapshot_watches(s, i, &n))
			metric_u64(w, METRIC_LABELS({ "comm", s->watchers[i].comm }), n);
}

void exposition_write_observer(struct metric_writer *w, const struct snapshot *s)
{
	write_programs(w, s);
	write_budget(w, s);
	write_own_cost(w, &s->observer);
	write_sampler(w, s);
	write_watches(w, s);
}
