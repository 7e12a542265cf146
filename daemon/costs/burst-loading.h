/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prepares a burst in a thread, since loading and calibrating its programs takes a second or more.
 * Until it is done, nobody else touches what the thread uses.
 */
#ifndef PIPEWATCH_BURST_LOADING_H
#define PIPEWATCH_BURST_LOADING_H

#include <stddef.h>

#include "burst.h"

struct burst_loading;

/* Starts the thread. @directories as for burst_new(), kept by the caller. Returns 0 or -errno. */
int burst_loading_new(const char *const *directories, struct burst_loading **ret_loading);

/* Makes it give up soon. */
void burst_loading_stop(struct burst_loading *l);

/*
 * Returns what burst_new() returned, with its reason (256 bytes) or its burst, which belongs to the
 * caller from then on; -EAGAIN as long as it runs; -ECANCELED when it was stopped in time.
 */
int burst_loading_result(struct burst_loading *l, char *ret_reason, size_t size,
			 struct burst **ret_burst);

/* The CPU time that it took; to be called when there is a result. */
double burst_loading_cpu_seconds(const struct burst_loading *l);

/* Stops it and waits for that, which takes as long as attaching one program. */
struct burst_loading *burst_loading_free(struct burst_loading *l);

static inline void burst_loading_freep(struct burst_loading **l)
{
	burst_loading_free(*l);
}

#endif
