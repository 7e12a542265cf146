// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * saturate [-p] [-r RATE] [-n COMM] SECONDS: does nothing but pipe operations of one byte for so
 * long, in turns on one pipe, or (-p) as a ping-pong between two processes, and says how many:
 * reads and writes of this process, and how long it really took. With -r it makes so many turns, of
 * one write and one read, a second, and sleeps in between.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Between two looks at the clock. */
#define BATCH 64

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "saturate: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void put(int fd)
{
	char byte = 0;

	if (write(fd, &byte, 1) != 1)
		die("write");
}

static bool get(int fd)
{
	char byte;
	ssize_t n = read(fd, &byte, 1);

	if (n < 0)
		die("read");
	return n == 1;
}

/* Sleeps until @turns at @rate take that long. */
static void pace(double begin, uint64_t turns, double rate)
{
	double until = begin + turns / rate;
	struct timespec t = { (time_t)until, (long)((until - (time_t)until) * 1e9) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* Sends back each byte until there are no more. */
static pid_t echo_begin(int there[2], int back[2])
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "echo");
	close(there[1]);
	close(back[0]);
	while (get(there[0]))
		put(back[1]);
	_exit(0);
}

int main(int argc, char *argv[])
{
	bool ping_pong = false;
	int there[2], back[2], option;
	double begin, seconds, rate = 0;
	uint64_t n = 0;
	pid_t echo = 0;

	while ((option = getopt(argc, argv, "pr:n:")) >= 0) {
		if (option == 'p')
			ping_pong = true;
		else if (option == 'r')
			rate = strtod(optarg, NULL);
		else if (option == 'n')
			prctl(PR_SET_NAME, optarg);
		else
			return 64;
	}
	seconds = optind + 1 == argc ? strtod(argv[optind], NULL) : 0;
	if (!(seconds > 0)) {
		fprintf(stderr, "usage: saturate [-p] [-r RATE] [-n COMM] SECONDS\n");
		return 64;
	}
	if (pipe(there) < 0 || pipe(back) < 0)
		die("pipe");
	if (ping_pong)
		echo = echo_begin(there, back);
	begin = now();
	do {
		for (int i = 0; i < BATCH; i++) {
			put(there[1]);
			get(ping_pong ? back[0] : there[0]);
		}
		n += BATCH;
		if (rate > 0)
			pace(begin, n, rate);
	} while (now() - begin < seconds);
	printf("reads %llu writes %llu seconds %.6f\n", (unsigned long long)n,
	       (unsigned long long)n, now() - begin);
	if (echo) {
		close(there[1]);
		waitpid(echo, NULL, 0);
	}
	return 0;
}
