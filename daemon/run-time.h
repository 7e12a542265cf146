/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long the kernel says that our programs run. It times the programs of everybody on the host
 * while it is asked to, which costs each run two readings of the clock: so only in short windows.
 */
#ifndef PIPEWATCH_RUN_TIME_H
#define PIPEWATCH_RUN_TIME_H

#include <stdint.h>

/*
 * Has the kernel time programs until the descriptor that is returned is closed; the sysctl
 * kernel.bpf_stats_enabled stays as it is. Or returns -errno: -EPERM without CAP_SYS_ADMIN, -EINVAL
 * where the kernel is too old for it.
 */
int run_time_enable(void);

/*
 * Runs that were timed since the program was loaded, and how long they took in all: take the
 * difference of two readings. What the kernel does around a run is not in it. Where reading a map
 * needs no privilege, this needs none.
 * Returns 0, -EOPNOTSUPP where the kernel does not count runs, or -errno.
 */
int run_time_read(int program_fd, uint64_t *ret_runs, double *ret_seconds);

/*
 * Runs that the kernel skipped, because on that CPU another task was inside the same program: it
 * can be preempted there where the kernel itself is preemptible. Returns 0; -EOPNOTSUPP where the
 * kernel skips none and does not count them (before 5.12); or -errno.
 */
int run_time_missed(int program_fd, uint64_t *ret_runs);

#endif
