// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "accounts.h"
#include "books.h"
#include "pipewatch/util.h"

#define N 300

/* N processes, every third of which has ended, in no order. */
static struct accounts *many(void)
{
	struct accounts *a = books(10);

	for (uint32_t i = 0; i < N; i++) {
		struct account *p = process(a, 1 + i, "cat", "a.service");

		book(a, p, i % 5 ? PIPE_ANONYMOUS : PIPE_FIFO, 4 * (i * 7 % 101));
		if (i % 3 == 0)
			account_close(a, p, 1);
	}
	return a;
}

static struct snapshot *wished(struct accounts *a, const struct snapshot_wish *wish, bool costs)
{
	struct snapshot *s = snapshot_new();

	assert_non_null(s);
	if (costs) {
		s->counting = true;
		s->paths[PIPE_FIFO][UPDATE_ATIME].state = PATH_PAID;
		s->unit_costs[PIPE_FIFO][UPDATE_ATIME].whole.known = true;
	}
	assert_int_equal(accounts_fill(a, BOOT_USEC, false, wish, s), 0);
	snapshot_finish(s);
	return s;
}

/* The first rows are those of all, whatever is left out, and sums are of all. */
static void assert_wished(struct accounts *a, size_t n, bool costs)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s =
		wished(a, &(struct snapshot_wish){ .n_processes = n }, costs);
	_cleanup_(snapshot_unrefp) struct snapshot *whole = wished(a, &all, costs);
	size_t live = 0, live_of_all = 0;

	assert_int_equal(whole->n_processes, N);
	assert_int_equal(whole->n_unlisted, 0);
	assert_in_range(s->n_processes, n, 2 * n);
	assert_int_equal(s->n_processes + s->n_unlisted, N);
	assert_int_equal(s->tracked_processes, whole->tracked_processes);
	assert_int_equal(s->n_groups, whole->n_groups);
	assert_memory_equal(s->totals, whole->totals, sizeof(s->totals));
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(s->processes[i].pid, whole->processes[i].pid);
		assert_memory_equal(s->processes[i].counts, whole->processes[i].counts,
				    sizeof(s->processes[i].counts));
		assert_memory_equal(s->processes[i].sizes, whole->processes[i].sizes,
				    sizeof(s->processes[i].sizes));
	}
	/* So are the first live ones. */
	for (size_t i = 0; i < N && live < n; i++) {
		if (whole->processes[i].exited)
			continue;
		while (s->processes[live_of_all].exited)
			live_of_all++;
		assert_int_equal(s->processes[live_of_all++].pid, whole->processes[i].pid);
		live++;
	}
	assert_int_equal(live, n);
}

static void test_costliest(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = many();

	(void)state;
	for (size_t n = 1; n <= 100; n += 11)
		assert_wished(a, n, false);
}

static void test_costliest_by_cost(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = many();
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;

	(void)state;
	accounts_set_unit_cost(a, PIPE_FIFO, UPDATE_ATIME, 1e-6);
	for (size_t n = 1; n <= 100; n += 11)
		assert_wished(a, n, true);
	s = wished(a, &(struct snapshot_wish){ .n_processes = 1 }, true);
	/* Others did 4 * 100 reads, on pipes that cost nothing; a fourth is with O_NOATIME. */
	assert_counts(&s->processes[0].counts[PIPE_FIFO], 4 * 99);
	assert_float_equal(s->processes[0].cost_seconds, 297e-6, 1e-12);
}

static void test_none_but_one(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = many();
	_cleanup_(snapshot_unrefp) struct snapshot *none = wished(a, &(struct snapshot_wish){},
								  false);
	_cleanup_(snapshot_unrefp) struct snapshot *one =
		wished(a, &(struct snapshot_wish){ .pid = 7 }, false);

	(void)state;
	assert_int_equal(none->n_processes, 0);
	assert_int_equal(none->n_unlisted, N);
	assert_int_equal(none->tracked_processes, 200);
	assert_int_equal(one->n_processes, 1);
	assert_int_equal(one->processes[0].pid, 7);
	assert_true(one->processes[0].exited);
	assert_int_equal(one->n_unlisted, N - 1);
	assert_int_equal(one->tracked_processes, 200);
}

/* Series need rows. */
static void test_pid_label(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = many();
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();

	(void)state;
	assert_int_equal(accounts_fill(a, BOOT_USEC, true, &(struct snapshot_wish){}, s), 0);
	assert_int_equal(s->n_processes, N);
	assert_int_equal(s->n_unlisted, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_costliest),
		cmocka_unit_test(test_costliest_by_cost),
		cmocka_unit_test(test_none_but_one),
		cmocka_unit_test(test_pid_label),
	};

	return cmocka_run_group_tests_name("accounts-rank", tests, NULL, NULL);
}
