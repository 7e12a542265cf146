// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "accounts-books.h"
#include "books.h"
#include "pipewatch/util.h"

#define GROUPS	     5
#define CLOSED_LIMIT 1024 /* closed accounts that are kept at most */

static size_t units(const struct accounts *a)
{
	return HASH_COUNT(a->units);
}

/* Units that come and go for months, one process each: those of groups are kept, and those of
 * processes that are listed. */
static void test_short_lived_units(void **state)
{
	const unsigned int n = 20000;
	_cleanup_(accounts_freep) struct accounts *a = books(GROUPS);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	char unit[64];

	(void)state;
	for (unsigned int i = 1; i <= n; i++) {
		struct account *p;

		snprintf(unit, sizeof(unit), "run-u%u.service", i);
		p = process(a, i, "job", unit);
		book(a, p, PIPE_ANONYMOUS, 4);
		account_close(a, p, i);
		accounts_expire(a, i);
		assert_int_equal(units(a), i <= CLOSED_LIMIT + GROUPS ? i : CLOSED_LIMIT + GROUPS);
	}
	accounts_expire(a, n + EXITED_USEC);
	assert_int_equal(units(a), GROUPS);

	s = view(a);
	assert_int_equal(s->n_processes, 0);
	assert_int_equal(s->n_groups, GROUPS + 1);
	for (unsigned int i = 1; i <= GROUPS; i++) {
		snprintf(unit, sizeof(unit), "run-u%u.service", i);
		assert_counts(&group(s, unit, "job")->counts[PIPE_ANONYMOUS], 4);
	}
	assert_counts(&group(s, SNAPSHOT_OTHER, SNAPSHOT_OTHER)->counts[PIPE_ANONYMOUS],
		      4 * (n - GROUPS));
	assert_counts(&s->totals[PIPE_ANONYMOUS], 4 * n);
}

/* One process that is moved from unit to unit and back. */
static void test_moved_process(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(1);
	struct account *p = process(a, 1, "job", "first.service");
	char unit[64];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(unit, sizeof(unit), "unit-%d.scope", i);
		assert_int_equal(account_identify(a, p, "job", unit), 0);
		assert_string_equal(account_unit(p), unit);
		assert_int_equal(units(a), 2);
		/* Another name only. */
		assert_int_equal(account_identify(a, p, "other", unit), 0);
		assert_string_equal(account_unit(p), unit);
		assert_int_equal(units(a), 2);
	}
	assert_int_equal(account_identify(a, p, "job", "first.service"), 0);
	assert_int_equal(units(a), 1);
	assert_int_equal(account_identify(a, p, "job", ""), 0);
	assert_string_equal(account_unit(p), "");
	assert_int_equal(units(a), 1);
}

/* It is there as long as anybody is in it. */
static void test_shared_unit(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(0);
	struct account *first = process(a, 1, "a", "u.service");
	struct account *second = process(a, 2, "b", "u.service");

	(void)state;
	assert_ptr_equal(account_unit(first), account_unit(second));
	account_close(a, first, 0);
	accounts_expire(a, EXITED_USEC);
	assert_int_equal(units(a), 1);
	assert_string_equal(account_unit(second), "u.service");
	account_close(a, second, 0);
	accounts_expire(a, EXITED_USEC);
	assert_int_equal(units(a), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_lived_units),
		cmocka_unit_test(test_moved_process),
		cmocka_unit_test(test_shared_unit),
	};

	return cmocka_run_group_tests_name("accounts-units", tests, NULL, NULL);
}
