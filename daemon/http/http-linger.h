/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sockets on which all has been said by us, while the client may still be speaking: were they
 * closed, its next bytes would be answered by a reset, which can overtake or wipe out the answer.
 * What comes is read and thrown away until the client ends, for some time, for some of them.
 */
#ifndef PIPEWATCH_HTTP_LINGER_H
#define PIPEWATCH_HTTP_LINGER_H

#include <stdint.h>
#include <systemd/sd-event.h>

/* More than these, and the oldest is closed. */
#define LINGERERS_MAX 16

struct lingerers;

/* @event is referenced. Returns 0 or -ENOMEM. */
int lingerers_new(sd_event *event, struct lingerers **ret_lingerers);
struct lingerers *lingerers_free(struct lingerers *l); /* takes NULL; returns NULL */

/* Keeps the socket behind @fd, which is not blocking and somebody else's to close, for at most
 * @usec. Where that is impossible it is closed when @fd is. */
void lingerers_add(struct lingerers *l, int fd, uint64_t usec);

/* Closes all. */
void lingerers_drop(struct lingerers *l);

#endif
