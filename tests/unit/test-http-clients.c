// SPDX-License-Identifier: GPL-2.0-or-later
/* Clients that are slow, silent, deaf or too many: what they can do to others, and what is left of
 * them. */
#include <sys/resource.h>

#include "http-server.h"

/* More silent clients than there is room for; each good one is served without any of them giving
 * way by itself. */
static void test_silent_clients_keep_nobody_out(void **state)
{
	struct server *s = *state;
	unsigned int before = count_fds();
	int silent[200];

	set_endless(s);

	for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
		silent[i] = connect_tcp(s->port);
		assert_true(silent[i] >= 0);
		if (i % 2)
			send_all(silent[i], "GET /metr");
	}
	for (size_t i = 0; i < 20; i++)
		assert_served(s, connect_tcp(s->port));
	/* Theirs, and of the 32 of ours for one address all but the one that the good ones used. */
	await_fds(s, before + ARRAY_SIZE(silent) + 31);

	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		close(silent[i]);
	await_fds(s, before);
	assert_served(s, connect_tcp(s->port));
}

/* One address takes none of the room of another, however many addresses there are. */
static void test_an_address_has_its_share(void **state)
{
	struct server *s = *state;
	unsigned int before = count_fds();
	int first = connect_tcp(s->port), silent[8][50];

	send_all(first, "GET /-/healthy HTTP/1.0\r\n");
	await_fds(s, before + 2);
	for (size_t i = 0; i < ARRAY_SIZE(silent[0]); i++) {
		silent[0][i] = connect_tcp_from(s->port, 2);
		turn(s);
	}
	/* Both ends of the first and of 32 others, one end of those that were dropped. */
	await_fds(s, before + 2 + 32 + ARRAY_SIZE(silent[0]));
	for (size_t host = 1; host < ARRAY_SIZE(silent); host++)
		for (size_t i = 0; i < ARRAY_SIZE(silent[host]); i++) {
			silent[host][i] = connect_tcp_from(s->port, 2 + host);
			turn(s);
		}
	await_fds(s, before + 1 + 64 + ARRAY_SIZE(silent) * ARRAY_SIZE(silent[0]));
	{
		RESPONSE r = ask_fd(s, first, "\r\n");

		assert_int_equal(r.status, 200);
	}
	for (size_t host = 0; host < ARRAY_SIZE(silent); host++)
		for (size_t i = 0; i < ARRAY_SIZE(silent[host]); i++)
			close(silent[host][i]);
	await_fds(s, before);
}

/* The same at a socket for both families, as systemd makes them: there every IPv4 address is one of
 * IPv6, all in one network. */
static void test_an_ipv4_address_has_its_share_of_ipv6(void **state)
{
	struct server *s = *state;
	struct sockaddr_in6 sa = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT };
	socklen_t size = sizeof(sa);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), first, silent[50];
	unsigned int before;

	if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ 0 }, sizeof(int)) < 0 ||
	    bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
		print_message("# skipped: no IPv6 on this host: %s\n", strerror(errno));
		closep(&fd);
		skip();
	}
	assert_int_equal(listen(fd, 1024), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &size), 0);
	assert_int_equal(http_listen_fd(s->http, fd), 0);
	before = count_fds();
	first = connect_tcp_from(ntohs(sa.sin6_port), 1);
	send_all(first, "GET /-/healthy HTTP/1.0\r\n");
	await_fds(s, before + 2);
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
		silent[i] = connect_tcp_from(ntohs(sa.sin6_port), 2);
		turn(s);
	}
	await_fds(s, before + 2 + ARRAY_SIZE(silent) + 32);
	{
		RESPONSE r = ask_fd(s, first, "\r\n");

		assert_int_equal(r.status, 200);
	}
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		close(silent[i]);
	await_fds(s, before);
}

/* The same storm, and they come again as soon as they are dropped. */
static void test_persistent_clients_keep_nobody_out(void **state)
{
	struct server *s = *state;
	unsigned int before = count_fds();
	int slow[150];

	for (size_t i = 0; i < ARRAY_SIZE(slow); i++)
		slow[i] = connect_tcp(s->port);
	for (size_t round = 0; round < 10; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(slow); i++) {
			if (send(slow[i], "G", 1, MSG_NOSIGNAL) == 1)
				continue;
			close(slow[i]);
			slow[i] = connect_tcp(s->port);
			assert_true(slow[i] >= 0);
		}
		assert_served(s, connect_tcp(s->port));
	}
	for (size_t i = 0; i < ARRAY_SIZE(slow); i++)
		close(slow[i]);
	await_fds(s, before);
}

/* At the limit nobody is left, and nothing wakes the loop: the next one must be served all the
 * same. */
static void test_served_after_a_full_house(void **state)
{
	struct server *s = *state;
	unsigned int before = count_fds();
	int idle[80];

	http_set_timeouts(s->http, 100000, 100000);
	for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
		idle[i] = connect_tcp(s->port);
	for (size_t i = 0; i < ARRAY_SIZE(idle); i++) {
		RESPONSE r = receive(s, idle[i]);

		assert_int_equal(r.status, 0);
	}
	await_fds(s, before);
	set_endless(s);
	assert_served(s, connect_tcp(s->port));
}

static void test_a_drip_of_bytes_ends(void **state)
{
	struct server *s = *state;
	int fd = connect_tcp(s->port);
	uint64_t began = now_usec();
	unsigned int sent = 0;

	http_set_timeouts(s->http, 150000, HOUR_USEC);
	while (send(fd, "G", 1, MSG_NOSIGNAL) == 1) {
		assert_true(now_usec() - began < PATIENCE_USEC);
		turn(s);
		usleep(50);
		sent++;
	}
	assert_true(now_usec() - began >= 140000);
	/* It was time that ended it, not the size of the request. */
	assert_in_range(sent, 1, 8000);
	close(fd);
}

/* A connection that is kept for more requests has as long for the next one as for the first. */
static void test_a_kept_connection_ends(void **state)
{
	struct server *s = *state;
	unsigned int before = count_fds();
	int fd;

	set_endless(s);
	fd = connect_tcp(s->port);
	await_fds(s, before + 2);
	http_set_timeouts(s->http, 100000, HOUR_USEC);
	{
		RESPONSE r = ask_fd(s, fd, "GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n");

		assert_int_equal(r.status, 200);
		assert_string_equal(r.body, "pipewatchd is healthy.\n");
	}
}

static int ask_and_never_read(struct server *s)
{
	int fd = connect_tcp(s->port);

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){ 4096 }, sizeof(int)), 0);
	send_all(fd, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
	return fd;
}

/* The deaf hold what is being answered, the silent what is waited for: neither lets the other, or
 * us, drop one that does all that it should. */
static void test_deaf_and_silent_clients_keep_nobody_out(void **state)
{
	struct server *s = *state;
	unsigned int before = count_fds();
	int deaf[40], silent[10][10];

	snapshot_unref(s->snapshot);
	s->snapshot = make_snapshot("long", 20000);
	for (size_t i = 0; i < ARRAY_SIZE(deaf); i++) {
		deaf[i] = ask_and_never_read(s);
		for (size_t j = 0; j < 3; j++)
			turn(s);
	}
	await_fds(s, before + ARRAY_SIZE(deaf) + 32);
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
		int good = connect_tcp(s->port);

		for (size_t j = 0; j < ARRAY_SIZE(silent[i]); j++) {
			silent[i][j] = connect_tcp(s->port);
			turn(s);
		}
		assert_served(s, good);
	}
	for (size_t i = 0; i < ARRAY_SIZE(deaf); i++)
		close(deaf[i]);
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		for (size_t j = 0; j < ARRAY_SIZE(silent[i]); j++)
			close(silent[i][j]);
	await_fds(s, before);
}

static void test_a_client_that_never_reads_is_dropped(void **state)
{
	struct server *s = *state;
	unsigned int before = count_fds();
	int deaf;

	snapshot_unref(s->snapshot);
	s->snapshot = make_snapshot("long", 20000);
	deaf = ask_and_never_read(s);
	await_fds(s, before + 2);
	/* It costs nothing while it waits. */
	await_quiet(s);
	close(deaf);
	await_fds(s, before);

	http_set_timeouts(s->http, HOUR_USEC, 300000);
	deaf = ask_and_never_read(s);
	/* Both ends are open, then only its own. */
	await_fds(s, before + 2);
	assert_served(s, connect_tcp(s->port));
	await_fds(s, before + 1);
	close(deaf);
	/* That one read nothing; this one only takes its time, on a busy machine. */
	set_endless(s);
	{
		RESPONSE r = ask(s, "GET /metrics", "");

		assert_int_equal(r.status, 200);
		assert_true(r.body_size > 4000000);
	}
	await_fds(s, before);
}

static void test_without_file_descriptors(void **state)
{
	struct server *s = *state;
	unsigned int before = count_fds();
	struct rlimit old, low;
	int clients[8], spare, last;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		clients[i] = connect_tcp(s->port);
		assert_true(clients[i] >= 0);
	}
	last = connect_tcp(s->port);
	/* Room for three of the nine. */
	spare = dup(0);
	assert_true(spare >= 0);
	close(spare);
	low = (struct rlimit){ .rlim_cur = spare + 3, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);

	{
		RESPONSE r = ask_fd(s, last, "GET /-/healthy HTTP/1.0\r\n\r\n");

		assert_int_equal(r.status, 200);
	}

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		close(clients[i]);
	await_fds(s, before);
	assert_served(s, connect_tcp(s->port));
}

static void test_idle_server_sleeps(void **state)
{
	struct server *s = *state;
	unsigned int before = count_fds();
	int fd = connect_tcp(s->port);

	send_all(fd, "GET / HT");
	await_fds(s, before + 2);
	/* One silent connection: no event, no timer until its end. */
	await_quiet(s);
	close(fd);
	await_fds(s, before);
}

static void test_freed_in_the_middle(void **state)
{
	struct server *s = *state;
	unsigned int before = count_fds();
	int silent, deaf;

	snapshot_unref(s->snapshot);
	s->snapshot = make_snapshot("long", 20000);
	silent = connect_tcp(s->port);
	deaf = connect_tcp(s->port);
	send_all(silent, "GET");
	send_all(deaf, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
	await_fds(s, before + 4);
	for (size_t i = 0; i < 5; i++)
		turn(s);
	s->http = http_free(s->http);
	close(silent);
	close(deaf);
	assert_null(http_free(NULL));
	assert_int_equal(s->snapshot->n_refs, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVER_TEST(test_silent_clients_keep_nobody_out),
		SERVER_TEST(test_an_address_has_its_share),
		SERVER_TEST(test_an_ipv4_address_has_its_share_of_ipv6),
		SERVER_TEST(test_persistent_clients_keep_nobody_out),
		SERVER_TEST(test_served_after_a_full_house),
		SERVER_TEST(test_a_drip_of_bytes_ends),
		SERVER_TEST(test_a_kept_connection_ends),
		SERVER_TEST(test_a_client_that_never_reads_is_dropped),
		SERVER_TEST(test_deaf_and_silent_clients_keep_nobody_out),
		SERVER_TEST(test_without_file_descriptors),
		SERVER_TEST(test_idle_server_sleeps),
		SERVER_TEST(test_freed_in_the_middle),
	};

	return cmocka_run_group_tests_name("http-clients", tests, NULL, NULL);
}
