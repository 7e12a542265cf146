/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the clocks. */
#ifndef PIPEWATCH_CLOCK_H
#define PIPEWATCH_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_usec(clockid_t clock)
{
	return clock_ns(clock) / 1000;
}

static inline double clock_seconds(clockid_t clock)
{
	return clock_ns(clock) / 1e9;
}

static inline uint64_t monotonic_usec(void)
{
	return clock_usec(CLOCK_MONOTONIC);
}

#endif
