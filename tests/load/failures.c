// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every way in which reading and writing a pipe can fail or move nothing. Ends with status 1 and a
 * sentence if something succeeds that should not.
 *
 * What does succeed, on the way: 3 writes (2 of 65536 bytes, of which one asked for more, and one
 * of 1 byte) and 1 read (of 65536 bytes).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define CAPACITY 65536

static char buffer[2 * CAPACITY];
static char *volatile nowhere = (char *)1;

static void expect(const char *what, ssize_t got, ssize_t wanted)
{
	ssize_t result = got < 0 ? -errno : got;

	if (result == wanted)
		return;
	fprintf(stderr, "failures: %s: got %zd, wanted %zd\n", what, result, wanted);
	exit(1);
}

static void open_pair(int fds[2], const char *fifo, int flags)
{
	if (!fifo) {
		expect("pipe", pipe2(fds, flags), 0);
		return;
	}
	fds[0] = open(fifo, O_RDONLY | O_NONBLOCK);
	fds[1] = open(fifo, O_WRONLY);
	if (fds[0] < 0 || fds[1] < 0)
		expect("open", -1, 0);
	expect("flags", fcntl(fds[0], F_SETFL, flags), 0);
	expect("flags", fcntl(fds[1], F_SETFL, flags), 0);
}

static void on_alarm(int number)
{
	(void)number;
}

int main(int argc, char **argv)
{
	const char *fifo = argc > 1 ? argv[1] : NULL;
	/* More than one, for who is paused between this and what a signal is to end. */
	const struct itimerval soon = { { 0, 50000 }, { 0, 50000 } }, never = {};
	struct sigaction action = { .sa_handler = on_alarm };
	int fds[2];

	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGALRM, &action, NULL);
	if (fifo && mkfifo(fifo, 0600) < 0)
		expect("mkfifo", -1, 0);

	open_pair(fds, fifo, O_NONBLOCK);
	expect("read of an empty pipe", read(fds[0], buffer, 1), -EAGAIN);
	expect("a read of nothing", read(fds[0], buffer, 0), 0);
	expect("a write of nothing", write(fds[1], buffer, 0), 0);
	expect("a write of more than fits", write(fds[1], buffer, 2 * CAPACITY), CAPACITY);
	expect("a write to a full pipe", write(fds[1], buffer, 1), -EAGAIN);
	expect("a read to nowhere", read(fds[0], nowhere, 1), -EFAULT);
	expect("a read from the write end", read(fds[1], buffer, 1), -EBADF);
	expect("a write to the read end", write(fds[0], buffer, 1), -EBADF);
	close(fds[0]);
	expect("a write that nobody will read", write(fds[1], buffer, 1), -EPIPE);
	close(fds[1]);
	expect("a read from a closed file", read(fds[0], buffer, 1), -EBADF);

	open_pair(fds, fifo, 0);
	setitimer(ITIMER_REAL, &soon, NULL);
	expect("a read that a signal ends", read(fds[0], buffer, 1), -EINTR);
	setitimer(ITIMER_REAL, &never, NULL);
	expect("a write that fits", write(fds[1], buffer, CAPACITY), CAPACITY);
	setitimer(ITIMER_REAL, &soon, NULL);
	expect("a write that a signal ends", write(fds[1], buffer, 1), -EINTR);
	setitimer(ITIMER_REAL, &never, NULL);
	expect("a read of all", read(fds[0], buffer, CAPACITY), CAPACITY);
	expect("a write that is never read", write(fds[1], buffer, 1), 1);
	close(fds[0]);
	close(fds[1]);

	open_pair(fds, fifo, 0);
	/* Last, since some kernels keep an empty page for it. */
	expect("a write from nowhere", write(fds[1], nowhere, 1), -EFAULT);
	close(fds[1]);
	expect("a read at the end", read(fds[0], buffer, 1), 0);
	return 0;
}
