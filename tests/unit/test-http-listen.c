// SPDX-License-Identifier: GPL-2.0-or-later
/* Addresses, Unix sockets, passed sockets, and their change at run time. */
#include <sys/random.h>
#include <sys/stat.h>

#include "http-server.h"

static void test_unix_socket(void **state)
{
	struct server *s = *state;
	_cleanup_(freep) char *directory = make_directory(), *path = NULL, *address = NULL;
	struct http *other;
	struct stat st;
	FILE *f;
	int fd;

	assert_true(asprintf(&path, "%s/metrics.sock", directory) > 0);
	assert_true(asprintf(&address, "unix:%s", path) > 0);

	assert_int_equal(http_listen(s->http, address), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0666);
	assert_served(s, connect_unix(path));

	/* Still served: not replaced. */
	assert_int_equal(http_new(s->event, get_snapshot, s, &other), 0);
	assert_int_equal(http_listen(other, address), -EADDRINUSE);
	assert_null(http_free(other));
	assert_served(s, connect_unix(path));

	/* Removed at the end. */
	http_free(s->http);
	assert_int_equal(access(path, F_OK), -1);

	/* Left by a dead process: replaced. */
	assert_int_equal(http_new(s->event, get_snapshot, s, &s->http), 0);
	{
		struct sockaddr_un sa = { .sun_family = AF_UNIX };

		strcpy(sa.sun_path, path);
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
		close(fd);
	}
	assert_int_equal(http_listen(s->http, address), 0);
	assert_served(s, connect_unix(path));

	/* Something else has taken its place: not removed. */
	assert_int_equal(unlink(path), 0);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	http_free(s->http);
	assert_int_equal(access(path, F_OK), 0);

	/* Nor is it replaced. */
	assert_int_equal(http_new(s->event, get_snapshot, s, &s->http), 0);
	assert_int_equal(http_listen(s->http, address), -EADDRINUSE);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));

	unlink(path);
	rmdir(directory);
}

static void test_addresses(void **state)
{
	struct server *s = *state;
	static const struct {
		const char *address;
		int error;
	} cases[] = {
		{ "", -EINVAL },
		{ "127.0.0.1", -EINVAL },
		{ ":9100", -EINVAL },
		{ "127.0.0.1:", -EINVAL },
		{ "127.0.0.1:http", -EINVAL },
		{ "127.0.0.1:65536", -EINVAL },
		{ "127.0.0.1:-1", -EINVAL },
		{ "127.0.0.1:1 ", -EINVAL },
		{ "localhost:9100", -EINVAL },
		{ "256.0.0.1:9100", -EINVAL },
		{ "::1:9100", -EINVAL },
		{ "[::1]", -EINVAL },
		{ "[::1:9100", -EINVAL },
		{ "[127.0.0.1]:9100", -EINVAL },
		{ "[]:9100", -EINVAL },
		{ "192.0.2.1:9100", -EADDRNOTAVAIL },
		{ "unix:", -EINVAL },
		{ "unix:relative", -EINVAL },
		{ "unix:/nonexistent/directory/socket", -ENOENT },
		{ "unix:/123456789/123456789/123456789/123456789/123456789/123456789/123456789/123456789/123456789/123456789/1234567",
		  -ENAMETOOLONG },
	};
	_cleanup_(freep) char *taken = NULL;
	unsigned int before = count_fds();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r = http_listen(s->http, cases[i].address);

		if (r != cases[i].error)
			fail_msg("%s gives %d, not %d", cases[i].address, r, cases[i].error);
	}
	assert_true(asprintf(&taken, "127.0.0.1:%u", s->port) > 0);
	assert_int_equal(http_listen(s->http, taken), -EADDRINUSE);
	assert_int_equal(count_fds(), before);
}

/* A port that no address of this host has in use, and not one of those that the kernel gives to
 * others at any moment. */
static uint16_t free_port(void)
{
	for (unsigned int tries = 0; tries < 1000; tries++) {
		uint16_t random, port;
		struct sockaddr_in sa = { .sin_family = AF_INET };
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

		assert_true(fd >= 0);
		assert_int_equal(getrandom(&random, sizeof(random), 0), sizeof(random));
		port = 10000 + random % 20000;
		sa.sin_port = htons(port);
		r = bind(fd, (struct sockaddr *)&sa, sizeof(sa));
		close(fd);
		if (r == 0)
			return port;
	}
	fail_msg("no port is free");
	return 0;
}

static void test_both_families_on_one_port(void **state)
{
	struct server *s = *state;
	_cleanup_(freep) char *v4 = NULL, *v6 = NULL;
	struct sockaddr_in6 sa = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	uint16_t port = free_port();
	int fd;

	fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
		print_message("# skipped: no IPv6 on this host: %s\n", strerror(errno));
		closep(&fd);
		skip();
	}
	close(fd);

	assert_true(asprintf(&v6, "[::]:%u", port) > 0);
	assert_true(asprintf(&v4, "0.0.0.0:%u", port) > 0);
	assert_int_equal(http_listen(s->http, v6), 0);
	assert_int_equal(http_listen(s->http, v4), 0);
	assert_served(s, connect_tcp(port));

	fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	sa.sin6_port = htons(port);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_served(s, fd);
}

static void test_relisten(void **state)
{
	struct server *s = *state;
	_cleanup_(freep) char *directory = make_directory(), *path = NULL, *local = NULL;
	_cleanup_(freep) char *first = NULL, *second = NULL;
	uint16_t port1 = free_port(), port2 = free_port();
	const char *failed = NULL;
	unsigned int fds;
	int kept;

	assert_true(asprintf(&path, "%s/s", directory) > 0);
	assert_true(asprintf(&local, "unix:%s", path) > 0);
	assert_true(asprintf(&first, "127.0.0.1:%u", port1) > 0);
	assert_true(asprintf(&second, "127.0.0.1:%u", port2) > 0);

	assert_int_equal(http_relisten(s->http, (char *[]){ first, local, first, NULL }, &failed),
			 0);
	assert_served(s, connect_tcp(port1));
	assert_served(s, connect_unix(path));

	/* A client of the address that goes gets the answer it is owed. */
	kept = connect_tcp(port1);
	fds = count_fds();
	await_fds(s, fds + 1);
	assert_int_equal(http_relisten(s->http, (char *[]){ local, second, NULL }, &failed), 0);
	assert_int_equal(connect_tcp(port1), -ECONNREFUSED);
	assert_served(s, connect_tcp(port2));
	assert_served(s, connect_unix(path));
	close(kept);

	/* One of them cannot be had: all stays. */
	fds = count_fds();
	assert_int_equal(http_relisten(s->http, (char *[]){ first, "nonsense", NULL }, &failed),
			 -EINVAL);
	assert_string_equal(failed, "nonsense");
	assert_served(s, connect_tcp(port2));
	assert_served(s, connect_unix(path));
	assert_int_equal(connect_tcp(port1), -ECONNREFUSED);

	/* The socket that was passed stays in any case. */
	assert_int_equal(http_relisten(s->http, (char *[]){ NULL }, &failed), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(connect_tcp(port2), -ECONNREFUSED);
	assert_served(s, connect_tcp(s->port));
	rmdir(directory);
}

static void test_passed_sockets(void **state)
{
	struct server *s = *state;
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fds[8], wanted[ARRAY_SIZE(fds)] = { -ENOTSOCK, -ENOTSOCK, -ENOTSOCK, -EINVAL,
						-EINVAL,   -EINVAL,   -EINVAL,	 -EINVAL };
	unsigned int before = count_fds();
	uint16_t port;
	int fd;

	/* A pipe, a file, then sockets that do not listen, and one that does, for packets. */
	assert_int_equal(pipe(fds), 0);
	fds[2] = open("/proc/self/stat", O_RDONLY);
	fds[3] = socket(AF_INET, SOCK_STREAM, 0);
	fds[4] = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds + 5), 0);
	fds[7] = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	/* The kernel chooses a name. */
	assert_int_equal(bind(fds[7], (struct sockaddr *)&sa, sizeof(sa_family_t)), 0);
	assert_int_equal(listen(fds[7], 1), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		assert_true(fds[i] >= 0);
		assert_int_equal(http_listen_fd(s->http, fds[i]), wanted[i]);
		/* Not taken over: still ours to close. */
		assert_int_equal(close(fds[i]), 0);
	}
	assert_int_equal(http_listen_fd(s->http, -1), -EBADF);
	assert_int_equal(count_fds(), before);

	/* Blocking, and to be inherited, as somebody may pass it; and twice. */
	fd = listen_on_loopback(&port);
	assert_int_equal(fcntl(fd, F_SETFD, 0), 0);
	assert_int_equal(http_listen_fd(s->http, dup(fd)), 0);
	assert_int_equal(http_listen_fd(s->http, fd), 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	for (size_t i = 0; i < 10; i++)
		assert_served(s, connect_tcp(port));
	assert_served(s, connect_tcp(s->port));
}

/* Somebody else has the same socket and ends it, as "ss -K" does: that costs next to nothing, and
 * others are served. */
static void test_a_socket_that_is_broken(void **state)
{
	struct server *s = *state;
	struct sockaddr_in sa;
	socklen_t size = sizeof(sa);
	unsigned int turns = 0;
	uint16_t port;
	int fd = listen_on_loopback(&port), same = dup(fd);

	assert_true(same >= 0);
	assert_int_equal(http_listen_fd(s->http, fd), 0);
	assert_served(s, connect_tcp(port));
	assert_int_equal(shutdown(same, SHUT_RDWR), 0);
	for (uint64_t end = now_usec() + 400000; now_usec() < end;)
		turns += sd_event_run(s->event, STEP_USEC) > 0;
	assert_in_range(turns, 1, 20);
	assert_int_equal(connect_tcp(port), -ECONNREFUSED);
	assert_served(s, connect_tcp(s->port));
	/* It was not given up, in case it is mended; the kernel may give it another port. */
	assert_int_equal(listen(same, 16), 0);
	assert_int_equal(getsockname(same, (struct sockaddr *)&sa, &size), 0);
	assert_served(s, connect_tcp(ntohs(sa.sin_port)));
	close(same);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVER_TEST(test_unix_socket),
		SERVER_TEST(test_addresses),
		SERVER_TEST(test_both_families_on_one_port),
		SERVER_TEST(test_relisten),
		SERVER_TEST(test_passed_sockets),
		SERVER_TEST(test_a_socket_that_is_broken),
	};

	return cmocka_run_group_tests_name("http-listen", tests, NULL, NULL);
}
