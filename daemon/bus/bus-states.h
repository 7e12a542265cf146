/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The properties of the bus object that are words or sentences, and which of its states changed.
 * Needs no bus.
 */
#ifndef PIPEWATCH_BUS_STATES_H
#define PIPEWATCH_BUS_STATES_H

#include "snapshot.h"

/* How many properties PropertiesChanged can tell of. */
#define BUS_STATES_MAX 15

/* The value of a property of type s, to be freed; NULL when out of memory. */
char *bus_states_text(const struct snapshot *s, const char *property);

/* What clients know of the states. */
struct bus_states;

int bus_states_new(const struct snapshot *s, struct bus_states **ret_states);
struct bus_states *bus_states_free(struct bus_states *states);

static inline void bus_states_freep(struct bus_states **states)
{
	bus_states_free(*states);
}

/* Writes the names of the properties that differ, NULL-terminated, and returns their number. */
size_t bus_states_diff(const struct bus_states *a, const struct bus_states *b,
		       const char *ret_names[static BUS_STATES_MAX + 1]);

#endif
