// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bytes to the real server, in two pieces: whatever comes back is a sequence of whole responses,
 * the connection ends when the client has nothing more to say, with nothing left behind, and the
 * next client is served. All of it happens in this process, at once: a server that has nothing to
 * do before a time has come, waits in vain.
 */
#include "http.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "fuzz.h"

#define ENDLESS_USEC   (3600 * UINT64_C(1000000))
#define TURNS_MAX      10000
#define RESPONSE_BYTES (1 << 20)

struct server {
	sd_event *event;
	struct http *http;
	struct snapshot *snapshot;
	struct sockaddr_un address;
	socklen_t address_size;
};

static int get_snapshot(void *userdata, const struct snapshot_wish *wish,
			struct snapshot **ret_snapshot)
{
	struct server *server = userdata;

	(void)wish;
	*ret_snapshot = snapshot_ref(server->snapshot);
	return 0;
}

/* Lives as long as the process: what one input leaves behind is the next one's to bear. */
static struct server *start(void)
{
	struct server *server = calloc(1, sizeof(*server));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	FUZZ_CHECK(server && fd >= 0);
	server->address.sun_family = AF_UNIX;
	server->address_size = sizeof(server->address);
	/* The kernel chooses a name that nobody has. */
	FUZZ_CHECK(bind(fd, (struct sockaddr *)&server->address, sizeof(sa_family_t)) == 0);
	FUZZ_CHECK(listen(fd, 16) == 0);
	FUZZ_CHECK(getsockname(fd, (struct sockaddr *)&server->address, &server->address_size) ==
		   0);
	server->snapshot = snapshot_new();
	FUZZ_CHECK(server->snapshot);
	snapshot_finish(server->snapshot);
	FUZZ_CHECK(sd_event_new(&server->event) >= 0);
	FUZZ_CHECK(http_new(server->event, get_snapshot, server, &server->http) >= 0);
	http_set_timeouts(server->http, ENDLESS_USEC, ENDLESS_USEC);
	FUZZ_CHECK(http_listen_fd(server->http, fd) >= 0);
	http_set_ready(server->http, true);
	return server;
}

static int client_connect(const struct server *server)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	FUZZ_CHECK(fd >= 0);
	FUZZ_CHECK(connect(fd, (const struct sockaddr *)&server->address, server->address_size) ==
		   0);
	FUZZ_CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	return fd;
}

/* Lets the server do all that it has to do now, which is soon done. */
static void settle(struct server *server)
{
	unsigned int turns = 0;
	int r;

	while ((r = sd_event_run(server->event, 0)) > 0)
		FUZZ_CHECK(++turns < TURNS_MAX);
	FUZZ_CHECK(r == 0);
}

/* The descriptor that would be the next one. */
static int free_fd(void)
{
	int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);

	FUZZ_CHECK(fd >= 0);
	close(fd);
	return fd;
}

/* Sends in two pieces, ends the stream, and reads up to its other end. Returns what came, which is
 * good until the next call. */
static const char *converse(struct server *server, const void *data, size_t size, size_t pause,
			    size_t *ret_size)
{
	static char text[RESPONSE_BYTES];
	int first_free = free_fd(), fd = client_connect(server);
	size_t sent = 0, got = 0;
	bool ended = false;

	for (;;) {
		ssize_t n;

		if (!ended) {
			n = send(fd, (const char *)data + sent,
				 (sent < pause && pause < size ? pause : size) - sent,
				 MSG_NOSIGNAL);
			if (n >= 0)
				sent += n;
			/* Or it does not want to hear more. */
			ended = sent == size || (n < 0 && errno != EAGAIN);
			if (ended)
				shutdown(fd, SHUT_WR);
		}
		settle(server);
		n = recv(fd, text + got, sizeof(text) - 1 - got, 0);
		if (n > 0)
			got += n;
		else if (n == 0 || errno == ECONNRESET)
			break;
		else
			FUZZ_CHECK(errno == EAGAIN && !ended);
		FUZZ_CHECK(got < sizeof(text) - 1);
	}
	close(fd);
	settle(server);
	FUZZ_CHECK(free_fd() == first_free);
	text[got] = '\0';
	*ret_size = got;
	return text;
}

/* Takes the head of a response, up to the empty line and with it, into a string of its own: what
 * looks at strings under the sanitizer looks at all of them. Returns its length. */
static size_t take_head(const char *text, const char *stop, char *ret, size_t size)
{
	const char *end = memmem(text, stop - text, "\r\n\r\n", 4);
	size_t length;

	FUZZ_CHECK(end);
	length = end + 4 - text;
	FUZZ_CHECK(length < size);
	memcpy(ret, text, length);
	ret[length] = '\0';
	return length;
}

/* @heads: there may be answers to HEAD, which have no body. */
static void check_responses(const char *text, size_t size, bool heads)
{
	static const int known[] = { 100, 200, 400, 404, 405, 413, 414, 431, 505 };
	static const char version[] = "HTTP/1.";
	const char *stop = text + size;

	while (text < stop) {
		char head[2048];
		const char *length;
		size_t n_head = take_head(text, stop, head, sizeof(head)), n_body;
		bool is_known = false;
		int status, minor;

		FUZZ_CHECK(sscanf(head, "HTTP/1.%1d %3d ", &minor, &status) == 2);
		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			is_known |= known[i] == status;
		FUZZ_CHECK(is_known);
		length = strstr(head, "\r\nContent-Length: ");
		FUZZ_CHECK(!length == (status == 100));
		text += n_head;
		if (!length)
			continue;
		n_body = strtoul(length + strlen("\r\nContent-Length: "), NULL, 10);
		/* libmicrohttpd writes the head of its own answer to a bad Content-Length twice. */
		if ((status == 400 || status == 413) && (size_t)(stop - text) >= n_head &&
		    memcmp(text, head, n_head) == 0)
			text += n_head;
		if (heads && (text == stop || ((size_t)(stop - text) > strlen(version) &&
					       memcmp(text, version, strlen(version)) == 0)))
			continue;
		FUZZ_CHECK(n_body <= (size_t)(stop - text));
		text += n_body;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char good[] = "GET /-/healthy HTTP/1.0\r\n\r\n", ok[] = "HTTP/1.1 200 OK\r\n",
			  healthy[] = "\r\n\r\npipewatchd is healthy.\n";
	static struct server *server;
	size_t answer_size;
	const char *answer;

	if (!server)
		server = start();
	answer = converse(server, data, size, size ? data[0] : 0, &answer_size);
	check_responses(answer, answer_size, size > 0 && memmem(data, size, "HEAD ", 5));

	answer = converse(server, good, sizeof(good) - 1, 0, &answer_size);
	check_responses(answer, answer_size, false);
	FUZZ_CHECK(strncmp(answer, ok, strlen(ok)) == 0);
	FUZZ_CHECK(answer_size > strlen(healthy));
	FUZZ_CHECK(strcmp(answer + answer_size - strlen(healthy), healthy) == 0);
	return 0;
}
