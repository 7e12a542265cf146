/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads what the BPF programs wrote and books it on the accounts. The only module that knows the
 * maps.
 */
#ifndef PIPEWATCH_COLLECTOR_H
#define PIPEWATCH_COLLECTOR_H

#include <stdint.h>

#include "accounts.h"
#include "cgroups.h"
#include "snapshot.h"
#include "tracer.h"

struct collector;

/* @accounts and @cgroups are used, not owned, and must outlive the collector, as must what @memory
 * points to. Returns 0 or -errno. */
int collector_new(const struct tracer_memory *memory, struct accounts *accounts,
		  struct cgroups *cgroups, struct collector **ret_collector);
struct collector *collector_free(struct collector *c);

static inline void collector_freep(struct collector **c)
{
	collector_free(*c);
}

/*
 * Books everything since the last call and frees the slots of exited threads. Has to be called now
 * and then also when nobody asks: 32-bit counters wrap (wire.h). @now_usec is CLOCK_MONOTONIC.
 * Returns 0 or -errno; whatever it is, nothing is booked twice.
 */
int collector_collect(struct collector *c, uint64_t now_usec);

/* Operations that have been counted and not booked yet. */
uint64_t collector_pending(struct collector *c);

/* Are we permitted to read and change the maps? */
bool collector_permitted(const struct collector *c);

/* Appends the maps and their fill to @s. Returns 0 or -ENOMEM. */
int collector_fill(const struct collector *c, struct snapshot *s);

/* To be polled for input: many threads have exited, collect. -1 when there is no such thing. Owned
 * by the collector. */
int collector_wake_fd(const struct collector *c);

#endif
