/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function that the kernel may kill its caller for: called in a process of its own. */
#ifndef PIPEWATCH_CHILD_H
#define PIPEWATCH_CHILD_H

#include <stdbool.h>

/*
 * Calls @call, which returns 0 or -errno, in a child process. Returns 0 and what it returned,
 * -EPERM with *ret_killed where a seccomp filter killed it (SIGSYS), or another -errno where that
 * cannot be found out. @call must be safe in a child of a process with threads.
 */
int child_call(int (*call)(void), int *ret_result, bool *ret_killed);

#endif
