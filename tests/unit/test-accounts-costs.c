// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What processes and groups are charged with. All costs are powers of two, so that sums are exact.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "accounts.h"
#include "books.h"
#include "pipewatch/util.h"

#define UNIT (1.0 / (1 << 20)) /* seconds */

/* book() of 8 is 8 reads, 2 of them with O_NOATIME, and 16 writes. */
#define ATIMES	6
#define CMTIMES 16

static void assert_cost(double seconds, double units)
{
	assert_true(seconds == units * UNIT);
}

static const struct snapshot_process *process_of(const struct snapshot *s, uint32_t pid)
{
	const struct snapshot_process *p = snapshot_find_process(s, pid);

	assert_non_null(p);
	return p;
}

static void test_nothing_known_nothing_charged(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;

	(void)state;
	book(a, process(a, 1, "cat", ""), PIPE_FIFO, 8);
	s = view(a);
	for (int kind = 0; kind < UPDATE_KINDS; kind++) {
		assert_cost(process_of(s, 1)->costs[PIPE_FIFO].seconds[kind], 0);
		assert_cost(group(s, "", "cat")->costs[PIPE_FIFO].seconds[kind], 0);
	}
}

static void test_first_cost_charges_the_past(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(1);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p = process(a, 1, "cat", "a.service");

	(void)state;
	book(a, p, PIPE_ANONYMOUS, 8);
	book(a, p, PIPE_FIFO, 16);
	/* The first group is the only one that there is room for. */
	book(a, process(a, 2, "dog", ""), PIPE_ANONYMOUS, 8);
	book_other(a, PIPE_ANONYMOUS, 8);
	accounts_set_unit_cost(a, PIPE_ANONYMOUS, UPDATE_ATIME, 4 * UNIT);
	accounts_set_unit_cost(a, PIPE_ANONYMOUS, UPDATE_CMTIME, UNIT);

	s = view(a);
	assert_cost(process_of(s, 1)->costs[PIPE_ANONYMOUS].seconds[UPDATE_ATIME], 4 * ATIMES);
	assert_cost(process_of(s, 1)->costs[PIPE_ANONYMOUS].seconds[UPDATE_CMTIME], CMTIMES);
	assert_cost(process_of(s, 1)->costs[PIPE_FIFO].seconds[UPDATE_ATIME], 0);
	assert_cost(process_of(s, 1)->costs[PIPE_FIFO].seconds[UPDATE_CMTIME], 0);
	assert_cost(process_of(s, 2)->costs[PIPE_ANONYMOUS].seconds[UPDATE_ATIME], 4 * ATIMES);
	assert_cost(group(s, "a.service", "cat")->costs[PIPE_ANONYMOUS].seconds[UPDATE_ATIME],
		    4 * ATIMES);
	assert_cost(group(s, SNAPSHOT_OTHER, SNAPSHOT_OTHER)
			    ->costs[PIPE_ANONYMOUS]
			    .seconds[UPDATE_ATIME],
		    2 * 4 * ATIMES);
	assert_cost(group(s, SNAPSHOT_OTHER, SNAPSHOT_OTHER)
			    ->costs[PIPE_ANONYMOUS]
			    .seconds[UPDATE_CMTIME],
		    2 * CMTIMES);
}

static void test_later_costs_leave_the_past(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(1);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p = process(a, 1, "cat", "");

	(void)state;
	accounts_set_unit_cost(a, PIPE_ANONYMOUS, UPDATE_ATIME, 4 * UNIT);
	book(a, p, PIPE_ANONYMOUS, 8);
	book_other(a, PIPE_ANONYMOUS, 8);
	accounts_set_unit_cost(a, PIPE_ANONYMOUS, UPDATE_ATIME, UNIT);
	book(a, p, PIPE_ANONYMOUS, 16);
	book_other(a, PIPE_ANONYMOUS, 16);
	accounts_set_unit_cost(a, PIPE_ANONYMOUS, UPDATE_ATIME, 32 * UNIT);

	s = view(a);
	assert_cost(process_of(s, 1)->costs[PIPE_ANONYMOUS].seconds[UPDATE_ATIME],
		    4 * ATIMES + 2 * ATIMES);
	assert_cost(group(s, "", "cat")->costs[PIPE_ANONYMOUS].seconds[UPDATE_ATIME],
		    4 * ATIMES + 2 * ATIMES);
	assert_cost(group(s, SNAPSHOT_OTHER, SNAPSHOT_OTHER)
			    ->costs[PIPE_ANONYMOUS]
			    .seconds[UPDATE_ATIME],
		    4 * ATIMES + 2 * ATIMES);
}

static void test_noise_changes_nothing(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(1);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p = process(a, 1, "cat", "");
	const double noise[] = { 0, -UNIT, NAN };

	(void)state;
	book(a, p, PIPE_FIFO, 8);
	/* Nor is it the first that charges the past. */
	for (size_t i = 0; i < ARRAY_SIZE(noise); i++)
		accounts_set_unit_cost(a, PIPE_FIFO, UPDATE_CMTIME, noise[i]);
	accounts_set_unit_cost(a, PIPE_FIFO, UPDATE_CMTIME, UNIT);
	for (size_t i = 0; i < ARRAY_SIZE(noise); i++)
		accounts_set_unit_cost(a, PIPE_FIFO, UPDATE_CMTIME, noise[i]);
	book(a, p, PIPE_FIFO, 8);

	s = view(a);
	assert_cost(process_of(s, 1)->costs[PIPE_FIFO].seconds[UPDATE_CMTIME], 2 * CMTIMES);
}

/* A group is charged with what was done in it, a process with all that it did. */
static void test_exec_leaves_the_cost_with_the_group(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p = process(a, 1, "sh", "");

	(void)state;
	accounts_set_unit_cost(a, PIPE_ANONYMOUS, UPDATE_CMTIME, UNIT);
	book(a, p, PIPE_ANONYMOUS, 8);
	assert_int_equal(account_identify(a, p, "cat", ""), 0);
	book(a, p, PIPE_ANONYMOUS, 16);

	s = view(a);
	assert_cost(group(s, "", "sh")->costs[PIPE_ANONYMOUS].seconds[UPDATE_CMTIME], CMTIMES);
	assert_cost(group(s, "", "cat")->costs[PIPE_ANONYMOUS].seconds[UPDATE_CMTIME], 2 * CMTIMES);
	assert_cost(process_of(s, 1)->costs[PIPE_ANONYMOUS].seconds[UPDATE_CMTIME], 3 * CMTIMES);
}

static void test_forgotten_processes_were_charged(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p = process(a, 1, "cat", "");

	(void)state;
	book(a, p, PIPE_ANONYMOUS, 8);
	account_close(a, p, 1);
	accounts_expire(a, 1 + EXITED_USEC);
	accounts_set_unit_cost(a, PIPE_ANONYMOUS, UPDATE_CMTIME, UNIT);

	s = view(a);
	assert_int_equal(s->n_processes, 0);
	assert_cost(group(s, "", "cat")->costs[PIPE_ANONYMOUS].seconds[UPDATE_CMTIME], CMTIMES);
}

static void test_sampled_cpu(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(1);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p = process(a, 1, "cat", "");

	(void)state;
	process(a, 2, "dog", "");
	accounts_book_cpu(a, 1, 1000000, UNIT);
	accounts_book_cpu(a, 1, 1000000, 2 * UNIT);
	/* Another that had the same pid, one beyond the limit of groups, one never seen. */
	accounts_book_cpu(a, 1, 999999, 4 * UNIT);
	accounts_book_cpu(a, 2, 2000000, 8 * UNIT);
	accounts_book_cpu(a, 0, 0, 16 * UNIT);
	assert_int_equal(account_identify(a, p, "cat", "a.service"), 0);
	accounts_book_cpu(a, 1, 1000000, 32 * UNIT);

	s = view(a);
	assert_cost(process_of(s, 1)->pipe_cpu_seconds, 35);
	assert_cost(process_of(s, 2)->pipe_cpu_seconds, 8);
	assert_cost(group(s, "", "cat")->pipe_cpu_seconds, 3);
	assert_cost(group(s, SNAPSHOT_OTHER, SNAPSHOT_OTHER)->pipe_cpu_seconds, 4 + 8 + 16 + 32);
}

static void test_sampled_updates(void **state)
{
	const double one[UPDATE_KINDS] = { UNIT, 2 * UNIT, 4 * UNIT },
		     ten[UPDATE_KINDS] = { 10 * UNIT, 20 * UNIT, 40 * UNIT };
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p = process(a, 1, "cat", "");

	(void)state;
	accounts_book_updates(a, 1, 1000000, one);
	accounts_book_updates(a, 2, 2000000, ten);
	/* What makes (other) appear. */
	accounts_book_cpu(a, 2, 2000000, UNIT);
	assert_int_equal(account_identify(a, p, "dog", ""), 0);
	accounts_book_updates(a, 1, 1000000, ten);

	s = view(a);
	for (int kind = 0; kind < UPDATE_KINDS; kind++) {
		assert_cost(process_of(s, 1)->sampled_seconds[kind], 11 << kind);
		assert_cost(group(s, "", "cat")->sampled_seconds[kind], 1 << kind);
		assert_cost(group(s, "", "dog")->sampled_seconds[kind], 10 << kind);
		assert_cost(group(s, SNAPSHOT_OTHER, SNAPSHOT_OTHER)->sampled_seconds[kind],
			    10 << kind);
	}
}

static void test_fsnotify_is_charged_as_sampled(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p = process(a, 1, "cat", "");

	(void)state;
	book(a, p, PIPE_ANONYMOUS, 8);
	accounts_book_fsnotify(a, 1, 1000000, PIPE_ANONYMOUS, UNIT);
	accounts_book_fsnotify(a, 1, 1000000, PIPE_FIFO, 2 * UNIT);
	accounts_book_fsnotify(a, 2, 2000000, PIPE_FIFO, 4 * UNIT);
	accounts_book_cpu(a, 2, 2000000, UNIT);
	/* Neither a first cost nor later operations change it, nor can it have a unit cost. */
	for (int kind = 0; kind < UPDATE_KINDS; kind++)
		accounts_set_unit_cost(a, PIPE_ANONYMOUS, kind, UNIT);
	accounts_set_unit_cost(a, PIPE_FIFO, UPDATE_FSNOTIFY, UNIT);
	book(a, p, PIPE_ANONYMOUS, 8);
	assert_int_equal(account_identify(a, p, "dog", ""), 0);
	accounts_book_fsnotify(a, 1, 1000000, PIPE_FIFO, 8 * UNIT);

	s = view(a);
	assert_cost(process_of(s, 1)->costs[PIPE_ANONYMOUS].seconds[UPDATE_FSNOTIFY], 1);
	assert_cost(process_of(s, 1)->costs[PIPE_FIFO].seconds[UPDATE_FSNOTIFY], 10);
	assert_cost(process_of(s, 1)->costs[PIPE_ANONYMOUS].seconds[UPDATE_CMTIME], 2 * CMTIMES);
	assert_cost(group(s, "", "cat")->costs[PIPE_ANONYMOUS].seconds[UPDATE_FSNOTIFY], 1);
	assert_cost(group(s, "", "cat")->costs[PIPE_FIFO].seconds[UPDATE_FSNOTIFY], 2);
	assert_cost(group(s, "", "dog")->costs[PIPE_FIFO].seconds[UPDATE_FSNOTIFY], 8);
	assert_cost(
		group(s, SNAPSHOT_OTHER, SNAPSHOT_OTHER)->costs[PIPE_FIFO].seconds[UPDATE_FSNOTIFY],
		4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_known_nothing_charged),
		cmocka_unit_test(test_first_cost_charges_the_past),
		cmocka_unit_test(test_later_costs_leave_the_past),
		cmocka_unit_test(test_noise_changes_nothing),
		cmocka_unit_test(test_exec_leaves_the_cost_with_the_group),
		cmocka_unit_test(test_forgotten_processes_were_charged),
		cmocka_unit_test(test_sampled_cpu),
		cmocka_unit_test(test_sampled_updates),
		cmocka_unit_test(test_fsnotify_is_charged_as_sampled),
	};

	return cmocka_run_group_tests_name("accounts-costs", tests, NULL, NULL);
}
