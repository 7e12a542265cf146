// SPDX-License-Identifier: GPL-2.0-or-later
/* With a sampler of our own, which says what it is told to. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "accounts.h"
#include "books.h"
#include "sampler.h"
#include "sampling.h"
#include "util.h"

#define SECOND UINT64_C(1000000000)

struct sampler {
	int new_error, read_error, refresh_error;
	const struct sampler_process *processes;
	size_t n;
	int alive;
	unsigned int frequency_hz;
	uint32_t max_processes;
};

static struct sampler the_sampler;

int sampler_new(unsigned int frequency_hz, uint32_t max_processes, char *ret_reason, size_t size,
		struct sampler **ret_sampler)
{
	if (the_sampler.new_error < 0) {
		snprintf(ret_reason, size, "It is forbidden.");
		return the_sampler.new_error;
	}
	the_sampler.frequency_hz = frequency_hz;
	the_sampler.max_processes = max_processes;
	the_sampler.alive++;
	*ret_sampler = &the_sampler;
	return 0;
}

struct sampler *sampler_free(struct sampler *s)
{
	if (s)
		s->alive--;
	return NULL;
}

int sampler_refresh(struct sampler *s)
{
	return s->refresh_error;
}

int sampler_read(struct sampler *s, void (*each)(const struct sampler_process *p, void *userdata),
		 void *userdata)
{
	for (size_t i = 0; i < s->n; i++)
		each(&s->processes[i], userdata);
	return s->read_error;
}

static struct sampling *sampling_of(struct accounts *a)
{
	struct sampling *s = NULL;
	char reason[256];

	assert_int_equal(sampling_new(97, 1000, a, reason, sizeof(reason), &s), 0);
	assert_non_null(s);
	return s;
}

static void say(const struct sampler_process *processes, size_t n)
{
	the_sampler.processes = processes;
	the_sampler.n = n;
}

static int reset(void **state)
{
	(void)state;
	memset(&the_sampler, 0, sizeof(the_sampler));
	return 0;
}

/* So many samples for each second. */
#define SAMPLES(ns) ((ns) / SECOND * 100)
#define SAID(pid, pipe, atime, cmtime)                                                      \
	{                                                                                   \
		.tgid = pid, .start_boottime_ns = pid * UINT64_C(1000000), .pipe_ns = pipe, \
		.pipe_samples = SAMPLES(pipe), .update_ns = { atime, cmtime },              \
		.update_samples = { SAMPLES(atime), SAMPLES(cmtime) },                      \
	}

static double cpu(struct accounts *a, const char *comm)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = view(a);

	return group(s, comm, comm)->pipe_cpu_seconds;
}

static void test_denied(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	struct sampling *s = NULL;
	char reason[256] = "";

	(void)state;
	the_sampler.new_error = -EACCES;
	assert_int_equal(sampling_new(97, 1000, a, reason, sizeof(reason), &s), -EACCES);
	assert_null(s);
	assert_string_equal(reason, "It is forbidden.");
}

static void test_arguments_and_end(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	struct sampling *s = sampling_of(a);

	(void)state;
	assert_int_equal(the_sampler.frequency_hz, 97);
	assert_int_equal(the_sampler.max_processes, 1000);
	assert_int_equal(the_sampler.alive, 1);
	assert_int_equal(sampling_refresh(s), 0);
	the_sampler.refresh_error = -EMFILE;
	assert_int_equal(sampling_refresh(s), -EMFILE);
	assert_null(sampling_free(s));
	assert_int_equal(the_sampler.alive, 0);
	assert_null(sampling_free(NULL));
}

static void test_differences_are_booked(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(sampling_freep) struct sampling *s = sampling_of(a);
	const struct sampler_process first[] = { SAID(1, 3 * SECOND, 0, 0) },
				     second[] = { SAID(1, 5 * SECOND, 0, 0),
						  SAID(2, SECOND, 0, 0) },
				     third[] = { SAID(2, SECOND, 0, 0) };

	(void)state;
	process(a, 1, "cat", "cat");
	process(a, 2, "dog", "dog");
	say(first, 1);
	assert_int_equal(sampling_collect(s), 0);
	assert_true(cpu(a, "cat") == 3);
	say(second, 2);
	assert_int_equal(sampling_collect(s), 0);
	assert_int_equal(sampling_collect(s), 0);
	assert_true(cpu(a, "cat") == 5);
	assert_true(cpu(a, "dog") == 1);

	/* One that has been forgotten and comes again begins at zero, as the sampler does. */
	say(third, 1);
	assert_int_equal(sampling_collect(s), 0);
	say(first, 1);
	assert_int_equal(sampling_collect(s), 0);
	assert_true(cpu(a, "cat") == 8);
	assert_true(cpu(a, "dog") == 1);
}

static void test_failed_round_loses_nothing(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(sampling_freep) struct sampling *s = sampling_of(a);
	const struct sampler_process said[] = { SAID(1, 3 * SECOND, 0, 0) };

	(void)state;
	process(a, 1, "cat", "cat");
	say(said, 1);
	assert_int_equal(sampling_collect(s), 0);
	say(NULL, 0);
	the_sampler.read_error = -ENOENT;
	assert_int_equal(sampling_collect(s), -ENOENT);
	/* It was not forgotten: its three seconds are not booked again. */
	the_sampler.read_error = 0;
	say(said, 1);
	assert_int_equal(sampling_collect(s), 0);
	assert_true(cpu(a, "cat") == 3);
}

/* A snapshot of @anonymous and @fifo reads, all updates paid and their whole cost known. */
static struct snapshot *costs(struct accounts *a, uint64_t anonymous, uint64_t fifo, double seconds)
{
	const struct pipe_sizes sizes = {};
	struct account *p = process(a, 1, "cat", "cat");
	struct snapshot *s;

	account_book(a, p, PIPE_ANONYMOUS, &(struct pipe_counts){ .reads = anonymous }, &sizes);
	account_book(a, p, PIPE_FIFO, &(struct pipe_counts){ .reads = fifo }, &sizes);
	s = view(a);
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++) {
			struct cost_estimate *e = &s->unit_costs[pipe][kind];

			s->paths[pipe][kind].state = PATH_PAID;
			cost_estimate_unknown(e, "No.");
			e->whole = (struct cost_figure){ .known = true,
							 .seconds = seconds,
							 .error_seconds = seconds / 100 };
		}
	return s;
}

static void test_costs_are_checked(void **state)
{
	const struct {
		uint64_t anonymous, fifo;
		double seconds;
		bool known[PIPE_KINDS];
		enum cost_agreement agreement;
	} cases[] = {
		{ 1000, 0, 0.002, { true, false }, COST_AGREE },
		{ 980, 20, 2.0 / 980, { true, false }, COST_AGREE },
		{ 0, 1000, 0.002, { false, true }, COST_AGREE },
		{ 1000, 0, 0.004, { true, false }, COST_DISAGREE },
		{ 979, 21, 0.002, { false, false }, COST_SINGLE },
		{ 0, 0, 0.002, { false, false }, COST_SINGLE },
	};
	const struct sampler_process said[] = { SAID(1, 3 * SECOND, 2 * SECOND, 0) };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(accounts_freep) struct accounts *a = books(10);
		_cleanup_(sampling_freep) struct sampling *s = sampling_of(a);
		_cleanup_(snapshot_unrefp) struct snapshot *out =
			costs(a, cases[i].anonymous, cases[i].fifo, cases[i].seconds);

		say(said, 1);
		assert_int_equal(sampling_collect(s), 0);
		/* Twice the same is the same. */
		assert_int_equal(sampling_collect(s), 0);
		sampling_check_costs(s, out);
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
			const struct cost_estimate *e = &out->unit_costs[pipe][UPDATE_ATIME];

			assert_int_equal(e->by[COST_SAMPLE].known, cases[i].known[pipe]);
			assert_int_equal(e->agreement,
					 cases[i].known[pipe] ? cases[i].agreement : COST_SINGLE);
			/* 200 samples. */
			if (e->by[COST_SAMPLE].known)
				assert_true(e->by[COST_SAMPLE].seconds ==
					    2.0 / (pipe ? cases[i].fifo : cases[i].anonymous));
			assert_false(out->unit_costs[pipe][UPDATE_CMTIME].by[COST_SAMPLE].known);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_denied, reset),
		cmocka_unit_test_setup(test_arguments_and_end, reset),
		cmocka_unit_test_setup(test_differences_are_booked, reset),
		cmocka_unit_test_setup(test_failed_round_loses_nothing, reset),
		cmocka_unit_test_setup(test_costs_are_checked, reset),
	};

	return cmocka_run_group_tests_name("sampling", tests, NULL, NULL);
}
