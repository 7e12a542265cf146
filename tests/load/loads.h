/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads beside a daemon that is tested, which say in shared memory what they have done; and for how
 * long the machine did not run.
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

/* The meter sleeps for so long, and takes it for a pause of the machine when that takes so much
 * longer. */
#define METER_NS 5000000
#define PAUSE_NS 20000000

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

/* For how long the machine did not run: nothing is done meanwhile, and what windows count stands
 * for it all the same. */
static struct {
	pid_t pid;
	volatile uint64_t *paused_ns;
} meter;

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

static inline pid_t child_begin(const char *comm, int priority)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, comm);
	setpriority(PRIO_PROCESS, 0, priority);
	return 0;
}

static inline void load_begin(struct load *l)
{
	int fds[2];

	l->turns = number_share(0);
	l->fastest_ns = number_share(UINT64_MAX);
	l->pid = child_begin(l->comm, l->nice);
	if (l->pid > 0)
		return;
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

static inline void meter_begin(void)
{
	const struct timespec nap = { .tv_nsec = METER_NS };
	double woken;

	meter.paused_ns = number_share(0);
	meter.pid = child_begin("meter", -20);
	if (meter.pid > 0)
		return;
	for (woken = now();;) {
		double late;

		nanosleep(&nap, NULL);
		late = (now() - woken) * 1e9 - METER_NS;
		woken = now();
		if (late > PAUSE_NS)
			*meter.paused_ns += late;
	}
}

/* When what is over by now has been noted. */
static inline uint64_t meter_read(void)
{
	usleep(4 * METER_NS / 1000);
	return *meter.paused_ns;
}

/* Turns in a nanosecond, when nothing keeps it from running. */
static inline double load_pace(const struct load *l)
{
	return (double)l->batch / *l->fastest_ns;
}

static inline void child_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
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
