// SPDX-License-Identifier: GPL-2.0-or-later
#include "counting.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "pipewatch/clock.h"
#include "collector.h"
#include "jitter.h"
#include "pipewatch/util.h"
#include "tracer.h"

#define WINDOW_USEC ((uint64_t)(COUNTING_WINDOW_SECONDS * 1e6))

enum phase {
	ALWAYS,	 /* no windows */
	BETWEEN, /* windows */
	OPEN,	 /* within one */
};

struct counting {
	struct accounts *accounts;
	struct tracer *tracer;
	struct collector *collector;
	enum phase phase;
	uint64_t period_usec; /* 0: no windows, or none after this one */
	uint64_t due_usec;    /* when to open or close the window */
	uint64_t since_usec;  /* with windows, the time up to which everything has been booked */
	unsigned int windows; /* closed since windows_begin() */
	double first_factor;  /* of the first of these */
	double counting_seconds, counting_ratio;

	/* As of the beginning of the window. */
	uint64_t counted_usec;
	double cpu_seconds;

	/* Of the last one. */
	double coverage, window_seconds, attached_seconds, window_cpu_seconds;
	double operations_per_second;

	/* Operations with programs attached, up to when accounts_counted() was hooked_from; without
	 * windows, all operations since then are to be added. */
	double hooked_operations;
	uint64_t hooked_from;
	uint64_t hooked_attached_usec; /* the attached time that they are of */
};

static const struct extrapolation_factor factor_one = { .factor = 1 };

static int tracer_start(uint32_t max_threads, struct tracer **ret_tracer)
{
	_cleanup_(tracer_freep) struct tracer *tracer = NULL;
	int r;

	r = tracer_open(max_threads, &tracer);
	if (r >= 0)
		r = tracer_load(tracer);
	if (r >= 0)
		r = tracer_attach(tracer);
	if (r < 0)
		return r;
	*ret_tracer = tracer;
	tracer = NULL;
	return 0;
}

int counting_try(uint32_t max_threads)
{
	_cleanup_(tracer_freep) struct tracer *tracer = NULL;

	return tracer_start(max_threads, &tracer);
}

int counting_new(uint32_t max_threads, struct accounts *accounts, struct cgroups *cgroups,
		 struct counting **ret_counting)
{
	_cleanup_(counting_freep) struct counting *c = calloc(1, sizeof(*c));
	struct tracer_memory memory;
	int r;

	if (!c)
		return -ENOMEM;
	c->accounts = accounts;
	c->coverage = 1;
	c->window_seconds = COUNTING_WINDOW_SECONDS;
	c->attached_seconds = COUNTING_ATTACHED_SECONDS;
	c->hooked_from = accounts_counted(accounts);
	r = tracer_start(max_threads, &c->tracer);
	if (r < 0)
		return r;
	tracer_memory(c->tracer, &memory);
	r = collector_new(&memory, accounts, cgroups, &c->collector);
	if (r < 0)
		return r;
	*ret_counting = c;
	c = NULL;
	return 0;
}

_Static_assert(sizeof(((struct counting_past *)NULL)->missed) == TRACER_PROGRAMS * sizeof(uint64_t),
	       "of each program");

void counting_past(const struct counting *c, struct counting_past *ret)
{
	tracer_missed(c->tracer, ret->missed);
}

void counting_set_past(struct counting *c, const struct counting_past *past)
{
	tracer_set_missed(c->tracer, past->missed);
}

static int book(struct counting *c, const struct extrapolation_factor *factor)
{
	int r;

	accounts_set_factor(c->accounts, factor);
	r = collector_collect(c->collector, monotonic_usec());
	accounts_window_end(c->accounts);
	return r;
}

/* Between windows, operations are taken to come at the rate of the last one. */
static void hooked_settle(struct counting *c)
{
	uint64_t attached_usec = tracer_attached_usec(c->tracer);

	c->attached_seconds = (attached_usec - c->hooked_attached_usec) * 1e-6;
	c->hooked_operations += c->operations_per_second * c->attached_seconds;
	c->hooked_attached_usec = attached_usec;
}

static uint64_t due_after(const struct counting *c, uint64_t paused_usec)
{
	return paused_usec +
	       jitter(c->period_usec > WINDOW_USEC ? c->period_usec - WINDOW_USEC : 0);
}

static void windows_pause(struct counting *c)
{
	tracer_pause(c->tracer);
	c->phase = BETWEEN;
	c->due_usec = due_after(c, monotonic_usec());
}

/* Up to here every operation was counted. */
static int windows_begin(struct counting *c)
{
	int r;

	windows_pause(c);
	c->since_usec = monotonic_usec();
	c->windows = 0;
	c->operations_per_second = 0;
	/* The best guess before the first window. */
	c->coverage = fmin(1, (double)WINDOW_USEC / c->period_usec);
	r = book(c, &factor_one);
	c->hooked_operations += accounts_counted(c->accounts) - c->hooked_from;
	c->hooked_attached_usec = tracer_attached_usec(c->tracer);
	return r;
}

/* Without pausing: every operation is counted from here on. */
static void windows_end(struct counting *c)
{
	c->phase = ALWAYS;
	c->coverage = 1;
	c->hooked_from = accounts_counted(c->accounts);
	accounts_set_factor(c->accounts, &factor_one);
}

static int window_open(struct counting *c)
{
	int r;

	if (c->windows > 0)
		hooked_settle(c);
	c->cpu_seconds = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
	c->counted_usec = tracer_counted_usec(c->tracer);
	r = tracer_resume(c->tracer);
	if (r < 0) {
		c->due_usec = monotonic_usec() + jitter(c->period_usec);
		return r;
	}
	c->phase = OPEN;
	c->due_usec = monotonic_usec() + WINDOW_USEC;
	return 0;
}

static int window_close(struct counting *c)
{
	struct extrapolation_factor factor;
	uint64_t now_usec, window_usec, operations;
	int r;

	if (c->period_usec > 0)
		windows_pause(c);
	now_usec = monotonic_usec();
	window_usec = tracer_counted_usec(c->tracer) - c->counted_usec;
	operations = collector_pending(c->collector);
	extrapolation_factor(window_usec, now_usec - c->since_usec, operations, c->counting_seconds,
			     c->counting_ratio, &factor);
	factor.first = c->windows == 0;
	factor.first_factor = c->windows == 1 ? c->first_factor : 0;
	if (factor.first)
		c->first_factor = factor.factor;
	r = book(c, &factor);

	c->windows++;
	c->window_seconds = window_usec * 1e-6;
	c->coverage = fmin(1, (double)window_usec / (now_usec - c->since_usec));
	c->operations_per_second = window_usec > 0 ? operations / c->window_seconds : 0;
	c->window_cpu_seconds = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - c->cpu_seconds;
	c->since_usec = now_usec;
	if (c->period_usec == 0) {
		hooked_settle(c);
		windows_end(c);
	}
	return r;
}

struct counting *counting_free(struct counting *c)
{
	if (!c)
		return NULL;
	if (c->collector && c->phase == OPEN) {
		window_close(c);
	} else if (c->collector && c->phase == ALWAYS) {
		tracer_pause(c->tracer);
		collector_collect(c->collector, monotonic_usec());
	}
	/* The next counting begins by counting everything. */
	accounts_set_factor(c->accounts, &factor_one);
	collector_free(c->collector);
	tracer_free(c->tracer);
	free(c);
	return NULL;
}

void counting_set_period(struct counting *c, uint64_t period_usec)
{
	uint64_t due_usec;

	if (period_usec == c->period_usec)
		return;
	c->period_usec = period_usec;
	if (c->phase != BETWEEN)
		return;
	/* A longer period takes effect after the next window, a shorter one from the last. */
	due_usec = period_usec ? due_after(c, c->since_usec) : 0;
	if (due_usec < c->due_usec)
		c->due_usec = due_usec;
}

void counting_set_cost(struct counting *c, double seconds, double ratio)
{
	c->counting_seconds = seconds;
	c->counting_ratio = ratio;
}

int counting_step(struct counting *c, uint64_t *ret_usec)
{
	uint64_t now_usec = monotonic_usec();
	int r = 0;

	if (c->phase == ALWAYS && c->period_usec > 0)
		r = windows_begin(c);
	else if (c->phase == BETWEEN && now_usec >= c->due_usec)
		r = window_open(c);
	else if (c->phase == OPEN && now_usec >= c->due_usec)
		r = window_close(c);

	now_usec = monotonic_usec();
	if (c->phase == ALWAYS)
		*ret_usec = UINT64_MAX;
	else
		*ret_usec = c->due_usec > now_usec ? c->due_usec - now_usec : 0;
	return r;
}

int counting_collect(struct counting *c, bool wake)
{
	if (c->phase != OPEN)
		return collector_collect(c->collector, monotonic_usec());
	return wake ? window_close(c) : 0;
}

int counting_wake_fd(const struct counting *c)
{
	return collector_wake_fd(c->collector);
}

bool counting_permitted(const struct counting *c)
{
	return collector_permitted(c->collector);
}

double counting_coverage(const struct counting *c)
{
	return c->coverage;
}

double counting_window_seconds(const struct counting *c)
{
	return c->window_seconds;
}

double counting_attached_seconds(const struct counting *c)
{
	return c->attached_seconds;
}

double counting_window_cpu_seconds(const struct counting *c)
{
	return c->window_cpu_seconds;
}

double counting_window_rate(const struct counting *c)
{
	return c->windows > 0 ? c->operations_per_second : -1;
}

bool counting_in_windows(const struct counting *c)
{
	return c->phase != ALWAYS;
}

bool counting_window_open(const struct counting *c)
{
	return c->phase == OPEN;
}

bool counting_settled(const struct counting *c)
{
	return c->phase == ALWAYS || (c->phase == BETWEEN && !tracer_detaching(c->tracer));
}

double counting_hooked_operations(const struct counting *c)
{
	if (c->phase != ALWAYS)
		return c->hooked_operations;
	return c->hooked_operations + (accounts_counted(c->accounts) - c->hooked_from);
}

void counting_fds(const struct counting *c, int ret_fds[2])
{
	tracer_counting_fds(c->tracer, ret_fds);
}

void counting_missing(const struct counting *c,
		      void (*each)(const char *program, const char *reason, void *userdata),
		      void *userdata)
{
	const struct tracer_program *programs;
	size_t n;

	programs = tracer_programs(c->tracer, &n);
	for (size_t i = 0; i < n; i++)
		if (!programs[i].attached)
			each(programs[i].program, programs[i].reason, userdata);
}

int counting_fill(const struct counting *c, const double run_seconds[2], struct snapshot *s)
{
	int r;

	s->coverage_ratio = c->coverage;
	r = tracer_fill(c->tracer, run_seconds, s);
	return r < 0 ? r : collector_fill(c->collector, s);
}
