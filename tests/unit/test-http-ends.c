// SPDX-License-Identifier: GPL-2.0-or-later
/* How connections end: by clients that have said all, that say too much, or that break off. */
#include <sys/resource.h>

#include "http-linger.h"
#include "http-server.h"

/* Who ends in the middle of a request is gone at once; who ends after it gets the answer. */
static void test_the_end_of_a_stream_is_noticed(void **state)
{
	static const char *const cut[] = {
		"", "G", "GET /metr", "GET / HTTP/1.1\r\nHost: x\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"
	};
	struct server *s = *state;
	unsigned int before = count_fds();

	for (size_t i = 0; i < ARRAY_SIZE(cut); i++) {
		int closed = connect_tcp(s->port), half = connect_tcp(s->port);

		send_all(closed, cut[i]);
		close(closed);
		send_all(half, cut[i]);
		assert_int_equal(shutdown(half, SHUT_WR), 0);
		{
			RESPONSE r = receive(s, half);

			assert_int_equal(r.status, 0);
		}
		await_fds(s, before);
	}
	{
		int fd = connect_tcp(s->port);

		send_all(fd, "GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n"
			     "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n");
		assert_int_equal(shutdown(fd, SHUT_WR), 0);
		{
			RESPONSE r = receive(s, fd);

			assert_int_equal(r.status, 200);
			assert_contains(&r, "pipewatchd is healthy.\nHTTP/1.1 404");
			assert_contains(&r, "/-/ready.\n");
		}
	}
	await_fds(s, before);
}

/* Sends @n times @request, then @rest, and says no more. */
static struct response ask_often(struct server *s, int fd, const char *request, size_t n,
				 const char *rest)
{
	_cleanup_(freep) char *text = malloc(n * strlen(request) + strlen(rest) + 1);

	assert_non_null(text);
	for (size_t i = 0; i < n; i++)
		strcpy(text + i * strlen(request), request);
	strcpy(text + n * strlen(request), rest);
	send_all(fd, text);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	return receive(s, fd);
}

static size_t count_in(const struct response *r, const char *text)
{
	size_t n = 0;

	for (const char *p = r->text; (p = strstr(p, text)); p += strlen(text))
		n++;
	return n;
}

/* More than a connection's memory holds is read in pieces; the end comes after the last of them. */
static void test_the_end_of_many_requests_is_noticed(void **state)
{
	static const char get[] = "GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n",
			  post[] =
				  "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
				  "0123456789012345678901234567890123456789012345678901234567890123"
				  "456789012345678901234567890123456789";
	static const size_t numbers[] = { 1, 226, 227, 600 };
	static const char *const rests[] = {
		"", "GET", "GET / HTTP/1.1\r\nHost: x\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"
	};
	struct server *s = *state;
	_cleanup_(freep) char *directory = make_directory(), *path = NULL, *address = NULL;
	unsigned int before;

	assert_true(asprintf(&path, "%s/s", directory) > 0);
	assert_true(asprintf(&address, "unix:%s", path) > 0);
	assert_int_equal(http_listen(s->http, address), 0);
	before = count_fds();
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(rests); j++) {
			RESPONSE r = ask_often(s, connect_tcp(s->port), get, numbers[i], rests[j]);
			RESPONSE local = ask_often(s, connect_unix(path), get, numbers[i],
						   rests[j]);
			RESPONSE posts = ask_often(s, connect_tcp(s->port), post, numbers[i],
						   rests[j]);

			assert_int_equal(count_in(&r, "HTTP/1.1 "), numbers[i]);
			assert_int_equal(count_in(&r, "\r\n\r\npipewatchd is healthy.\n"),
					 numbers[i]);
			assert_int_equal(count_in(&local, "HTTP/1.1 "), numbers[i]);
			assert_int_equal(count_in(&local, "\r\n\r\npipewatchd is healthy.\n"),
					 numbers[i]);
			assert_int_equal(count_in(&posts, "HTTP/1.1 "), numbers[i]);
			assert_int_equal(count_in(&posts, "HTTP/1.1 405 "), numbers[i]);
		}
		await_fds(s, before);
	}
	http_free(s->http);
	s->http = NULL;
	assert_int_equal(rmdir(directory), 0);
}

/* Each answer follows the one before it at once. Were the clock waited for between them, if only
 * for a millisecond, no try would be short enough; a busy machine makes some too long. */
static void test_pipelined_requests_do_not_wait(void **state)
{
	struct server *s = *state;
	uint64_t end = now_usec() + PATIENCE_USEC, began, taken;

	do {
		began = now_usec();
		RESPONSE r = ask_often(s, connect_tcp(s->port),
				       "GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n", 100, "");

		taken = now_usec() - began;
		assert_int_equal(count_in(&r, "HTTP/1.1 200 OK\r\n"), 100);
		assert_true(began < end);
	} while (taken > 60000);
}

/* Who says too much hears the answer all the same, and is not cut off while it speaks. */
static void test_an_answer_outlives_a_body(void **state)
{
	static const char *const heads[] = {
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
	};
	static const int statuses[] = { 405, 405, 400, 400 };
	static char piece[30000];
	struct server *s = *state;
	unsigned int before = count_fds();

	memset(piece, 'a', sizeof(piece) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		int fd = connect_tcp(s->port);

		send_all(fd, heads[i]);
		for (size_t j = 0; j < 20; j++) {
			send_all(fd, piece);
			for (size_t k = 0; k < 3; k++)
				turn(s);
		}
		/* Nobody has been reset, and that is so until it ends. */
		assert_int_equal(shutdown(fd, SHUT_WR), 0);
		{
			RESPONSE r = receive(s, fd);

			assert_int_equal(r.status, statuses[i]);
			assert_false(r.reset);
		}
		await_fds(s, before);
	}

	/* Who speaks on is left in the end, or gives way to others. */
	for (size_t i = 0; i < 2; i++) {
		int fds[30];

		if (i == 0)
			http_set_timeouts(s->http, 300000, 300000);
		for (size_t j = 0; j < ARRAY_SIZE(fds); j++) {
			fds[j] = connect_tcp(s->port);
			send_all(fds[j], heads[0]);
			turn(s);
		}
		await_fds(s, before + ARRAY_SIZE(fds) + (i == 0 ? 0 : LINGERERS_MAX));
		set_endless(s);
		assert_served(s, connect_tcp(s->port));
		for (size_t j = 0; j < ARRAY_SIZE(fds); j++)
			close(fds[j]);
		await_fds(s, before);
	}
}

/* Closes with a reset instead of an end. */
static void reset(int fd)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	close(fd);
}

static void test_clients_that_reset(void **state)
{
	static const char *const texts[] = {
		"",
		"G",
		"GET /metrics HTTP/1.1\r\nHost: x\r\n",
		"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n"
	};
	struct server *s = *state;
	unsigned int before = count_fds();

	snapshot_unref(s->snapshot);
	s->snapshot = make_snapshot("long", 20000);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		int at_once = connect_tcp(s->port), later = connect_tcp(s->port);

		send_all(at_once, texts[i]);
		send_all(later, texts[i]);
		reset(at_once);
		for (size_t j = 0; j < 5; j++)
			turn(s);
		reset(later);
		await_fds(s, before);
		assert_served(s, connect_tcp(s->port));
	}
	await_fds(s, before);
}

/* Who has had the answer goes before anybody has to wait for one. */
static void test_lingerers_leave_file_descriptors_to_others(void **state)
{
	struct server *s = *state;
	unsigned int before = count_fds();
	struct rlimit old, low;
	int clients[10], spare, last;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		char buffer[1000];
		ssize_t n;

		clients[i] = connect_tcp(s->port);
		send_all(clients[i],
			 "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n");
		while ((n = recv(clients[i], buffer, sizeof(buffer), 0)) != 0)
			if (n < 0)
				turn(s);
	}
	assert_int_equal(count_fds(), before + 2 * ARRAY_SIZE(clients));
	last = connect_tcp(s->port);
	spare = dup(0);
	assert_true(spare >= 0);
	close(spare);
	low = (struct rlimit){ .rlim_cur = spare, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	{
		RESPONSE r = ask_fd(s, last, "GET /-/healthy HTTP/1.0\r\n\r\n");

		assert_int_equal(r.status, 200);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	await_fds(s, before + ARRAY_SIZE(clients));
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		close(clients[i]);
	await_fds(s, before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVER_TEST(test_the_end_of_a_stream_is_noticed),
		SERVER_TEST(test_the_end_of_many_requests_is_noticed),
		SERVER_TEST(test_pipelined_requests_do_not_wait),
		SERVER_TEST(test_an_answer_outlives_a_body),
		SERVER_TEST(test_clients_that_reset),
		SERVER_TEST(test_lingerers_leave_file_descriptors_to_others),
	};

	return cmocka_run_group_tests_name("http-ends", tests, NULL, NULL);
}
