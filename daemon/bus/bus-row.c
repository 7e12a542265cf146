// SPDX-License-Identifier: GPL-2.0-or-later
#include "bus-row.h"

#include <string.h>

/* Upper bounds, padding included: a row without its strings and details, a detail, and the sizes of
 * a kind of pipe. */
#define FIXED_BYTES  128
#define DETAIL_BYTES 64
#define SIZES_BYTES  (2 * (DETAIL_BYTES + SIZE_CLASSES * sizeof(uint64_t)))

static int append_detail(sd_bus_message *reply, const char *kind, const char *figure,
			 uint64_t value)
{
	char key[64];

	snprintf(key, sizeof(key), "%s%s", kind, figure);
	return sd_bus_message_append(reply, "{sv}", key, "t", value);
}

static int append_double(sd_bus_message *reply, const char *kind, const char *figure, double value)
{
	char key[64];

	snprintf(key, sizeof(key), "%s%s", kind, figure);
	return sd_bus_message_append(reply, "{sv}", key, "d", value);
}

static const char *const cost_names[UPDATE_KINDS] = {
	[UPDATE_ATIME] = "AtimeCpuSeconds",
	[UPDATE_CMTIME] = "CmtimeCpuSeconds",
	[UPDATE_FSNOTIFY] = "FsnotifyCpuSeconds",
};

/* What the updates of one kind of pipe cost, as far as that is known. */
static int append_costs(sd_bus_message *reply, const struct snapshot *s, enum pipe_kind pipe,
			const char *kind, const struct pipe_costs *costs)
{
	int r = 0;

	for (enum update_kind update = 0; update < UPDATE_KINDS && r >= 0; update++)
		if (snapshot_cost_known(s, pipe, update))
			r = append_double(reply, kind, cost_names[update], costs->seconds[update]);
	return r;
}

/* The sum that lists are ordered by; absent where no cost is known. */
static int append_cost_sum(sd_bus_message *reply, const struct snapshot *s, double seconds)
{
	for (enum pipe_kind pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (enum update_kind update = 0; update < UPDATE_KINDS; update++)
			if (snapshot_cost_known(s, pipe, update))
				return append_double(reply, "", "MetadataCpuSeconds", seconds);
	return 0;
}

static int append_sizes(sd_bus_message *reply, const char *kind, const char *figure,
			const uint64_t sizes[SIZE_CLASSES])
{
	char key[64];
	int r;

	snprintf(key, sizeof(key), "%s%s", kind, figure);
	r = sd_bus_message_open_container(reply, 'e', "sv");
	if (r >= 0)
		r = sd_bus_message_append(reply, "s", key);
	if (r >= 0)
		r = sd_bus_message_open_container(reply, 'v', "at");
	if (r >= 0)
		r = sd_bus_message_append_array(reply, 't', sizes, SIZE_CLASSES * sizeof(*sizes));
	if (r >= 0)
		r = sd_bus_message_close_container(reply);
	if (r >= 0)
		r = sd_bus_message_close_container(reply);
	return r;
}

/* What samples say; both kinds of pipe together. */
static int append_sampled(sd_bus_message *reply, const struct snapshot *s, double pipe_cpu_seconds,
			  const double sampled_seconds[UPDATE_KINDS])
{
	int r;

	if (!s->sampling)
		return 0;
	r = append_double(reply, "", "PipeCpuSeconds", pipe_cpu_seconds);
	for (enum update_kind kind = 0; kind < UPDATE_KINDS && r >= 0; kind++)
		if (s->sampling_sees[kind])
			r = append_double(reply, "Sampled", cost_names[kind],
					  sampled_seconds[kind]);
	return r;
}

/* The details of one kind of pipe; @sizes may be NULL. */
static int append_counts(sd_bus_message *reply, const struct snapshot *s, enum pipe_kind pipe,
			 const struct pipe_counts *counts, const struct pipe_errors *errors,
			 const struct pipe_costs *costs, const struct pipe_sizes *sizes)
{
	static const char *const kinds[] = { [PIPE_ANONYMOUS] = "Anonymous", [PIPE_FIFO] = "Fifo" };
	const bool reads = s->counting && !s->reads_missing;
	const bool writes = s->counting && !s->writes_missing;
	const char *kind = kinds[pipe];
	uint64_t updates;
	int r = 0;

	if (!snapshot_pipe_used(s, pipe, counts, costs))
		return 0;

	if (reads)
		r = append_detail(reply, kind, "Reads", counts->reads);
	if (r >= 0 && writes)
		r = append_detail(reply, kind, "Writes", counts->writes);
	if (r >= 0 && reads)
		r = append_detail(reply, kind, "ReadBytes", counts->read_bytes);
	if (r >= 0 && writes)
		r = append_detail(reply, kind, "WrittenBytes", counts->written_bytes);
	if (r >= 0 && reads)
		r = append_detail(reply, kind, "NoatimeReads", counts->noatime_reads);
	if (r >= 0 && reads && s->estimated && errors->reads > 0)
		r = append_double(reply, kind, "ReadsStandardError", (double)errors->reads);
	if (r >= 0 && writes && s->estimated && errors->writes > 0)
		r = append_double(reply, kind, "WritesStandardError", (double)errors->writes);
	if (r >= 0 && reads && snapshot_updates(s, pipe, UPDATE_ATIME, counts, &updates))
		r = append_detail(reply, kind, "AtimeUpdates", updates);
	if (r >= 0 && writes && snapshot_updates(s, pipe, UPDATE_CMTIME, counts, &updates))
		r = append_detail(reply, kind, "CmtimeUpdates", updates);
	if (r >= 0)
		r = append_costs(reply, s, pipe, kind, costs);
	if (r >= 0 && sizes && reads)
		r = append_sizes(reply, kind, "ReadSizes", sizes->reads);
	if (r >= 0 && sizes && writes)
		r = append_sizes(reply, kind, "WriteSizes", sizes->writes);
	return r;
}

/* Over the kinds of pipe. What is not measured is all ones, as systemd has it, since it cannot be
 * left out of a structure. */
static struct pipe_counts sum_counts(const struct snapshot *s,
				     const struct pipe_counts counts[PIPE_KINDS])
{
	struct pipe_counts sum = { 0 };

	for (enum pipe_kind pipe = 0; pipe < PIPE_KINDS; pipe++)
		pipe_counts_add(&sum, &counts[pipe]);
	if (!s->counting || s->reads_missing)
		sum.reads = sum.read_bytes = UINT64_MAX;
	if (!s->counting || s->writes_missing)
		sum.writes = sum.written_bytes = UINT64_MAX;
	return sum;
}

int bus_row_append_process(sd_bus_message *reply, const struct snapshot *s,
			   const struct snapshot_process *process, bool with_sizes)
{
	const struct pipe_counts sum = sum_counts(s, process->counts);
	int r;

	r = sd_bus_message_open_container(reply, 'r', "utsstttta{sv}");
	if (r >= 0)
		r = sd_bus_message_append(reply, "utsstttt", process->pid, process->start_time_usec,
					  process->comm, process->unit, sum.reads, sum.writes,
					  sum.read_bytes, sum.written_bytes);
	if (r >= 0)
		r = sd_bus_message_open_container(reply, 'a', "{sv}");
	if (r >= 0)
		r = sd_bus_message_append(reply, "{sv}", "Exited", "b", process->exited);
	if (r >= 0)
		r = append_cost_sum(reply, s, process->cost_seconds);
	if (r >= 0)
		r = append_sampled(reply, s, process->pipe_cpu_seconds, process->sampled_seconds);
	if (r >= 0 && process->cpu_known)
		r = append_double(reply, "", "CpuSeconds", process->cpu_seconds);
	if (r >= 0 && process->cpu_known)
		r = append_double(reply, "", "MetadataCpuShare", process->cpu_share);
	for (enum pipe_kind pipe = 0; pipe < PIPE_KINDS && r >= 0; pipe++)
		r = append_counts(reply, s, pipe, &process->counts[pipe], &process->errors[pipe],
				  &process->costs[pipe], with_sizes ? &process->sizes[pipe] : NULL);
	if (r >= 0)
		r = sd_bus_message_close_container(reply);
	if (r >= 0)
		r = sd_bus_message_close_container(reply);
	return r;
}

int bus_row_append_group(sd_bus_message *reply, const struct snapshot *s,
			 const struct snapshot_group *group)
{
	const struct pipe_counts sum = sum_counts(s, group->counts);
	int r;

	r = sd_bus_message_open_container(reply, 'r', "ssutttta{sv}");
	if (r >= 0)
		r = sd_bus_message_append(reply, "ssutttt", group->unit, group->comm,
					  group->processes, sum.reads, sum.writes, sum.read_bytes,
					  sum.written_bytes);
	if (r >= 0)
		r = sd_bus_message_open_container(reply, 'a', "{sv}");
	if (r >= 0)
		r = append_cost_sum(reply, s, group->cost_seconds);
	if (r >= 0)
		r = append_sampled(reply, s, group->pipe_cpu_seconds, group->sampled_seconds);
	for (enum pipe_kind pipe = 0; pipe < PIPE_KINDS && r >= 0; pipe++)
		r = append_counts(reply, s, pipe, &group->counts[pipe], &group->errors[pipe],
				  &group->costs[pipe], NULL);
	if (r >= 0)
		r = sd_bus_message_close_container(reply);
	if (r >= 0)
		r = sd_bus_message_close_container(reply);
	return r;
}

/* Of one kind of pipe that was used. */
static size_t count_pipe_details(const struct snapshot *s, enum pipe_kind pipe)
{
	size_t n = 5; /* numbers and bytes, and those with O_NOATIME */

	n += s->estimated ? 2 : 0;
	n += 2; /* updates */
	for (enum update_kind kind = 0; kind < UPDATE_KINDS; kind++)
		n += snapshot_cost_known(s, pipe, kind);
	return n;
}

static size_t row_bytes(const struct snapshot *s, const char *comm, const char *unit,
			const struct pipe_counts counts[PIPE_KINDS],
			const struct pipe_costs costs[PIPE_KINDS])
{
	size_t n = 1; /* the sum of costs */

	n += s->sampling ? 1 + UPDATE_KINDS : 0;
	for (enum pipe_kind pipe = 0; pipe < PIPE_KINDS; pipe++)
		if (snapshot_pipe_used(s, pipe, &counts[pipe], &costs[pipe]))
			n += count_pipe_details(s, pipe);
	return FIXED_BYTES + n * DETAIL_BYTES + strlen(comm) + strlen(unit);
}

size_t bus_row_process_bytes(const struct snapshot *s, size_t i)
{
	const struct snapshot_process *p = &s->processes[i];

	/* Whether it has ended, and its own CPU time. */
	return row_bytes(s, p->comm, p->unit, p->counts, p->costs) +
	       (p->cpu_known ? 3 : 1) * DETAIL_BYTES;
}

size_t bus_row_group_bytes(const struct snapshot *s, size_t i)
{
	const struct snapshot_group *g = &s->groups[i];

	return row_bytes(s, g->comm, g->unit, g->counts, g->costs);
}

size_t bus_row_sizes_bytes(void)
{
	return PIPE_KINDS * SIZES_BYTES;
}
