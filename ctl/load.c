// SPDX-License-Identifier: GPL-2.0-or-later
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "pipewatch/clock.h"
#include "pipewatch/util.h"

/* Of messages that fit into a pipe of 16 pages; 640 would. */
#define FILL	   500
#define FILLS	   4
#define EXCHANGES  300
#define WRITERS	   8
#define PER_WRITER 250
#define SENDERS	   10
#define RECEIVERS  10
#define PER_PAIR   20
#define CHILDREN   (SENDERS + RECEIVERS)

/* After which a round is given up, by each of its processes. */
#define ROUND_SEC 20

const char *const load_names[LOADS] = { "fill and drain", "ping-pong", "fan-in", "messaging" };
const char *const load_pipe_names[LOAD_PIPES] = { "anonymous", "fifo", "noatime" };

struct ends {
	int read;
	int write;
};

/* What a child needs; which of the pipes are its own depends on the load. */
struct round {
	enum load load;
	struct ends data[RECEIVERS];
	unsigned int n_pipes;
	struct ends ready; /* a byte from each child that could begin */
	struct ends go;	   /* its end is the signal to begin */
	uint64_t *ends_ns; /* shared with the children: when each was done; 0: failed */
};

unsigned int load_messages(enum load load)
{
	static const unsigned int messages[LOADS] = {
		[LOAD_FILL] = FILL * FILLS,
		[LOAD_PING_PONG] = EXCHANGES * 2,
		[LOAD_FAN_IN] = WRITERS * PER_WRITER,
		[LOAD_MESSAGING] = SENDERS * RECEIVERS * PER_PAIR,
	};

	return messages[load];
}

static void close_ends(struct ends *e)
{
	closep(&e->read);
	closep(&e->write);
	*e = (struct ends){ -1, -1 };
}

/* Both ends of a FIFO whose name is gone again. */
static int open_fifo(struct ends *ret)
{
	const char *directory = secure_getenv("TMPDIR");
	struct ends e = { -1, -1 };
	char path[4096], name[4096 + 8];
	int r = 0;

	if ((size_t)snprintf(path, sizeof(path), "%s/pipewatchctl-XXXXXX",
			     directory && *directory ? directory : "/tmp") >= sizeof(path))
		return -ENAMETOOLONG;
	if (!mkdtemp(path))
		return -errno;
	snprintf(name, sizeof(name), "%s/fifo", path);
	if (mkfifo(name, 0600) < 0) {
		r = -errno;
	} else {
		/* Without waiting for the other end. */
		e.read = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		e.write = e.read < 0 ? -1 : open(name, O_WRONLY | O_CLOEXEC);
		if (e.write < 0 || fcntl(e.read, F_SETFL, O_RDONLY) < 0)
			r = -errno;
		unlink(name);
	}
	rmdir(path);
	if (r < 0)
		close_ends(&e);
	else
		*ret = e;
	return r;
}

static int open_pipe(enum load_pipe pipe, struct ends *ret)
{
	char path[64];
	int fds[2], fd;

	if (pipe == LOAD_FIFO)
		return open_fifo(ret);
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	if (pipe == LOAD_NOATIME) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
		fd = open(path, O_RDONLY | O_NOATIME | O_CLOEXEC);
		if (fd < 0) {
			int error = errno;

			close(fds[0]);
			close(fds[1]);
			return -error;
		}
		close(fds[0]);
		fds[0] = fd;
	}
	*ret = (struct ends){ fds[0], fds[1] };
	return 0;
}

/* Writes are atomic at this size, so that reads of it are whole, too. */
static int send_message(int fd)
{
	static const char message[LOAD_MESSAGE_BYTES];
	ssize_t n = write(fd, message, sizeof(message));

	return n == sizeof(message) ? 0 : n < 0 ? -errno : -EIO;
}

static int receive(int fd)
{
	char message[LOAD_MESSAGE_BYTES];
	ssize_t n = read(fd, message, sizeof(message));

	return n == sizeof(message) ? 0 : n < 0 ? -errno : -EPIPE;
}

static int send_many(int fd, unsigned int n)
{
	int r = 0;

	for (unsigned int i = 0; i < n && r == 0; i++)
		r = send_message(fd);
	return r;
}

static int receive_many(int fd, unsigned int n)
{
	int r = 0;

	for (unsigned int i = 0; i < n && r == 0; i++)
		r = receive(fd);
	return r;
}

/* Where a user has very many pipes a new one holds less: it is drained when it is full. */
static int fill(const struct ends *e)
{
	if (fcntl(e->write, F_SETFL, O_WRONLY | O_NONBLOCK) < 0)
		return -errno;
	for (unsigned int done = 0; done < FILL * FILLS;) {
		unsigned int n = 0;
		int r = 0;

		while (n < FILL && done + n < FILL * FILLS && r == 0) {
			r = send_message(e->write);
			n += r == 0;
		}
		if (n == 0)
			return r;
		r = receive_many(e->read, n);
		if (r < 0)
			return r;
		done += n;
	}
	return 0;
}

static int work(const struct round *round, unsigned int child)
{
	const struct ends *data = round->data;
	int r = 0;

	switch (round->load) {
	case LOAD_PING_PONG:
		for (unsigned int i = 0; i < EXCHANGES && r == 0; i++) {
			if (child == 0)
				r = send_message(data[0].write);
			if (r == 0)
				r = receive(data[child == 0 ? 1 : 0].read);
			if (child == 1 && r == 0)
				r = send_message(data[1].write);
		}
		return r;
	case LOAD_FAN_IN:
		return child == 0 ? receive_many(data[0].read, WRITERS * PER_WRITER)
				  : send_many(data[0].write, PER_WRITER);
	default:
		if (child < RECEIVERS)
			return receive_many(data[child].read, SENDERS * PER_PAIR);
		for (unsigned int i = 0; i < PER_PAIR && r == 0; i++)
			for (unsigned int to = 0; to < RECEIVERS && r == 0; to++)
				r = send_message(data[to].write);
		return r;
	}
}

__attribute__((noreturn)) static void be_child(struct round *round, unsigned int child,
					       pid_t parent)
{
	char byte = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGALRM, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	alarm(ROUND_SEC);
	close(round->go.write);
	if (getppid() == parent && write(round->ready.write, &byte, 1) == 1 &&
	    read(round->go.read, &byte, 1) == 0 && work(round, child) == 0)
		round->ends_ns[child] = clock_ns(CLOCK_MONOTONIC);
	_exit(0);
}

static int await_ready(const struct round *round, unsigned int n)
{
	while (n > 0) {
		struct pollfd ready = { .fd = round->ready.read, .events = POLLIN };
		char bytes[CHILDREN];
		ssize_t got;

		if (poll(&ready, 1, ROUND_SEC * 1000) <= 0)
			return -ETIMEDOUT;
		got = read(round->ready.read, bytes, n < sizeof(bytes) ? n : sizeof(bytes));
		if (got <= 0)
			return got < 0 ? -errno : -EPIPE;
		n -= (unsigned int)got;
	}
	return 0;
}

/* Forks, lets all of them begin at once, and takes the time until the last is done. */
static int run_children(struct round *round, unsigned int n, double *ret_seconds)
{
	pid_t pids[CHILDREN], parent = getpid();
	unsigned int started = 0;
	uint64_t start, end = 0;
	int r = 0;

	for (; started < n && r == 0; started++) {
		pids[started] = fork();
		if (pids[started] == 0)
			be_child(round, started, parent);
		if (pids[started] < 0) {
			r = -errno;
			break;
		}
	}
	closep(&round->ready.write);
	round->ready.write = -1;
	if (r == 0)
		r = await_ready(round, n);
	for (unsigned int i = 0; i < started && r < 0; i++)
		kill(pids[i], SIGKILL);
	/* A reader is to see the end of its data when a writer fails. */
	for (unsigned int i = 0; i < round->n_pipes; i++)
		close_ends(&round->data[i]);
	start = clock_ns(CLOCK_MONOTONIC);
	close_ends(&round->go);
	for (unsigned int i = 0; i < started; i++) {
		while (waitpid(pids[i], NULL, 0) < 0 && errno == EINTR)
			;
		if (r == 0 && round->ends_ns[i] == 0)
			r = -EIO;
		if (round->ends_ns[i] > end)
			end = round->ends_ns[i];
	}
	if (r == 0)
		*ret_seconds = (double)(end - start) / 1e9;
	return r;
}

static int run_forked(struct round *round, double *ret_seconds)
{
	static const unsigned int children[LOADS] = {
		[LOAD_PING_PONG] = 2, [LOAD_FAN_IN] = 1 + WRITERS, [LOAD_MESSAGING] = CHILDREN
	};
	const size_t size = CHILDREN * sizeof(*round->ends_ns);
	int r;

	round->ready = round->go = (struct ends){ -1, -1 };
	round->ends_ns = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			      0);
	if (round->ends_ns == MAP_FAILED)
		return -errno;
	r = open_pipe(LOAD_ANONYMOUS, &round->ready);
	if (r >= 0)
		r = open_pipe(LOAD_ANONYMOUS, &round->go);
	if (r >= 0)
		r = run_children(round, children[round->load], ret_seconds);
	close_ends(&round->ready);
	close_ends(&round->go);
	munmap(round->ends_ns, size);
	return r;
}

int load_round(enum load load, enum load_pipe pipe, double *ret_seconds)
{
	static const unsigned int pipes[LOADS] = { 1, 2, 1, RECEIVERS };
	struct round round = { .load = load };
	double seconds = 0;
	uint64_t start;
	int r = 0;

	for (; round.n_pipes < pipes[load] && r == 0; round.n_pipes += r == 0)
		r = open_pipe(pipe, &round.data[round.n_pipes]);
	if (r == 0 && load == LOAD_FILL) {
		start = clock_ns(CLOCK_MONOTONIC);
		r = fill(&round.data[0]);
		seconds = (double)(clock_ns(CLOCK_MONOTONIC) - start) / 1e9;
	} else if (r == 0) {
		r = run_forked(&round, &seconds);
	}
	for (unsigned int i = 0; i < round.n_pipes; i++)
		close_ends(&round.data[i]);
	if (r == 0)
		*ret_seconds = seconds / load_messages(load);
	return r;
}
