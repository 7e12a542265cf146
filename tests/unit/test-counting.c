// SPDX-License-Identifier: GPL-2.0-or-later
/* Windows, with programs, maps and a clock of our own. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <sys/random.h>
#include <time.h>

#include <cmocka.h>

#include "books.h"
#include "collector.h"
#include "counting.h"
#include "pipewatch/util.h"
#include "tracer.h"

#define MSEC UINT64_C(1000)
#define SEC  UINT64_C(1000000)

struct tracer {
	uint64_t counted_usec, attached_usec;
	bool loaded, on, detaching;
};

struct collector {
	struct accounts *accounts;
	uint64_t pending;
};

/* Somebody reads @per_msec times each millisecond, all along. */
static struct {
	uint64_t now_usec;
	uint64_t per_msec;
	uint64_t truth;
	uint32_t random;
	int resume_error;
	struct tracer tracer;
	struct collector collector;
} the;

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){ .tv_sec = (time_t)(the.now_usec / SEC),
				  .tv_nsec = (long)(the.now_usec % SEC * 1000) };
	return 0;
}

ssize_t getrandom(void *bytes, size_t size, unsigned int flags)
{
	/* Libraries want some, too. */
	if (size != sizeof(the.random))
		return syscall(SYS_getrandom, bytes, size, flags);
	memcpy(bytes, &the.random, size);
	return (ssize_t)size;
}

int tracer_open(uint32_t max_threads, struct tracer **ret_tracer)
{
	assert_int_equal(max_threads, 1000);
	the.tracer = (struct tracer){};
	*ret_tracer = &the.tracer;
	return 0;
}

int tracer_load(struct tracer *t)
{
	t->loaded = true;
	return 0;
}

int tracer_attach(struct tracer *t)
{
	assert_true(t->loaded);
	t->on = true;
	return 0;
}

struct tracer *tracer_free(struct tracer *t)
{
	if (t)
		t->on = false;
	return NULL;
}

void tracer_pause(struct tracer *t)
{
	t->on = false;
}

int tracer_resume(struct tracer *t)
{
	if (the.resume_error == 0)
		t->on = true;
	return the.resume_error;
}

void tracer_missed(const struct tracer *t, uint64_t ret_runs[TRACER_PROGRAMS])
{
	(void)t;
	memset(ret_runs, 0, TRACER_PROGRAMS * sizeof(*ret_runs));
}

void tracer_set_missed(struct tracer *t, const uint64_t runs[TRACER_PROGRAMS])
{
	(void)t;
	(void)runs;
}

bool tracer_detaching(const struct tracer *t)
{
	return t->detaching;
}

uint64_t tracer_counted_usec(const struct tracer *t)
{
	return t->counted_usec;
}

uint64_t tracer_attached_usec(const struct tracer *t)
{
	return 3 * t->counted_usec;
}

void tracer_counting_fds(const struct tracer *t, int ret_fds[2])
{
	(void)t;
	ret_fds[0] = ret_fds[1] = -1;
}

const struct tracer_program *tracer_programs(const struct tracer *t, size_t *ret_n)
{
	static const struct tracer_program programs[] = {
		{ .program = "pipe_read", .hook = "f", .reason = "it is taken" },
		{ .program = "pipe_write", .hook = "g", .attached = true },
	};

	(void)t;
	*ret_n = ARRAY_SIZE(programs);
	return programs;
}

void tracer_memory(const struct tracer *t, struct tracer_memory *ret)
{
	(void)t;
	*ret = (struct tracer_memory){};
}

int tracer_fill(const struct tracer *t, const double run_seconds[2], struct snapshot *s)
{
	(void)t;
	(void)run_seconds;
	(void)s;
	return 0;
}

int collector_new(const struct tracer_memory *memory, struct accounts *accounts,
		  struct cgroups *cgroups, struct collector **ret_collector)
{
	(void)memory;
	(void)cgroups;
	the.collector = (struct collector){ .accounts = accounts };
	*ret_collector = &the.collector;
	return 0;
}

struct collector *collector_free(struct collector *c)
{
	(void)c;
	return NULL;
}

int collector_collect(struct collector *c, uint64_t now_usec)
{
	struct pipe_counts counts = { .reads = c->pending };
	struct pipe_sizes sizes = { .reads = { [3] = c->pending } };

	assert_int_equal(now_usec, the.now_usec);
	accounts_book_other(c->accounts, PIPE_ANONYMOUS, &counts, &sizes);
	c->pending = 0;
	return 0;
}

uint64_t collector_pending(struct collector *c)
{
	return c->pending;
}

bool collector_permitted(const struct collector *c)
{
	(void)c;
	return true;
}

int collector_fill(const struct collector *c, struct snapshot *s)
{
	(void)c;
	(void)s;
	return 0;
}

int collector_wake_fd(const struct collector *c)
{
	(void)c;
	return -1;
}

static int reset(void **state)
{
	(void)state;
	memset(&the, 0, sizeof(the));
	the.now_usec = 100 * SEC;
	the.per_msec = 5;
	the.random = UINT32_C(0x80000000); /* no jitter */
	return 0;
}

static void pass(uint64_t usec)
{
	uint64_t operations = usec / MSEC * the.per_msec;

	the.now_usec += usec;
	the.truth += operations;
	if (!the.tracer.on)
		return;
	the.tracer.counted_usec += usec;
	the.collector.pending += operations;
}

static struct counting *counting_with(struct accounts *a)
{
	struct counting *c = NULL;

	assert_int_equal(counting_new(1000, a, NULL, &c), 0);
	assert_non_null(c);
	return c;
}

static void step(struct counting *c, uint64_t next_usec)
{
	uint64_t usec = 0;

	assert_int_equal(counting_step(c, &usec), 0);
	assert_int_equal(usec, next_usec);
}

static void test_always(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(counting_freep) struct counting *c = counting_with(a);

	(void)state;
	assert_true(counting_window_seconds(c) == COUNTING_WINDOW_SECONDS);
	assert_true(counting_attached_seconds(c) == COUNTING_ATTACHED_SECONDS);
	assert_true(counting_settled(c));
	step(c, UINT64_MAX);
	pass(SEC);
	assert_int_equal(counting_collect(c, false), 0);
	assert_int_equal(accounts_operations(a), 5000);
	assert_true(counting_coverage(c) == 1);
	assert_true(counting_hooked_operations(c) == 5000);
	assert_false(counting_in_windows(c));
}

/* 200 ms of 2 s. */
static void windows(struct counting *c, int n)
{
	for (int i = 0; i < n; i++) {
		pass(1800 * MSEC);
		assert_int_equal(counting_collect(c, false), 0);
		step(c, 200 * MSEC);
		assert_true(counting_window_open(c));
		pass(200 * MSEC);
		assert_int_equal(counting_collect(c, false), 0);
		step(c, 1800 * MSEC);
		assert_false(counting_window_open(c));
	}
}

static void test_in_windows(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(counting_freep) struct counting *c = counting_with(a);

	(void)state;
	pass(SEC);
	counting_set_period(c, 2 * SEC);
	/* What was counted until then is all there was. */
	step(c, 1800 * MSEC);
	assert_int_equal(accounts_operations(a), 5000);
	assert_true(counting_coverage(c) == 0.1);
	windows(c, 1);
	assert_int_equal(accounts_operations(a), the.truth);
	assert_int_equal(accounts_counted(a), 6000);
	assert_true(counting_coverage(c) == 0.1);
	assert_float_equal(counting_window_rate(c), 5000, 1e-6);
	assert_float_equal(counting_window_seconds(c), 0.2, 1e-9);
	windows(c, 9);
	assert_int_equal(accounts_operations(a), the.truth);
	assert_int_equal(the.truth, 5000 + 100000);
	assert_int_equal(accounts_counted(a), 15000);
	/* Programs are attached three times as long as they count; the last window is not settled.
	 */
	assert_true(counting_hooked_operations(c) == 5000 + 9 * 3000);
	assert_float_equal(counting_attached_seconds(c), 0.6, 1e-9);
}

/* Who is busy is held up by what counting takes, at most: by what it takes in the window, a
 * twentieth of it, or by what it adds to each operation, a fifth. The middle between that and
 * nothing is what windows stand for. */
static void test_what_counting_takes(void **state)
{
	static const struct {
		double seconds, ratio, slowdown;
	} costs[] = {
		{ 1e-5, 0.25, 1 / 0.95 }, { 1e-4, 0.25, 1.25 }, { 1e-5, 0, 1 }, { 0, 0.25, 1 }
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(costs); i++) {
		_cleanup_(accounts_freep) struct accounts *a = books(10);
		_cleanup_(counting_freep) struct counting *c = counting_with(a);

		counting_set_cost(c, costs[i].seconds, costs[i].ratio);
		counting_set_period(c, 2 * SEC);
		step(c, 1800 * MSEC);
		windows(c, 1);
		assert_int_equal(accounts_counted(a), 1000);
		assert_int_equal(accounts_operations(a),
				 1000 + (uint64_t)(9000 * (1 + costs[i].slowdown) / 2 + 0.5));
	}
}

/* Neither while a window is open, nor as long as programs are being detached after it. */
static void test_settled(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(counting_freep) struct counting *c = counting_with(a);

	(void)state;
	counting_set_period(c, 2 * SEC);
	step(c, 1800 * MSEC);
	assert_true(counting_settled(c));
	pass(1800 * MSEC);
	step(c, 200 * MSEC);
	assert_false(counting_settled(c));
	the.tracer.detaching = true;
	pass(200 * MSEC);
	step(c, 1800 * MSEC);
	assert_false(counting_settled(c));
	the.tracer.detaching = false;
	assert_true(counting_settled(c));
}

/* The first window has nothing to be compared with, and is judged with the second one. */
static void test_errors(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(counting_freep) struct counting *c = counting_with(a);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;

	(void)state;
	counting_set_period(c, 2 * SEC);
	step(c, 1800 * MSEC);
	for (uint64_t per_msec = 5; per_msec <= 15; per_msec += 5) {
		the.per_msec = per_msec;
		windows(c, 1);
	}
	s = view(a);
	/* Windows of 1000, 2000 and 3000, each for ten times as many, of which it is one itself. */
	assert_float_equal(s->total_errors[PIPE_ANONYMOUS].reads,
			   sqrt(10 * 9 * (1000 + 2 * 1000 * 1000 / 2 + 1000 * 1000 / 2)), 0.01);
}

static void test_back_to_always(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(counting_freep) struct counting *c = counting_with(a);

	(void)state;
	counting_set_period(c, 2 * SEC);
	step(c, 1800 * MSEC);
	windows(c, 3);
	pass(600 * MSEC);
	counting_set_period(c, 0);
	/* One more window, for the time before it; from its end on all is counted. */
	step(c, 200 * MSEC);
	assert_true(counting_window_open(c));
	pass(200 * MSEC);
	step(c, UINT64_MAX);
	assert_false(counting_in_windows(c));
	assert_int_equal(accounts_operations(a), the.truth);
	assert_true(counting_coverage(c) == 1);
	pass(SEC);
	assert_int_equal(counting_collect(c, false), 0);
	assert_int_equal(accounts_operations(a), the.truth);
	/* Four windows of 1000, with programs attached three times as long, and what came after. */
	assert_true(counting_hooked_operations(c) == 12000 + 5000);
}

/* Windows come a fifth sooner or later than their period asks for. */
static void test_jitter(void **state)
{
	static const uint32_t randoms[] = { 0, 0x80000000, 0xffffffff };
	static const uint64_t due_usec[] = { 1440 * MSEC, 1800 * MSEC, 2160 * MSEC - 1 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(randoms); i++) {
		_cleanup_(accounts_freep) struct accounts *a = books(10);
		_cleanup_(counting_freep) struct counting *c = counting_with(a);

		the.random = randoms[i];
		counting_set_period(c, 2 * SEC);
		step(c, due_usec[i]);
	}
}

static void note_missing(const char *program, const char *reason, void *userdata)
{
	FILE *f = userdata;

	fprintf(f, "%s: %s;", program, reason);
}

static void test_missing(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(counting_freep) struct counting *c = counting_with(a);
	char text[64] = "";
	FILE *f = fmemopen(text, sizeof(text), "w");

	(void)state;
	assert_non_null(f);
	counting_missing(c, note_missing, f);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(text, "pipe_read: it is taken;");
}

/* What the last window stood for is nothing to the next who counts. */
static void test_who_comes_next_begins_with_all(void **state)
{
	for (int open = 0; open < 2; open++) {
		_cleanup_(accounts_freep) struct accounts *a = books(10);
		_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
		struct counting *c;
		uint64_t before;

		reset(state);
		c = counting_with(a);
		counting_set_period(c, 2 * SEC);
		step(c, 1800 * MSEC);
		windows(c, 2);
		if (open) {
			pass(1800 * MSEC);
			step(c, 200 * MSEC);
			pass(100 * MSEC);
		}
		counting_free(c);
		assert_int_equal(accounts_operations(a), the.truth);
		s = view(a);
		assert_true(s->unseen_operations_max == 0);

		before = accounts_operations(a);
		c = counting_with(a);
		pass(SEC);
		assert_int_equal(counting_collect(c, false), 0);
		assert_int_equal(accounts_operations(a), before + 5000);
		counting_free(c);
	}
}

/* The next one stands for the time of both. */
static void test_a_window_that_does_not_open(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(counting_freep) struct counting *c = counting_with(a);
	uint64_t usec;

	(void)state;
	counting_set_period(c, 2 * SEC);
	step(c, 1800 * MSEC);
	windows(c, 1);
	pass(1800 * MSEC);
	the.resume_error = -ENOMEM;
	assert_int_equal(counting_step(c, &usec), -ENOMEM);
	assert_int_equal(usec, 2 * SEC);
	the.resume_error = 0;
	pass(2 * SEC);
	step(c, 200 * MSEC);
	pass(200 * MSEC);
	step(c, 1800 * MSEC);
	assert_true(counting_coverage(c) == 0.05);
	assert_int_equal(accounts_operations(a), the.truth);
}

/* Exited threads pile up: the window ends early, and stands for as much time. */
static void test_a_window_is_woken(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(counting_freep) struct counting *c = counting_with(a);

	(void)state;
	counting_set_period(c, 2 * SEC);
	step(c, 1800 * MSEC);
	pass(1800 * MSEC);
	step(c, 200 * MSEC);
	pass(50 * MSEC);
	assert_int_equal(counting_collect(c, true), 0);
	assert_false(counting_window_open(c));
	assert_float_equal(counting_window_seconds(c), 0.05, 1e-9);
	assert_int_equal(accounts_operations(a), the.truth);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_always, reset),
		cmocka_unit_test_setup(test_in_windows, reset),
		cmocka_unit_test_setup(test_what_counting_takes, reset),
		cmocka_unit_test_setup(test_settled, reset),
		cmocka_unit_test_setup(test_errors, reset),
		cmocka_unit_test_setup(test_back_to_always, reset),
		cmocka_unit_test_setup(test_jitter, reset),
		cmocka_unit_test_setup(test_missing, reset),
		cmocka_unit_test_setup(test_who_comes_next_begins_with_all, reset),
		cmocka_unit_test_setup(test_a_window_that_does_not_open, reset),
		cmocka_unit_test_setup(test_a_window_is_woken, reset),
	};

	return cmocka_run_group_tests_name("counting", tests, NULL, NULL);
}
