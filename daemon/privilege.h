/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Giving up privileges: attaching needs capabilities, running does not. */
#ifndef PIPEWATCH_PRIVILEGE_H
#define PIPEWATCH_PRIVILEGE_H

#include <stdbool.h>

/* Does everything that has to go on working still work with the present capabilities? */
typedef bool (*privilege_works_fn)(void *userdata);

/*
 * Gives up capabilities for good: effective, permitted, inheritable and ambient ones. What is
 * attached stays attached. Three are kept where they were given. CAP_BPF and CAP_PERFMON, where
 * programs will be attached again (@reattaches). CAP_BPF alone, where @works says that nothing
 * works without it: before 5.13, with kernel.unprivileged_bpf_disabled, bpf(2) refuses even the
 * reading of maps. CAP_SYS_PTRACE, since nothing else tells who watches pipes. A file of /proc that
 * was passed as standard input is closed. Returns 0 or -errno.
 */
int privilege_drop(bool reattaches, privilege_works_fn works, void *userdata);

#endif
