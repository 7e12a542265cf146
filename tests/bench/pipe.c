// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a 100-byte pipe operation costs, in nanoseconds of CLOCK_MONOTONIC, which in a guest that
 *counts instructions is instructions. Prints a line for each case:
 *
 *	fill CASE WRITE READ	one process fills the pipe, then drains it
 *	alternate CASE MEAN	two processes send one message to and fro, switches of context
 *	included
 *	mean CASE WRITE READ	with -m MILLISECONDS: as fill, but for that long and the mean; with
 *	-s MILLISECONDS after as long of the same that is not measured
 *	total KIND WRITES READS	all successful operations there were, for who wants to check a
 *	counter
 *
 * The others are medians of many short rounds, so that no timer tick and no other process has part
 * in them; in the mean all have.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE	  100
#define WARM_UP	  4   /* rounds before those that are measured: caches, the first touch of pages */
#define ROUNDS	  31  /* odd, so that the median is one of them */
#define FILL	  500 /* messages; 640 fit into a pipe of 16 pages */
#define EXCHANGES 100 /* of two messages, hence four operations */

struct total {
	long writes;
	long reads;
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "pipe: %s: %s\n", what, strerror(errno));
	exit(1);
}

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	const long *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(long times[ROUNDS], int operations)
{
	qsort(times, ROUNDS, sizeof(*times), by_value);
	return (double)times[ROUNDS / 2] / operations;
}

static void open_fifo(int fds[2])
{
	char directory[] = "/tmp/pipe.XXXXXX", path[64];

	if (!mkdtemp(directory))
		die("mkdtemp");
	snprintf(path, sizeof(path), "%s/fifo", directory);
	if (mkfifo(path, 0600) < 0)
		die("mkfifo");
	fds[0] = open(path, O_RDONLY | O_NONBLOCK);
	fds[1] = open(path, O_WRONLY);
	if (fds[0] < 0 || fds[1] < 0)
		die("open");
	/* As a blocking pipe, which an anonymous one is. */
	if (fcntl(fds[0], F_SETFL, 0) < 0)
		die("F_SETFL");
	unlink(path);
	rmdir(directory);
}

static void open_pipe(int fds[2])
{
	if (pipe(fds) < 0)
		die("pipe");
}

static void send_message(int fd)
{
	static const char message[MESSAGE];

	if (write(fd, message, sizeof(message)) != sizeof(message))
		die("write");
}

static void receive_message(int fd)
{
	char message[MESSAGE];

	if (read(fd, message, sizeof(message)) != sizeof(message))
		die("read");
}

static void fill(const char *name, bool fifo, bool noatime, struct total *total)
{
	long writes[ROUNDS], reads[ROUNDS];
	int fds[2];

	(fifo ? open_fifo : open_pipe)(fds);
	if (noatime && fcntl(fds[0], F_SETFL, O_NOATIME) < 0)
		die("O_NOATIME");
	for (int round = -WARM_UP; round < ROUNDS; round++) {
		long begin, middle, end;

		begin = now();
		for (int i = 0; i < FILL; i++)
			send_message(fds[1]);
		middle = now();
		for (int i = 0; i < FILL; i++)
			receive_message(fds[0]);
		end = now();
		if (round < 0)
			continue;
		writes[round] = middle - begin;
		reads[round] = end - middle;
	}
	close(fds[0]);
	close(fds[1]);
	total->writes += (WARM_UP + ROUNDS) * FILL;
	total->reads += (WARM_UP + ROUNDS) * FILL;
	printf("fill %s %.1f %.1f\n", name, median(writes, FILL), median(reads, FILL));
}

static void alternate(const char *name, bool fifo, struct total *total)
{
	const struct sched_param parameters = { .sched_priority = 1 }, none = {};
	const int exchanges = (WARM_UP + ROUNDS) * EXCHANGES;
	long times[ROUNDS];
	int to[2], fro[2], status;
	pid_t child;

	(fifo ? open_fifo : open_pipe)(to);
	(fifo ? open_fifo : open_pipe)(fro);
	/* The fair scheduler may or may not let the woken process run at once, for a whole run. */
	if (sched_setscheduler(0, SCHED_FIFO, &parameters) < 0)
		die("SCHED_FIFO");
	child = fork();
	if (child < 0)
		die("fork");
	if (child == 0) {
		for (int i = 0; i < exchanges; i++) {
			receive_message(to[0]);
			send_message(fro[1]);
		}
		_exit(0);
	}
	for (int round = -WARM_UP; round < ROUNDS; round++) {
		long begin = now();

		for (int i = 0; i < EXCHANGES; i++) {
			send_message(to[1]);
			receive_message(fro[0]);
		}
		if (round >= 0)
			times[round] = now() - begin;
	}
	if (waitpid(child, &status, 0) < 0 || status != 0)
		die("the other process");
	if (sched_setscheduler(0, SCHED_OTHER, &none) < 0)
		die("SCHED_OTHER");
	close(to[0]);
	close(to[1]);
	close(fro[0]);
	close(fro[1]);
	total->writes += 2 * exchanges;
	total->reads += 2 * exchanges;
	printf("alternate %s %.1f\n", name, median(times, 4 * EXCHANGES));
}

/* Prints nothing without a name. */
static void fill_for(const char *name, bool fifo, long milliseconds, struct total *total)
{
	long begin = now(), writing = 0, reading = 0, operations = 0;
	int fds[2];

	(fifo ? open_fifo : open_pipe)(fds);
	while (now() - begin < milliseconds * 1000000) {
		long start = now(), middle;

		for (int i = 0; i < FILL; i++)
			send_message(fds[1]);
		middle = now();
		for (int i = 0; i < FILL; i++)
			receive_message(fds[0]);
		reading += now() - middle;
		writing += middle - start;
		operations += FILL;
	}
	close(fds[0]);
	close(fds[1]);
	total->writes += operations;
	total->reads += operations;
	if (name && operations > 0)
		printf("mean %s %.2f %.2f\n", name, (double)writing / operations,
		       (double)reading / operations);
}

int main(int argc, char **argv)
{
	struct total anonymous = {}, fifo = {};
	long milliseconds = 0, settle = 0;
	int option;

	while ((option = getopt(argc, argv, "m:s:")) >= 0) {
		long value = optarg ? atol(optarg) : 0;

		if (option == '?' || value <= 0) {
			fputs("usage: pipe [-s MILLISECONDS] [-m MILLISECONDS]\n", stderr);
			return 64;
		}
		*(option == 'm' ? &milliseconds : &settle) = value;
	}
	/* Else a child would print what its parent has not printed yet. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	fill("anonymous", false, false, &anonymous);
	fill("anonymous-noatime", false, true, &anonymous);
	fill("fifo", true, false, &fifo);
	fill("fifo-noatime", true, true, &fifo);
	alternate("anonymous", false, &anonymous);
	alternate("fifo", true, &fifo);
	if (milliseconds > 0) {
		if (settle > 0)
			fill_for(NULL, false, settle, &anonymous);
		fill_for("anonymous", false, milliseconds, &anonymous);
		fill_for("fifo", true, milliseconds, &fifo);
	}
	printf("total anonymous %ld %ld\n", anonymous.writes, anonymous.reads);
	printf("total fifo %ld %ld\n", fifo.writes, fifo.reads);
	return 0;
}
