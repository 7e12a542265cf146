// SPDX-License-Identifier: GPL-2.0-or-later
#include "http-connections.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "pipewatch/util.h"

static struct connection_origin origin_of(int fd, const struct sockaddr *sa)
{
	const struct in6_addr *v6 = &((const struct sockaddr_in6 *)sa)->sin6_addr;
	struct connection_origin origin = { .family = sa->sa_family };
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (sa->sa_family == AF_INET) {
		memcpy(origin.id, &((const struct sockaddr_in *)sa)->sin_addr,
		       sizeof(struct in_addr));
	} else if (sa->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(v6)) {
		/* To a passed socket that is for both: the networks of these are one. */
		origin.family = AF_INET;
		memcpy(origin.id, v6->s6_addr + 12, sizeof(struct in_addr));
	} else if (sa->sa_family == AF_INET6) {
		memcpy(origin.id, v6, sizeof(origin.id));
	} else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
		memcpy(origin.id, &peer.uid, sizeof(peer.uid));
	}
	return origin;
}

static bool same_origin(const struct connection *a, const struct connection *b)
{
	return a->origin.family == b->origin.family &&
	       memcmp(a->origin.id, b->origin.id, sizeof(a->origin.id)) == 0;
}

struct connection *connection_new(int fd, const void *endpoint, const struct sockaddr *sa)
{
	struct connection *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->fd = fd;
	c->endpoint = endpoint;
	c->origin = origin_of(fd, sa);
	return c;
}

void connection_drop(struct connection *c)
{
	c->endpoint = NULL;
	c->dropped = true;
	shutdown(c->fd, SHUT_RDWR);
}

/* Of those at the socket and from the origin of @like, or of all where that is NULL. */
static void drop_slowest(struct connection *list, const struct connection *like)
{
	struct connection *c, *slowest[2] = { NULL, NULL }; /* waited for, being answered */
	size_t n[2] = { 0, 0 };

	DL_FOREACH(list, c)
	{
		if (c->dropped ||
		    (like && (c->endpoint != like->endpoint || !same_origin(c, like))))
			continue;
		if (!slowest[c->responding])
			slowest[c->responding] = c;
		n[c->responding]++;
	}
	c = slowest[n[true] > n[false]];
	if (c)
		connection_drop(c);
}

/* How many there are at the socket of @like, and how many of them from its origin. */
static size_t count(const struct connection *list, const struct connection *like,
		    size_t *ret_same_origin)
{
	const struct connection *c;
	size_t n = 0;

	*ret_same_origin = 0;
	DL_FOREACH(list, c)
	{
		if (c->endpoint != like->endpoint)
			continue;
		n++;
		*ret_same_origin += same_origin(c, like);
	}
	return n;
}

void connections_make_room(struct connection *list, const struct connection *fresh)
{
	const struct connection *c, *most = NULL;
	size_t n, n_same, n_most = 0;

	n = count(list, fresh, &n_same);
	if (n_same >= CONNECTIONS_PER_ORIGIN) {
		drop_slowest(list, fresh);
		return;
	}
	if (n < CONNECTIONS_PER_SOCKET)
		return;
	DL_FOREACH(list, c)
	{
		if (c->endpoint != fresh->endpoint)
			continue;
		count(list, c, &n_same);
		if (n_same > n_most) {
			n_most = n_same;
			most = c;
		}
	}
	drop_slowest(list, most);
}

void connections_drop_slowest(struct connection *list)
{
	drop_slowest(list, NULL);
}

void connections_drop_late(struct connection *list, uint64_t now_usec)
{
	struct connection *c;

	DL_FOREACH(list, c)
	{
		if (!c->dropped && c->deadline_usec <= now_usec)
			connection_drop(c);
	}
}

uint64_t connections_deadline(const struct connection *list)
{
	uint64_t first = UINT64_MAX;
	const struct connection *c;

	DL_FOREACH(list, c)
	{
		if (!c->dropped && c->deadline_usec < first)
			first = c->deadline_usec;
	}
	return first;
}

/* Is there nothing to be read but the end of the stream? */
static bool is_drained(int fd)
{
	char byte;

	return recv(fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* To shut down what the other side has ended already changes nothing but that it is looked at. */
static void notice_ends(struct connection *const *waiting, struct pollfd *polled, size_t n)
{
	if (poll(polled, n, 0) <= 0)
		return;
	for (size_t i = 0; i < n; i++) {
		/* While there is something to read it will be read, and with it what was told of
		 * the end would be forgotten. */
		if (!(polled[i].revents & POLLRDHUP) || !is_drained(polled[i].fd))
			continue;
		waiting[i]->ended = true;
		shutdown(polled[i].fd, SHUT_RD);
	}
}

void connections_notice_ends(struct connection *list)
{
	struct connection *c, *waiting[CONNECTIONS_PER_SOCKET];
	struct pollfd polled[ARRAY_SIZE(waiting)];
	size_t n = 0;

	DL_FOREACH(list, c)
	{
		if (c->responding || c->dropped || c->ended)
			continue;
		waiting[n] = c;
		polled[n++] = (struct pollfd){ .fd = c->fd, .events = POLLRDHUP };
		if (n == ARRAY_SIZE(waiting)) {
			notice_ends(waiting, polled, n);
			n = 0;
		}
	}
	if (n > 0)
		notice_ends(waiting, polled, n);
}
