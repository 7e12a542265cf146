// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bytes to the real server, in two pieces: whatever comes back is a sequence of well-formed
 * responses, the connection ends when the client has nothing more to say, and the next client is
 * served.
 */
#include "http.h"

#include <errno.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "fuzz.h"

#define PATIENCE_SEC   20
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

static void turn(struct server *server, unsigned int times)
{
	for (unsigned int i = 0; i < times; i++)
		FUZZ_CHECK(sd_event_run(server->event, 0) >= 0);
}

/* Sends, ends the stream, and reads up to its other end. Closes @fd. */
static char *converse(struct server *server, int fd, const void *data, size_t size, size_t pause,
		      size_t *ret_size)
{
	char *text = calloc(1, RESPONSE_BYTES);
	struct timespec began, now;
	size_t sent = 0, got = 0;
	bool ended = false;

	FUZZ_CHECK(text);
	clock_gettime(CLOCK_MONOTONIC, &began);
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
		turn(server, 4);
		n = recv(fd, text + got, RESPONSE_BYTES - 1 - got, 0);
		if (n > 0)
			got += n;
		else if (n == 0 || errno != EAGAIN)
			break;
		FUZZ_CHECK(got < RESPONSE_BYTES - 1);
		clock_gettime(CLOCK_MONOTONIC, &now);
		FUZZ_CHECK(now.tv_sec - began.tv_sec < PATIENCE_SEC);
	}
	close(fd);
	*ret_size = got;
	return text;
}

/* The value of a header line between @head and @end, which are good until then; NULL if none. */
static const char *find_header(const char *head, const char *end, const char *name)
{
	for (const char *line = strstr(head, "\r\n"); line && line < end;
	     line = strstr(line + 2, "\r\n"))
		if (strncasecmp(line + 2, name, strlen(name)) == 0)
			return line + 2 + strlen(name);
	return NULL;
}

static void check_responses(const char *text, size_t size)
{
	static const int known[] = { 100, 200, 400, 404, 405, 411, 413,
				     414, 417, 431, 500, 501, 503, 505 };
	const char *stop = text + size;

	while (text < stop) {
		const char *end = strstr(text, "\r\n\r\n"), *length;
		bool is_known = false;
		int status, minor;

		FUZZ_CHECK(end);
		FUZZ_CHECK(sscanf(text, "HTTP/1.%1d %3d ", &minor, &status) == 2);
		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			is_known |= known[i] == status;
		FUZZ_CHECK(is_known);
		length = find_header(text, end, "Content-Length: ");
		FUZZ_CHECK(length || status == 100);
		text = end + 4;
		/* HEAD was asked where none of it follows. */
		if (length && text < stop && strncmp(text, "HTTP/1.", 7) != 0) {
			FUZZ_CHECK(strtoul(length, NULL, 10) <= (size_t)(stop - text));
			text += strtoul(length, NULL, 10);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char good[] = "GET /-/healthy HTTP/1.0\r\n\r\n";
	static struct server *server;
	_cleanup_(freep) char *answer = NULL, *good_answer = NULL;
	size_t answer_size;

	if (!server)
		server = start();
	answer = converse(server, client_connect(server), data, size, size ? data[0] : 0,
			  &answer_size);
	check_responses(answer, answer_size);

	good_answer = converse(server, client_connect(server), good, sizeof(good) - 1, 0,
			       &answer_size);
	check_responses(good_answer, answer_size);
	FUZZ_CHECK(strncmp(good_answer, "HTTP/1.", 7) == 0);
	FUZZ_CHECK(strstr(good_answer, " 200 OK\r\n"));
	FUZZ_CHECK(strstr(good_answer, "\r\n\r\npipewatchd is healthy.\n"));
	return 0;
}
