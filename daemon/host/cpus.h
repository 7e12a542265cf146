/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which CPUs are online.
 */
#ifndef PIPEWATCH_CPUS_H
#define PIPEWATCH_CPUS_H

#include <stdbool.h>
#include <stddef.h>

/* Understands a list such as "0-3,8"; CPUs from @n on are ignored. Returns 0 or -EBADMSG. */
int cpus_parse(const char *list, bool *ret_online, size_t n);

/* Reads such a list, /sys/devices/system/cpu/online but in tests. Returns 0 or -errno. */
int cpus_read(const char *path, bool *ret_online, size_t n);

#endif
