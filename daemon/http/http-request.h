/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What libmicrohttpd lets through and RFC 9112 does not, and what a request asks for.
 */
#ifndef PIPEWATCH_HTTP_REQUEST_H
#define PIPEWATCH_HTTP_REQUEST_H

#include <microhttpd.h>
#include <stdbool.h>

/* A sentence about what is wrong with the head of a request of @version ("HTTP/1.1"), NULL where
 * nothing is. */
const char *http_request_fault(struct MHD_Connection *connection, const char *version);

/*
 * Is it answered without its body being read, and the connection closed? A body that is too long
 * or of unknown length is not waited for, nor is one asked for that nobody wants.
 */
bool http_request_is_cut(struct MHD_Connection *connection);

/* The path in a request's target, which is one itself or an absolute URI; NULL if it is neither. */
const char *http_request_path(const char *target);

/* Decodes %XX in place, but leaves text as it is that would end at a NUL in it. Returns the
 * length. For MHD_OPTION_UNESCAPE_CALLBACK. */
size_t http_request_unescape(void *userdata, struct MHD_Connection *connection, char *text);

#endif
