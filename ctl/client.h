/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pipewatchd as seen from the bus. Every call ends: the bus has CLIENT_CONNECT_SEC to take us in,
 * the daemon CLIENT_CALL_SEC to answer (it may have to be started first).
 */
#ifndef PIPEWATCH_CTL_CLIENT_H
#define PIPEWATCH_CTL_CLIENT_H

#include <stdbool.h>

#include "failure.h"

#define CLIENT_CONNECT_SEC 5
#define CLIENT_CALL_SEC	   15

/* What client calls return when the interrupting descriptor became readable. No exit code. */
#define CLIENT_INTERRUPTED (-1)

struct client;

/*
 * @bus is "system", "session" or an address. Does not connect yet. @interrupt_fd ends a call early
 * when it is readable; -1: none. @activate: a daemon that does not run may be started by the bus.
 * Returns 0 or an exit code, with @f filled.
 */
int client_new(const char *bus, int interrupt_fd, bool activate, struct client **ret_client,
	       struct failure *f);
struct client *client_free(struct client *c); /* takes NULL; returns NULL */

static inline void client_freep(struct client **c)
{
	client_free(*c);
}

/* How long the daemon has to answer, instead of CLIENT_CALL_SEC. */
void client_set_patience(struct client *c, unsigned int seconds);

/*
 * Calls a method without arguments that returns one string, which the caller frees. Connects first
 * if need be, so that a daemon or a bus that has come back is found. Returns 0, an exit code with
 * @f filled, or CLIENT_INTERRUPTED.
 */
int client_call(struct client *c, const char *method, char **ret_text, struct failure *f);

#endif
