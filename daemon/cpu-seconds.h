/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PIPEWATCH_CPU_SECONDS_H
#define PIPEWATCH_CPU_SECONDS_H

#include <sys/resource.h>

/* Of user and system together. */
static inline double cpu_seconds(const struct rusage *usage)
{
	return usage->ru_utime.tv_sec + usage->ru_stime.tv_sec +
	       (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

#endif
