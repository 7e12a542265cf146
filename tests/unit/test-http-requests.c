// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests as they may and may not be: methods, targets, heads, bodies, and many on a connection.
 */
#include "http-server.h"

#define HOST	"Host: x\r\n"
#define HEALTHY "pipewatchd is healthy.\n"
#define NOTHING "There is nothing here. Try /, /metrics, /-/healthy or /-/ready.\n"
#define NO_PATH "What is asked for has no path.\n"

/* Everything but the body and the date. */
static char *head_of(const struct response *r)
{
	char *head = strndup(r->text, r->body - r->text), *date, *end;

	assert_non_null(head);
	date = strstr(head, "\r\nDate: ");
	assert_non_null(date);
	end = strstr(date + 2, "\r\n");
	assert_non_null(end);
	memmove(date, end, strlen(end) + 1);
	return head;
}

static void test_every_path_with_every_method(void **state)
{
	static const struct {
		const char *path;
		int status;
	} paths[] = { { "/metrics", 200 },   { "/", 200 },	    { "/-/healthy", 200 },
		      { "/-/ready", 503 },   { "/nowhere", 404 },   { "/metrics?a=b&c", 200 },
		      { "/metrics/", 404 },  { "/-/", 404 },	    { "//", 404 },
		      { "/%6detrics", 200 }, { "/metrics%00", 404 } };
	static const char *const others[] = { "POST",  "PUT",	"DELETE", "OPTIONS",
					      "TRACE", "PATCH", "get",	  "G" };
	struct server *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_(freep) char *line = NULL, *head = NULL, *head_of_get = NULL;

		assert_true(asprintf(&line, "GET %s", paths[i].path) > 0);
		RESPONSE get = ask(s, line, "");

		assert_int_equal(get.status, paths[i].status);
		assert_true(get.body_size > 0);
		freep(&line);
		assert_true(asprintf(&line, "HEAD %s", paths[i].path) > 0);
		RESPONSE only_head = ask(s, line, "");

		assert_int_equal(only_head.body_size, 0);
		head = head_of(&only_head);
		head_of_get = head_of(&get);
		assert_string_equal(head, head_of_get);

		for (size_t j = 0; j < ARRAY_SIZE(others); j++) {
			freep(&line);
			assert_true(asprintf(&line, "%s %s", others[j], paths[i].path) > 0);
			RESPONSE other = ask(s, line, "");

			assert_int_equal(other.status, 405);
			assert_header(&other, "Allow: GET, HEAD");
			assert_string_equal(other.body, "Only GET and HEAD are understood here.\n");
		}
	}
}

static void test_heads(void **state)
{
	static const struct {
		const char *text;
		size_t size; /* 0: up to the NUL */
		int status;
		const char *body;
	} requests[] = {
		{ "GET /-/healthy HTTP/1.0\r\n\r\n", 0, 200, HEALTHY },
		{ "GET /-/healthy HTTP/1.0\n\n", 0, 200, HEALTHY },
		{ "\r\n\r\nGET /-/healthy HTTP/1.0\r\n\r\n", 0, 200, HEALTHY },
		{ "GET /-/healthy HTTP/1.1\r\nHost:\r\n\r\n", 0, 200, HEALTHY },
		/* hosts */
		{ "GET /-/healthy HTTP/1.1\r\n\r\n", 0, 400, "There is no Host header.\n" },
		{ "GET /-/healthy HTTP/1.1\r\nHosts: x\r\n\r\n", 0, 400,
		  "There is no Host header.\n" },
		{ "GET /-/healthy HTTP/1.1\r\n" HOST "host: x\r\n\r\n", 0, 400,
		  "There is more than one Host header.\n" },
		{ "GET /-/healthy HTTP/1.0\r\n" HOST HOST "\r\n", 0, 400,
		  "There is more than one Host header.\n" },
		/* names of headers */
		{ "GET /-/healthy HTTP/1.1\r\nHost : x\r\n\r\n", 0, 400,
		  "A header has a name that is none.\n" },
		{ "GET /-/healthy HTTP/1.1\r\n: x\r\n" HOST "\r\n", 0, 400,
		  "A header has a name that is none.\n" },
		{ "GET /-/healthy HTTP/1.1\r\n" HOST "a\x80: x\r\n\r\n", 0, 400,
		  "A header has a name that is none.\n" },
		/* lengths */
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 0,
		  400, "There is more than one header about the length of the body.\n" },
		{ "GET / HTTP/1.1\r\n" HOST
		  "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
		  0, 400, "There is more than one header about the length of the body.\n" },
		/* targets */
		{ "GET http://x/-/healthy HTTP/1.0\r\n\r\n", 0, 200, HEALTHY },
		{ "GET HTTPS://x:80/-/healthy?a=/ HTTP/1.1\r\n" HOST "\r\n", 0, 200, HEALTHY },
		{ "GET http://x/nowhere HTTP/1.0\r\n\r\n", 0, 404, NOTHING },
		{ "GET http:///-/healthy HTTP/1.0\r\n\r\n", 0, 400, NO_PATH },
		{ "GET ftp://x/-/healthy HTTP/1.0\r\n\r\n", 0, 400, NO_PATH },
		{ "GET http:/-/healthy HTTP/1.0\r\n\r\n", 0, 400, NO_PATH },
		{ "GET -/healthy HTTP/1.0\r\n\r\n", 0, 400, NO_PATH },
		{ "GET ?a HTTP/1.0\r\n\r\n", 0, 400, NO_PATH },
		{ "GET * HTTP/1.0\r\n\r\n", 0, 400, NO_PATH },
		{ "OPTIONS * HTTP/1.0\r\n\r\n", 0, 405,
		  "Only GET and HEAD are understood here.\n" },
		{ "GET /-/heal thy HTTP/1.0\r\n\r\n", 0, 404, NOTHING },
#define NUL(text) text, sizeof(text) - 1
		{ NUL("GET /-/healthy\0 HTTP/1.0\r\n\r\n"), 400,
		  "There is a NUL in the first line.\n" },
		{ NUL("GET /-/healthy\0HTTP/1.0 HTTP/1.0\r\n\r\n"), 400,
		  "There is a NUL in the first line.\n" },
		{ NUL("GET /-/healthy?a=\0 HTTP/1.0\r\n\r\n"), 400,
		  "There is a NUL in the first line.\n" },
		{ "GET /-/healthy%00 HTTP/1.0\r\n\r\n", 0, 404, NOTHING },
		{ "GET /-/healthy?a=%00 HTTP/1.0\r\n\r\n", 0, 200, HEALTHY },
	};
	struct server *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		size_t size = requests[i].size ?: strlen(requests[i].text);
		int fd = connect_tcp(s->port);

		assert_int_equal(send(fd, requests[i].text, size, MSG_NOSIGNAL), size);
		assert_int_equal(shutdown(fd, SHUT_WR), 0);
		{
			RESPONSE r = receive(s, fd);

			if (r.status != requests[i].status || !r.body ||
			    strcmp(r.body, requests[i].body) != 0)
				fail_msg("%s\ngets:\n%s", requests[i].text, r.text);
			if (r.status == 400) {
				assert_header(&r, "Content-Type: text/plain; charset=utf-8");
				assert_header(&r, "Connection: close");
			}
		}
	}
}

/* What fits into a connection's memory is taken, however it is made up. */
static void test_great_heads(void **state)
{
	static const struct {
		size_t n_headers, value_bytes;
		int status;
	} heads[] = { { 100, 1, 200 },	{ 100, 80, 200 },  { 1, 12000, 200 }, { 300, 1, 431 },
		      { 1000, 1, 431 }, { 10, 4000, 431 }, { 1, 200000, 431 } };
	struct server *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		_cleanup_(freep) char *headers = NULL, *value = NULL;
		size_t size;
		FILE *f = open_memstream(&headers, &size);

		value = malloc(heads[i].value_bytes + 1);
		assert_true(f && value);
		memset(value, 'v', heads[i].value_bytes);
		value[heads[i].value_bytes] = '\0';
		for (size_t j = 0; j < heads[i].n_headers; j++)
			fprintf(f, "X-%zu: %s\r\n", j, value);
		fclose(f);
		RESPONSE r = ask(s, "GET /-/healthy", headers);

		assert_int_equal(r.status, heads[i].status);
	}
}

/* The answer comes instead of a word that the body is wanted. */
static void test_nobody_is_asked_for_a_body(void **state)
{
	struct server *s = *state;

	RESPONSE r = ask_fd(s, connect_tcp(s->port),
			    "POST / HTTP/1.1\r\n" HOST
			    "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n");
	assert_int_equal(r.status, 405);
	assert_header(&r, "Connection: close");
	assert_string_equal(r.body, "Only GET and HEAD are understood here.\n");
}

/* Reads one answer of a connection that goes on. */
static struct response receive_one(struct server *s, int fd)
{
	uint64_t end = now_usec() + PATIENCE_USEC;
	struct response r = { .text = calloc(1, 1 << 20) };
	const char *length;

	assert_non_null(r.text);
	for (;;) {
		ssize_t n = recv(fd, r.text + r.size, (1 << 20) - 1 - r.size, 0);

		if (n < 0) {
			assert_int_equal(errno, EAGAIN);
			assert_true(now_usec() < end);
			turn(s);
			continue;
		}
		assert_true(n > 0);
		r.size += n;
		r.body = strstr(r.text, "\r\n\r\n");
		if (!r.body)
			continue;
		r.body += 4;
		r.body_size = r.size - (r.body - r.text);
		length = strstr(r.text, "\r\nContent-Length: ");
		assert_non_null(length);
		if (r.body_size < strtoul(length + strlen("\r\nContent-Length: "), NULL, 10))
			continue;
		assert_int_equal(sscanf(r.text, "HTTP/1.1 %d", &r.status), 1);
		return r;
	}
}

static void use_again(struct server *s, int fd, const char *version, const char *headers)
{
	_cleanup_(freep) char *request = NULL;

	assert_true(asprintf(&request, "GET /-/healthy HTTP/%s\r\n%s\r\n", version, headers) > 0);
	for (size_t i = 0; i < 50; i++) {
		send_all(fd, request);
		RESPONSE r = receive_one(s, fd);

		assert_int_equal(r.status, 200);
		assert_string_equal(r.body, HEALTHY);
		if (strcmp(version, "1.0") == 0)
			assert_header(&r, "Connection: Keep-Alive");
		else
			assert_no_header(&r, "Connection");
	}
}

static void test_a_connection_is_used_again(void **state)
{
	struct server *s = *state;
	_cleanup_(freep) char *directory = make_directory(), *path = NULL, *address = NULL;
	unsigned int before;
	int fds[3];

	assert_true(asprintf(&path, "%s/s", directory) > 0);
	assert_true(asprintf(&address, "unix:%s", path) > 0);
	assert_int_equal(http_listen(s->http, address), 0);
	before = count_fds();

	fds[0] = connect_tcp(s->port);
	fds[1] = connect_unix(path);
	fds[2] = connect_tcp(s->port);
	for (size_t round = 0; round < 3; round++) {
		use_again(s, fds[0], "1.1", HOST);
		use_again(s, fds[1], "1.1", HOST);
		use_again(s, fds[2], "1.0", "Connection: keep-alive\r\n");
	}
	assert_int_equal(count_fds(), before + 2 * ARRAY_SIZE(fds));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		/* Which ends it. */
		RESPONSE r = ask_fd(s, fds[i], "GET /-/healthy HTTP/1.0\r\n\r\n");

		assert_int_equal(r.status, 200);
		assert_header(&r, "Connection: close");
	}
	await_fds(s, before);
	http_free(s->http);
	s->http = NULL;
	assert_int_equal(rmdir(directory), 0);
}

/* Each gets its own answer, in the order of the requests, also after some that are refused. */
static void test_a_hundred_at_once(void **state)
{
	static const struct {
		const char *request, *status;
		bool has_body;
	} kinds[] = {
		{ "GET /-/healthy HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 OK\r\n", true },
		{ "HEAD /metrics HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 OK\r\n", false },
		{ "GET /metrics HTTP/1.1\r\n" HOST "Accept-Encoding: gzip\r\n\r\n",
		  "HTTP/1.1 200 OK\r\n", true },
		{ "HEAD /nowhere HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 404 Not Found\r\n", false },
		{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc",
		  "HTTP/1.1 405 Method Not Allowed\r\n", true },
		{ "GET /-/ready HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 503 Service Unavailable\r\n",
		  true },
		{ "GET * HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 400 Bad Request\r\n", true },
	};
	struct server *s = *state;
	char text[20000] = "";
	const char *rest;
	int fd = connect_tcp(s->port);

	for (size_t i = 0; i < 100; i++)
		strcat(text, kinds[i % ARRAY_SIZE(kinds)].request);
	send_all(fd, text);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	RESPONSE r = receive(s, fd);

	rest = r.text;
	for (size_t i = 0; i < 100; i++) {
		const char *status = kinds[i % ARRAY_SIZE(kinds)].status, *length, *body;

		if (strncmp(rest, status, strlen(status)) != 0)
			fail_msg("answer %zu is not %s but:\n%s", i, status, rest);
		body = strstr(rest, "\r\n\r\n");
		length = strstr(rest, "\r\nContent-Length: ");
		assert_true(body && length && length < body);
		rest = body + 4;
		if (kinds[i % ARRAY_SIZE(kinds)].has_body)
			rest += strtoul(length + strlen("\r\nContent-Length: "), NULL, 10);
	}
	assert_ptr_equal(rest, r.text + r.size);
}

static void test_compressed_when_asked(void **state)
{
	static const struct {
		const char *headers;
		bool gzip;
	} cases[] = {
		{ "", false },
		{ "Accept-Encoding:\r\n", false },
		{ "Accept-Encoding: gzip\r\n", true },
		{ "accept-encoding: GZIP\r\n", true },
		{ "Accept-Encoding: gzip;q=0\r\n", false },
		{ "Accept-Encoding: gzip;q=0.000\r\n", false },
		{ "Accept-Encoding: gzip ; q=0.001\r\n", true },
		{ "Accept-Encoding: gzip;q=1.5\r\n", true },
		{ "Accept-Encoding: gzip;q=x\r\n", false },
		{ "Accept-Encoding: *\r\n", true },
		{ "Accept-Encoding: *;q=0\r\n", false },
		{ "Accept-Encoding: *, gzip;q=0\r\n", false },
		{ "Accept-Encoding: *;q=0, gzip\r\n", true },
		{ "Accept-Encoding: identity\r\n", false },
		{ "Accept-Encoding: deflate, br, zstd\r\n", false },
		{ "Accept-Encoding: deflate, gzip;q=1.0, *;q=0.5\r\n", true },
		{ "Accept-Encoding: gzipped\r\n", false },
		{ "Accept-Encoding: ,,, gzip ,\r\n", true },
		{ "Accept-Encoding: \"gzip\"\r\n", false },
	};
	struct server *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		RESPONSE r = ask(s, "GET /metrics", cases[i].headers);

		assert_int_equal(r.status, 200);
		if (!strstr(r.text, "\r\nContent-Encoding: gzip\r\n") == cases[i].gzip)
			fail_msg("%s gets:\n%.300s", cases[i].headers, r.text);
		assert_header(&r, "Vary: Accept, Accept-Encoding");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVER_TEST(test_every_path_with_every_method),
		SERVER_TEST(test_heads),
		SERVER_TEST(test_great_heads),
		SERVER_TEST(test_nobody_is_asked_for_a_body),
		SERVER_TEST(test_a_connection_is_used_again),
		SERVER_TEST(test_a_hundred_at_once),
		SERVER_TEST(test_compressed_when_asked),
	};

	return cmocka_run_group_tests_name("http-requests", tests, NULL, NULL);
}
