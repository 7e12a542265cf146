/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who has the name org.pipewatch1, as the bus says. */
#ifndef PIPEWATCH_BUS_OWNER_H
#define PIPEWATCH_BUS_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

struct bus_owner {
	bool exists;
	uint32_t pid; /* 0: the bus does not tell */
};

/* Asks on @connection; @done gets what bus_owner_read() is for. Returns 0 or -errno. */
int bus_owner_ask(sd_bus *connection, sd_bus_message_handler_t done, void *userdata);

/* Returns 0, or -errno where the reply says nothing of the owner. */
int bus_owner_read(sd_bus_message *reply, struct bus_owner *ret_owner);

/*
 * Asks on a connection of its own, and as long as somebody has the name, again: up to
 * @patience_usec, in which it waits. Returns 0, or -errno where there is no bus or no answer in
 * that time.
 */
int bus_owner_find(const char *address, uint64_t patience_usec, struct bus_owner *ret_owner);

/* A sentence on an owner that exists, and one on what to do. */
void bus_owner_describe(const struct bus_owner *owner, const char *address, char *ret_message,
			size_t size);

#endif
