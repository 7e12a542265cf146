/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attaching needs capabilities, running does not. */
#ifndef PIPEWATCH_PRIVILEGE_H
#define PIPEWATCH_PRIVILEGE_H

#include <stdbool.h>

/* Does what has to go on working still work, with the capabilities that are in force? */
typedef bool (*privilege_works_fn)(void *userdata);

/*
 * Gives up every capability, for good: effective, permitted, inheritable and ambient. What is
 * attached stays attached. Where @works says that all this is too much, CAP_BPF is kept:
 * before 5.13 (with kernel.unprivileged_bpf_disabled) bpf(2) refuses even the reading of maps
 * without it. Where programs will be attached again (@reattaches), CAP_BPF and CAP_PERFMON are
 * kept, and so is CAP_SYS_PTRACE where it was given, for nothing else tells who watches pipes. A
 * file of /proc that was passed as standard input is closed. Returns 0 or -errno.
 */
int privilege_drop(bool reattaches, privilege_works_fn works, void *userdata);

#endif
