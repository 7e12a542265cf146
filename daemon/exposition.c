// SPDX-License-Identifier: GPL-2.0-or-later
#include "exposition.h"

#include <stddef.h>

#include "accept.h"
#include "exposition-costs.h"
#include "metric.h"
#include "util.h"

#define USEC_PER_SEC 1000000.0

/* What a reader who misses a series wants to know. */
#define GROUPS_HELP                                                                             \
	" by systemd unit or container (empty where unknown), name of the process and kind of " \
	"pipe. A group that never used a kind of pipe has no series for it; groups beyond the " \
	"configured number are in unit (other), comm (other)."

/* Whose operations a series counts: a group's, or with the pid label a process's or the rest of its
 * group's. */
struct series {
	const char *unit;
	const char *comm;
	char pid[16]; /* "" for the rest of a group */
	const struct pipe_counts *counts;
};

static size_t series_max(const struct snapshot *s)
{
	return s->n_groups + (s->pid_label ? s->n_processes : 0);
}

/* Returns false where there is no series @i. */
static bool series_get(const struct snapshot *s, size_t i, struct series *ret)
{
	const struct snapshot_process *p;
	const struct snapshot_group *g;

	if (i < s->n_groups) {
		g = &s->groups[i];
		*ret = (struct series){ .unit = g->unit,
					.comm = g->comm,
					.counts = s->pid_label ? g->rest : g->counts };
		return true;
	}
	p = &s->processes[i - s->n_groups];
	*ret = (struct series){ .unit = p->unit, .comm = p->comm, .counts = p->series };
	snprintf(ret->pid, sizeof(ret->pid), "%u", p->pid);
	return p->has_series;
}

#define SERIES_LABELS_MAX 5

/* In the order unit, comm, pid where asked for, pipe, kind where there is one. Returns how many. */
static size_t series_labels(const struct snapshot *s, const struct series *series,
			    enum pipe_kind pipe, const char *kind,
			    struct metric_label ret[SERIES_LABELS_MAX])
{
	size_t n = 0;

	ret[n++] = (struct metric_label){ "unit", series->unit };
	ret[n++] = (struct metric_label){ "comm", series->comm };
	if (s->pid_label)
		ret[n++] = (struct metric_label){ "pid", series->pid };
	ret[n++] = (struct metric_label){ "pipe", pipe_kind_name(pipe) };
	if (kind)
		ret[n++] = (struct metric_label){ "kind", kind };
	return n;
}

static void write_group_counter(struct metric_writer *w, const struct snapshot *s,
				const struct metric_family *family, size_t offset)
{
	struct metric_label labels[SERIES_LABELS_MAX];
	struct series series;

	metric_begin(w, family);
	for (size_t i = 0; i < series_max(s); i++) {
		if (!series_get(s, i, &series))
			continue;
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
			const struct pipe_counts *counts = &series.counts[pipe];
			size_t n = series_labels(s, &series, pipe, NULL, labels);

			if (counts->reads + counts->writes > 0)
				metric_u64(w, labels, n,
					   *(const uint64_t *)((const char *)counts + offset));
		}
	}
}

static void write_group_counters(struct metric_writer *w, const struct snapshot *s)
{
	static const struct {
		struct metric_family family;
		bool of_reads;
		size_t offset;
	} counters[] = {
		{ { "pipewatch_pipe_reads", METRIC_COUNTER, NULL,
		    "Successful reads from pipes," GROUPS_HELP },
		  true,
		  offsetof(struct pipe_counts, reads) },
		{ { "pipewatch_pipe_writes", METRIC_COUNTER, NULL,
		    "Successful writes to pipes," GROUPS_HELP },
		  false,
		  offsetof(struct pipe_counts, writes) },
		{ { "pipewatch_pipe_read_bytes", METRIC_COUNTER, "bytes",
		    "Bytes read from pipes," GROUPS_HELP },
		  true,
		  offsetof(struct pipe_counts, read_bytes) },
		{ { "pipewatch_pipe_written_bytes", METRIC_COUNTER, "bytes",
		    "Bytes written to pipes," GROUPS_HELP },
		  false,
		  offsetof(struct pipe_counts, written_bytes) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		if (!(counters[i].of_reads ? s->reads_missing : s->writes_missing))
			write_group_counter(w, s, &counters[i].family, counters[i].offset);
}

static void write_updates(struct metric_writer *w, const struct snapshot *s)
{
	static const struct metric_family family = {
		"pipewatch_metadata_updates", METRIC_COUNTER, NULL,
		"Updates of a pipe's access time (kind atime, one for each read without O_NOATIME) and "
		"of its modification and change time (kind cmtime, one for each write) that the kernel "
		"was asked to make. Absent where this kernel makes none or where that is not known: see "
		"pipewatch_kernel_path."
	};

	struct metric_label labels[SERIES_LABELS_MAX];
	struct series series;

	metric_begin(w, &family);
	for (size_t i = 0; i < series_max(s); i++) {
		if (!series_get(s, i, &series))
			continue;
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
			const struct pipe_counts *counts = &series.counts[pipe];

			if (counts->reads + counts->writes == 0)
				continue;
			for (int kind = 0; kind < UPDATE_KINDS; kind++) {
				size_t n = series_labels(s, &series, pipe, update_kind_name(kind),
							 labels);
				uint64_t updates;

				if (snapshot_updates(s, pipe, kind, counts, &updates))
					metric_u64(w, labels, n, updates);
			}
		}
	}
}

static void write_size_histograms(struct metric_writer *w, const struct snapshot *s)
{
	static const struct metric_family reads = {
		"pipewatch_pipe_read_size_bytes", METRIC_HISTOGRAM, "bytes",
		"Sizes of successful reads from pipes, of the whole host. Absent for a kind of pipe that was never read."
	};
	static const struct metric_family writes = {
		"pipewatch_pipe_write_size_bytes", METRIC_HISTOGRAM, "bytes",
		"Sizes of successful writes to pipes, of the whole host. Absent for a kind of pipe that was never written."
	};
	uint64_t bounds[SIZE_CLASSES - 1];

	/* The last class has no upper bound. */
	for (size_t c = 0; c < ARRAY_SIZE(bounds); c++)
		bounds[c] = (UINT64_C(2) << c) - 1;

	metric_begin(w, &reads);
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		const struct metric_label label = { "pipe", pipe_kind_name(pipe) };

		if (s->totals[pipe].reads > 0 && !s->reads_missing)
			metric_histogram(w, &label, 1, bounds, s->sizes[pipe].reads,
					 ARRAY_SIZE(bounds), s->totals[pipe].reads,
					 s->totals[pipe].read_bytes);
	}

	metric_begin(w, &writes);
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		const struct metric_label label = { "pipe", pipe_kind_name(pipe) };

		if (s->totals[pipe].writes > 0 && !s->writes_missing)
			metric_histogram(w, &label, 1, bounds, s->sizes[pipe].writes,
					 ARRAY_SIZE(bounds), s->totals[pipe].writes,
					 s->totals[pipe].written_bytes);
	}
}

/* How complete the counts are. */
static void write_quality(struct metric_writer *w, const struct snapshot *s)
{
	static const struct metric_family coverage = {
		"pipewatch_coverage_ratio", METRIC_GAUGE, "ratio",
		"Share of the time in which pipe operations are counted. Absent when nothing is counted."
	};
	static const struct metric_family tracked = {
		"pipewatch_tracked_processes", METRIC_GAUGE, NULL,
		"Live processes that have used a pipe since the counters began."
	};
	static const struct metric_family losses = {
		"pipewatch_lost_updates", METRIC_COUNTER, NULL,
		"Operations that happened but could not be stored, by reason. They are in no other counter."
	};
	static const struct metric_family unattributed = {
		"pipewatch_unattributed_operations", METRIC_COUNTER, NULL,
		"Operations counted in unit (other), comm (other) because their thread found no free slot."
	};
	static const struct metric_family entries = { "pipewatch_map_entries", METRIC_GAUGE, NULL,
						      "Entries in use in a BPF map." };
	static const struct metric_family max_entries = { "pipewatch_map_max_entries", METRIC_GAUGE,
							  NULL,
							  "Entries that a BPF map has room for." };

	if (s->mode == MODE_EXACT) {
		metric_begin(w, &coverage);
		metric_u64(w, NULL, 0, 1);
	}

	metric_begin(w, &tracked);
	metric_u64(w, NULL, 0, s->tracked_processes);

	metric_begin(w, &losses);
	for (size_t i = 0; i < s->n_losses; i++) {
		const struct metric_label label = { "reason", s->losses[i].reason };

		metric_u64(w, &label, 1, s->losses[i].updates);
	}

	metric_begin(w, &unattributed);
	metric_u64(w, NULL, 0, s->unattributed_operations);

	metric_begin(w, &entries);
	for (size_t i = 0; i < s->n_maps; i++) {
		const struct metric_label label = { "map", s->maps[i].map };

		metric_u64(w, &label, 1, s->maps[i].entries);
	}

	metric_begin(w, &max_entries);
	for (size_t i = 0; i < s->n_maps; i++) {
		const struct metric_label label = { "map", s->maps[i].map };

		metric_u64(w, &label, 1, s->maps[i].max_entries);
	}
}

static void write_kernel(struct metric_writer *w, const struct snapshot *s)
{
	static const struct metric_family paths = {
		"pipewatch_kernel_path", METRIC_GAUGE, NULL,
		"Whether this kernel makes an update of that kind on each operation on that kind of "
		"pipe: 1 for the state that applies, one of paid, removed and unknown. Counts of "
		"updates exist only where it is paid."
	};
	static const struct metric_family info = {
		"pipewatch_kernel", METRIC_INFO, NULL,
		"The running kernel: its release, machine and clock source (empty where not readable)."
	};
	const struct metric_label info_labels[] = {
		{ "release", s->kernel_release },
		{ "machine", s->machine },
		{ "clocksource", s->clocksource },
	};

	metric_begin(w, &paths);
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		for (int kind = 0; kind < UPDATE_KINDS; kind++) {
			const struct metric_label labels[] = {
				{ "pipe", pipe_kind_name(pipe) },
				{ "kind", update_kind_name(kind) },
				{ "state", path_state_name(s->paths[pipe][kind].state) },
			};

			metric_u64(w, labels, ARRAY_SIZE(labels), 1);
		}
	}

	metric_begin(w, &info);
	metric_u64(w, info_labels, ARRAY_SIZE(info_labels), 1);
}

static void write_daemon(struct metric_writer *w, const struct snapshot *s)
{
	static const struct metric_family states = {
		"pipewatch_state", METRIC_GAUGE, NULL,
		"State of the daemon: 1 for the one in force, 0 for the others. Degraded means that some "
		"figure cannot be had here; the page at / says which and why."
	};
	static const struct metric_family modes = {
		"pipewatch_mode", METRIC_GAUGE, NULL,
		"Mode of measurement: 1 for the one in force, 0 for the others."
	};
	static const struct metric_family attached = {
		"pipewatch_program_attached", METRIC_GAUGE, NULL,
		"1 where the BPF program is attached to the kernel function or tracepoint, 0 where it should be but is not."
	};
	static const struct metric_family missed = {
		"pipewatch_program_missed_runs", METRIC_COUNTER, NULL,
		"Runs of a BPF program that the kernel skipped, because a task was preempted inside the same program on that CPU. "
		"Happens where the kernel itself can be preempted. Absent for a program that is not attached."
	};
	static const struct metric_family budget = {
		"pipewatch_budget_ratio", METRIC_GAUGE, "ratio",
		"What measuring may cost, as a share of the time spent in pipe operations."
	};
	static const struct metric_family start = {
		"pipewatch_start_time_seconds", METRIC_GAUGE, "seconds",
		"When the counters began at zero, in seconds since the epoch."
	};
	static const struct metric_family build = {
		"pipewatch_build", METRIC_INFO, NULL,
		"Version of pipewatchd and of the libbpf that it runs with."
	};
	const struct metric_label build_labels[] = {
		{ "version", s->version },
		{ "libbpf", s->libbpf_version },
	};

	metric_begin(w, &states);
	for (int state = 0; state < SNAPSHOT_STATES; state++) {
		const struct metric_label label = { "state", snapshot_state_name(state) };

		metric_u64(w, &label, 1, s->state == (enum snapshot_state)state);
	}

	metric_begin(w, &modes);
	for (int mode = 0; mode < SNAPSHOT_MODES; mode++) {
		const struct metric_label label = { "mode", snapshot_mode_name(mode) };

		metric_u64(w, &label, 1, s->mode == (enum snapshot_mode)mode);
	}

	metric_begin(w, &attached);
	for (size_t i = 0; i < s->n_programs; i++) {
		const struct metric_label labels[] = {
			{ "program", s->programs[i].program },
			{ "hook", s->programs[i].hook },
		};

		metric_u64(w, labels, ARRAY_SIZE(labels), s->programs[i].attached);
	}

	metric_begin(w, &missed);
	for (size_t i = 0; i < s->n_programs; i++) {
		const struct metric_label labels[] = {
			{ "program", s->programs[i].program },
			{ "hook", s->programs[i].hook },
		};

		if (s->programs[i].attached)
			metric_u64(w, labels, ARRAY_SIZE(labels), s->programs[i].missed);
	}

	metric_begin(w, &budget);
	metric_double(w, NULL, 0, s->budget_ratio);

	metric_begin(w, &start);
	metric_double(w, NULL, 0, s->start_time_usec / USEC_PER_SEC);

	metric_begin(w, &build);
	metric_u64(w, build_labels, ARRAY_SIZE(build_labels), 1);
}

static void write_self(struct metric_writer *w, const struct exposition_self *self)
{
	static const struct metric_family families[] = {
		{ "process_cpu_seconds", METRIC_COUNTER, "seconds",
		  "User and system CPU time spent by pipewatchd itself, in seconds." },
		{ "process_start_time_seconds", METRIC_GAUGE, "seconds",
		  "When pipewatchd was started, in seconds since the epoch." },
		{ "process_open_fds", METRIC_GAUGE, NULL, "Open file descriptors of pipewatchd." },
		{ "process_max_fds", METRIC_GAUGE, NULL,
		  "File descriptors that pipewatchd may have open." },
		{ "process_virtual_memory_bytes", METRIC_GAUGE, "bytes",
		  "Virtual memory of pipewatchd, in bytes." },
		{ "process_resident_memory_bytes", METRIC_GAUGE, "bytes",
		  "Resident memory of pipewatchd, in bytes." },
		{ "process_threads", METRIC_GAUGE, NULL, "Threads of pipewatchd." },
	};
	const double values[ARRAY_SIZE(families)] = {
		self->cpu_seconds,   self->start_time_seconds, self->open_fds, self->max_fds,
		self->virtual_bytes, self->resident_bytes,     self->threads,
	};

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		metric_begin(w, &families[i]);
		if (values[i] >= 0)
			metric_double(w, NULL, 0, values[i]);
	}
}

int exposition_write(const struct snapshot *s, const struct exposition_self *self,
		     enum exposition_format format, FILE *f)
{
	struct metric_writer w = { .f = f, .openmetrics = format == EXPOSITION_OPENMETRICS };

	if (s->counting) {
		write_group_counters(&w, s);
		write_updates(&w, s);
		exposition_write_costs(&w, s);
		write_size_histograms(&w, s);
		write_quality(&w, s);
	}
	write_kernel(&w, s);
	exposition_write_unit_costs(&w, s);
	write_daemon(&w, s);
	if (self)
		write_self(&w, self);
	return metric_end(&w);
}

const char *exposition_content_type(enum exposition_format format)
{
	if (format == EXPOSITION_OPENMETRICS)
		return "application/openmetrics-text; version=1.0.0; charset=utf-8";
	return "text/plain; version=0.0.4; charset=utf-8";
}

/* How closely a range names the text format, in whatever version: a scraper of any takes 0.0.4. */
static int text_specificity(const struct accept_range *range)
{
	if (accept_is(range, "text/plain"))
		return 3;
	if (accept_is(range, "text/*"))
		return 2;
	if (accept_is(range, "*/*"))
		return 1;
	return 0;
}

enum exposition_format exposition_negotiate(const char *accept)
{
	unsigned int openmetrics = 0, text = 0;
	int specificity = 0;
	struct accept_range range;

	while (accept && accept_next(&accept, &range)) {
		int here;

		if (accept_is(&range, "application/openmetrics-text")) {
			if (accept_parameter_is(&range, "version", "1.0.0", true) &&
			    range.quality > openmetrics)
				openmetrics = range.quality;
			continue;
		}

		/* The most specific range that matches counts, and of equals the one liked best. */
		here = text_specificity(&range);
		if (here > specificity ||
		    (here > 0 && here == specificity && range.quality > text)) {
			specificity = here;
			text = range.quality;
		}
	}

	return openmetrics > 0 && openmetrics >= text ? EXPOSITION_OPENMETRICS : EXPOSITION_TEXT;
}
