// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * swarm PROCESSES FORKERS [NAMES]: processes that write one byte each to one pipe and end, made by
 * FORKERS, each with one at a time and on a CPU in turn; with NAMES, they are called swarm-0 to
 * swarm-(NAMES-1), in turn.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAPACITY 65536

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "swarm: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static void live(int fd, int number, int names)
{
	char name[16];

	if (names > 0) {
		snprintf(name, sizeof(name), "swarm-%d", number % names);
		prctl(PR_SET_NAME, name);
	}
	if (write(fd, "", 1) != 1)
		die("write");
	_exit(0);
}

static void wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status != 0) {
		fprintf(stderr, "swarm: a process failed\n");
		_exit(1);
	}
}

static void make(int fd, int first, int step, int n, int names)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(first % sysconf(_SC_NPROCESSORS_ONLN), &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		die("sched_setaffinity");
	for (int i = first; i < n; i += step) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid == 0)
			live(fd, i, names);
		wait_for(pid);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0, forkers = argc > 2 ? atoi(argv[2]) : 0;
	int names = argc > 3 ? atoi(argv[3]) : 0;
	int fds[2];

	if (n < 1 || n > CAPACITY || forkers < 1 || forkers > 100) {
		fputs("usage: swarm PROCESSES FORKERS [NAMES]\n", stderr);
		return 64;
	}
	if (pipe(fds) < 0)
		die("pipe");
	for (int i = 0; i < forkers; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid == 0)
			make(fds[1], i, forkers, n, names);
	}
	for (int i = 0; i < forkers; i++) {
		int status;

		if (wait(&status) < 0 || status != 0)
			return 1;
	}
	return 0;
}
