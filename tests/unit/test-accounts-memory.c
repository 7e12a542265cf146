// SPDX-License-Identifier: GPL-2.0-or-later
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
#include "oom.h"
#include "pipewatch/util.h"

static void test_new_without_memory(void **state)
{
	struct accounts *a = (struct accounts *)&a;

	(void)state;
	oom_after = 0;
	assert_int_equal(accounts_new(1, &a), -ENOMEM);
	oom_after = OOM_NEVER;
	assert_ptr_equal(a, (struct accounts *)&a);
}

static void test_open_without_memory(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	struct account *p = NULL;
	int failures = 0;

	(void)state;
	for (; !p; failures += !p) {
		oom_after = failures;
		p = accounts_open(a, 1, 0);
		oom_after = OOM_NEVER;
	}
	/* The account, the table, and its buckets. */
	assert_int_equal(failures, 3);
	assert_ptr_equal(accounts_open(a, 1, 0), p);
}

/* Identifies an account in new books with more and more memory. Returns how often it failed. */
static unsigned int identify_failures(const char *unit)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p = accounts_open(a, 1, 0);
	unsigned int failures = 0;
	int r = -ENOMEM;

	for (; r < 0; failures += r < 0) {
		oom_after = failures;
		r = account_identify(a, p, "dog", unit);
		oom_after = OOM_NEVER;
		if (r < 0) {
			assert_int_equal(r, -ENOMEM);
			assert_false(account_identified(p));
			assert_string_equal(account_unit(p), "");
		}
		book(a, p, PIPE_FIFO, 4);
	}
	s = view(a);
	assert_int_equal(s->n_groups, 2);
	assert_counts(&group(s, unit, "dog")->counts[PIPE_FIFO], 4);
	assert_int_equal(group(s, unit, "dog")->processes, 1);
	assert_counts(&group(s, SNAPSHOT_OTHER, SNAPSHOT_OTHER)->counts[PIPE_FIFO], 4 * failures);
	assert_int_equal(group(s, SNAPSHOT_OTHER, SNAPSHOT_OTHER)->processes, 0);
	return failures;
}

static void test_identify_without_memory(void **state)
{
	(void)state;
	/* The group, the table of groups, its buckets, and what was booked before. */
	assert_int_equal(identify_failures(""), 4);
	/* The same for the unit, which is not kept for nobody. */
	assert_int_equal(identify_failures("b.service"), 7);
}

static void test_rename_without_memory(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p = process(a, 1, "cat", "a.service");
	int failures = 0;

	(void)state;
	for (int after = 0;; after++) {
		int r;

		oom_after = after;
		r = account_identify(a, p, "dog", "b.service");
		oom_after = OOM_NEVER;
		if (r == 0)
			break;
		failures++;
		assert_int_equal(r, -ENOMEM);
		assert_string_equal(account_unit(p), "a.service");
		book(a, p, PIPE_FIFO, 4);
	}
	/* The unit, the group, and what was booked before; their tables were there. */
	assert_int_equal(failures, 3);
	book(a, p, PIPE_FIFO, 40);
	s = view(a);
	assert_int_equal(s->n_groups, 2);
	assert_counts(&group(s, "a.service", "cat")->counts[PIPE_FIFO], 12);
	assert_int_equal(group(s, "a.service", "cat")->processes, 0);
	assert_counts(&group(s, "b.service", "dog")->counts[PIPE_FIFO], 40);
	assert_int_equal(group(s, "b.service", "dog")->processes, 1);
}

static void assert_fill_without_memory(struct accounts *a, const struct snapshot_wish *wish)
{
	int r = -ENOMEM;

	for (int after = 0; r < 0; after++) {
		_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();

		oom_after = after;
		oom_failed = 0;
		r = accounts_fill(a, BOOT_USEC, false, wish, s);
		oom_after = OOM_NEVER;
		assert_int_equal(r, oom_failed ? -ENOMEM : 0);
		/* 40 units, 20 comms, (other), an array of processes in 4 steps and of groups in
		 * 3, the strings' table and its growth. */
		assert_in_range(after, 0, 80);
	}
}

static void test_fill_without_memory(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(20);
	char comm[16];

	(void)state;
	for (int i = 0; i < 40; i++) {
		snprintf(comm, sizeof(comm), "c%d", i);
		book(a, process(a, i, comm, comm), PIPE_FIFO, 4);
	}
	for (int i = 0; i < 2; i++)
		assert_fill_without_memory(a,
					   i ? &all : &(struct snapshot_wish){ .n_processes = 5 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_without_memory),
		cmocka_unit_test(test_open_without_memory),
		cmocka_unit_test(test_identify_without_memory),
		cmocka_unit_test(test_rename_without_memory),
		cmocka_unit_test(test_fill_without_memory),
	};

	return cmocka_run_group_tests_name("accounts-memory", tests, NULL, NULL);
}
