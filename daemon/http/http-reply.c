// SPDX-License-Identifier: GPL-2.0-or-later
#include "http-reply.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "accept.h"
#include "body.h"
#include "exposition.h"
#include "pipewatch/util.h"

/* Each body is made once for a snapshot, when somebody first asks for it. */
struct cache {
	struct snapshot *snapshot;
	struct MHD_Response *responses[BODY_KINDS][2]; /* plain, gzip */
};

struct http_reply {
	snapshot_get_fn get;
	void *userdata;
	bool ready;
	struct cache cache;
};

static void cache_clear(struct cache *cache)
{
	for (size_t kind = 0; kind < BODY_KINDS; kind++) {
		for (size_t gzip = 0; gzip < 2; gzip++) {
			if (cache->responses[kind][gzip])
				MHD_destroy_response(cache->responses[kind][gzip]);
			cache->responses[kind][gzip] = NULL;
		}
	}
	cache->snapshot = snapshot_unref(cache->snapshot);
}

static bool add_headers(struct MHD_Response *response, const char *const (*headers)[2], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (headers[i][1] &&
		    MHD_add_response_header(response, headers[i][0], headers[i][1]) != MHD_YES)
			return false;
	return true;
}

/* A response that takes @data over, also on failure (NULL). */
static struct MHD_Response *make_response(void *data, size_t size, const char *const (*headers)[2],
					  size_t n_headers)
{
	struct MHD_Response *response;

	response = MHD_create_response_from_buffer(size, data, MHD_RESPMEM_MUST_FREE);
	if (!response) {
		free(data);
		return NULL;
	}
	if (!add_headers(response, headers, n_headers)) {
		MHD_destroy_response(response);
		return NULL;
	}
	return response;
}

static int make_body_response(const struct snapshot *s, enum body_kind kind, bool gzip,
			      struct MHD_Response **ret_response)
{
	const bool page = kind == BODY_PAGE;
	const char *const headers[][2] = {
		{ MHD_HTTP_HEADER_CONTENT_TYPE, body_content_type(kind) },
		{ MHD_HTTP_HEADER_VARY, page ? "Accept-Encoding" : "Accept, Accept-Encoding" },
		{ MHD_HTTP_HEADER_CONTENT_ENCODING, gzip ? "gzip" : NULL },
		{ MHD_HTTP_HEADER_CACHE_CONTROL, "no-store" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Content-Security-Policy",
		  page ? "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
		       : NULL },
	};
	struct MHD_Response *response;
	void *data;
	size_t size;
	int r;

	r = body_render(s, kind, gzip, &data, &size);
	if (r < 0)
		return r;
	response = make_response(data, size, headers, ARRAY_SIZE(headers));
	if (!response)
		return -ENOMEM;
	*ret_response = response;
	return 0;
}

/* A short answer in plain text. MHD_NO makes libmicrohttpd close the connection. */
static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned int status,
				 const char *allow, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned int status,
				 const char *allow, const char *format, ...)
{
	const char *const headers[][2] = {
		{ MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; charset=utf-8" },
		{ MHD_HTTP_HEADER_CACHE_CONTROL, "no-store" },
		{ "X-Content-Type-Options", "nosniff" },
		{ MHD_HTTP_HEADER_ALLOW, allow },
	};
	struct MHD_Response *response;
	enum MHD_Result result;
	char *text;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vasprintf(&text, format, ap);
	va_end(ap);
	if (n < 0)
		return MHD_NO;
	response = make_response(text, n, headers, ARRAY_SIZE(headers));
	if (!response)
		return MHD_NO;
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static const char *request_header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result send_body(struct http_reply *reply, struct MHD_Connection *connection,
				 enum body_kind kind)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct MHD_Response **cached;
	bool gzip;
	int r;

	r = reply->get(reply->userdata, &(struct snapshot_wish){}, &s);
	if (r < 0)
		return send_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, NULL,
				 "The figures could not be collected: %s.\n", strerror(-r));

	/* The reference keeps another snapshot from getting the same address. */
	if (s != reply->cache.snapshot) {
		cache_clear(&reply->cache);
		reply->cache.snapshot = snapshot_ref(s);
	}

	gzip = accept_encoding(request_header(connection, MHD_HTTP_HEADER_ACCEPT_ENCODING), "gzip");
	cached = &reply->cache.responses[kind][gzip];
	if (!*cached) {
		r = make_body_response(s, kind, gzip, cached);
		if (r < 0)
			return send_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, NULL,
					 "The figures could not be written down: %s.\n",
					 strerror(-r));
	}
	return MHD_queue_response(connection, MHD_HTTP_OK, *cached);
}

enum MHD_Result http_reply_refuse(struct MHD_Connection *connection, const char *why)
{
	return send_text(connection, MHD_HTTP_BAD_REQUEST, NULL, "%s\n", why);
}

enum MHD_Result http_reply_send(struct http_reply *reply, struct MHD_Connection *connection,
				const char *path, const char *method)
{
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return send_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET, HEAD",
				 "Only GET and HEAD are understood here.\n");
	if (!path)
		return http_reply_refuse(connection, "What is asked for has no path.");

	if (strcmp(path, "/metrics") == 0) {
		const char *accept = request_header(connection, MHD_HTTP_HEADER_ACCEPT);
		bool openmetrics = exposition_negotiate(accept) == EXPOSITION_OPENMETRICS;

		return send_body(reply, connection, openmetrics ? BODY_OPENMETRICS : BODY_TEXT);
	}
	if (strcmp(path, "/") == 0)
		return send_body(reply, connection, BODY_PAGE);
	if (strcmp(path, "/-/healthy") == 0)
		return send_text(connection, MHD_HTTP_OK, NULL, "pipewatchd is healthy.\n");
	if (strcmp(path, "/-/ready") == 0) {
		if (!reply->ready)
			return send_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, NULL,
					 "pipewatchd is not ready yet.\n");
		return send_text(connection, MHD_HTTP_OK, NULL, "pipewatchd is ready.\n");
	}
	return send_text(connection, MHD_HTTP_NOT_FOUND, NULL,
			 "There is nothing here. Try /, /metrics, /-/healthy or /-/ready.\n");
}

int http_reply_new(snapshot_get_fn get, void *userdata, struct http_reply **ret_reply)
{
	struct http_reply *reply;

	reply = calloc(1, sizeof(*reply));
	if (!reply)
		return -ENOMEM;
	reply->get = get;
	reply->userdata = userdata;
	*ret_reply = reply;
	return 0;
}

struct http_reply *http_reply_free(struct http_reply *reply)
{
	if (!reply)
		return NULL;
	cache_clear(&reply->cache);
	free(reply);
	return NULL;
}

void http_reply_set_ready(struct http_reply *reply, bool ready)
{
	reply->ready = ready;
}
