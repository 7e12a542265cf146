/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads beside a daemon that is tested, which say in shared memory what they have done.
 */
#ifndef PIPEWATCH_TESTS_LOADS_H
#define PIPEWATCH_TESTS_LOADS_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "subject.h"

#define LOADS 2

/* Turns of a write and a read that a load has made; of the one that it is in at most one more. */
struct load {
	const char *comm;
	int nice;
	int batch, sleep_usec; /* turns without a pause, and the pause */
	pid_t pid;
	volatile uint64_t *turns;
	volatile uint64_t *fastest_ns; /* of its batches */
};

static struct load loads[LOADS] = {
	{ .comm = "busy", .nice = 19, .batch = 500, .sleep_usec = 1000 },
	{ .comm = "now-and-then", .batch = 50, .sleep_usec = 5000 },
};

static inline void turn(const int fds[2])
{
	char byte = 0;

	if (write(fds[1], &byte, 1) != 1 || read(fds[0], &byte, 1) != 1)
		_exit(1);
}

/* A number that is seen by who is forked. */
static inline volatile uint64_t *number_share(uint64_t value)
{
	uint64_t *number = mmap(NULL, sizeof(*number), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (number == MAP_FAILED)
		die("mmap");
	*number = value;
	return number;
}

static inline void load_begin(struct load *l)
{
	int fds[2];

	l->turns = number_share(0);
	l->fastest_ns = number_share(UINT64_MAX);
	l->pid = fork();
	if (l->pid < 0)
		die("fork");
	if (l->pid > 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, l->comm);
	setpriority(PRIO_PROCESS, 0, l->nice);
	if (pipe(fds) < 0)
		_exit(1);
	for (;;) {
		double begin = now();
		uint64_t ns;

		for (int i = 0; i < l->batch; i++) {
			turn(fds);
			++*l->turns;
		}
		ns = (now() - begin) * 1e9;
		if (ns < *l->fastest_ns)
			*l->fastest_ns = ns;
		usleep(l->sleep_usec);
	}
}

static inline void load_end(const struct load *l)
{
	kill(l->pid, SIGKILL);
	waitpid(l->pid, NULL, 0);
}

/* The most turns that it can have made in so long, by its fastest batch: if nothing else had run,
 * also no other guest. */
static inline double load_most(const struct load *l, double seconds)
{
	return seconds * 1e9 * l->batch / *l->fastest_ns;
}

/* So many turns, no more and no less, by somebody called worker. */
static inline void work(unsigned int turns, bool fifo)
{
	const char *path = "/tmp/modes.fifo";
	pid_t pid = fork();
	int fds[2], status;

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		prctl(PR_SET_NAME, "worker");
		if (fifo) {
			mkfifo(path, 0600);
			fds[0] = fds[1] = open(path, O_RDWR);
			unlink(path);
		} else if (pipe(fds) < 0) {
			_exit(1);
		}
		while (turns-- > 0)
			turn(fds);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		die("worker");
}

#endif
