// SPDX-License-Identifier: GPL-2.0-or-later
/* What is answered to which request. */
#include <zlib.h>

#include "http-server.h"

static void test_metrics(void **state)
{
	struct server *s = *state;
	RESPONSE r = ask(s, "GET /metrics?name=x", "");
	RESPONSE om = ask(s, "GET /metrics",
			  "Accept: application/openmetrics-text;version=1.0.0,*/*;q=0.1\r\n");

	assert_int_equal(r.status, 200);
	assert_header(&r, "Content-Type: text/plain; version=0.0.4; charset=utf-8");
	assert_header(&r, "Vary: Accept, Accept-Encoding");
	assert_no_header(&r, "Content-Encoding");
	assert_contains(
		&r,
		"\npipewatch_kernel_info{release=\"1.2.3-test\",machine=\"\",clocksource=\"\"} 1\n");
	assert_contains(
		&r,
		"\npipewatch_pipe_reads_total{unit=\"\",comm=\"comm2\",pipe=\"anonymous\"} 1\n");
	assert_contains(&r, "\nprocess_threads 1\n");
	assert_null(strstr(r.body, "# EOF"));

	assert_int_equal(om.status, 200);
	assert_header(&om,
		      "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8");
	assert_string_equal(om.text + om.size - 6, "# EOF\n");
}

static void test_page(void **state)
{
	struct server *s = *state;
	RESPONSE r = ask(s, "GET /", "");

	assert_int_equal(r.status, 200);
	assert_header(&r, "Content-Type: text/html; charset=utf-8");
	assert_header(&r, "Vary: Accept-Encoding");
	assert_contains(&r, "<a href=\"/metrics\">");
	assert_contains(&r, "1.2.3-test");
	assert_contains(&r, "comm2");
}

static void test_health_and_readiness(void **state)
{
	struct server *s = *state;
	RESPONSE healthy = ask(s, "GET /-/healthy", "");
	RESPONSE before = ask(s, "GET /-/ready", "");

	assert_int_equal(healthy.status, 200);
	assert_int_equal(before.status, 503);
	assert_string_equal(before.body, "pipewatchd is not ready yet.\n");
	http_set_ready(s->http, true);
	{
		RESPONSE r = ask(s, "GET /-/ready", "");

		assert_int_equal(r.status, 200);
		assert_string_equal(r.body, "pipewatchd is ready.\n");
	}
	http_set_ready(s->http, false);
	{
		RESPONSE r = ask(s, "GET /-/ready", "");

		assert_int_equal(r.status, 503);
	}
	assert_int_equal(s->n_gets, 0);
}

static void test_head(void **state)
{
	struct server *s = *state;
	static const char *const paths[] = { "/metrics", "/", "/-/healthy", "/nowhere" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_(freep) char *get = NULL, *head = NULL, *length = NULL;

		assert_true(asprintf(&get, "GET %s", paths[i]) > 0);
		assert_true(asprintf(&head, "HEAD %s", paths[i]) > 0);
		RESPONSE full = ask(s, get, "");
		RESPONSE r = ask(s, head, "");

		assert_true(full.body_size > 0);
		assert_true(asprintf(&length, "Content-Length: %zu", full.body_size) > 0);
		assert_int_equal(r.status, full.status);
		assert_header(&r, length);
		assert_int_equal(r.body_size, 0);
	}
}

static void test_unknown_paths(void **state)
{
	struct server *s = *state;
	static const char *const lines[] = { "GET /metrics/", "GET /Metrics", "GET /-/", "GET //",
					     "GET /%2e%2e/etc/passwd" };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		RESPONSE r = ask(s, lines[i], "");

		assert_int_equal(r.status, 404);
		assert_header(&r, "Content-Type: text/plain; charset=utf-8");
		assert_string_equal(
			r.body,
			"There is nothing here. Try /, /metrics, /-/healthy or /-/ready.\n");
	}
}

static void test_other_methods(void **state)
{
	struct server *s = *state;
	static const char *const lines[] = { "POST /metrics", "PUT /",		"DELETE /metrics",
					     "OPTIONS /",     "PATCH /nowhere", "get /metrics",
					     "BREW /pot",     "TRACE /" };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		RESPONSE r = ask(s, lines[i], "Content-Length: 0\r\n");

		assert_int_equal(r.status, 405);
		assert_header(&r, "Allow: GET, HEAD");
	}
	assert_int_equal(s->n_gets, 0);
}

static void test_request_bodies(void **state)
{
	struct server *s = *state;

	{ /* a short one is read and ignored, and the connection goes on */
		RESPONSE r = ask_fd(
			s, connect_tcp(s->port),
			"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\nhello world"
			"GET /-/healthy HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
			"Connection: close\r\n\r\nabc");

		assert_int_equal(r.status, 405);
		assert_contains(&r, "pipewatchd is healthy.\n");
	}
	{ /* a long one is not waited for */
		RESPONSE r =
			ask_fd(s, connect_tcp(s->port),
			       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n");

		assert_int_equal(r.status, 405);
	}
	{
		RESPONSE r = ask_fd(
			s, connect_tcp(s->port),
			"GET /-/healthy HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");

		assert_int_equal(r.status, 200);
		assert_header(&r, "Connection: close");
	}
	assert_served(s, connect_tcp(s->port));
}

static void test_malformed_requests(void **state)
{
	struct server *s = *state;
	static const struct {
		const char *text;
		int status; /* 0: none until its time is over */
	} requests[] = {
		{ "\r\n\r\n\r\n \r\n", 0 },
		{ "GET\r\n\r\n", 0 },
		{ "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 0 },
		{ "GET /metrics\r\n\r\n", 400 },
		{ "GET /metrics HTTP/9.9\r\n\r\n", 505 },
		{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505 },
		{ "GET /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400 },
		{ "GET /metrics HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n", 413 },
		{ "GET /metrics HTTP/1.1\r\n: : :\r\n\r\n", 400 },
		{ "GET /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
		  200 },
	};

	/* Whatever the answer is, the next one is served. */
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		if (requests[i].status == 0)
			http_set_timeouts(s->http, 100000, 100000);
		RESPONSE r = ask_fd(s, connect_tcp(s->port), requests[i].text);

		assert_int_equal(r.status, requests[i].status);
		set_endless(s);
		assert_served(s, connect_tcp(s->port));
	}
}

static void test_oversized_headers(void **state)
{
	struct server *s = *state;
	static char header[20000], path[20000];

	memset(header, 'x', sizeof(header) - 1);
	memcpy(header, "X: ", 3);
	strcpy(header + sizeof(header) - 3, "\r\n");
	memset(path, 'x', sizeof(path) - 1);
	memcpy(path, "GET /", 5);
	{
		RESPONSE r = ask(s, "GET /", header);

		assert_int_equal(r.status, 431);
	}
	{
		RESPONSE r = ask(s, path, "");

		assert_int_equal(r.status, 414);
	}
	assert_served(s, connect_tcp(s->port));
}

static void test_keep_alive_and_pipelining(void **state)
{
	struct server *s = *state;
	RESPONSE r = ask_fd(s, connect_tcp(s->port),
			    "GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n"
			    "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n"
			    "GET /-/ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");

	assert_int_equal(r.status, 200);
	assert_contains(&r, "pipewatchd is healthy.\nHTTP/1.1 404");
	assert_contains(&r, "/-/ready.\nHTTP/1.1 503");
}

static void test_gzip(void **state)
{
	struct server *s = *state;
	static char text[1 << 20];
	z_stream z = { 0 };
	RESPONSE plain = ask(s, "GET /metrics", "Accept-Encoding: identity, gzip;q=0\r\n");
	RESPONSE r = ask(s, "GET /metrics", "Accept-Encoding: deflate, gzip\r\n");
	const char *marker;

	assert_no_header(&plain, "Content-Encoding");
	assert_int_equal(r.status, 200);
	assert_header(&r, "Content-Encoding: gzip");
	assert_header(&r, "Vary: Accept, Accept-Encoding");
	assert_header(&r, "Content-Type: text/plain; version=0.0.4; charset=utf-8");
	assert_true(r.body_size < plain.body_size / 2);

	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_in = (unsigned char *)r.body;
	z.avail_in = r.body_size;
	z.next_out = (unsigned char *)text;
	z.avail_out = sizeof(text);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	inflateEnd(&z);

	/* Up to the figures of the process itself, which have moved on. */
	marker = strstr(plain.body, "# HELP process_");
	assert_non_null(marker);
	assert_memory_equal(text, plain.body, marker - plain.body);
}

static void test_rendered_once_per_snapshot(void **state)
{
	/* In each format, compressed or not. */
	static const char *const headers[] = { "", "Accept-Encoding: gzip\r\n",
					       "Accept: application/openmetrics-text\r\n",
					       ("Accept: application/openmetrics-text\r\n"
						"Accept-Encoding: gzip\r\n") };
	struct server *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		RESPONSE first = ask(s, "GET /metrics", headers[i]);

		/* Were it rendered again, the figures of the process would show it. */
		for (uint64_t end = now_usec() + 20000; now_usec() < end;)
			;
		{
			RESPONSE again = ask(s, "GET /metrics", headers[i]);

			assert_int_equal(again.status, 200);
			assert_int_equal(again.body_size, first.body_size);
			assert_memory_equal(again.body, first.body, first.body_size);
		}
	}
	assert_int_equal(s->n_gets, 2 * ARRAY_SIZE(headers));

	snapshot_unref(s->snapshot);
	s->snapshot = make_snapshot("4.5.6-next", 1);
	{
		RESPONSE next = ask(s, "GET /metrics", "");
		RESPONSE page = ask(s, "GET /", "");

		assert_contains(&next, "4.5.6-next");
		assert_contains(&page, "4.5.6-next");
		assert_null(strstr(next.body, "1.2.3-test"));
	}
	assert_int_equal(s->snapshot->n_refs, 2);
}

static void test_failing_snapshot(void **state)
{
	struct server *s = *state;

	s->get_error = -ENOMEM;
	{
		RESPONSE r = ask(s, "GET /metrics", "");
		RESPONSE page = ask(s, "GET /", "");

		assert_int_equal(r.status, 503);
		assert_string_equal(
			r.body, "The figures could not be collected: Cannot allocate memory.\n");
		assert_int_equal(page.status, 503);
	}
	s->get_error = 0;
	{
		RESPONSE r = ask(s, "GET /metrics", "");

		assert_int_equal(r.status, 200);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVER_TEST(test_metrics),
		SERVER_TEST(test_page),
		SERVER_TEST(test_health_and_readiness),
		SERVER_TEST(test_head),
		SERVER_TEST(test_unknown_paths),
		SERVER_TEST(test_other_methods),
		SERVER_TEST(test_request_bodies),
		SERVER_TEST(test_malformed_requests),
		SERVER_TEST(test_oversized_headers),
		SERVER_TEST(test_keep_alive_and_pipelining),
		SERVER_TEST(test_gzip),
		SERVER_TEST(test_rendered_once_per_snapshot),
		SERVER_TEST(test_failing_snapshot),
	};

	return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
