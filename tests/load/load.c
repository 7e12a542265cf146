// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Known work: each thread does exactly N operations of S bytes on a pipe of its own, so that every
 * count is known in advance. A thread writes and reads in turns, hence never blocks.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct work {
	long operations;
	size_t size;
	int threads;
	bool fifo;
	bool noatime;
	int cpu; /* of this thread; -1: any */
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void open_fifo(int fds[2])
{
	char directory[] = "/tmp/load.XXXXXX", path[64];

	if (!mkdtemp(directory))
		die("mkdtemp");
	snprintf(path, sizeof(path), "%s/fifo", directory);
	if (mkfifo(path, 0600) < 0)
		die("mkfifo");
	fds[0] = open(path, O_RDONLY | O_NONBLOCK);
	fds[1] = open(path, O_WRONLY);
	if (fds[0] < 0 || fds[1] < 0)
		die("open");
	unlink(path);
	rmdir(directory);
}

static void *work_run(void *argument)
{
	const struct work *w = argument;
	char *buffer = calloc(1, w->size);
	int fds[2];

	if (!buffer)
		die("calloc");
	if (w->cpu >= 0) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(w->cpu, &set);
		if (sched_setaffinity(0, sizeof(set), &set) < 0)
			die("sched_setaffinity");
	}
	if (w->fifo)
		open_fifo(fds);
	else if (pipe(fds) < 0)
		die("pipe");
	if (w->noatime && fcntl(fds[0], F_SETFL, O_NOATIME) < 0)
		die("O_NOATIME");
	for (long i = 0; i < w->operations; i++) {
		if (write(fds[1], buffer, w->size) != (ssize_t)w->size)
			die("write");
		if (read(fds[0], buffer, w->size) != (ssize_t)w->size)
			die("read");
	}
	close(fds[0]);
	close(fds[1]);
	free(buffer);
	return NULL;
}

static void usage(void)
{
	fputs("usage: load [-n OPERATIONS] [-s BYTES] [-t THREADS] [-f (FIFO)] [-a (O_NOATIME)] [-c NAME] [-w (wait for SIGTERM)]\n",
	      stderr);
	exit(64);
}

int main(int argc, char **argv)
{
	struct work work = { .operations = 1, .size = 1, .threads = 1, .cpu = -1 };
	bool wait = false;
	pthread_t threads[256];
	struct work works[256];
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	sigset_t set;
	int option;

	/* Before anything is done that counts. */
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);

	while ((option = getopt(argc, argv, "n:s:t:fac:w")) >= 0) {
		switch (option) {
		case 'n': work.operations = atol(optarg); break;
		case 's': work.size = atol(optarg); break;
		case 't': work.threads = atoi(optarg); break;
		case 'f': work.fifo = true; break;
		case 'a': work.noatime = true; break;
		case 'c': prctl(PR_SET_NAME, optarg); break;
		case 'w': wait = true; break;
		default: usage();
		}
	}
	if (optind != argc || work.threads < 1 || work.threads > 256)
		usage();

	if (work.threads == 1) {
		work_run(&work);
	} else {
		for (int i = 0; i < work.threads; i++) {
			works[i] = work;
			works[i].cpu = i % n_cpus;
			if (pthread_create(&threads[i], NULL, work_run, &works[i]))
				die("pthread_create");
		}
		for (int i = 0; i < work.threads; i++)
			pthread_join(threads[i], NULL);
	}
	if (wait) {
		int got;

		puts("done");
		fflush(stdout);
		sigwait(&set, &got);
	}
	return 0;
}
