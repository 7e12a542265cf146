// SPDX-License-Identifier: GPL-2.0-or-later
#include "burst.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "burst-pairs.h"
#include "burst-sum.h"
#include "pipewatch/clock.h"
#include "cpu-seconds.h"
#include "own-pipe.h"
#include "pipewatch/util.h"
#include "sysfs.h"

#define CALIBRATION_RUNS 256
/* Empty functions always take the same time. */
#define EMPTY_OUTLIER_MEDIANS 2
#define STIMULUS_NS	      1500000
#define STIMULUS_BATCHES      64
#define STIMULUS_BATCHES_MIN  4 /* on however slow a machine */
#define BATCH		      8
#define WRITE_BYTES	      100

/* The largest step of a clock that still averages out. */
#define STEP_NS_MAX 100.0

/* Two figures that differ by less than this many standard errors are taken to be equal. */
#define DOUBT_ERRORS 3

/* No update takes longer than this: the most that reading the clock may take, whatever our own
 * pipes suggest. */
#define CLOCK_NS_MAX 200.0

struct burst {
	const atomic_bool *stop; /* while in burst_new(); may be NULL */
	struct burst_pairs *pairs;
	struct own_pipe own[PIPE_KINDS];
	struct burst_cost cost; /* as calibrated at the start */
	double clock_error_ns;	/* of cost.clock_ns; one standard error */
	/* Why a part of a call cannot be timed; "" when it can. */
	char no_part[BURST_CALLS][BURST_PARTS][128];
	uint64_t missed;      /* before this window */
	pid_t child;	      /* to which the programs are attached; 0: none */
	double child_seconds; /* CPU time of those that have ended */
	struct burst_times times;
};

static bool pair_usable(const struct burst *b, enum burst_pair pair)
{
	return !burst_pairs_reason(b->pairs, pair)[0];
}

static bool stopped(const struct burst *b)
{
	return b->stop && atomic_load(b->stop);
}

static void empty_mean(const struct burst *b, enum burst_span span, struct histogram_mean *ret)
{
	histogram_mean(&b->times.histograms[BURST_OWN][BURST_ANONYMOUS][BURST_EMPTY][span],
		       EMPTY_OUTLIER_MEDIANS, ret);
}

/* Attaches @pair in addition to what is attached already, runs the empty functions, and reads what
 * was timed. */
static int calibration_run(struct burst *b, enum burst_pair pair)
{
	int r;

	if (stopped(b))
		return -ECANCELED;
	if (!pair_usable(b, pair))
		return -ENOENT;
	r = burst_pairs_attach(b->pairs, pair);
	burst_pairs_set_open(b->pairs, true);
	/* To warm up the caches; not counted. */
	if (r >= 0)
		r = burst_pairs_run_empty(b->pairs, BATCH);
	if (r >= 0)
		r = burst_pairs_clear(b->pairs);
	if (r >= 0)
		r = burst_pairs_run_empty(b->pairs, CALIBRATION_RUNS);
	burst_pairs_set_open(b->pairs, false);
	return r < 0 ? r : burst_pairs_read(b->pairs, &b->times);
}

static int calibrate_clock(struct burst *b)
{
	double clock_ns[CALIBRATION_RUNS], calls_ns[CALIBRATION_RUNS];
	struct cost_figure clock, calls;
	uint64_t step_ns = UINT64_MAX, still = 0;

	for (int i = 0; i < CALIBRATION_RUNS; i++) {
		struct burst_clock times;
		int r = burst_pairs_run_clock(b->pairs, &times);

		if (r < 0)
			return r;
		clock_ns[i] = (double)times.reads_ns / BURST_REPEAT;
		calls_ns[i] = (double)times.calls_ns / BURST_REPEAT;
		still += times.still;
		if (times.step_ns < step_ns)
			step_ns = times.step_ns;
	}
	if (still > 0)
		b->cost.step_ns = (double)step_ns;
	cost_figure_average(clock_ns, CALIBRATION_RUNS, &clock);
	cost_figure_average(calls_ns, CALIBRATION_RUNS, &calls);
	b->cost.clock_ns = clock.seconds;
	b->clock_error_ns = clock.error_seconds;
	/* It includes the last reading of the clock, which with a coarse clock can be all of it. */
	b->cost.call_ns = calls.seconds - clock.seconds / BURST_REPEAT;
	if (b->cost.call_ns < 0)
		b->cost.call_ns = 0;
	return 0;
}

static int calibrate_pair(struct burst *b)
{
	struct histogram_mean m;
	int r = calibration_run(b, PAIR_EMPTY);

	burst_pairs_detach_all(b->pairs);
	if (r < 0)
		return r;
	empty_mean(b, BURST_PLAIN, &m);
	if (m.count == 0)
		return -ENODATA;
	b->cost.pair_ns = m.mean_ns;
	b->cost.pair_error_ns = m.error_ns;
	return 0;
}

/* What a pair adds to the time of a call around it: the difference with and without it. */
static int calibrate_nested(struct burst *b)
{
	struct histogram_mean without, with;
	int r = calibration_run(b, PAIR_OUTER);

	if (r >= 0) {
		empty_mean(b, BURST_PLAIN, &without);
		r = calibration_run(b, PAIR_INNER);
	}
	burst_pairs_detach_all(b->pairs);
	if (r < 0)
		return r;
	empty_mean(b, BURST_CHANGED, &with);
	if (without.count == 0 || with.count == 0)
		return -ENODATA;
	/* At least what the pair measures of itself, however noisy the machine. */
	b->cost.nested_ns = fmax(with.mean_ns - without.mean_ns, b->cost.pair_ns);
	return 0;
}

static int own_transfer(const struct own_pipe *p, int n)
{
	static const char zeros[WRITE_BYTES];
	char bytes[WRITE_BYTES];

	if (p->read_fd < 0)
		return 0;
	for (int i = 0; i < n; i++)
		if (write(p->write_fd, zeros, sizeof(zeros)) < 0)
			return -errno;
	for (int i = 0; i < n; i++)
		if (read(p->read_fd, bytes, sizeof(bytes)) < 0)
			return -errno;
	return 0;
}

/* The empty functions run as well, since the cost of a pair depends on the CPU's present speed. */
int burst_stimulate(struct burst *b)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + STIMULUS_NS;
	int r = 0;

	if (!burst_pairs_is_open(b->pairs))
		return -EAGAIN;
	for (int i = 0; i < STIMULUS_BATCHES && r >= 0; i++) {
		if (i >= STIMULUS_BATCHES_MIN && clock_ns(CLOCK_MONOTONIC) >= end_ns)
			break;
		for (int kind = 0; kind < PIPE_KINDS && r >= 0; kind++)
			r = own_transfer(&b->own[kind], BATCH);
		if (r >= 0)
			r = burst_pairs_run_empty(b->pairs, BATCH);
	}
	return r;
}

static void window_attach(struct burst *b)
{
	for (int pair = 0; pair < PAIRS_OF_WINDOW && !stopped(b); pair++)
		if (pair_usable(b, pair))
			burst_pairs_attach(b->pairs, pair);
}

/*
 * Some of the functions that can be attached to are never called, and some call each other, so that
 * only one of the two may be timed. Write access to the mount is always taken by the inner
 * function; the inode is updated by the outer one.
 */
static void parts_choose(struct burst *b)
{
	static const enum burst_pair part_pairs[BURST_PARTS][2] = {
		[BURST_MOUNT] = { PAIR_MOUNT, PAIR_MOUNT_FILE },
		[BURST_INODE] = { PAIR_INODE, PAIR_GENERIC },
	};
	static const enum burst_hook part_hooks[BURST_PARTS][2] = {
		[BURST_MOUNT] = { BURST_HOOK_MOUNT, BURST_HOOK_MOUNT_FILE },
		[BURST_INODE] = { BURST_HOOK_INODE, BURST_HOOK_GENERIC },
	};

	for (int part = 0; part < BURST_PARTS; part++) {
		const enum burst_pair *pair = part_pairs[part];
		bool called[2] = { false, false };

		for (int call = BURST_ATIME; call <= BURST_CMTIME; call++) {
			static const enum burst_pair callers[] = {
				[BURST_ATIME] = PAIR_ATIME,
				[BURST_CMTIME] = PAIR_CMTIME,
			};
			const uint64_t *hits = b->times.hits[call];
			char *reason = b->no_part[call][part];
			size_t size = sizeof(b->no_part[call][part]);

			for (int i = 0; i < 2; i++)
				called[i] |= hits[part_hooks[part][i]] > 0;
			if (hits[part_hooks[part][0]] || hits[part_hooks[part][1]])
				continue;
			if (!pair_usable(b, pair[0]) && !pair_usable(b, pair[1]))
				snprintf(reason, size, "%s", burst_pairs_reason(b->pairs, pair[0]));
			else
				snprintf(reason, size, "It is inline in %s, in whose time it is.",
					 burst_pairs_function(b->pairs, callers[call]));
		}
		/* In an update of mtime, the mount's first function is called only by its second.
		 */
		if (called[0] && pair_usable(b, pair[1]) &&
		    (part != BURST_MOUNT || b->times.hits[BURST_CMTIME][BURST_HOOK_MOUNT]))
			burst_pairs_exclude(b->pairs, pair[1], "%s is timed instead.",
					    burst_pairs_function(b->pairs, pair[0]));
		else if (called[1] && !called[0] && pair_usable(b, pair[0]))
			burst_pairs_exclude(b->pairs, pair[0], "%s is timed instead.",
					    burst_pairs_function(b->pairs, pair[1]));
	}
}

/* Finds out what can be attached to, and what is called when the times of our own pipes change. */
static int try_out(struct burst *b)
{
	/* Longer than a tick at 100 Hz, after which times change again. */
	static const struct timespec nap = { .tv_nsec = 11000000 };
	int r;

	r = burst_pairs_clear(b->pairs);
	if (r < 0)
		return r;
	window_attach(b);
	if (stopped(b))
		r = -ECANCELED;
	burst_pairs_set_open(b->pairs, true);
	for (int i = 0; i < 2 && r >= 0; i++) {
		nanosleep(&nap, NULL);
		for (int kind = 0; kind < PIPE_KINDS && r >= 0; kind++)
			r = own_transfer(&b->own[kind], 1);
	}
	/* More than once, since a slow machine does little each time. */
	for (int i = 0; i < 4 && r >= 0; i++)
		r = burst_stimulate(b);
	burst_pairs_set_open(b->pairs, false);
	burst_pairs_detach_all(b->pairs);
	if (r >= 0)
		r = burst_pairs_read(b->pairs, &b->times);
	if (r >= 0)
		parts_choose(b);
	return r;
}

static void sum_up(struct burst *b, const struct burst_cost *cost, enum burst_owner owner,
		   struct burst_stage ret[PIPE_KINDS][UPDATE_KINDS][COST_STAGES],
		   uint64_t *ret_outliers)
{
	static const struct {
		enum burst_call call;
		enum burst_pair pair;
	} updates[UPDATE_KINDS] = {
		[UPDATE_ATIME] = { BURST_ATIME, PAIR_ATIME },
		[UPDATE_CMTIME] = { BURST_CMTIME, PAIR_CMTIME },
		[UPDATE_FSNOTIFY] = { BURST_FSNOTIFY, PAIR_FSNOTIFY },
	};
	static const enum burst_pipe pipes[PIPE_KINDS] = {
		[PIPE_ANONYMOUS] = BURST_ANONYMOUS,
		[PIPE_FIFO] = BURST_FIFO,
	};

	for (int kind = 0; kind < PIPE_KINDS; kind++) {
		for (int update = 0; update < UPDATE_KINDS; update++) {
			enum burst_call call = updates[update].call;
			const char *reason = burst_pairs_reason(b->pairs, updates[update].pair);
			const char *no_part[BURST_PARTS];

			if (reason[0]) {
				for (int stage = 0; stage < COST_STAGES; stage++)
					cost_figure_unknown(&ret[kind][update][stage].cost, "%s",
							    reason);
				continue;
			}
			for (int part = 0; part < BURST_PARTS; part++)
				no_part[part] = update == UPDATE_FSNOTIFY
							? "It is no part of fsnotify."
						: b->no_part[call][part][0] ? b->no_part[call][part]
									    : NULL;
			burst_sum(b->times.histograms[owner][pipes[kind]][call], cost, no_part,
				  ret[kind][update], ret_outliers);
		}
	}
}

/* The cost of a pair in this window; that of nested pairs is taken to have changed in proportion.
 */
static void window_cost(const struct burst *b, struct burst_cost *ret)
{
	struct histogram_mean m;

	*ret = b->cost;
	empty_mean(b, BURST_PLAIN, &m);
	if (m.count < BURST_CALLS_MIN)
		return;
	ret->pair_ns = m.mean_ns;
	ret->pair_error_ns = m.error_ns;
	ret->nested_ns *= m.mean_ns / b->cost.pair_ns;
	ret->call_ns *= m.mean_ns / b->cost.pair_ns;
}

/* What the costliest kind of update took on our own pipes when no time changed, with its standard
 * error; or else what no update takes. */
static double update_ns_max(const struct burst *b, double *ret_error_ns)
{
	double ns = 0;

	*ret_error_ns = 0;
	for (int pipe = 0; pipe < BURST_PIPES; pipe++) {
		for (int call = BURST_ATIME; call <= BURST_CMTIME; call++) {
			const struct histogram *spans = b->times.histograms[BURST_OWN][pipe][call];
			struct histogram_mean m;

			histogram_mean(&spans[BURST_PLAIN], EMPTY_OUTLIER_MEDIANS, &m);
			if (m.count < BURST_CALLS_MIN || m.mean_ns - b->cost.pair_ns <= ns)
				continue;
			ns = m.mean_ns - b->cost.pair_ns;
			*ret_error_ns = hypot(m.error_ns, b->cost.pair_error_ns);
		}
	}
	if (ns > 0 && ns < CLOCK_NS_MAX)
		return ns;
	*ret_error_ns = 0;
	return CLOCK_NS_MAX;
}

__attribute__((format(printf, 4, 5))) static int fail(int error, char *ret_reason, size_t size,
						      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(ret_reason, size, format, arguments);
	va_end(arguments);
	return error;
}

int burst_new(const char *const *directories, const atomic_bool *stop, char *ret_reason,
	      size_t size, struct burst **ret_burst)
{
	_cleanup_(burst_freep) struct burst *b = calloc(1, sizeof(*b));
	char clocksource[32];
	const char *failed;
	double update_ns, error_ns;
	int r;

	if (!b)
		return fail(-ENOMEM, ret_reason, size, "There is no memory for it.");
	b->stop = stop;
	for (int kind = 0; kind < PIPE_KINDS; kind++) {
		b->own[kind] = OWN_PIPE_NONE;
		/* Without our own, a kind is timed only where others use it. */
		own_pipe_open(kind, directories, &b->own[kind], &failed);
	}

	r = burst_pairs_new(&b->pairs);
	if (r < 0)
		return fail(r, ret_reason, size, "The timing programs could not be loaded (%s).",
			    strerror(-r));
	r = calibrate_clock(b);
	if (r >= 0)
		r = calibrate_pair(b);
	if (r >= 0)
		r = calibrate_nested(b);
	if (r >= 0)
		r = try_out(b);
	if (r < 0)
		return fail(r, ret_reason, size,
			    "The timing programs could not be calibrated (%s).", strerror(-r));
	b->stop = NULL;
	if (!pair_usable(b, PAIR_ATIME) && !pair_usable(b, PAIR_CMTIME))
		return fail(-ENOENT, ret_reason, size, "Nothing can be timed: %s",
			    burst_pairs_reason(b->pairs, PAIR_ATIME));

	update_ns = update_ns_max(b, &error_ns);
	error_ns = DOUBT_ERRORS * hypot(error_ns, b->clock_error_ns);
	sysfs_read(SYSFS_CLOCKSOURCE, clocksource, sizeof(clocksource));
	if (!clocksource[0])
		snprintf(clocksource, sizeof(clocksource), "(unknown)");
	if (b->cost.step_ns > STEP_NS_MAX)
		return fail(
			-EOPNOTSUPP, ret_reason, size,
			"The clock source %s moves on in steps of %.0f ns, too coarse to time an update.",
			clocksource, b->cost.step_ns);
	if (b->cost.clock_ns > update_ns + error_ns)
		return fail(
			-EOPNOTSUPP, ret_reason, size,
			"Reading the clock source %s takes %.0f ns, more than an update (%.0f ns).",
			clocksource, b->cost.clock_ns, update_ns);
	*ret_burst = b;
	b = NULL;
	return 0;
}

/* The child detaches as it dies, which takes a while. */
static void child_kill(struct burst *b)
{
	if (b->child > 0)
		kill(b->child, SIGKILL);
}

/* Returns whether there is no child any more; with WNOHANG in @options, without waiting for it. */
static bool child_reap(struct burst *b, int options)
{
	struct rusage usage = {};

	if (b->child <= 0)
		return true;
	if (wait4(b->child, NULL, options, &usage) == 0)
		return false;
	b->child_seconds += cpu_seconds(&usage);
	b->child = 0;
	return true;
}

double burst_cpu_seconds(struct burst *b)
{
	child_reap(b, WNOHANG);
	return b->child_seconds;
}

struct burst *burst_free(struct burst *b)
{
	if (!b)
		return NULL;
	child_kill(b);
	child_reap(b, 0);
	burst_pairs_free(b->pairs);
	for (int kind = 0; kind < PIPE_KINDS; kind++)
		own_pipe_close(&b->own[kind]);
	free(b);
	return NULL;
}

/*
 * Attaching and detaching wait for every CPU and task of the host, seconds in all. That is left to
 * a child, which dies with us, as its links do with it. It is forked from a process with threads,
 * and allocates memory all the same: glibc keeps its allocator usable there.
 */
static _Noreturn void child_run(struct burst *b, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	burst_pairs_close_others(b->pairs);
	if (burst_pairs_renew(b->pairs) < 0)
		_exit(1);
	window_attach(b);
	burst_pairs_set_open(b->pairs, true);
	for (;;)
		pause();
}

int burst_begin(struct burst *b)
{
	pid_t parent = getpid(), child;
	int r;

	if (!child_reap(b, WNOHANG))
		return -EBUSY;
	/* The last child may have opened the window just before it was killed. */
	burst_pairs_set_open(b->pairs, false);
	r = burst_pairs_clear(b->pairs);
	if (r >= 0)
		r = burst_pairs_missed(b->pairs, &b->missed);
	if (r < 0)
		return r;
	child = fork();
	if (child < 0)
		return -errno;
	if (child == 0)
		child_run(b, parent);
	b->child = child;
	return 0;
}

int burst_ready(struct burst *b)
{
	/* What one that was killed has opened is open still. */
	if (child_reap(b, WNOHANG))
		return -ECHILD;
	return burst_pairs_is_open(b->pairs);
}

void burst_cancel(struct burst *b)
{
	child_kill(b);
	burst_pairs_set_open(b->pairs, false);
}

int burst_end(struct burst *b, struct burst_result *ret)
{
	struct burst_result result = { 0 };
	struct burst_cost cost;
	uint64_t missed;
	bool detached = child_reap(b, WNOHANG);
	int r;

	burst_cancel(b);
	if (detached)
		return -ECHILD;
	r = burst_pairs_read(b->pairs, &b->times);
	if (r >= 0)
		r = burst_pairs_missed(b->pairs, &missed);
	if (r < 0)
		return r;
	window_cost(b, &cost);
	result.pair_seconds = cost.pair_ns * 1e-9;
	result.pair_cost_seconds = cost.nested_ns * 1e-9;
	result.clock_read_seconds = cost.clock_ns * 1e-9;
	result.switched = b->times.switched;
	result.missed = missed - b->missed;
	sum_up(b, &cost, BURST_OTHERS, result.others, &result.outliers);
	sum_up(b, &cost, BURST_OWN, result.own, &result.outliers);
	*ret = result;
	return 0;
}
