/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A real server and its clients in one process: the event loop runs whenever a client waits.
 */
#ifndef PIPEWATCH_TEST_HTTP_SERVER_H
#define PIPEWATCH_TEST_HTTP_SERVER_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <cmocka.h>

#include "http.h"
#include "pipewatch/util.h"

#define PATIENCE_USEC UINT64_C(60000000)
#define STEP_USEC     2000

/* For clients that may take as long as they like: who waits for it runs out of patience. */
#define HOUR_USEC UINT64_C(3600000000)

struct server {
	sd_event *event;
	struct http *http;
	struct snapshot *snapshot;
	int get_error;
	unsigned int n_gets;
	uint16_t port;
};

static inline uint64_t now_usec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * UINT64_C(1000000) + ts.tv_nsec / 1000;
}

static inline int get_snapshot(void *userdata, const struct snapshot_wish *wish,
			       struct snapshot **ret_snapshot)
{
	struct server *s = userdata;

	/* What HTTP serves is of groups. */
	assert_int_equal(wish->n_processes, 0);
	assert_int_equal(wish->pid, 0);
	s->n_gets++;
	if (s->get_error < 0)
		return s->get_error;
	*ret_snapshot = snapshot_ref(s->snapshot);
	return 0;
}

/* A snapshot that can be told from others by its release, with @n_groups groups to make it long. */
static inline struct snapshot *make_snapshot(const char *release, size_t n_groups)
{
	struct snapshot *s = snapshot_new();

	assert_non_null(s);
	s->kernel_release = snapshot_string(s, release);
	s->counting = true;
	for (size_t i = 0; i < n_groups; i++) {
		struct snapshot_group *g = snapshot_add_group(s);
		char comm[32];

		snprintf(comm, sizeof(comm), "comm%zu", i);
		g->comm = snapshot_string(s, comm);
		g->counts[PIPE_ANONYMOUS].reads = 1;
	}
	snapshot_finish(s);
	return s;
}

static inline int listen_on_loopback(uint16_t *ret_port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(fd, 1024), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &size), 0);
	*ret_port = ntohs(sa.sin_port);
	return fd;
}

/* Times that no test lives to see: what ends, ends for another reason, on however busy a machine.
 */
static inline void set_endless(struct server *s)
{
	http_set_timeouts(s->http, HOUR_USEC, HOUR_USEC);
}

static inline int setup(void **state)
{
	struct server *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	assert_int_equal(sd_event_new(&s->event), 0);
	s->snapshot = make_snapshot("1.2.3-test", 3);
	assert_int_equal(http_new(s->event, get_snapshot, s, &s->http), 0);
	set_endless(s);
	assert_int_equal(http_listen_fd(s->http, listen_on_loopback(&s->port)), 0);
	*state = s;
	return 0;
}

static inline int teardown(void **state)
{
	struct server *s = *state;

	assert_null(http_free(s->http));
	snapshot_unref(s->snapshot);
	sd_event_unref(s->event);
	free(s);
	return 0;
}

static inline void turn(struct server *s)
{
	assert_true(sd_event_run(s->event, STEP_USEC) >= 0);
}

/* From 127.0.0.@host. */
static inline int connect_tcp_from(uint16_t port, uint8_t host)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct sockaddr_in from = { .sin_family = AF_INET,
					  .sin_addr.s_addr = htonl(0x7f000000 | host) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof(from)), 0);
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
		close(fd);
		return -errno;
	}
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

static inline int connect_tcp(uint16_t port)
{
	return connect_tcp_from(port, 1);
}

static inline int connect_unix(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	strcpy(sa.sun_path, path);
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
		close(fd);
		return -errno;
	}
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

static inline char *make_directory(void)
{
	char *path = strdup("/tmp/test-http-XXXXXX");

	assert_non_null(path);
	assert_non_null(mkdtemp(path));
	return path;
}

static inline void send_all(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

struct response {
	char *text;
	size_t size;
	int status;	  /* 0: closed without an answer */
	bool reset;	  /* instead of an end */
	const char *body; /* in text */
	size_t body_size;
};

static inline void response_done(struct response *r)
{
	free(r->text);
}

#define RESPONSE _cleanup_(response_done) struct response

/* Reads up to the end of the stream, which closes @fd. */
static inline struct response receive(struct server *s, int fd)
{
	struct response r = { .text = calloc(1, 1) };
	uint64_t end = now_usec() + PATIENCE_USEC;
	char *body;

	for (;;) {
		char buffer[65536];
		ssize_t n = recv(fd, buffer, sizeof(buffer), 0);

		r.reset = n < 0 && errno == ECONNRESET;
		if (n == 0 || r.reset)
			break;
		if (n < 0) {
			assert_int_equal(errno, EAGAIN);
			if (now_usec() >= end)
				fail_msg("no end of the answer, only: %s", r.text);
			turn(s);
			continue;
		}
		r.text = realloc(r.text, r.size + n + 1);
		assert_non_null(r.text);
		memcpy(r.text + r.size, buffer, n);
		r.size += n;
		r.text[r.size] = '\0';
	}
	close(fd);

	if (r.size > 0)
		assert_int_equal(sscanf(r.text, "HTTP/1.%*c %d", &r.status), 1);
	body = strstr(r.text, "\r\n\r\n");
	if (body) {
		r.body = body + 4;
		r.body_size = r.size - (r.body - r.text);
	}
	return r;
}

static inline struct response ask_fd(struct server *s, int fd, const char *request)
{
	assert_true(fd >= 0);
	send_all(fd, request);
	return receive(s, fd);
}

/* @line is "GET /path", @headers further lines with their ends. */
static inline struct response ask(struct server *s, const char *line, const char *headers)
{
	_cleanup_(freep) char *request = NULL;

	assert_true(asprintf(&request,
			     "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n", line,
			     headers) > 0);
	return ask_fd(s, connect_tcp(s->port), request);
}

static inline void assert_header(const struct response *r, const char *line)
{
	_cleanup_(freep) char *expected = NULL;

	assert_true(asprintf(&expected, "\r\n%s\r\n", line) > 0);
	if (!strstr(r->text, expected))
		fail_msg("no header \"%s\" in: %s", line, r->text);
}

static inline void assert_no_header(const struct response *r, const char *name)
{
	_cleanup_(freep) char *unexpected = NULL;

	assert_true(asprintf(&unexpected, "\r\n%s:", name) > 0);
	assert_null(strcasestr(r->text, unexpected));
}

static inline void assert_contains(const struct response *r, const char *text)
{
	if (!r->body || !strstr(r->body, text))
		fail_msg("no \"%s\" in: %s", text, r->text);
}

static inline void assert_served(struct server *s, int fd)
{
	RESPONSE r = ask_fd(s, fd, "GET /-/healthy HTTP/1.0\r\n\r\n");

	assert_int_equal(r.status, 200);
	assert_string_equal(r.body, "pipewatchd is healthy.\n");
}

/* Until nothing has happened for a while: no event, no timer. */
static inline void await_quiet(struct server *s)
{
	uint64_t end = now_usec() + PATIENCE_USEC;

	for (int quiet = 0; quiet < 10;) {
		int r = sd_event_run(s->event, 5000);

		assert_true(r >= 0);
		quiet = r == 0 ? quiet + 1 : 0;
		assert_true(now_usec() < end);
	}
}

static inline unsigned int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Turns the loop until the process has @n file descriptors. */
static inline void await_fds(struct server *s, unsigned int n)
{
	uint64_t end = now_usec() + PATIENCE_USEC;

	while (count_fds() != n) {
		if (now_usec() >= end)
			fail_msg("%u file descriptors instead of %u", count_fds(), n);
		turn(s);
	}
}

#define SERVER_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
