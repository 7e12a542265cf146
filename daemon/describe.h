/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshot to one JSON object: everything that is known, for Describe() and its readers.
 *
 * Keys are snake_case and keep their order. A figure that was not measured is absent and a
 * "…_reason" says why.
 */
/* clang-format off */
/*
 *   version, libbpf_version, start_time_usec, state, state_reason
 *   mode, configured_mode, mode_reason, budget_ratio
 *   observer_overhead_reason
 *   coverage_ratio | coverage_reason
 *   kernel      {release, machine, clocksource | clocksource_reason}
 *   paths       {anonymous | fifo: {atime | cmtime | fsnotify: {state, reason, [updates_reason]}}}
 *   unit_costs  {anonymous | fifo: {atime | cmtime | fsnotify: {whole: FIGURE, [agreement],
 *                stages: {NAME: FIGURE}, estimators: {NAME: FIGURE}}}}
 *   programs    [{program, hook, attached, missed_runs | reason}]
 *   sampling    [sampling_reason]
 *   counting    then counting_reason, or all of:
 *   tracked_processes, lost_updates, losses [{reason, updates}], unattributed_operations
 *   maps        [{map, entries, max_entries}]
 *   totals      {anonymous: COUNTS, fifo: COUNTS}
 *   groups      [{unit, comm, processes, [pipe_cpu_seconds], anonymous: COUNTS, fifo: COUNTS}]
 *   processes   [{pid, start_time_usec, comm, unit, exited, [pipe_cpu_seconds],
 *                anonymous: COUNTS, fifo: COUNTS}]
 *   processes_omitted, how many more there are than DESCRIBE_PROCESSES_MAX
 */
/* clang-format on */
/*
 * FIGURE is {seconds, error_seconds} or {reason}; the stages sum to the whole.
 *
 * COUNTS is {reads, writes, read_bytes, written_bytes, noatime_reads, atime_updates,
 * cmtime_updates, atime_cpu_seconds, cmtime_cpu_seconds, fsnotify_cpu_seconds, read_sizes,
 * write_sizes}. An updates key is there where the kernel makes these updates; elsewhere
 * updates_reason in paths says why not. Where reads or writes cannot be counted, their keys are
 * absent, and programs says why. The sizes (not kept for groups) are 16 numbers, of operations of
 * 2^n .. 2^(n+1)-1 bytes. A kind of pipe without operations is left out, except in totals.
 */
#ifndef PIPEWATCH_DESCRIBE_H
#define PIPEWATCH_DESCRIBE_H

#include "snapshot.h"

/* Of the processes the first so many are described, so that the text stays of a size that a bus
 * takes. */
#define DESCRIBE_PROCESSES_MAX 10000

/* Returns 0 and a string to be freed, or -ENOMEM. */
int describe_json(const struct snapshot *s, char **ret_json);

#endif
