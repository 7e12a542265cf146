/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Renders a snapshot as one JSON object with everything that is known, for Describe().
 *
 * Keys are snake_case and keep their order. A figure that was not measured is absent and a
 * "…_reason" says why.
 */
/* clang-format off */
/*
 *   version, libbpf_version, start_time_usec, state, state_reason
 *   mode, configured_mode, mode_reason, budget_ratio
 *   [allowed_cpu_ratio], predicted_cpu_ratio {[exact], [burst], [profile]}
 *   [observer_overhead_reason]
 *   own_cost    {cpu_seconds: {programs, bursts, sampling, daemon},
 *                overhead_ratio, overhead_error_ratio | overhead_reason,
 *                operation_seconds, operation_error_seconds | operation_reason,
 *                counting_seconds, counting_error_seconds | counting_reason}
 *   [coverage_ratio], [coverage_reason], estimated, [unseen_operations_max]
 *   now_usec, [measured_seconds]
 *   kernel      {release, machine, clocksource | clocksource_reason}
 *   paths       {anonymous | fifo: {atime | cmtime | fsnotify: {state, reason, [updates_reason]}}}
 *   unit_costs  {anonymous | fifo: {atime | cmtime | fsnotify: {whole: FIGURE, [agreement],
 *                stages: {NAME: FIGURE}, estimators: {NAME: FIGURE}}}}
 *   programs    [{program, hook, attached, missed_runs, missed | reason, [run_seconds]}]
 *   watchers    [{pid, comm, watches}], [watchers_reason]
 *   sampling    then lost_samples | sampling_reason
 *   [map_memory_bytes]
 *   counting    then counting_reason, or all of:
 *   tracked_processes, lost_updates, losses [{reason, updates}], unattributed_operations
 *   maps        [{map, entries, max_entries}]
 *   totals      {anonymous: COUNTS, fifo: COUNTS}
 *   and when anything is counted or sampled:
 *   remedies    {NAME: seconds}
 *   groups      [{unit, comm, processes, [SAMPLED], anonymous: COUNTS, fifo: COUNTS, remedies}]
 *   processes   [{pid, start_time_usec, comm, unit, exited, [SAMPLED],
 *                [cpu_seconds, metadata_cpu_share], anonymous: COUNTS, fifo: COUNTS, remedies}]
 *   processes_omitted, how many more there are than DESCRIBE_PROCESSES_MAX
 */
/* clang-format on */
/*
 * FIGURE is {seconds, error_seconds} or {reason}; the stages sum to the whole.
 *
 * COUNTS is {reads, writes, read_bytes, written_bytes, noatime_reads, reads_standard_error,
 * writes_standard_error, atime_updates, cmtime_updates, atime_cpu_seconds, cmtime_cpu_seconds,
 * fsnotify_cpu_seconds, read_sizes, write_sizes}. An updates key is there where the kernel makes
 * these updates; elsewhere updates_reason in paths says why not. Where reads or writes cannot be
 * counted, their keys are absent, and programs says why. The errors are there where counts were
 * extrapolated. The sizes (not kept for groups) are 16 numbers, of operations of
 * 2^n .. 2^(n+1)-1 bytes. A kind of pipe without operations and costs is left out, except in
 * totals.
 *
 * SAMPLED is pipe_cpu_seconds, sampled_cpu_seconds {[atime], [cmtime], [fsnotify]}: of the kinds
 * that sampling can tell from the rest.
 *
 * Remedies are what each would have saved since start_time_usec, measured_seconds ago; one that has
 * nothing to save on this kernel, or of which that is not known, is absent.
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
