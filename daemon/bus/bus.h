/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The D-Bus face, org.pipewatch1. A bus that is absent or goes away is retried; nothing else
 * notices.
 */
#ifndef PIPEWATCH_BUS_H
#define PIPEWATCH_BUS_H

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-event.h>

#include "snapshot.h"

struct bus;

/* How a state of the connection is told to main, which logs it: @message is a whole sentence. */
typedef void (*bus_log_fn)(void *userdata, int level, const char *message);

/*
 * At the start, before there is a loop: has somebody else the name on the bus at @address, and for
 * longer than a bus is late to notice an end? *ret_message says who, and what to do. False also
 * where the bus does not tell, which may take two seconds: bus_new() deals with that.
 */
bool bus_taken(const char *address, char *ret_message, size_t size);

/*
 * Starts to keep a connection to @address ("system", "session", or a D-Bus address) and the name on
 * it. Returns 0 even when there is no bus yet; -EINVAL for an address that can never work, -errno
 * otherwise. @event is referenced. Where the bus is there and says at once that the name has become
 * somebody else's, that is told and the loop ended with PIPEWATCH_EXIT_UNAVAILABLE.
 */
int bus_new(sd_event *event, const char *address, snapshot_get_fn get, bus_log_fn log,
	    void *userdata, struct bus **ret_bus);
struct bus *bus_free(struct bus *b);

static inline void bus_freep(struct bus **b)
{
	bus_free(*b);
}

/* Tells subscribers what changed between the last call's snapshot and this one: states only, never
 * counters. */
void bus_states_changed(struct bus *b, const struct snapshot *s);

#endif
