// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "accounts.h"
#include "books.h"
#include "pipewatch/util.h"

#define CLOSED_LIMIT 1024 /* closed accounts that are kept at most */

static void test_empty(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = view(a);

	(void)state;
	assert_int_equal(s->n_processes, 0);
	assert_int_equal(s->n_groups, 0);
	assert_int_equal(s->totals[PIPE_ANONYMOUS].reads, 0);
	assert_int_equal(s->unattributed_operations, 0);
	assert_null(accounts_free(NULL));
}

static void test_book_on_process_group_and_host(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p = process(a, 42, "cat", "cron.service");

	(void)state;
	book(a, p, PIPE_ANONYMOUS, 100);
	book(a, p, PIPE_ANONYMOUS, 20);
	book(a, p, PIPE_FIFO, 8);

	s = view(a);
	assert_int_equal(s->n_processes, 1);
	assert_int_equal(s->tracked_processes, 1);
	assert_int_equal(s->processes[0].pid, 42);
	assert_int_equal(s->processes[0].start_time_usec, BOOT_USEC + 42000);
	assert_string_equal(s->processes[0].comm, "cat");
	assert_string_equal(s->processes[0].unit, "cron.service");
	assert_false(s->processes[0].exited);
	assert_counts(&s->processes[0].counts[PIPE_ANONYMOUS], 120);
	assert_counts(&s->processes[0].counts[PIPE_FIFO], 8);
	assert_sizes(&s->processes[0].sizes[PIPE_ANONYMOUS], 120);
	assert_sizes(&s->processes[0].sizes[PIPE_FIFO], 8);

	assert_int_equal(s->n_groups, 1);
	assert_int_equal(s->groups[0].processes, 1);
	assert_string_equal(s->groups[0].comm, "cat");
	assert_string_equal(s->groups[0].unit, "cron.service");
	assert_counts(&s->groups[0].counts[PIPE_ANONYMOUS], 120);
	assert_counts(&s->groups[0].counts[PIPE_FIFO], 8);

	assert_counts(&s->totals[PIPE_ANONYMOUS], 120);
	assert_counts(&s->totals[PIPE_FIFO], 8);
	assert_sizes(&s->sizes[PIPE_ANONYMOUS], 120);
	assert_sizes(&s->sizes[PIPE_FIFO], 8);
	assert_int_equal(s->unattributed_operations, 0);
}

static void test_group_is_unit_and_comm(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;

	(void)state;
	book(a, process(a, 1, "cat", "a.service"), PIPE_FIFO, 4);
	book(a, process(a, 2, "cat", "a.service"), PIPE_FIFO, 8);
	book(a, process(a, 3, "cat", "b.service"), PIPE_FIFO, 16);
	book(a, process(a, 4, "dog", "a.service"), PIPE_FIFO, 32);
	book(a, process(a, 5, "cat", ""), PIPE_FIFO, 64);

	s = view(a);
	assert_int_equal(s->n_processes, 5);
	assert_int_equal(s->n_groups, 4);
	assert_counts(&group(s, "a.service", "cat")->counts[PIPE_FIFO], 12);
	assert_int_equal(group(s, "a.service", "cat")->processes, 2);
	assert_counts(&group(s, "b.service", "cat")->counts[PIPE_FIFO], 16);
	assert_counts(&group(s, "a.service", "dog")->counts[PIPE_FIFO], 32);
	assert_counts(&group(s, "", "cat")->counts[PIPE_FIFO], 64);
	assert_counts(&s->totals[PIPE_FIFO], 124);
}

static void test_exec_moves_what_follows(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p = process(a, 7, "sh", "x.service");

	(void)state;
	book(a, p, PIPE_ANONYMOUS, 4);
	assert_int_equal(account_identify(a, p, "gcc", "x.service"), 0);
	book(a, p, PIPE_ANONYMOUS, 40);
	assert_int_equal(account_identify(a, p, "gcc", "y.service"), 0);
	book(a, p, PIPE_ANONYMOUS, 400);

	s = view(a);
	assert_int_equal(s->n_processes, 1);
	assert_string_equal(s->processes[0].comm, "gcc");
	assert_string_equal(s->processes[0].unit, "y.service");
	assert_counts(&s->processes[0].counts[PIPE_ANONYMOUS], 444);
	assert_int_equal(s->n_groups, 3);
	assert_counts(&group(s, "x.service", "sh")->counts[PIPE_ANONYMOUS], 4);
	assert_int_equal(group(s, "x.service", "sh")->processes, 0);
	assert_counts(&group(s, "x.service", "gcc")->counts[PIPE_ANONYMOUS], 40);
	assert_int_equal(group(s, "x.service", "gcc")->processes, 0);
	assert_counts(&group(s, "y.service", "gcc")->counts[PIPE_ANONYMOUS], 400);
	assert_int_equal(group(s, "y.service", "gcc")->processes, 1);
	assert_counts(&s->totals[PIPE_ANONYMOUS], 444);
}

static void test_identify_again_changes_nothing(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p = process(a, 7, "sh", "x.service");
	const char *unit = account_unit(p);

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(account_identify(a, p, "sh", "x.service"), 0);
	assert_ptr_equal(account_unit(p), unit);
	s = view(a);
	assert_int_equal(s->n_groups, 1);
	assert_int_equal(s->groups[0].processes, 1);
}

static void test_unidentified_is_other(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p = accounts_open(a, 9, 1000);

	(void)state;
	assert_false(account_identified(p));
	assert_string_equal(account_unit(p), "");
	book(a, p, PIPE_FIFO, 4);
	assert_int_equal(account_identify(a, p, "late", ""), 0);
	assert_true(account_identified(p));
	book(a, p, PIPE_FIFO, 8);

	s = view(a);
	assert_counts(&s->processes[0].counts[PIPE_FIFO], 12);
	assert_counts(&group(s, SNAPSHOT_OTHER, SNAPSHOT_OTHER)->counts[PIPE_FIFO], 4);
	assert_counts(&group(s, "", "late")->counts[PIPE_FIFO], 8);
	assert_counts(&s->totals[PIPE_FIFO], 12);
	/* The process is known, only not its name. */
	assert_int_equal(s->unattributed_operations, 0);
}

static void test_unattributed(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;

	(void)state;
	book_other(a, PIPE_ANONYMOUS, 5);
	book_other(a, PIPE_FIFO, 100);
	book(a, process(a, 1, "cat", ""), PIPE_FIFO, 1000);

	s = view(a);
	assert_int_equal(s->n_processes, 1);
	assert_int_equal(s->n_groups, 2);
	assert_counts(&s->groups[1].counts[PIPE_ANONYMOUS], 5);
	assert_counts(&s->groups[1].counts[PIPE_FIFO], 100);
	assert_int_equal(s->groups[1].processes, 0);
	assert_counts(&s->totals[PIPE_FIFO], 1100);
	assert_sizes(&s->sizes[PIPE_FIFO], 1100);
	assert_int_equal(s->unattributed_operations, 3 * 105);
}

static void test_groups_beyond_the_limit(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(3);
	_cleanup_(snapshot_unrefp) struct snapshot *before = NULL;
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p[10];
	char comm[16];

	(void)state;
	for (int i = 0; i < 10; i++) {
		snprintf(comm, sizeof(comm), "c%d", i);
		p[i] = process(a, 100 + i, comm, "u.service");
		book(a, p[i], PIPE_ANONYMOUS, 4 << i);
	}

	s = view(a);
	assert_int_equal(s->n_processes, 10);
	assert_int_equal(s->n_groups, 4);
	assert_counts(&group(s, "u.service", "c0")->counts[PIPE_ANONYMOUS], 4);
	assert_counts(&group(s, "u.service", "c1")->counts[PIPE_ANONYMOUS], 8);
	assert_counts(&group(s, "u.service", "c2")->counts[PIPE_ANONYMOUS], 16);
	assert_counts(&s->groups[3].counts[PIPE_ANONYMOUS], 4092 - 28);
	assert_string_equal(s->groups[3].unit, SNAPSHOT_OTHER);
	assert_string_equal(s->groups[3].comm, SNAPSHOT_OTHER);
	assert_int_equal(s->groups[3].processes, 7);
	assert_counts(&s->totals[PIPE_ANONYMOUS], 4092);
	assert_int_equal(s->unattributed_operations, 0);
	/* Beyond the limit a process is listed under its name all the same. */
	assert_string_equal(snapshot_find_process(s, 109)->comm, "c9");

	/* From (other) into a group that exists, and back. */
	before = s;
	assert_int_equal(account_identify(a, p[9], "c0", "u.service"), 0);
	book(a, p[9], PIPE_ANONYMOUS, 1000);
	assert_int_equal(account_identify(a, p[9], "new", "u.service"), 0);
	book(a, p[9], PIPE_ANONYMOUS, 10000);
	s = view(a);
	assert_int_equal(s->n_groups, 4);
	assert_counts(&group(s, "u.service", "c0")->counts[PIPE_ANONYMOUS], 1004);
	assert_counts(&s->groups[3].counts[PIPE_ANONYMOUS], 4064 + 10000);
	assert_int_equal(s->groups[3].processes, 7);
	assert_counts(&s->totals[PIPE_ANONYMOUS], 15092);
	assert_counts(&before->totals[PIPE_ANONYMOUS], 4092);
}

static void test_no_group_at_all(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(0);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;

	(void)state;
	book(a, process(a, 1, "cat", "a.service"), PIPE_FIFO, 4);
	s = view(a);
	assert_int_equal(s->n_groups, 1);
	assert_string_equal(s->groups[0].comm, SNAPSHOT_OTHER);
	assert_counts(&s->groups[0].counts[PIPE_FIFO], 4);
}

/* Nobody gets into (other) by calling itself so. */
static void test_process_named_other(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;

	(void)state;
	book(a, process(a, 1, SNAPSHOT_OTHER, ""), PIPE_FIFO, 4);
	book_other(a, PIPE_FIFO, 8);
	s = view(a);
	assert_int_equal(s->n_groups, 2);
	assert_counts(&group(s, "", SNAPSHOT_OTHER)->counts[PIPE_FIFO], 4);
	assert_counts(&group(s, SNAPSHOT_OTHER, SNAPSHOT_OTHER)->counts[PIPE_FIFO], 8);
}

static void test_pid_reuse(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *first = accounts_open(a, 50, 1000), *second;

	(void)state;
	book(a, first, PIPE_FIFO, 4);
	account_close(a, first, 5);
	assert_ptr_equal(accounts_open(a, 50, 1000), first);
	second = accounts_open(a, 50, 2000);
	assert_ptr_not_equal(second, first);
	assert_int_equal(account_tgid(first), 50);
	assert_int_equal(account_tgid(second), 50);
	assert_int_equal(account_start_boottime_ns(first), 1000);
	assert_int_equal(account_start_boottime_ns(second), 2000);
	assert_true(account_closed(first));
	assert_false(account_closed(second));
	book(a, second, PIPE_FIFO, 8);

	s = view(a);
	assert_int_equal(s->n_processes, 2);
	assert_int_equal(s->tracked_processes, 1);
	assert_counts(&s->processes[0].counts[PIPE_FIFO], 8);
	assert_int_equal(s->processes[0].start_time_usec, BOOT_USEC + 2);
	assert_counts(&s->processes[1].counts[PIPE_FIFO], 4);
	assert_int_equal(s->processes[1].start_time_usec, BOOT_USEC + 1);
}

/* Series by pid: what a process did in its present group; the rest of the group has the rest. */
static void test_pid_label(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(2);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *moved = process(a, 10, "sh", ""), *stays = process(a, 11, "sh", "");
	struct account *closed = process(a, 12, "sh", ""), *beyond;
	const struct snapshot_process *p;

	(void)state;
	book(a, moved, PIPE_ANONYMOUS, 4);
	book(a, stays, PIPE_ANONYMOUS, 8);
	book(a, closed, PIPE_ANONYMOUS, 16);
	account_close(a, closed, 1);
	assert_int_equal(account_identify(a, moved, "cat", ""), 0);
	book(a, moved, PIPE_ANONYMOUS, 32);
	beyond = process(a, 13, "third", "");
	book(a, beyond, PIPE_ANONYMOUS, 64);

	s = view_by(a, true);
	assert_true(s->pid_label);
	p = snapshot_find_process(s, 10);
	assert_true(p->has_series);
	assert_counts(&p->counts[PIPE_ANONYMOUS], 36);
	assert_counts(&p->series[PIPE_ANONYMOUS], 32);
	assert_true(snapshot_find_process(s, 11)->has_series);
	assert_false(snapshot_find_process(s, 12)->has_series);
	assert_false(snapshot_find_process(s, 13)->has_series);
	assert_counts(&group(s, "", "sh")->rest[PIPE_ANONYMOUS], 20);
	assert_counts(&group(s, "", "cat")->rest[PIPE_ANONYMOUS], 0);
	assert_counts(&group(s, SNAPSHOT_OTHER, SNAPSHOT_OTHER)->rest[PIPE_ANONYMOUS], 64);
}

/* One of two processes with the same pid has ended, and nobody has noticed yet. */
static void test_pid_label_of_a_reused_pid(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(2);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *older = accounts_open(a, 7, 1000), *younger = accounts_open(a, 7, 2000);

	(void)state;
	assert_int_equal(account_identify(a, older, "same", ""), 0);
	assert_int_equal(account_identify(a, younger, "same", ""), 0);
	book(a, older, PIPE_FIFO, 4);
	book(a, younger, PIPE_FIFO, 8);

	s = view_by(a, true);
	assert_int_equal(s->n_processes, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(s->processes[i].has_series,
				 s->processes[i].start_time_usec == BOOT_USEC + 2);
	assert_counts(&group(s, "", "same")->rest[PIPE_FIFO], 4);
}

static void test_closed_stays_a_while(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL, *t = NULL;
	struct account *p = process(a, 1, "cat", "");

	(void)state;
	process(a, 2, "cat", "");
	book(a, p, PIPE_FIFO, 4);
	account_close(a, p, 1000);
	account_close(a, p, 999999999);

	/* Of a clock that was read before it was closed, too. */
	accounts_expire(a, 999);
	accounts_expire(a, 1000 + EXITED_USEC - 1);
	s = view(a);
	assert_int_equal(s->n_processes, 2);
	assert_int_equal(s->tracked_processes, 1);
	assert_true(snapshot_find_process(s, 1)->exited);
	assert_int_equal(group(s, "", "cat")->processes, 1);

	accounts_expire(a, 1000 + EXITED_USEC);
	t = view(a);
	assert_int_equal(t->n_processes, 1);
	assert_int_equal(t->processes[0].pid, 2);
	assert_int_equal(group(t, "", "cat")->processes, 1);
	assert_counts(&group(t, "", "cat")->counts[PIPE_FIFO], 4);
	assert_counts(&t->totals[PIPE_FIFO], 4);
	assert_sizes(&t->sizes[PIPE_FIFO], 4);
}

/* Another thread's last operations come in after the process was seen to be gone. */
static void test_closed_may_still_book(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p = accounts_open(a, 1, 0);

	(void)state;
	account_close(a, p, 0);
	assert_int_equal(account_identify(a, p, "cat", "a.service"), 0);
	book(a, p, PIPE_FIFO, 4);
	assert_int_equal(account_identify(a, p, "dog", "a.service"), 0);
	s = view(a);
	assert_counts(&group(s, "a.service", "cat")->counts[PIPE_FIFO], 4);
	assert_int_equal(group(s, "a.service", "cat")->processes, 0);
	assert_int_equal(group(s, "a.service", "dog")->processes, 0);
}

static void test_held_is_not_forgotten(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL, *t = NULL;
	struct account *held = process(a, 1, "cat", ""), *other = process(a, 2, "cat", "");

	(void)state;
	account_hold(a, held);
	account_hold(a, held);
	account_close(a, held, 0);
	account_close(a, other, 0);
	account_release(a, held);
	accounts_expire(a, 10 * EXITED_USEC);
	s = view(a);
	assert_int_equal(s->n_processes, 1);
	assert_int_equal(s->processes[0].pid, 1);

	account_release(a, held);
	accounts_expire(a, 10 * EXITED_USEC);
	t = view(a);
	assert_int_equal(t->n_processes, 0);
}

static void test_storm_of_short_processes(void **state)
{
	const unsigned int n = CLOSED_LIMIT + 500;
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p;

	(void)state;
	for (unsigned int i = 1; i <= n; i++) {
		p = process(a, i, "true", "");
		book(a, p, PIPE_ANONYMOUS, 4);
		if (i == 3)
			account_hold(a, p);
		account_close(a, p, i);
	}
	process(a, 100000, "alive", "");
	accounts_expire(a, n);

	/* The oldest went early, except the one that is held. */
	s = view(a);
	assert_int_equal(s->n_processes, CLOSED_LIMIT + 1);
	assert_int_equal(s->tracked_processes, 1);
	assert_null(snapshot_find_process(s, 1));
	assert_non_null(snapshot_find_process(s, 3));
	assert_null(snapshot_find_process(s, 501));
	assert_non_null(snapshot_find_process(s, 502));
	assert_non_null(snapshot_find_process(s, n));
	assert_counts(&group(s, "", "true")->counts[PIPE_ANONYMOUS], 4 * n);
	assert_int_equal(group(s, "", "true")->processes, 0);
	assert_sizes(&s->sizes[PIPE_ANONYMOUS], 4 * n);
}

struct visits {
	struct accounts *accounts;
	uint64_t tgids; /* a bit each */
	unsigned int n;
};

static void visit_and_close(struct account *p, void *userdata)
{
	struct visits *v = userdata;

	v->n++;
	v->tgids |= UINT64_C(1) << account_tgid(p);
	account_close(v->accounts, p, 0);
}

static void test_each_unheld(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	struct visits v = { .accounts = a };
	struct account *p[6];

	(void)state;
	for (int i = 0; i < 6; i++)
		p[i] = accounts_open(a, i, 0);
	account_hold(a, p[1]);
	account_hold(a, p[2]);
	account_release(a, p[2]);
	account_close(a, p[3], 0);
	assert_int_equal(accounts_unheld(a), 4);

	accounts_each_unheld(a, 100, visit_and_close, &v);
	assert_int_equal(v.n, 4);
	assert_int_equal(v.tgids, 1 << 0 | 1 << 2 | 1 << 4 | 1 << 5);
	assert_int_equal(accounts_unheld(a), 0);
	accounts_each_unheld(a, 100, visit_and_close, &v);
	assert_int_equal(v.n, 4);
	assert_false(account_closed(p[1]));
}

static void visit(struct account *p, void *userdata)
{
	struct visits *v = userdata;

	v->n++;
	v->tgids |= UINT64_C(1) << account_tgid(p);
}

/* A few at a time, and everybody in turn, whoever comes and goes meanwhile. */
static void test_each_unheld_in_turn(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	struct account *p[7];
	struct visits v = {};

	(void)state;
	for (int i = 0; i < 6; i++)
		p[i] = accounts_open(a, i, 0);
	accounts_each_unheld(a, 4, visit, &v);
	assert_int_equal(v.tgids, 0x0f);
	v.tgids = 0;
	accounts_each_unheld(a, 3, visit, &v);
	assert_int_equal(v.tgids, 1 << 4 | 1 << 5 | 1 << 0);
	account_close(a, p[1], 0);
	account_hold(a, p[2]);
	p[6] = accounts_open(a, 6, 0);
	account_release(a, p[2]);
	assert_int_equal(accounts_unheld(a), 6);
	v.tgids = 0;
	accounts_each_unheld(a, 4, visit, &v);
	assert_int_equal(v.tgids, 1 << 3 | 1 << 4 | 1 << 5 | 1 << 0);
	v.tgids = 0;
	accounts_each_unheld(a, 2, visit, &v);
	assert_int_equal(v.tgids, 1 << 6 | 1 << 2);
	/* What is closed while it is held is not among them afterwards. */
	account_hold(a, p[6]);
	account_close(a, p[6], 0);
	account_release(a, p[6]);
	assert_int_equal(accounts_unheld(a), 5);
	accounts_expire(a, EXITED_USEC);
	assert_int_equal(accounts_unheld(a), 5);
}

/* Cut off, but not run over. */
static void test_names_that_are_too_long(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	char comm[200], unit[1000];
	struct account *p = accounts_open(a, 1, 0);

	(void)state;
	memset(comm, 'c', sizeof(comm));
	comm[sizeof(comm) - 1] = '\0';
	memset(unit, 'u', sizeof(unit));
	unit[sizeof(unit) - 1] = '\0';
	for (int i = 0; i < 2; i++)
		assert_int_equal(account_identify(a, p, comm, unit), 0);
	book(a, p, PIPE_FIFO, 4);
	s = view(a);
	assert_int_equal(s->n_groups, 1);
	assert_int_equal(s->groups[0].processes, 1);
	assert_string_equal(s->groups[0].unit, unit);
	assert_int_equal(strlen(s->groups[0].comm), SNAPSHOT_COMM_MAX - 1);
	assert_int_equal(strlen(s->processes[0].comm), SNAPSHOT_COMM_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_book_on_process_group_and_host),
		cmocka_unit_test(test_group_is_unit_and_comm),
		cmocka_unit_test(test_exec_moves_what_follows),
		cmocka_unit_test(test_identify_again_changes_nothing),
		cmocka_unit_test(test_unidentified_is_other),
		cmocka_unit_test(test_unattributed),
		cmocka_unit_test(test_groups_beyond_the_limit),
		cmocka_unit_test(test_no_group_at_all),
		cmocka_unit_test(test_process_named_other),
		cmocka_unit_test(test_pid_reuse),
		cmocka_unit_test(test_pid_label),
		cmocka_unit_test(test_pid_label_of_a_reused_pid),
		cmocka_unit_test(test_closed_stays_a_while),
		cmocka_unit_test(test_closed_may_still_book),
		cmocka_unit_test(test_held_is_not_forgotten),
		cmocka_unit_test(test_storm_of_short_processes),
		cmocka_unit_test(test_each_unheld),
		cmocka_unit_test(test_each_unheld_in_turn),
		cmocka_unit_test(test_names_that_are_too_long),
	};

	return cmocka_run_group_tests_name("accounts", tests, NULL, NULL);
}
