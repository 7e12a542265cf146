/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface org.pipewatch1.Manager: snapshot to D-Bus. Knows what is said on a bus, not how one
 * is reached.
 */
#ifndef PIPEWATCH_BUS_MANAGER_H
#define PIPEWATCH_BUS_MANAGER_H

#include <systemd/sd-bus.h>

#include "snapshot.h"

struct bus_manager;

int bus_manager_new(snapshot_get_fn get, void *userdata, struct bus_manager **ret_manager);
struct bus_manager *bus_manager_free(struct bus_manager *m);

static inline void bus_manager_freep(struct bus_manager **m)
{
	bus_manager_free(*m);
}

/*
 * Puts the object on the new connection @bus, which must be gone before @m is and before another is
 * given. Returns 0 or -errno.
 */
int bus_manager_export(struct bus_manager *m, sd_bus *bus);

/* To be called before each message: the properties that one asks for are of one snapshot. */
void bus_manager_forget(struct bus_manager *m);

/*
 * Sends PropertiesChanged on @bus with the states of @s that differ from what could be read there
 * before. Returns how many these were, or -errno.
 */
int bus_manager_tell_states(struct bus_manager *m, sd_bus *bus, const struct snapshot *s);

#endif
