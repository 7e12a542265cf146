/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU time of the costliest processes, and the share of it that goes into metadata updates: is
 * it worth caring about?
 *
 * CPU time that a process used before it was watched must not be compared with costs. Of a process
 * that is older than the watching, CPU time and cost count from when it first was among the
 * costliest; of all others, from their start.
 */
#ifndef PIPEWATCH_CPU_TIME_H
#define PIPEWATCH_CPU_TIME_H

#include <stdint.h>

#include "snapshot.h"

/* So many live processes are looked at. */
#define CPU_TIMES_MAX 50

/* The kernel counts in ticks of 10 ms: a share of less than this would mean nothing. */
#define CPU_TIMES_MIN_SEC 0.1

struct cpu_times;

/*
 * @proc is "/proc" except in tests, and must stay valid. Processes that started before @watch_usec
 * are older than the watching. That and @boot_usec (when the machine was booted) are
 * CLOCK_REALTIME, as the start times in snapshots are. Returns 0 or -ENOMEM.
 */
int cpu_times_new(const char *proc, uint64_t boot_usec, uint64_t watch_usec,
		  struct cpu_times **ret_times);
struct cpu_times *cpu_times_free(struct cpu_times *c); /* takes NULL; returns NULL */

static inline void cpu_times_freep(struct cpu_times **c)
{
	cpu_times_free(*c);
}

/*
 * Sets cpu_known, cpu_seconds and cpu_share of the first CPU_TIMES_MAX live processes of @s, which
 * must be finished. CPU time that cannot be read, since the process is gone or not ours to see, is
 * not known; nor is less than CPU_TIMES_MIN_SEC. Where no cost is known at all the share is 0 and
 * means nothing.
 */
void cpu_times_fill(struct cpu_times *c, struct snapshot *s);

#endif
