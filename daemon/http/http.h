/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The HTTP face: /metrics, /, /-/healthy, /-/ready, on TCP and Unix sockets, inside the event loop.
 */
#ifndef PIPEWATCH_HTTP_H
#define PIPEWATCH_HTTP_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "snapshot.h"

struct http;

/* How long a client may take to send a whole request, and to receive a whole response; it is
 * dropped then. */
#define HTTP_REQUEST_USEC  10000000
#define HTTP_RESPONSE_USEC 30000000

/* Serves @get on nothing yet. @event is referenced. Returns 0 or -errno. */
int http_new(sd_event *event, snapshot_get_fn get, void *userdata, struct http **ret_http);
struct http *http_free(struct http *h); /* closes all sockets, removes own Unix sockets; takes NULL,
					   returns NULL */

static inline void http_freep(struct http **h)
{
	http_free(*h);
}

/*
 * Opens @listen (ADDR:PORT, [ADDR6]:PORT or unix:PATH). A Unix socket left by a dead process is
 * replaced, one that is still served gives -EADDRINUSE. Returns 0 or -errno.
 */
int http_listen(struct http *h, const char *listen);

/* Serves an already listening stream socket, as systemd passes it. Takes @fd over on success. */
int http_listen_fd(struct http *h, int fd);

/*
 * Makes the set of addresses opened by http_listen() equal to @listen (NULL-terminated): opens the
 * new ones first, then closes those no longer named; passed sockets stay. On failure nothing
 * changes and *ret_failed is the culprit.
 */
int http_relisten(struct http *h, char *const *listen, const char **ret_failed);

/* What /-/ready answers: 200 when ready, else 503. */
void http_set_ready(struct http *h, bool ready);

/* Other times than the above, for connections and requests from now on. */
void http_set_timeouts(struct http *h, uint64_t request_usec, uint64_t response_usec);

#endif
