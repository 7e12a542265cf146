// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "books.h"
#include "lifetime.h"
#include "pipewatch/util.h"
#include "process.h"

#define SECOND UINT64_C(1000000000)

/* Own children as processes of the accounts. */
static void test_close_ended(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	struct lifetime l = { .accounts = a };
	_cleanup_(snapshot_unrefp) struct snapshot *before = NULL, *after = NULL;
	struct account *held;
	struct process self;
	uint64_t start_ns;
	pid_t gone = fork(), second;

	(void)state;
	if (gone == 0)
		_exit(0);
	assert_int_equal(waitpid(gone, NULL, 0), gone);
	second = fork();
	if (second == 0)
		_exit(0);
	assert_int_equal(waitpid(second, NULL, 0), second);
	assert_int_equal(process_read("/proc", getpid(), &self), 0);
	start_ns = self.start_ticks * (SECOND / process_ticks(SECOND));

	/* Nothing in /proc, but there for kill(2), as what is hidden: to it our own group is 0. */
	process(a, 0, "hidden", "");
	/* Gone, gone but held, here, and somebody before us with our pid. */
	process(a, gone, "gone", "");
	held = process(a, second, "held", "");
	account_hold(a, held);
	assert_non_null(accounts_open(a, getpid(), start_ns));
	assert_non_null(accounts_open(a, getpid(), start_ns - 2 * SECOND));

	lifetime_check(&l, 999999);
	before = view(a);
	for (size_t i = 0; i < before->n_processes; i++)
		assert_false(before->processes[i].exited);
	lifetime_check(&l, 1000000);
	after = view(a);
	assert_int_equal(after->n_processes, 5);
	for (size_t i = 0; i < after->n_processes; i++) {
		const struct snapshot_process *q = &after->processes[i];
		bool ended = !strcmp(q->comm, "gone") ||
			     (q->pid == (uint32_t)getpid() &&
			      q->start_time_usec != BOOT_USEC + start_ns / 1000);

		assert_int_equal(q->exited, ended);
	}
	assert_false(account_closed(held));
	account_release(a, held);
	lifetime_check(&l, 1999999);
	assert_false(account_closed(held));
	lifetime_check(&l, 2000000);
	assert_true(account_closed(held));
}

#define NOBODY	  5000000 /* beyond the largest process id */
#define PER_CHECK 64	  /* of many, that are looked at in a second */

/* Another process has the id by now: some in a second, in turn, until there are none. */
static void test_reused_ids_in_turn(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	struct lifetime l = { .accounts = a };
	const size_t n = 3 * PER_CHECK + 8;

	(void)state;
	for (size_t i = 0; i < n; i++)
		assert_non_null(accounts_open(a, getpid(), i));
	for (size_t second = 1; second <= 5; second++) {
		lifetime_check(&l, second * 1000000);
		lifetime_check(&l, second * 1000000 + 999999);
		assert_int_equal(accounts_unheld(a), second <= 3 ? n - second * PER_CHECK : 0);
	}
}

/* That there is nobody with an id is found out sooner, all of many at once. */
static void test_many_gone(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	struct lifetime l = { .accounts = a, .looked_usec = 10000000, .probed_usec = 10000000 };
	struct account *alive;
	struct process self;
	const size_t n = 3000;

	(void)state;
	for (size_t i = 0; i < n; i++)
		assert_non_null(accounts_open(a, NOBODY + i, 0));
	assert_int_equal(process_read("/proc", getpid(), &self), 0);
	alive = accounts_open(a, getpid(), self.start_ticks * (SECOND / process_ticks(SECOND)));
	lifetime_check(&l, 10999999);
	assert_int_equal(accounts_unheld(a), n + 1);
	lifetime_check(&l, 11000000);
	assert_int_equal(accounts_unheld(a), n + 1 - PER_CHECK);
	lifetime_check(&l, 12000000);
	assert_int_equal(accounts_unheld(a), n + 1 - 2 * PER_CHECK);
	lifetime_check(&l, 12999999);
	assert_int_equal(accounts_unheld(a), n + 1 - 2 * PER_CHECK);
	lifetime_check(&l, 13000000);
	assert_int_equal(accounts_unheld(a), 1);
	assert_false(account_closed(alive));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_close_ended),
		cmocka_unit_test(test_reused_ids_in_turn),
		cmocka_unit_test(test_many_gone),
	};

	return cmocka_run_group_tests_name("lifetime", tests, NULL, NULL);
}
