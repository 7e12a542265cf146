// SPDX-License-Identifier: GPL-2.0-or-later
#include "exposition-counts.h"

#include <stddef.h>

#include "pipewatch/util.h"

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
	const char *pid; /* "" for the rest of a group */
	char digits[16];
	const struct pipe_counts *counts;
};

static size_t series_max(const struct snapshot *s)
{
	return s->n_groups + (s->pid_label ? s->n_processes : 0);
}

/* As snprintf(3) does it, which would take a fourth of the time of tens of thousands of series. */
static const char *decimal(uint32_t value, char digits[static 16])
{
	char *first = digits + 15;

	*first = '\0';
	do {
		*--first = '0' + value % 10;
		value /= 10;
	} while (value > 0);
	return first;
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
					.pid = "",
					.counts = s->pid_label ? g->rest : g->counts };
		return true;
	}
	p = &s->processes[i - s->n_groups];
	if (!p->has_series)
		return false;
	ret->unit = p->unit;
	ret->comm = p->comm;
	ret->pid = decimal(p->pid, ret->digits);
	ret->counts = p->series;
	return true;
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

/* Of groups as a whole, also where processes have series of their own. */
static void write_errors(struct metric_writer *w, const struct snapshot *s)
{
	static const struct metric_family reads = {
		"pipewatch_pipe_reads_standard_error", METRIC_GAUGE, NULL,
		"Standard error of pipewatch_pipe_reads_total, of all processes of a group together. Absent where every read was counted."
	};
	static const struct metric_family writes = {
		"pipewatch_pipe_writes_standard_error", METRIC_GAUGE, NULL,
		"Standard error of pipewatch_pipe_writes_total, of all processes of a group together. Absent where every write was counted."
	};

	for (int of_writes = 0; of_writes < 2; of_writes++) {
		if (of_writes ? s->writes_missing : s->reads_missing)
			continue;
		metric_begin(w, of_writes ? &writes : &reads);
		for (size_t i = 0; i < s->n_groups; i++)
			for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
				const struct snapshot_group *g = &s->groups[i];
				const struct pipe_errors *errors = &g->errors[pipe];
				float error = of_writes ? errors->writes : errors->reads;

				if (error > 0)
					metric_double(
						w,
						METRIC_LABELS({ "unit", g->unit },
							      { "comm", g->comm },
							      { "pipe", pipe_kind_name(pipe) }),
						(double)error);
			}
	}
}

void exposition_write_counts(struct metric_writer *w, const struct snapshot *s)
{
	write_group_counters(w, s);
	write_updates(w, s);
	if (s->estimated)
		write_errors(w, s);
}

void exposition_write_sizes(struct metric_writer *w, const struct snapshot *s)
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
		if (s->totals[pipe].reads > 0 && !s->reads_missing)
			metric_histogram(w, METRIC_LABELS({ "pipe", pipe_kind_name(pipe) }), bounds,
					 s->sizes[pipe].reads, ARRAY_SIZE(bounds),
					 s->totals[pipe].reads, s->totals[pipe].read_bytes);
	}

	metric_begin(w, &writes);
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		if (s->totals[pipe].writes > 0 && !s->writes_missing)
			metric_histogram(w, METRIC_LABELS({ "pipe", pipe_kind_name(pipe) }), bounds,
					 s->sizes[pipe].writes, ARRAY_SIZE(bounds),
					 s->totals[pipe].writes, s->totals[pipe].written_bytes);
	}
}
