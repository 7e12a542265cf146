/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which answer a request gets. Bodies are rendered once per snapshot.
 */
#ifndef PIPEWATCH_HTTP_REPLY_H
#define PIPEWATCH_HTTP_REPLY_H

#include <microhttpd.h>
#include <stdbool.h>

#include "snapshot.h"

struct http_reply;

int http_reply_new(snapshot_get_fn get, void *userdata, struct http_reply **ret_reply);
struct http_reply *http_reply_free(struct http_reply *reply); /* takes NULL; returns NULL */

/* Queues the answer to @method @path (NULL: there is none in what was asked for). MHD_NO when that
 * is impossible: the connection is to be closed. */
enum MHD_Result http_reply_send(struct http_reply *reply, struct MHD_Connection *connection,
				const char *path, const char *method);

/* Queues the answer to a request that cannot be right, with the sentence @why. */
enum MHD_Result http_reply_refuse(struct MHD_Connection *connection, const char *why);

/* What /-/ready answers. */
void http_reply_set_ready(struct http_reply *reply, bool ready);

#endif
