/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who watches pipes with inotify or fanotify: the marks of all processes on pipefs, as /proc shows
 * them. A single mark, on whatever pipe, makes every operation on every pipe of the host pay for
 * fsnotify. A mark on a FIFO looks like one on any other file and is not seen.
 */
#ifndef PIPEWATCH_WATCHERS_H
#define PIPEWATCH_WATCHERS_H

#include <stdint.h>

#include "snapshot.h"

struct watchers;

/* Makes a pipe, to see on which device and mount pipes are. Returns 0 or -errno. */
int watchers_new(struct watchers **ret_watchers);
struct watchers *watchers_free(struct watchers *w);

static inline void watchers_freep(struct watchers **w)
{
	watchers_free(*w);
}

/*
 * Looks at the processes in @proc ("/proc" except in tests) for not much longer than @limit_usec,
 * and goes on from there when called again. Returns 1 when all have been looked at; 0 when there
 * are more; or -errno. After 1 and -errno the next call begins anew. Between calls up to three file
 * descriptors stay open.
 */
int watchers_scan(struct watchers *w, const char *proc, uint64_t limit_usec);

/*
 * Scans when somebody pays for fsnotify, that is, when @fsnotify_seconds, its cost so far, has
 * grown; at most once a minute, and for 20 ms at a time. To be called every second; @now_usec is
 * CLOCK_MONOTONIC.
 */
void watchers_follow(struct watchers *w, const char *proc, double fsnotify_seconds,
		     uint64_t now_usec);

/*
 * Appends the watchers to @s, and says why there may be others. A watcher is there as soon as it is
 * found; one that has stopped watching stays until a scan is completed. Returns 0 or -ENOMEM.
 */
int watchers_fill(const struct watchers *w, struct snapshot *s);

#endif
