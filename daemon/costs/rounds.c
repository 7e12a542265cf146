// SPDX-License-Identifier: GPL-2.0-or-later
#include "rounds.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "pipewatch/clock.h"
#include "error.h"
#include "own-pipe.h"
#include "pipewatch/util.h"

/* For caches, branch predictors, and the pipe's page. */
#define WARM_UP_ROUNDS 4

/* A round takes longer than this on any machine: the list is sized by it. */
#define ROUND_MIN_USEC 20
#define ROUNDS_MAX     20000

/* If there are fewer rounds, they are waited for beyond the duration, this long at most; and the
 * thread has this long to say that it is done. */
#define ENOUGH_ROUNDS 24
#define GRACE_USEC    250000
#define SLACK_USEC    2000

/* The longest tick. */
#define TICK_MAX_USEC 10000

#define DIRECTORIES_MAX 8
#define VARIANTS	(PIPE_KINDS * 2)

/* Shared by the thread and its caller. The last of them frees it, since the thread may be kept from
 * running for long. */
struct rounds {
	atomic_int references;
	atomic_bool stop;
	atomic_size_t n_done; /* so many of rounds[] are not written to any more */
	sem_t done;
	atomic_int error; /* valid after done */

	char *directories[DIRECTORIES_MAX + 1];
	struct own_pipe pipes[PIPE_KINDS]; /* the thread's */
	uint8_t variants[VARIANTS];	   /* those that are measured: kind * 2 + O_NOATIME */
	size_t n_variants;
	char missing[PIPE_KINDS][2][96];
	double clock_seconds;
	unsigned int duration_usec;	    /* from when the thread begins with rounds */
	struct timespec soft_end, hard_end; /* when they should be over, and when they must be */

	size_t n, n_max;
	struct round *rounds;
};

/* When the kernel last stored each time, by the clock that it is taken from; 0: not known. */
struct stored {
	uint64_t atime[PIPE_KINDS], cmtime[PIPE_KINDS];
};

static struct timespec after_usec(const struct timespec *t, unsigned int usec)
{
	uint64_t ns = t->tv_nsec + usec * UINT64_C(1000);

	return (struct timespec){ .tv_sec = t->tv_sec + (time_t)(ns / 1000000000),
				  .tv_nsec = (long)(ns % 1000000000) };
}

static bool is_past(const struct timespec *t)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec != t->tv_sec ? now.tv_sec > t->tv_sec : now.tv_nsec >= t->tv_nsec;
}

/* The least of a few, since interrupts only ever add. */
static double measure_clock(void)
{
	enum { READINGS = 32, TRIES = 8 };
	uint64_t least = UINT64_MAX;

	for (int try = 0; try < TRIES; try++) {
		uint64_t start = clock_ns(CLOCK_MONOTONIC), end = start;

		for (int i = 0; i < READINGS; i++)
			end = clock_ns(CLOCK_MONOTONIC);
		if (end - start < least)
			least = end - start;
	}
	return (double)least / READINGS / 1e9;
}

/* Did all operations find the present time stored already? After them it is. */
static bool is_usual(bool ticked, uint64_t now, uint64_t *stored)
{
	bool usual = !ticked && *stored == now;

	*stored = ticked ? 0 : now;
	return usual;
}

static int measure(const struct own_pipe *p, enum pipe_kind kind, bool noatime,
		   struct stored *stored, struct round_variant *ret)
{
	char buffer[ROUND_BYTES] = { 0 };
	uint64_t before, start, middle, end, after;

	if (fcntl(p->read_fd, F_SETFL, O_NONBLOCK | (noatime ? O_NOATIME : 0)) < 0)
		return -errno;

	/* Not through the C library, whose calls cost more in a process with threads. */
	before = clock_ns(CLOCK_REALTIME_COARSE);
	start = clock_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < ROUND_OPERATIONS; i++)
		if (syscall(SYS_write, p->write_fd, buffer, sizeof(buffer)) != sizeof(buffer))
			return -EIO;
	middle = clock_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < ROUND_OPERATIONS; i++)
		if (syscall(SYS_read, p->read_fd, buffer, sizeof(buffer)) != sizeof(buffer))
			return -EIO;
	end = clock_ns(CLOCK_MONOTONIC);
	after = clock_ns(CLOCK_REALTIME_COARSE);

	ret->writes.ns = (uint32_t)(middle - start);
	ret->reads.ns = (uint32_t)(end - middle);
	ret->writes.usual = is_usual(before != after, before, &stored->cmtime[kind]);
	ret->reads.usual = noatime ? before == after
				   : is_usual(before != after, before, &stored->atime[kind]);
	return 0;
}

/* All variants once, in random order, so that no rhythm of the machine favours one. */
static int run_round(struct rounds *r, uint32_t *random, struct stored *stored, struct round *ret)
{
	for (size_t left = r->n_variants; left > 0; left--) {
		uint8_t variant;
		size_t pick;
		int error;

		*random ^= *random << 13;
		*random ^= *random >> 17;
		*random ^= *random << 5;
		pick = *random % left;
		variant = r->variants[pick];
		r->variants[pick] = r->variants[left - 1];
		r->variants[left - 1] = variant;
		error = measure(&r->pipes[variant / 2], variant / 2, variant % 2, stored,
				&ret->variants[variant / 2][variant % 2]);
		if (error < 0)
			return error;
	}
	return 0;
}

/* None of this needs to be undone, since it ends with the thread. What is not permitted is left
 * out. */
static void stand_back(void)
{
	static const struct sched_param none;
	int cpu = sched_getcpu();

	(void)close_range(0, ~0U, CLOSE_RANGE_UNSHARE);
	(void)sched_setscheduler(0, SCHED_BATCH, &none);
	(void)setpriority(PRIO_PROCESS, 0, 19);
	if (cpu >= 0) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET((size_t)cpu, &set);
		(void)sched_setaffinity(0, sizeof(set), &set);
	}
}

static void add_variant(struct rounds *r, enum pipe_kind kind, bool noatime)
{
	r->variants[r->n_variants++] = (uint8_t)(kind * 2 + noatime);
}

static int open_pipes(struct rounds *r)
{
	for (int kind = 0; kind < PIPE_KINDS; kind++) {
		struct own_pipe *p = &r->pipes[kind];
		const char *failed;
		int error = own_pipe_open(kind, (const char *const *)r->directories, p, &failed);

		if (error < 0 && kind == PIPE_ANONYMOUS)
			return error;
		if (error < 0) {
			for (int noatime = 0; noatime < 2; noatime++)
				snprintf(r->missing[kind][noatime], sizeof(r->missing[kind][0]),
					 "no own FIFO could be made (%.32s: %s)", failed,
					 error_name(error));
			continue;
		}
		if (p->noatime)
			snprintf(r->missing[kind][false], sizeof(r->missing[kind][0]),
				 "own FIFOs can only be had on mounts with noatime");
		else
			add_variant(r, kind, false);
		if (fcntl(p->read_fd, F_SETFL, O_NONBLOCK | O_NOATIME) < 0)
			snprintf(r->missing[kind][true], sizeof(r->missing[kind][0]),
				 "O_NOATIME is refused (%s)", error_name(errno));
		else
			add_variant(r, kind, true);
	}
	return 0;
}

/*
 * A new inode may have been stamped by a finer clock, which is ahead of the one that updates use.
 * Until that one catches up, at the next tick, an update takes longer.
 */
static void await_tick(void)
{
	static const struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t start = clock_ns(CLOCK_REALTIME_COARSE);

	for (int n = 0; n < TICK_MAX_USEC / 1000 && clock_ns(CLOCK_REALTIME_COARSE) == start; n++)
		nanosleep(&nap, NULL);
}

static void *thread_main(void *argument)
{
	struct rounds *r = argument;
	struct stored stored = { 0 };
	uint32_t random = 2463534242;
	struct timespec now, end;
	size_t n = 0;

	stand_back();
	for (int kind = 0; kind < PIPE_KINDS; kind++)
		r->pipes[kind] = OWN_PIPE_NONE;
	r->error = open_pipes(r);
	r->clock_seconds = measure_clock();
	await_tick();
	clock_gettime(CLOCK_MONOTONIC, &now);
	end = after_usec(&now, r->duration_usec);
	for (int i = 0; i < WARM_UP_ROUNDS && r->error == 0; i++)
		r->error = run_round(r, &random, &stored, &r->rounds[0]);
	while (r->error == 0 && n < r->n_max && !atomic_load(&r->stop) && !is_past(&r->hard_end) &&
	       (n < ENOUGH_ROUNDS || !is_past(&end))) {
		r->error = run_round(r, &random, &stored, &r->rounds[n]);
		if (r->error == 0)
			atomic_store(&r->n_done, ++n);
	}
	for (int kind = 0; kind < PIPE_KINDS; kind++)
		own_pipe_close(&r->pipes[kind]);
	sem_post(&r->done);
	rounds_free(r);
	return NULL;
}

static int rounds_new(const char *const *directories, unsigned int duration_usec,
		      struct rounds **ret_rounds)
{
	_cleanup_(rounds_freep) struct rounds *r = calloc(1, sizeof(*r));
	struct timespec now;

	if (!r)
		return -ENOMEM;
	atomic_init(&r->references, 1);
	if (sem_init(&r->done, 0, 0) < 0)
		return -errno;
	r->n_max = duration_usec / ROUND_MIN_USEC + ENOUGH_ROUNDS;
	if (r->n_max > ROUNDS_MAX)
		r->n_max = ROUNDS_MAX;
	r->rounds = calloc(r->n_max, sizeof(*r->rounds));
	if (!r->rounds)
		return -ENOMEM;
	for (size_t i = 0; i < DIRECTORIES_MAX && directories[i]; i++) {
		r->directories[i] = strdup(directories[i]);
		if (!r->directories[i])
			return -ENOMEM;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	r->duration_usec = duration_usec;
	r->soft_end = after_usec(&now, duration_usec + TICK_MAX_USEC);
	r->hard_end = after_usec(&r->soft_end, GRACE_USEC);

	*ret_rounds = r;
	r = NULL;
	return 0;
}

/* The thread gets no signals. */
static int thread_start(struct rounds *r)
{
	sigset_t all, old;
	pthread_attr_t attributes;
	pthread_t thread;
	int error;

	error = pthread_attr_init(&attributes);
	if (error)
		return -error;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	atomic_fetch_add(&r->references, 1);
	error = pthread_create(&thread, &attributes, thread_main, r);
	if (error)
		atomic_fetch_sub(&r->references, 1);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attributes);
	return -error;
}

static bool wait_until(struct rounds *r, const struct timespec *end)
{
	int error;

	do {
		error = sem_clockwait(&r->done, CLOCK_MONOTONIC, end) < 0 ? errno : 0;
	} while (error == EINTR);
	return error == 0;
}

int rounds_run(const char *const *directories, unsigned int duration_usec,
	       struct rounds **ret_rounds)
{
	_cleanup_(rounds_freep) struct rounds *r = NULL;
	struct timespec end;
	bool done;
	int error;

	error = rounds_new(directories, duration_usec, &r);
	if (error >= 0)
		error = thread_start(r);
	if (error < 0)
		return error;

	end = after_usec(&r->soft_end, SLACK_USEC);
	done = wait_until(r, &end) ||
	       (atomic_load(&r->n_done) < ENOUGH_ROUNDS && wait_until(r, &r->hard_end));
	atomic_store(&r->stop, true);
	if (done && r->error < 0)
		return r->error;
	r->n = atomic_load(&r->n_done);
	/* It may not even have got so far as to say what is missing. */
	if (!done && r->n == 0)
		return -EBUSY;

	*ret_rounds = r;
	r = NULL;
	return 0;
}

struct rounds *rounds_free(struct rounds *r)
{
	if (!r || atomic_fetch_sub(&r->references, 1) > 1)
		return NULL;
	sem_destroy(&r->done);
	for (size_t i = 0; i < DIRECTORIES_MAX; i++)
		free(r->directories[i]);
	free(r->rounds);
	free(r);
	return NULL;
}

const struct round *rounds_list(const struct rounds *r, size_t *ret_n)
{
	*ret_n = r->n;
	return r->rounds;
}

const char *rounds_missing(const struct rounds *r, enum pipe_kind kind, bool noatime)
{
	const char *missing = r->missing[kind][noatime];

	return *missing ? missing : NULL;
}

double rounds_clock_seconds(const struct rounds *r)
{
	return r->n > 0 ? r->clock_seconds : 0;
}
