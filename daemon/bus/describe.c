// SPDX-License-Identifier: GPL-2.0-or-later
#include "describe.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <string.h>

#include "pipewatch/number.h"
#include "pipewatch/util.h"
#include "text.h"

/*
 * The text is written element by element, since a tree of 10000 processes would take about ten
 * times the memory of its text. After the first failure nothing more is written.
 */
struct writer {
	const struct snapshot *s;
	FILE *f;
	bool comma; /* before the next member or element */
	int error;
};

static void write_text(struct writer *w, const char *text)
{
	if (!w->error && fputs(text, w->f) == EOF)
		w->error = -ENOMEM;
}

/* Begins the member @key, or an array's element when that is NULL. Keys are ours and need no
 * escapes. */
static void begin(struct writer *w, const char *key, const char *opening)
{
	write_text(w, w->comma ? "," : "");
	if (key) {
		write_text(w, "\"");
		write_text(w, key);
		write_text(w, "\":");
	}
	write_text(w, opening);
	w->comma = false;
}

static void end(struct writer *w, const char *closing)
{
	write_text(w, closing);
	w->comma = true;
}

/* Writes and frees @value; NULL means that there was no memory for it. */
static void write_value(struct writer *w, const char *key, struct json_object *value)
{
	const char *text = NULL;

	if (value)
		text = json_object_to_json_string_ext(
			value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text) {
		begin(w, key, text);
		w->comma = true;
	} else {
		w->error = -ENOMEM;
	}
	json_object_put(value);
}

static void write_string(struct writer *w, const char *key, const char *value)
{
	write_value(w, key, json_object_new_string(value));
}

static void write_number(struct writer *w, const char *key, uint64_t value)
{
	write_value(w, key, json_object_new_uint64(value));
}

static void write_bool(struct writer *w, const char *key, bool value)
{
	write_value(w, key, json_object_new_boolean(value));
}

/* JSON has no infinities: such a member is left out. */
static void write_double(struct writer *w, const char *key, double value)
{
	char text[NUMBER_MAX];

	if (!isfinite(value))
		return;
	number_format(value, text);
	write_value(w, key, json_object_new_double_s(value, text));
}

static void write_sizes(struct writer *w, const char *key, const uint64_t sizes[SIZE_CLASSES])
{
	begin(w, key, "[");
	for (int c = 0; c < SIZE_CLASSES; c++)
		write_number(w, NULL, sizes[c]);
	end(w, "]");
}

static void write_updates(struct writer *w, const char *key, enum pipe_kind pipe,
			  enum update_kind kind, const struct pipe_counts *counts)
{
	uint64_t updates;

	if (snapshot_updates(w->s, pipe, kind, counts, &updates))
		write_number(w, key, updates);
}

static void write_cost(struct writer *w, const char *key, enum pipe_kind pipe,
		       enum update_kind kind, const struct pipe_costs *costs)
{
	if (snapshot_cost_known(w->s, pipe, kind))
		write_double(w, key, costs->seconds[kind]);
}

/* What is known of a process, a group or the host on one kind of pipe; @sizes may be NULL. */
static void write_counts(struct writer *w, enum pipe_kind pipe, const struct pipe_counts *counts,
			 const struct pipe_errors *errors, const struct pipe_costs *costs,
			 const struct pipe_sizes *sizes)
{
	const bool reads = w->s->counting && !w->s->reads_missing;
	const bool writes = w->s->counting && !w->s->writes_missing;

	begin(w, pipe_kind_name(pipe), "{");
	if (reads)
		write_number(w, "reads", counts->reads);
	if (writes)
		write_number(w, "writes", counts->writes);
	if (reads)
		write_number(w, "read_bytes", counts->read_bytes);
	if (writes)
		write_number(w, "written_bytes", counts->written_bytes);
	if (reads)
		write_number(w, "noatime_reads", counts->noatime_reads);
	if (reads && w->s->estimated && errors->reads > 0)
		write_double(w, "reads_standard_error", (double)errors->reads);
	if (writes && w->s->estimated && errors->writes > 0)
		write_double(w, "writes_standard_error", (double)errors->writes);
	if (w->s->counting) {
		write_updates(w, "atime_updates", pipe, UPDATE_ATIME, counts);
		write_updates(w, "cmtime_updates", pipe, UPDATE_CMTIME, counts);
	}
	write_cost(w, "atime_cpu_seconds", pipe, UPDATE_ATIME, costs);
	write_cost(w, "cmtime_cpu_seconds", pipe, UPDATE_CMTIME, costs);
	write_cost(w, "fsnotify_cpu_seconds", pipe, UPDATE_FSNOTIFY, costs);
	if (sizes && reads)
		write_sizes(w, "read_sizes", sizes->reads);
	if (sizes && writes)
		write_sizes(w, "write_sizes", sizes->writes);
	end(w, "}");
}

static void write_sampled(struct writer *w, double pipe_cpu_seconds,
			  const double sampled_seconds[UPDATE_KINDS])
{
	const struct snapshot *s = w->s;

	if (!s->sampling)
		return;
	write_double(w, "pipe_cpu_seconds", pipe_cpu_seconds);
	begin(w, "sampled_cpu_seconds", "{");
	for (enum update_kind kind = 0; kind < UPDATE_KINDS; kind++)
		if (s->sampling_sees[kind])
			write_double(w, update_kind_name(kind), sampled_seconds[kind]);
	end(w, "}");
}

static void write_remedies(struct writer *w, const struct pipe_costs costs[PIPE_KINDS],
			   double batch_seconds)
{
	double seconds;

	begin(w, "remedies", "{");
	for (enum remedy remedy = 0; remedy < REMEDIES; remedy++)
		if (snapshot_saving(w->s, remedy, costs, batch_seconds, &seconds))
			write_double(w, remedy_name(remedy), seconds);
	end(w, "}");
}

static void write_kernel(struct writer *w)
{
	begin(w, "kernel", "{");
	write_string(w, "release", w->s->kernel_release);
	write_string(w, "machine", w->s->machine);
	if (*w->s->clocksource)
		write_string(w, "clocksource", w->s->clocksource);
	else
		write_string(w, "clocksource_reason", "The kernel does not name its clock source.");
	end(w, "}");
}

/* Why the counts have no updates of this kind; NULL when they have. */
static const char *updates_reason(const struct snapshot *s, enum pipe_kind pipe,
				  enum update_kind kind)
{
	static const struct pipe_counts none;
	uint64_t updates;

	if (!s->counting)
		return s->counting_reason;
	if (snapshot_updates(s, pipe, kind, &none, &updates))
		return NULL;
	switch (s->paths[pipe][kind].state) {
	case PATH_REMOVED: return "This kernel makes no such updates.";
	case PATH_PAID:
		if (kind != UPDATE_FSNOTIFY)
			return "The operations that make such updates are not counted.";
		return "Such updates do not follow from the number of operations.";
	default: return "It is not known whether this kernel makes such updates.";
	}
}

static void write_figure(struct writer *w, const char *key, const struct cost_figure *f)
{
	begin(w, key, "{");
	if (f->known) {
		write_double(w, "seconds", f->seconds);
		write_double(w, "error_seconds", f->error_seconds);
	} else {
		write_string(w, "reason", f->reason);
	}
	end(w, "}");
}

static void write_unit_cost(struct writer *w, const char *key, const struct cost_estimate *e)
{
	begin(w, key, "{");
	write_figure(w, "whole", &e->whole);
	if (e->whole.known)
		write_string(w, "agreement", cost_agreement_name(e->agreement));
	begin(w, "stages", "{");
	for (enum cost_stage stage = 0; stage < COST_STAGES; stage++)
		write_figure(w, cost_stage_name(stage), &e->stages[stage]);
	end(w, "}");
	begin(w, "estimators", "{");
	for (enum cost_estimator by = 0; by < COST_ESTIMATORS; by++)
		write_figure(w, cost_estimator_name(by), &e->by[by]);
	end(w, "}");
	end(w, "}");
}

static void write_unit_costs(struct writer *w)
{
	begin(w, "unit_costs", "{");
	for (enum pipe_kind pipe = 0; pipe < PIPE_KINDS; pipe++) {
		begin(w, pipe_kind_name(pipe), "{");
		for (enum update_kind kind = 0; kind < UPDATE_KINDS; kind++)
			write_unit_cost(w, update_kind_name(kind), &w->s->unit_costs[pipe][kind]);
		end(w, "}");
	}
	end(w, "}");
}

static void write_paths(struct writer *w)
{
	begin(w, "paths", "{");
	for (enum pipe_kind pipe = 0; pipe < PIPE_KINDS; pipe++) {
		begin(w, pipe_kind_name(pipe), "{");
		for (enum update_kind kind = 0; kind < UPDATE_KINDS; kind++) {
			const struct snapshot_path *path = &w->s->paths[pipe][kind];
			const char *reason = updates_reason(w->s, pipe, kind);

			begin(w, update_kind_name(kind), "{");
			write_string(w, "state", path_state_name(path->state));
			write_string(w, "reason", path->reason);
			if (reason)
				write_string(w, "updates_reason", reason);
			end(w, "}");
		}
		end(w, "}");
	}
	end(w, "}");
}

static void write_programs(struct writer *w)
{
	begin(w, "programs", "[");
	for (size_t i = 0; i < w->s->n_programs; i++) {
		const struct snapshot_program *program = &w->s->programs[i];

		begin(w, NULL, "{");
		write_string(w, "program", program->program);
		write_string(w, "hook", program->hook);
		write_bool(w, "attached", program->attached);
		if (program->attached) {
			write_number(w, "missed_runs", program->missed);
			write_number(w, "missed", program->missed);
		} else {
			write_string(w, "reason", program->reason);
		}
		if (program->run_seconds > 0)
			write_double(w, "run_seconds", program->run_seconds);
		end(w, "}");
	}
	end(w, "]");
}

static void write_losses(struct writer *w)
{
	write_number(w, "lost_updates", snapshot_lost(w->s));
	begin(w, "losses", "[");
	for (size_t i = 0; i < w->s->n_losses; i++) {
		begin(w, NULL, "{");
		write_string(w, "reason", w->s->losses[i].reason);
		write_number(w, "updates", w->s->losses[i].updates);
		end(w, "}");
	}
	end(w, "]");
}

static void write_maps(struct writer *w)
{
	begin(w, "maps", "[");
	for (size_t i = 0; i < w->s->n_maps; i++) {
		begin(w, NULL, "{");
		write_string(w, "map", w->s->maps[i].map);
		write_number(w, "entries", w->s->maps[i].entries);
		write_number(w, "max_entries", w->s->maps[i].max_entries);
		end(w, "}");
	}
	end(w, "]");
}

static void write_totals(struct writer *w)
{
	begin(w, "totals", "{");
	for (enum pipe_kind pipe = 0; pipe < PIPE_KINDS; pipe++)
		write_counts(w, pipe, &w->s->totals[pipe], &w->s->total_errors[pipe],
			     &w->s->total_costs[pipe], &w->s->sizes[pipe]);
	end(w, "}");
}

static void write_groups(struct writer *w)
{
	begin(w, "groups", "[");
	for (size_t i = 0; i < w->s->n_groups && !w->error; i++) {
		const struct snapshot_group *group = &w->s->groups[i];

		begin(w, NULL, "{");
		write_string(w, "unit", group->unit);
		write_string(w, "comm", group->comm);
		write_number(w, "processes", group->processes);
		write_sampled(w, group->pipe_cpu_seconds, group->sampled_seconds);
		for (enum pipe_kind pipe = 0; pipe < PIPE_KINDS; pipe++)
			if (snapshot_pipe_used(w->s, pipe, &group->counts[pipe],
					       &group->costs[pipe]))
				write_counts(w, pipe, &group->counts[pipe], &group->errors[pipe],
					     &group->costs[pipe], NULL);
		write_remedies(w, group->costs, group->batch_seconds);
		end(w, "}");
	}
	end(w, "]");
}

static void write_processes(struct writer *w)
{
	size_t n = w->s->n_processes;

	if (n > DESCRIBE_PROCESSES_MAX)
		n = DESCRIBE_PROCESSES_MAX;
	begin(w, "processes", "[");
	for (size_t i = 0; i < n && !w->error; i++) {
		const struct snapshot_process *process = &w->s->processes[i];

		begin(w, NULL, "{");
		write_number(w, "pid", process->pid);
		write_number(w, "start_time_usec", process->start_time_usec);
		write_string(w, "comm", process->comm);
		write_string(w, "unit", process->unit);
		write_bool(w, "exited", process->exited);
		write_sampled(w, process->pipe_cpu_seconds, process->sampled_seconds);
		if (process->cpu_known) {
			write_double(w, "cpu_seconds", process->cpu_seconds);
			write_double(w, "metadata_cpu_share", process->cpu_share);
		}
		for (enum pipe_kind pipe = 0; pipe < PIPE_KINDS; pipe++)
			if (snapshot_pipe_used(w->s, pipe, &process->counts[pipe],
					       &process->costs[pipe]))
				write_counts(w, pipe, &process->counts[pipe],
					     &process->errors[pipe], &process->costs[pipe],
					     &process->sizes[pipe]);
		write_remedies(w, process->costs, process->batch_seconds);
		end(w, "}");
	}
	end(w, "]");
	write_number(w, "processes_omitted", w->s->n_processes - n + w->s->n_unlisted);
}

static void write_watchers(struct writer *w)
{
	begin(w, "watchers", "[");
	for (size_t i = 0; i < w->s->n_watchers; i++) {
		begin(w, NULL, "{");
		write_number(w, "pid", w->s->watchers[i].pid);
		write_string(w, "comm", w->s->watchers[i].comm);
		write_number(w, "watches", w->s->watchers[i].watches);
		end(w, "}");
	}
	end(w, "]");
	if (*w->s->watchers_reason)
		write_string(w, "watchers_reason", w->s->watchers_reason);
}

/* A figure among others, whose keys are its name and what it has of value, error and reason. */
static void write_named_figure(struct writer *w, const char *value, const char *error,
			       const char *reason, const struct cost_figure *f)
{
	if (f->known) {
		write_double(w, value, f->seconds);
		write_double(w, error, f->error_seconds);
	} else {
		write_string(w, reason, f->reason);
	}
}

static void write_own_cost(struct writer *w)
{
	const struct snapshot_observer *observer = &w->s->observer;

	begin(w, "own_cost", "{");
	begin(w, "cpu_seconds", "{");
	for (enum observer_part part = 0; part < OBSERVER_PARTS; part++)
		write_double(w, observer_part_name(part), observer->cpu_seconds[part]);
	end(w, "}");
	write_named_figure(w, "overhead_ratio", "overhead_error_ratio", "overhead_reason",
			   &observer->overhead);
	write_named_figure(w, "operation_seconds", "operation_error_seconds", "operation_reason",
			   &observer->operation);
	write_named_figure(w, "counting_seconds", "counting_error_seconds", "counting_reason",
			   &observer->counting);
	end(w, "}");
}

static void write_predictions(struct writer *w)
{
	static const enum snapshot_mode modes[] = { MODE_EXACT, MODE_BURST, MODE_PROFILE };
	const struct snapshot_observer *observer = &w->s->observer;

	if (observer->allowed >= 0)
		write_double(w, "allowed_cpu_ratio", observer->allowed);
	begin(w, "predicted_cpu_ratio", "{");
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (observer->predicted[modes[i]] >= 0)
			write_double(w, snapshot_mode_name(modes[i]),
				     observer->predicted[modes[i]]);
	end(w, "}");
}

static void write_daemon(struct writer *w)
{
	const struct snapshot *s = w->s;

	write_string(w, "version", s->version);
	write_string(w, "libbpf_version", s->libbpf_version);
	write_number(w, "start_time_usec", s->start_time_usec);
	write_string(w, "state", snapshot_state_name(s->state));
	write_string(w, "state_reason", s->state_reason);
	write_string(w, "mode", snapshot_mode_name(s->mode));
	write_string(w, "configured_mode", snapshot_mode_name(s->configured_mode));
	write_string(w, "mode_reason", s->mode_reason);
	write_double(w, "budget_ratio", s->budget_ratio);
	write_predictions(w);
	if (!s->observer.overhead.known)
		write_string(w, "observer_overhead_reason", s->observer.overhead.reason);
	write_own_cost(w);
	if (s->counting)
		write_double(w, "coverage_ratio", s->coverage_ratio);
	if (*snapshot_coverage_reason(s))
		write_string(w, "coverage_reason", snapshot_coverage_reason(s));
	write_bool(w, "estimated", s->estimated);
	if (s->unseen_operations_max > 0)
		write_double(w, "unseen_operations_max", s->unseen_operations_max);
	write_number(w, "now_usec", s->time_usec);
	if (snapshot_measured_seconds(s) > 0)
		write_double(w, "measured_seconds", snapshot_measured_seconds(s));
}

static void write_snapshot(struct writer *w)
{
	const struct snapshot *s = w->s;

	begin(w, NULL, "{");
	write_daemon(w);
	write_kernel(w);
	write_paths(w);
	write_unit_costs(w);
	write_programs(w);
	write_watchers(w);
	write_bool(w, "sampling", s->sampling);
	if (s->sampling)
		write_number(w, "lost_samples", s->sampling_lost);
	else
		write_string(w, "sampling_reason", s->sampling_reason);
	if (s->map_bytes > 0)
		write_number(w, "map_memory_bytes", s->map_bytes);
	write_bool(w, "counting", s->counting);
	if (s->counting) {
		write_number(w, "tracked_processes", s->tracked_processes);
		write_losses(w);
		write_number(w, "unattributed_operations", s->unattributed_operations);
		write_maps(w);
		write_totals(w);
	} else {
		write_string(w, "counting_reason", s->counting_reason);
	}
	if (s->counting || s->sampling) {
		write_remedies(w, s->total_costs, s->total_batch_seconds);
		write_groups(w);
		write_processes(w);
	}
	end(w, "}");
}

int describe_json(const struct snapshot *s, char **ret_json)
{
	_cleanup_(freep) char *json = NULL;
	struct writer w = { .s = s };
	struct text text;
	int r;

	r = text_open(&text);
	if (r < 0)
		return r;
	w.f = text.stream;
	write_snapshot(&w);
	r = text_close(&text, &json, NULL);
	if (r < 0)
		return r;
	if (w.error)
		return w.error;

	*ret_json = json;
	json = NULL;
	return 0;
}
