// SPDX-License-Identifier: GPL-2.0-or-later
#include "pipe.h"

#include <stddef.h>

#include "pipewatch/util.h"

#define BATCH_BYTES 4096

static const char *const pipe_kind_names[PIPE_KINDS] = {
	[PIPE_ANONYMOUS] = "anonymous",
	[PIPE_FIFO] = "fifo",
};

static const char *const update_kind_names[UPDATE_KINDS] = {
	[UPDATE_ATIME] = "atime",
	[UPDATE_CMTIME] = "cmtime",
	[UPDATE_FSNOTIFY] = "fsnotify",
};

static const char *const path_state_names[PATH_STATES] = {
	[PATH_UNKNOWN] = "unknown",
	[PATH_PAID] = "paid",
	[PATH_REMOVED] = "removed",
};

static const char *const remedy_names[REMEDIES] = {
	[REMEDY_KERNEL] = "kernel",
	[REMEDY_NOATIME] = "noatime",
	[REMEDY_UNWATCH] = "unwatch",
	[REMEDY_BATCH] = "batch",
};

const char *pipe_kind_name(enum pipe_kind kind)
{
	return pipe_kind_names[kind];
}

const char *update_kind_name(enum update_kind kind)
{
	return update_kind_names[kind];
}

const char *path_state_name(enum path_state state)
{
	return path_state_names[state];
}

const char *remedy_name(enum remedy remedy)
{
	return remedy_names[remedy];
}

void pipe_counts_add(struct pipe_counts *sum, const struct pipe_counts *add)
{
	sum->reads += add->reads;
	sum->writes += add->writes;
	sum->read_bytes += add->read_bytes;
	sum->written_bytes += add->written_bytes;
	sum->noatime_reads += add->noatime_reads;
}

void pipe_costs_add(struct pipe_costs *sum, const struct pipe_costs *add)
{
	for (int kind = 0; kind < UPDATE_KINDS; kind++)
		sum->seconds[kind] += add->seconds[kind];
}

void pipe_counts_subtract(struct pipe_counts *sum, const struct pipe_counts *subtract)
{
	sum->reads -= subtract->reads;
	sum->writes -= subtract->writes;
	sum->read_bytes -= subtract->read_bytes;
	sum->written_bytes -= subtract->written_bytes;
	sum->noatime_reads -= subtract->noatime_reads;
}

void pipe_sizes_add(struct pipe_sizes *sum, const struct pipe_sizes *add)
{
	for (size_t i = 0; i < SIZE_CLASSES; i++) {
		sum->reads[i] += add->reads[i];
		sum->writes[i] += add->writes[i];
	}
}

uint64_t pipe_counts_updates(const struct pipe_counts *counts, enum update_kind kind)
{
	switch (kind) {
	case UPDATE_ATIME:
		/* The two counters may have been read a moment apart. */
		return counts->reads > counts->noatime_reads ? counts->reads - counts->noatime_reads
							     : 0;
	case UPDATE_CMTIME: return counts->writes;
	default: return 0;
	}
}

double pipe_sizes_batchable(const struct pipe_sizes *sizes)
{
	double sum = 0;

	for (int i = 0; (2 << i) <= BATCH_BYTES; i++) {
		uint64_t operations = sizes->reads[i] + sizes->writes[i];

		if (operations > 0)
			sum += operations * (1 - 1.5 * (1 << i) / BATCH_BYTES);
	}
	return sum;
}
