/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long our programs run, as the kernel times them. While it is asked to, it times all programs
 * on the host, which costs each run two readings of the clock: so only in short windows.
 */
#ifndef PIPEWATCH_RUN_TIME_H
#define PIPEWATCH_RUN_TIME_H

#include <stdint.h>

/*
 * Makes the kernel time programs until the file descriptor that is returned is closed; the sysctl
 * kernel.bpf_stats_enabled stays as it is. Returns -errno on failure: -EPERM without CAP_SYS_ADMIN,
 * -EINVAL where the kernel is too old for it.
 */
int run_time_enable(void);

/*
 * The runs that have been timed since the program was loaded, and how long they took in all; take
 * the difference of two readings. What the kernel does around a run is not included. Where reading
 * a map needs no privilege, this needs none. Returns 0, -EOPNOTSUPP where the kernel does not count
 * runs, or -errno.
 */
int run_time_read(int program_fd, uint64_t *ret_runs, double *ret_seconds);

/*
 * The runs that the kernel skipped because another task was preempted inside the same program on
 * that CPU, which happens where the kernel itself can be preempted. Returns 0; -EOPNOTSUPP where
 * the kernel skips none and does not count them (before 5.12); or -errno.
 */
int run_time_missed(int program_fd, uint64_t *ret_runs);

#endif
