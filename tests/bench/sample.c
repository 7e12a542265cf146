// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What sampling says of a load whose truth is known: a child process fills and drains a pipe of its
 * own while this one samples. Prints lines of a name and numbers; times are nanoseconds, in a guest
 * that counts instructions hence instructions:
 *
 *	truth OPERATIONS BODY		by the child: pairs of a 100-byte write and read; mean time
 *					of a pair inside the pipe's functions
 *	pipe NS SAMPLES			inside the pipe's functions, as sampled
 *	atime|cmtime|fsnotify NS SAMPLES
 *	notified NS NS			of fsnotify: on anonymous pipes, on FIFOs
 *	name COMM CGROUP		the child's, as the sampler has them
 *	ended COMM CGROUP		and when the child has ended
 *	others NS SAMPLES		in pipe operations of all other processes
 *	taken NS SAMPLES CPUS		all samples
 *	lost BEFORE AFTER		of them there was no room for, when the sums were read
 *	left N				processes that have ended but are kept
 *	clock NS BEGIN			that passed meanwhile, and since when (CLOCK_MONOTONIC)
 *	paused NS			of that in which nothing ran, by sleeps that were late
 *	pair NS NS			mean time of a pair: while sampled, and before (the median)
 *	watcher COMM CHILD WATCHES	who watches pipes (with -w); CHILD: 1 if it is the child
 *	unseen REASON			why there may be others
 *
 * The body is found by subtracting operations of no bytes, which the pipe's functions return from
 * at once, and what the system call does only after bytes were moved, as writes to /dev/null show
 * it.
 */
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pipewatch/util.h"
#include "sampler.h"
#include "snapshot.h"
#include "watchers.h"

#define MESSAGE 100
#define FILL	300 /* messages; 640 fit into a pipe of 16 pages */
#define ROUNDS	31  /* odd, so that the median is one of them */

/* How much longer than it should a sleep takes where a machine is only busy. */
#define PAUSE_NS 100000000

struct options {
	unsigned int frequency;
	long milliseconds;
	long refresh_milliseconds;
	uint32_t max_processes;
	bool fifo;
	bool noatime;
	bool watch;
	bool fanotify; /* watched with it */
	bool idle;     /* the child does nothing */
	bool empty;    /* operations of no bytes */
};

/* Written by the child, read by the parent when the child has ended. */
struct shared {
	volatile bool ready;
	volatile bool go;
	volatile bool stop;
	long pairs;
	double body;	 /* of a pair */
	double after;	 /* subtracted from it */
	double pair;	 /* a whole one, system calls and all, without sampling */
	long elapsed_ns; /* of the pairs, while sampled */
};

struct sums {
	uint32_t tgid;
	struct sampler_process child, others;
	struct sampler_process ended; /* the child when it had ended */
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "sample: %s: %s\n", what, strerror(errno));
	exit(1);
}

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void open_pipe(const struct options *o, int fds[2])
{
	if (o->fifo) {
		char directory[] = "/tmp/sample.XXXXXX", path[64];

		if (!mkdtemp(directory))
			die("mkdtemp");
		snprintf(path, sizeof(path), "%s/fifo", directory);
		if (mkfifo(path, 0600) < 0)
			die("mkfifo");
		fds[0] = open(path, O_RDONLY | O_NONBLOCK);
		fds[1] = open(path, O_WRONLY);
		unlink(path);
		rmdir(directory);
		if (fds[0] < 0 || fds[1] < 0)
			die("open");
	} else if (pipe(fds) < 0) {
		die("pipe");
	}
	if (o->noatime && fcntl(fds[0], F_SETFL, O_NOATIME) < 0)
		die("O_NOATIME");
}

static void fill(int fds[2], size_t length, long times[2])
{
	char buffer[MESSAGE] = {};
	long begin = now(), middle;

	for (int i = 0; i < FILL; i++)
		if (write(fds[1], buffer, length) != (ssize_t)length)
			die("write");
	middle = now();
	for (int i = 0; i < FILL; i++)
		if (read(fds[0], buffer, length) != (ssize_t)length)
			die("read");
	times[0] = middle - begin;
	times[1] = now() - middle;
}

static int by_value(const void *a, const void *b)
{
	const long *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The median time of a write and a read of @length bytes together. */
static double pair_time(int fds[2], size_t length)
{
	long rounds[2][ROUNDS], times[2];

	for (int round = 0; round < ROUNDS; round++) {
		fill(fds, length, times);
		rounds[0][round] = times[0];
		rounds[1][round] = times[1];
	}
	qsort(rounds[0], ROUNDS, sizeof(long), by_value);
	qsort(rounds[1], ROUNDS, sizeof(long), by_value);
	return (double)(rounds[0][ROUNDS / 2] + rounds[1][ROUNDS / 2]) / FILL;
}

/* What the system call does after moving bytes and not after moving none: of a pair, taking a read
 * for a write. */
static double after_time(void)
{
	char buffer[MESSAGE] = {};
	long times[2][ROUNDS];
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		die("/dev/null");
	for (int round = 0; round < ROUNDS; round++) {
		for (int some = 0; some < 2; some++) {
			size_t length = some ? MESSAGE : 0;
			long begin = now();

			for (int i = 0; i < FILL; i++)
				if (write(fd, buffer, length) != (ssize_t)length)
					die("write");
			times[some][round] = now() - begin;
		}
	}
	close(fd);
	qsort(times[0], ROUNDS, sizeof(long), by_value);
	qsort(times[1], ROUNDS, sizeof(long), by_value);
	return 2.0 * (times[1][ROUNDS / 2] - times[0][ROUNDS / 2]) / FILL;
}

static void watch(const struct options *o, int pipe_fd)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), pipe_fd);
	if (o->fanotify) {
		fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC, O_RDONLY);
		if (fd < 0 ||
		    fanotify_mark(fd, FAN_MARK_ADD, FAN_ACCESS | FAN_MODIFY, AT_FDCWD, path) < 0)
			die("fanotify");
		return;
	}
	fd = inotify_init1(IN_CLOEXEC);
	if (fd < 0 || inotify_add_watch(fd, path, IN_ACCESS | IN_MODIFY) < 0)
		die("inotify");
}

/* The truth. */
static void measure(const struct options *o, int fds[2], struct shared *shared)
{
	double empty;

	shared->pair = pair_time(fds, MESSAGE);
	empty = pair_time(fds, 0);
	shared->after = after_time();
	shared->body = shared->pair - empty - shared->after;
	if (o->empty)
		shared->pair = empty;
}

static void child_run(const struct options *o, struct shared *shared)
{
	long times[2], begin;
	int fds[2];

	open_pipe(o, fds);
	if (o->watch)
		watch(o, fds[0]);
	if (!o->idle)
		measure(o, fds, shared);
	shared->ready = true;
	while (!shared->go)
		usleep(1000);
	begin = now();
	while (!shared->stop) {
		if (o->idle) {
			usleep(1000);
			continue;
		}
		fill(fds, o->empty ? 0 : MESSAGE, times);
		shared->pairs += FILL;
		/* What samples were taken before has another name. */
		prctl(PR_SET_NAME, "renamed");
	}
	shared->elapsed_ns = now() - begin;
}

static void add(const struct sampler_process *p, void *userdata)
{
	struct sums *sums = userdata;
	struct sampler_process *sum = p->tgid == sums->tgid ? &sums->child : &sums->others;

	sum->pipe_ns += p->pipe_ns;
	sum->pipe_samples += p->pipe_samples;
	for (int kind = 0; kind < UPDATE_KINDS; kind++) {
		sum->update_ns[kind] += p->update_ns[kind];
		sum->update_samples[kind] += p->update_samples[kind];
	}
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		sum->fsnotify_ns[pipe] += p->fsnotify_ns[pipe];
	memcpy(sum->comm, p->comm, sizeof(sum->comm));
	sum->cgroup_id = p->cgroup_id;
}

static void end(const struct sampler_process *p, void *userdata)
{
	struct sums *sums = userdata;

	if (p->tgid == sums->tgid && p->exited)
		sums->ended = *p;
}

static void count(const struct sampler_process *p, void *userdata)
{
	*(unsigned int *)userdata += p->tgid != 0 && kill(p->tgid, 0) < 0;
}

/* How many ended processes are still there after a reading that should have removed them. */
static unsigned int count_left(struct sampler *s, struct sums *sums)
{
	unsigned int n = 0;

	if (sampler_read(s, NULL, end, sums) < 0 || sampler_read(s, NULL, count, &n) < 0)
		die("sampler_read");
	return n;
}

static void print_watchers(struct watchers *w, pid_t child)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();

	if (!s || watchers_fill(w, s) < 0)
		die("watchers_fill");
	for (size_t i = 0; i < s->n_watchers; i++)
		printf("watcher %s %d %u\n", s->watchers[i].comm,
		       s->watchers[i].pid == (uint32_t)child, s->watchers[i].watches);
	printf("unseen %s\n", s->watchers_reason);
}

static void usage(void)
{
	fputs("usage: sample [-F HZ (0: none)] [-t MILLISECONDS] [-r MILLISECONDS between refreshes] [-m PROCESSES] [-f (FIFO)] "
	      "[-a (O_NOATIME)] [-w (watched) [-n (with fanotify)]] [-i (idle)] [-z (no bytes)] [-d CAPABILITY to drop]\n",
	      stderr);
	exit(64);
}

static struct options parse(int argc, char **argv)
{
	struct options o = {
		.frequency = 997,
		.milliseconds = 1000,
		.refresh_milliseconds = 7,
		.max_processes = 1024,
	};
	int option;

	while ((option = getopt(argc, argv, "F:t:r:m:fawnizd:")) >= 0) {
		switch (option) {
		case 'F': o.frequency = atoi(optarg); break;
		case 't': o.milliseconds = atol(optarg); break;
		case 'r': o.refresh_milliseconds = atol(optarg); break;
		case 'm': o.max_processes = atoi(optarg); break;
		case 'f': o.fifo = true; break;
		case 'a': o.noatime = true; break;
		case 'w': o.watch = true; break;
		case 'n': o.fanotify = true; break;
		case 'z': o.empty = true; break;
		case 'i': o.idle = true; break;
		case 'd':
			capng_get_caps_process();
			if (capng_update(CAPNG_DROP, CAPNG_EFFECTIVE | CAPNG_PERMITTED,
					 capng_name_to_capability(optarg)) < 0 ||
			    capng_apply(CAPNG_SELECT_CAPS) < 0)
				die(optarg);
			break;
		default: usage();
		}
	}
	if (optind != argc)
		usage();
	return o;
}

int main(int argc, char **argv)
{
	struct options o = parse(argc, argv);
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	_cleanup_(sampler_freep) struct sampler *s = NULL;
	_cleanup_(watchers_freep) struct watchers *w = NULL;
	struct sums sums = {};
	char reason[512];
	long begin, clock, paused = 0;
	uint64_t taken = 0, lost = 0, lost_after = 0;
	double seconds = 0;
	pid_t pid;
	int r;

	if (shared == MAP_FAILED)
		die("mmap");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		child_run(&o, shared);
		_exit(0);
	}
	while (!shared->ready) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			exit(1);
		usleep(1000);
	}
	r = o.frequency == 0
		    ? 0
		    : sampler_new(o.frequency, o.max_processes, reason, sizeof(reason), &s);
	if (r < 0) {
		kill(pid, SIGKILL);
		printf("denied %s\n%s\n", strerrorname_np(-r), reason);
		return 77;
	}

	if (o.watch && (watchers_new(&w) < 0 || watchers_scan(w, "/proc", 10000000) != 1))
		die("watchers");

	begin = now();
	shared->go = true;
	while (now() - begin < o.milliseconds * 1000000) {
		long left = o.milliseconds - (now() - begin) / 1000000 + 1;
		long nap = left < o.refresh_milliseconds ? left : o.refresh_milliseconds;
		long fell_asleep = now(), late;

		usleep(1000 * nap);
		late = now() - fell_asleep - nap * 1000000;
		if (late > PAUSE_NS)
			paused += late;
		r = s ? sampler_refresh(s) : 0;
		if (r < 0)
			fprintf(stderr, "sample: refresh: %s\n", strerror(-r));
	}
	shared->stop = true;
	clock = now() - begin;
	if (!s)
		goto unsampled;
	taken = sampler_taken(s);
	seconds = sampler_seconds(s);
	sums.tgid = pid;
	lost = sampler_lost(s);
	r = sampler_read(s, NULL, add, &sums);
	if (r < 0) {
		errno = -r;
		die("sampler_read");
	}
	lost_after = sampler_lost(s);
unsampled:
	waitpid(pid, NULL, 0);
	if (s)
		printf("left %u\n", count_left(s, &sums));

	printf("truth %ld %.1f %.1f\n", shared->pairs, shared->body, shared->after);
	printf("pipe %lu %lu\n", sums.child.pipe_ns, sums.child.pipe_samples);
	for (int kind = 0; kind < UPDATE_KINDS; kind++)
		printf("%s %lu %lu\n", update_kind_name(kind), sums.child.update_ns[kind],
		       sums.child.update_samples[kind]);
	printf("notified %lu %lu\n", sums.child.fsnotify_ns[PIPE_ANONYMOUS],
	       sums.child.fsnotify_ns[PIPE_FIFO]);
	printf("name %s %lu\n", sums.child.comm, sums.child.cgroup_id);
	printf("ended %s %lu\n", sums.ended.comm, sums.ended.cgroup_id);
	printf("others %lu %lu\n", sums.others.pipe_ns, sums.others.pipe_samples);
	if (s)
		printf("taken %.0f %lu %u\nlost %lu %lu\n", seconds * 1e9, taken, sampler_cpus(s),
		       lost, lost_after);
	printf("clock %ld %ld\npaused %ld\n", clock, begin, paused);
	if (w)
		print_watchers(w, pid);
	printf("pair %.2f %.2f\n", shared->pairs ? (double)shared->elapsed_ns / shared->pairs : 0,
	       shared->pair);
	return 0;
}
