/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a burst in a thread: loading and calibrating its programs takes a second or more. The
 * thread has everything it touches to itself until it is done.
 */
#ifndef PIPEWATCH_BURST_LOADING_H
#define PIPEWATCH_BURST_LOADING_H

#include <stddef.h>

#include "burst.h"

struct burst_loading;

/* Begins. @directories as for burst_new(), to be kept. Returns 0 or -errno. */
int burst_loading_new(const char *const *directories, struct burst_loading **ret_loading);

/* Has it give up soon. */
void burst_loading_stop(struct burst_loading *l);

/*
 * What burst_new() returned, with its reason (256 bytes) or its burst, which is the caller's from
 * here on; -EAGAIN as long as it has not; -ECANCELED when it was stopped in time.
 */
int burst_loading_result(struct burst_loading *l, char *ret_reason, size_t size,
			 struct burst **ret_burst);

/* Stops it, and waits for that, for as long as attaching one program takes. */
struct burst_loading *burst_loading_free(struct burst_loading *l);

static inline void burst_loading_freep(struct burst_loading **l)
{
	burst_loading_free(*l);
}

#endif
