/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who watches pipes with inotify or fanotify: all processes' marks on pipefs, as /proc shows them.
 * One such mark, on whatever pipe, and every operation on any pipe of the host pays for fsnotify.
 * A mark on a FIFO looks like one on any other file and is not seen.
 */
#ifndef PIPEWATCH_WATCHERS_H
#define PIPEWATCH_WATCHERS_H

#include <stdint.h>

#include "snapshot.h"

struct watchers;

/* Makes a pipe to see what pipefs is called here. Returns 0 or -errno. */
int watchers_new(struct watchers **ret_watchers);
struct watchers *watchers_free(struct watchers *w);

static inline void watchers_freep(struct watchers **w)
{
	watchers_free(*w);
}

/*
 * Looks at the processes in @proc ("/proc" but in tests) for not much longer than @limit_usec, and
 * goes on from there when called again. Returns 1 when all have been looked at (the next call
 * begins anew), 0 when there are more, or -errno, after which it begins anew as well. Up to three
 * file descriptors stay open in between.
 */
int watchers_scan(struct watchers *w, const char *proc, uint64_t limit_usec);

/*
 * Scans where somebody pays for it, at most once a minute and 20 ms at a time: @fsnotify_seconds,
 * what fsnotify has cost so far, has grown. To be called every second; @now_usec is
 * CLOCK_MONOTONIC.
 */
void watchers_follow(struct watchers *w, const char *proc, double fsnotify_seconds,
		     uint64_t now_usec);

/*
 * Appends who was found to @s and says why that may not be all of them. Somebody found is there
 * from then on, somebody who has stopped watching until a scan is completed. Returns 0 or -ENOMEM.
 */
int watchers_fill(const struct watchers *w, struct snapshot *s);

#endif
