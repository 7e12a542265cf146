/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event that fires on a CPU's timer.
 */
#ifndef PIPEWATCH_PERF_EVENT_H
#define PIPEWATCH_PERF_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* An event that fires every @period_ns on @cpu, whatever runs there; not enabled yet. Returns its
 * file descriptor or -errno. */
int perf_event_open_timer(int cpu, uint64_t period_ns);

/*
 * Tries whether the kernel would permit it, in a child process where a seccomp filter may kill the
 * caller. Returns 0 or -errno; where *ret_killed is set, -EPERM: it was killed.
 */
int perf_event_try(bool *ret_killed);

#endif
