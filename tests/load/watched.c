// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * watched SECONDS: writes and reads single bytes on a pipe that its child "snoop" watches with
 * inotify, so that each operation notifies it, and says how long it did so. The child watches on
 * until this process is killed.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What a sample stands for at the most, of 97 a second: of a longer time in which nothing is done,
 * because an emulator is paused, no more is taken for work. */
#define LONGEST_SECONDS (3 / 97.0)
#define BATCH		64

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "watched: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Events are left in the queue: what finds it full or finds the same event last is notified, too.
 */
static void snoop(int pipe_fd, int ready_fd)
{
	char path[64];
	int fd = inotify_init1(IN_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "snoop");
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getppid(), pipe_fd);
	if (fd < 0 || inotify_add_watch(fd, path, IN_MODIFY | IN_ACCESS) < 0)
		die("inotify");
	close(ready_fd);
	for (;;)
		pause();
}

int main(int argc, char *argv[])
{
	double seconds = argc == 2 ? strtod(argv[1], NULL) : 0, done = 0, last, batch;
	int fds[2], ready[2];
	char byte = 0;
	pid_t child;

	if (!(seconds > 0)) {
		fprintf(stderr, "usage: watched SECONDS\n");
		return 64;
	}
	if (pipe(fds) < 0 || pipe(ready) < 0)
		die("pipe");
	child = fork();
	if (child < 0)
		die("fork");
	if (child == 0)
		snoop(fds[0], ready[1]);
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 0)
		die("the watch");

	for (last = now(); done < seconds; last += batch) {
		for (int i = 0; i < BATCH; i++)
			if (write(fds[1], &byte, 1) != 1 || read(fds[0], &byte, 1) != 1)
				die("the pipe");
		batch = now() - last;
		done += fmin(batch, LONGEST_SECONDS);
	}
	printf("%.6f\n", done);
	fflush(stdout);
	for (;;)
		pause();
}
