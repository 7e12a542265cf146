/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The connections of the HTTP server, in the order in which their present wait began, and who of
 * them has to go. Sockets and times only: what is said on them is libmicrohttpd's.
 */
#ifndef PIPEWATCH_HTTP_CONNECTIONS_H
#define PIPEWATCH_HTTP_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* How many there are at a listening socket, and of these from one origin. */
#define CONNECTIONS_PER_SOCKET 64
#define CONNECTIONS_PER_ORIGIN 32

/* Who is behind a connection: an IPv4 address, an IPv6 network of 64 bits, or on a Unix socket a
 * user. */
struct connection_origin {
	sa_family_t family;
	uint8_t id[8];
};

struct connection {
	int fd;		      /* libmicrohttpd's: shut down here, never closed */
	const void *endpoint; /* the listening socket; NULL once dropped, or when that is gone */
	struct connection_origin origin;
	bool responding; /* else waiting for (the rest of) a request */
	bool dropped;
	bool whole;		/* the request that was last begun has been read to its end */
	bool ended;		/* all that the client says has been read, and its end told */
	uint64_t deadline_usec; /* CLOCK_MONOTONIC */
	const char *target_end; /* of the request, in libmicrohttpd's memory */
	struct connection *prev, *next;
};

/* Not in a list yet. NULL when out of memory. */
struct connection *connection_new(int fd, const void *endpoint, const struct sockaddr *sa);

/* libmicrohttpd sees the end of the stream and closes it in its next run. */
void connection_drop(struct connection *c);

/*
 * Makes room in @list for @fresh, which is not in it: of an origin that has its share, the slowest
 * client is dropped; at a full socket, the slowest of the origin that has most. The slowest is the
 * one that is waited for longest or, where more are being answered than waited for, the one that
 * has been answered longest: neither the silent nor the deaf take the room of the others.
 */
void connections_make_room(struct connection *list, const struct connection *fresh);

/* Drops the slowest of all. */
void connections_drop_slowest(struct connection *list);

/* Drops those whose time is over. */
void connections_drop_late(struct connection *list, uint64_t now_usec);

/* The first deadline, UINT64_MAX if there is none. */
uint64_t connections_deadline(const struct connection *list);

/*
 * libmicrohttpd does not look for the end of a stream that came together with the last bytes: tells
 * it of those that it would wait for in vain.
 */
void connections_notice_ends(struct connection *list);

#endif
