// SPDX-License-Identifier: GPL-2.0-or-later
#include "exposition.h"

#include "accept.h"
#include "exposition-costs.h"
#include "exposition-counts.h"
#include "exposition-observer.h"
#include "metric.h"
#include "pipewatch/util.h"

#define USEC_PER_SEC 1000000.0

/* How complete the counts are. */
static void write_quality(struct metric_writer *w, const struct snapshot *s)
{
	static const struct metric_family coverage = {
		"pipewatch_coverage_ratio", METRIC_GAUGE, "ratio",
		"Share of the time in which pipe operations are counted, in the mode in force: below 1 the counts are extrapolated, "
		"at 0 all counters of operations and their updates stand still. Absent when nothing was counted since the start."
	};
	static const struct metric_family unseen = {
		"pipewatch_unseen_operations", METRIC_GAUGE, NULL,
		"A process that was in no window of counting has made fewer operations than this, with 95 % confidence. "
		"Absent where every operation is counted."
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

	metric_begin(w, &coverage);
	metric_double(w, METRIC_NO_LABELS, s->coverage_ratio);

	metric_begin(w, &unseen);
	if (s->unseen_operations_max > 0)
		metric_double(w, METRIC_NO_LABELS, s->unseen_operations_max);

	metric_begin(w, &tracked);
	metric_u64(w, METRIC_NO_LABELS, s->tracked_processes);

	metric_begin(w, &losses);
	for (size_t i = 0; i < s->n_losses; i++)
		metric_u64(w, METRIC_LABELS({ "reason", s->losses[i].reason }),
			   s->losses[i].updates);

	metric_begin(w, &unattributed);
	metric_u64(w, METRIC_NO_LABELS, s->unattributed_operations);

	metric_begin(w, &entries);
	for (size_t i = 0; i < s->n_maps; i++)
		metric_u64(w, METRIC_LABELS({ "map", s->maps[i].map }), s->maps[i].entries);

	metric_begin(w, &max_entries);
	for (size_t i = 0; i < s->n_maps; i++)
		metric_u64(w, METRIC_LABELS({ "map", s->maps[i].map }), s->maps[i].max_entries);
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

	metric_begin(w, &paths);
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++)
			metric_u64(w,
				   METRIC_LABELS({ "pipe", pipe_kind_name(pipe) },
						 { "kind", update_kind_name(kind) },
						 { "state",
						   path_state_name(s->paths[pipe][kind].state) }),
				   1);

	metric_begin(w, &info);
	metric_u64(w,
		   METRIC_LABELS({ "release", s->kernel_release }, { "machine", s->machine },
				 { "clocksource", s->clocksource }),
		   1);
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
	static const struct metric_family start = {
		"pipewatch_start_time_seconds", METRIC_GAUGE, "seconds",
		"When the counters began at zero, in seconds since the epoch."
	};
	static const struct metric_family map_bytes = {
		"pipewatch_map_memory_bytes", METRIC_GAUGE, "bytes",
		"Memory that the BPF maps take in the kernel, as it states it. It is in the memory of the control group, "
		"not in process_resident_memory_bytes, but for the slots of threads, which are in both."
	};
	static const struct metric_family build = {
		"pipewatch_build", METRIC_INFO, NULL,
		"Version of pipewatchd and of the libbpf that it runs with."
	};

	metric_begin(w, &states);
	for (int state = 0; state < SNAPSHOT_STATES; state++)
		metric_u64(w, METRIC_LABELS({ "state", snapshot_state_name(state) }),
			   s->state == (enum snapshot_state)state);

	metric_begin(w, &modes);
	for (int mode = 0; mode < SNAPSHOT_MODES; mode++)
		metric_u64(w, METRIC_LABELS({ "mode", snapshot_mode_name(mode) }),
			   s->mode == (enum snapshot_mode)mode);

	metric_begin(w, &start);
	metric_double(w, METRIC_NO_LABELS, s->start_time_usec / USEC_PER_SEC);

	metric_begin(w, &map_bytes);
	if (s->map_bytes > 0)
		metric_u64(w, METRIC_NO_LABELS, s->map_bytes);

	metric_begin(w, &build);
	metric_u64(w, METRIC_LABELS({ "version", s->version }, { "libbpf", s->libbpf_version }), 1);
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
			metric_double(w, METRIC_NO_LABELS, values[i]);
	}
}

int exposition_write(const struct snapshot *s, const struct exposition_self *self,
		     enum exposition_format format, FILE *f)
{
	struct metric_writer w = { .f = f, .openmetrics = format == EXPOSITION_OPENMETRICS };

	if (s->counting)
		exposition_write_counts(&w, s);
	exposition_write_costs(&w, s);
	if (s->counting) {
		exposition_write_sizes(&w, s);
		write_quality(&w, s);
	}
	write_kernel(&w, s);
	exposition_write_unit_costs(&w, s);
	write_daemon(&w, s);
	exposition_write_observer(&w, s);
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
