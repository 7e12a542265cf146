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
	account_hold(held);
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
	account_release(held);
	lifetime_check(&l, 1999999);
	assert_false(account_closed(held));
	lifetime_check(&l, 2000000);
	assert_true(account_closed(held));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_close_ended),
	};

	return cmocka_run_group_tests_name("lifetime", tests, NULL, NULL);
}
