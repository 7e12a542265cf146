// SPDX-License-Identifier: GPL-2.0-or-later
#include "http.h"

#include <errno.h>
#include <microhttpd.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <utlist.h>

#include "http-connections.h"
#include "http-linger.h"
#include "http-reply.h"
#include "http-request.h"
#include "listener.h"
#include "pipewatch/util.h"

/*
 * Connections are accepted here, not by libmicrohttpd: its own limit makes it deaf (it stops to
 * watch the listening socket and, with an external epoll, looks again only when something else
 * wakes it), and it cannot choose whom to drop. At the limit the client that has kept us waiting
 * longest is dropped for the new one, so no number of slow clients keeps a good one out.
 */
#define ACCEPTS_PER_WAKEUP 16

/* Never reached, see above. */
#define MHD_CONNECTIONS_MAX 65536

/* Request line and headers, and the response's headers. */
#define CONNECTION_MEMORY_BYTES 16384

/* Without file descriptors or memory for another connection accepting pauses, as it does where the
 * listening socket has been broken by somebody: both would wake us at once, again and again. */
#define ACCEPT_PAUSE_USEC 100000

#define USEC_PER_MSEC 1000

/* Each answer to pipelined requests is a timeout of zero: it must not be rounded up. */
#define TIMER_ACCURACY_USEC 1

struct endpoint {
	struct http *http;
	struct listener *listener;
	sd_event_source *source;
	uint64_t paused_until_usec; /* 0: accepting */
	struct endpoint *prev, *next;
};

struct http {
	sd_event *event;
	struct MHD_Daemon *mhd;
	sd_event_source *io;
	sd_event_source *timer;
	struct endpoint *endpoints;
	struct connection *connections;
	struct connection *accepting; /* handed to libmicrohttpd, not yet announced by it */
	uint64_t request_usec, response_usec;
	struct lingerers *lingerers;
	struct http_reply *reply;
};

static uint64_t now_usec(struct http *h)
{
	uint64_t now = 0;

	sd_event_now(h->event, CLOCK_MONOTONIC, &now);
	return now;
}

static struct connection *find_connection(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info;

	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return info ? info->socket_context : NULL;
}

/* A new wait begins: it is the latest of all. */
static void set_deadline(struct http *h, struct connection *c, uint64_t usec)
{
	c->deadline_usec = now_usec(h) + usec;
	DL_DELETE(h->connections, c);
	DL_APPEND(h->connections, c);
}

/* Called with the first line of a request; what it returns is the context of the request. */
static void *on_target(void *userdata, const char *target, struct MHD_Connection *connection)
{
	struct connection *c = find_connection(connection);

	(void)userdata;

	if (c) {
		c->whole = false;
		c->target_end = target ? target + strlen(target) : NULL;
	}
	return NULL;
}

/* Called with the headers, then with each piece of the body, then at the end of the request. */
static enum MHD_Result on_request(void *userdata, struct MHD_Connection *connection,
				  const char *target, const char *method, const char *version,
				  const char *upload_data, size_t *upload_data_size,
				  void **request_context)
{
	struct connection *c = find_connection(connection);
	struct http *h = userdata;
	const char *fault = NULL;

	(void)upload_data;

	if (!*request_context) {
		*request_context = h;
		fault = http_request_fault(connection, version);
		/* The version follows the end of the target, unless a NUL in it was taken for that.
		 */
		if (c && c->target_end && c->target_end + 1 != version)
			fault = "There is a NUL in the first line.";
		if (!fault && !http_request_is_cut(connection))
			return MHD_YES;
	} else if (c && *upload_data_size == 0) {
		c->whole = true;
	}
	if (*upload_data_size > 0) {
		*upload_data_size = 0;
		return MHD_YES;
	}

	if (c) {
		c->responding = true;
		set_deadline(h, c, h->response_usec);
	}
	/* An answer before the end of the request closes the connection after it. */
	if (fault)
		return http_reply_refuse(connection, fault);
	return http_reply_send(h->reply, connection, http_request_path(target), method);
}

static void on_request_completed(void *userdata, struct MHD_Connection *connection,
				 void **request_context, enum MHD_RequestTerminationCode code)
{
	struct connection *c = find_connection(connection);
	struct http *h = userdata;

	(void)request_context;
	(void)code;

	if (!c)
		return;
	c->responding = false;
	set_deadline(h, c, h->request_usec);
}

static void on_connection(void *userdata, struct MHD_Connection *connection, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http *h = userdata;
	struct connection *c;

	(void)connection;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		c = *socket_context = h->accepting;
		h->accepting = NULL;
		if (c)
			DL_APPEND(h->connections, c);
		return;
	}

	c = *socket_context;
	*socket_context = NULL;
	if (!c)
		return;
	if (!c->whole && !c->dropped)
		lingerers_add(h->lingerers, c->fd, h->request_usec);
	DL_DELETE(h->connections, c);
	free(c);
}

static void run(struct http *h)
{
	MHD_run(h->mhd);
	connections_notice_ends(h->connections);
}

/* Gives @fd, which is taken over, to libmicrohttpd. */
static void endpoint_add(struct endpoint *e, int fd, const struct sockaddr *sa, socklen_t sa_size)
{
	struct http *h = e->http;
	struct connection *c;

	c = connection_new(fd, e, sa);
	if (!c) {
		close(fd);
		return;
	}
	c->deadline_usec = now_usec(h) + h->request_usec;
	connections_make_room(h->connections, c);

	h->accepting = c;
	if (MHD_add_connection(h->mhd, fd, sa, sa_size) == MHD_YES)
		return;

	/* The socket is closed; if libmicrohttpd came so far as to announce the connection, it is
	 * freed, too. */
	if (h->accepting) {
		free(c);
		h->accepting = NULL;
	}
}

static void endpoint_pause(struct endpoint *e, uint64_t until_usec)
{
	e->paused_until_usec = until_usec;
	sd_event_source_set_enabled(e->source, until_usec ? SD_EVENT_OFF : SD_EVENT_ON);
}

/* Has accept(2) failed for a client that came and went, as accept(2) has it? */
static bool is_of_client(int error)
{
	static const int errors[] = { ECONNABORTED, EINTR,	 EPERM,	      EPROTO,
				      ENETDOWN,	    ENOPROTOOPT, EHOSTDOWN,   ENONET,
				      EHOSTUNREACH, EOPNOTSUPP,	 ENETUNREACH, ETIMEDOUT };

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i] == error)
			return true;
	return false;
}

static int on_accept(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct endpoint *e = userdata;
	struct http *h = e->http;

	(void)source;
	(void)revents;

	for (unsigned int i = 0; i < ACCEPTS_PER_WAKEUP; i++) {
		struct sockaddr_storage sa;
		socklen_t sa_size = sizeof(sa);
		int client;

		client = accept4(fd, (struct sockaddr *)&sa, &sa_size,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (client >= 0) {
			endpoint_add(e, client, (struct sockaddr *)&sa, sa_size);
			continue;
		}
		if (errno == EAGAIN)
			break;
		if (is_of_client(errno))
			continue;
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			lingerers_drop(h->lingerers);
			connections_drop_slowest(h->connections);
		}
		endpoint_pause(e, now_usec(h) + ACCEPT_PAUSE_USEC);
		break;
	}
	run(h);
	return 0;
}

static int on_mhd(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct http *h = userdata;

	(void)source;
	(void)fd;
	(void)revents;

	/* The timer is set anew before each wait, and so may never come while there are events. */
	connections_drop_late(h->connections, now_usec(h));
	run(h);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct http *h = userdata;
	uint64_t now = now_usec(h);
	struct endpoint *e;

	(void)source;
	(void)usec;

	DL_FOREACH(h->endpoints, e)
	{
		if (e->paused_until_usec && e->paused_until_usec <= now)
			endpoint_pause(e, 0);
	}
	connections_drop_late(h->connections, now);
	run(h);
	return 0;
}

/* Before each wait: when will something have to be done without an event? */
static int on_prepare(sd_event_source *source, void *userdata)
{
	struct http *h = userdata;
	uint64_t next = connections_deadline(h->connections);
	MHD_UNSIGNED_LONG_LONG timeout_msec;
	const struct endpoint *e;

	(void)source;

	DL_FOREACH(h->endpoints, e)
	{
		if (e->paused_until_usec && e->paused_until_usec < next)
			next = e->paused_until_usec;
	}
	if (MHD_get_timeout(h->mhd, &timeout_msec) == MHD_YES) {
		uint64_t mhd_next = now_usec(h) + timeout_msec * USEC_PER_MSEC;

		if (mhd_next < next)
			next = mhd_next;
	}

	if (next == UINT64_MAX)
		return sd_event_source_set_enabled(h->timer, SD_EVENT_OFF);
	sd_event_source_set_time(h->timer, next);
	return sd_event_source_set_enabled(h->timer, SD_EVENT_ONESHOT);
}

static struct endpoint *endpoint_free(struct endpoint *e)
{
	struct connection *c;

	if (!e)
		return NULL;
	/* Its clients get the answers they are owed, but can ask no more. */
	DL_FOREACH(e->http->connections, c)
	{
		if (c->endpoint == e) {
			c->endpoint = NULL;
			shutdown(c->fd, SHUT_RD);
		}
	}
	sd_event_source_disable_unref(e->source);
	listener_free(e->listener);
	free(e);
	return NULL;
}

/* Takes @listener over on success. */
static int endpoint_new(struct http *h, struct listener *listener, struct endpoint **ret_endpoint)
{
	struct endpoint *e;
	int r;

	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->http = h;
	r = sd_event_add_io(h->event, &e->source, listener->fd, EPOLLIN, on_accept, e);
	if (r < 0) {
		endpoint_free(e);
		return r;
	}
	sd_event_source_set_description(e->source, "http-accept");
	e->listener = listener;
	*ret_endpoint = e;
	return 0;
}

static int endpoint_open(struct http *h, const char *address, struct endpoint **ret_endpoint)
{
	struct listener *listener;
	int r;

	r = listener_open(address, &listener);
	if (r < 0)
		return r;
	r = endpoint_new(h, listener, ret_endpoint);
	if (r < 0)
		listener_free(listener);
	return r;
}

int http_listen(struct http *h, const char *listen)
{
	struct endpoint *e;
	int r;

	r = endpoint_open(h, listen, &e);
	if (r < 0)
		return r;
	DL_APPEND(h->endpoints, e);
	return 0;
}

int http_listen_fd(struct http *h, int fd)
{
	struct listener *listener;
	struct endpoint *e;
	int r;

	r = listener_adopt(fd, &listener);
	if (r < 0)
		return r;
	r = endpoint_new(h, listener, &e);
	if (r < 0) {
		listener->fd = -1;
		listener_free(listener);
		return r;
	}
	DL_APPEND(h->endpoints, e);
	return 0;
}

static bool has_address(const struct endpoint *list, const char *address)
{
	const struct endpoint *e;

	DL_FOREACH(list, e)
	{
		if (e->listener->address && strcmp(e->listener->address, address) == 0)
			return true;
	}
	return false;
}

static bool in_list(char *const *list, const char *address)
{
	for (; *list; list++)
		if (strcmp(*list, address) == 0)
			return true;
	return false;
}

int http_relisten(struct http *h, char *const *listen, const char **ret_failed)
{
	struct endpoint *opened = NULL, *e, *next;

	for (char *const *l = listen; *l; l++) {
		int r;

		if (has_address(h->endpoints, *l) || has_address(opened, *l))
			continue;
		r = endpoint_open(h, *l, &e);
		if (r < 0) {
			DL_FOREACH_SAFE(opened, e, next)
			{
				endpoint_free(e);
			}
			*ret_failed = *l;
			return r;
		}
		DL_APPEND(opened, e);
	}

	DL_FOREACH_SAFE(h->endpoints, e, next)
	{
		if (!e->listener->address || in_list(listen, e->listener->address))
			continue;
		DL_DELETE(h->endpoints, e);
		endpoint_free(e);
	}
	DL_CONCAT(h->endpoints, opened);
	return 0;
}

int http_new(sd_event *event, snapshot_get_fn get, void *userdata, struct http **ret_http)
{
	_cleanup_(http_freep) struct http *h = NULL;
	const union MHD_DaemonInfo *info;
	int r;

	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->event = sd_event_ref(event);
	r = lingerers_new(event, &h->lingerers);
	if (r < 0)
		return r;
	r = http_reply_new(get, userdata, &h->reply);
	if (r < 0)
		return r;
	http_set_timeouts(h, HTTP_REQUEST_USEC, HTTP_RESPONSE_USEC);

	h->mhd = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
				  on_request, h, MHD_OPTION_NOTIFY_COMPLETED, on_request_completed,
				  h, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
				  MHD_OPTION_URI_LOG_CALLBACK, on_target, h,
				  MHD_OPTION_UNESCAPE_CALLBACK, http_request_unescape, NULL,
				  MHD_OPTION_CONNECTION_LIMIT, (unsigned int)MHD_CONNECTIONS_MAX,
				  MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				  (size_t)CONNECTION_MEMORY_BYTES, MHD_OPTION_END);
	if (!h->mhd)
		return errno > 0 ? -errno : -ENOMEM;
	info = MHD_get_daemon_info(h->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info)
		return -EOPNOTSUPP;

	r = sd_event_add_io(event, &h->io, info->epoll_fd, EPOLLIN, on_mhd, h);
	if (r < 0)
		return r;
	r = sd_event_add_time(event, &h->timer, CLOCK_MONOTONIC, 0, TIMER_ACCURACY_USEC, on_timer,
			      h);
	if (r < 0)
		return r;
	r = sd_event_source_set_enabled(h->timer, SD_EVENT_OFF);
	if (r < 0)
		return r;
	r = sd_event_source_set_prepare(h->io, on_prepare);
	if (r < 0)
		return r;
	sd_event_source_set_description(h->io, "http");
	sd_event_source_set_description(h->timer, "http-timer");

	*ret_http = h;
	h = NULL;
	return 0;
}

struct http *http_free(struct http *h)
{
	struct endpoint *e, *next;

	if (!h)
		return NULL;
	DL_FOREACH_SAFE(h->endpoints, e, next)
	{
		endpoint_free(e);
	}
	sd_event_source_disable_unref(h->timer);
	sd_event_source_disable_unref(h->io);
	/* Closes the connections, which leave the list. */
	if (h->mhd)
		MHD_stop_daemon(h->mhd);
	lingerers_free(h->lingerers);
	http_reply_free(h->reply);
	sd_event_unref(h->event);
	free(h);
	return NULL;
}

void http_set_ready(struct http *h, bool ready)
{
	http_reply_set_ready(h->reply, ready);
}

void http_set_timeouts(struct http *h, uint64_t request_usec, uint64_t response_usec)
{
	h->request_usec = request_usec;
	h->response_usec = response_usec;
}
