/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accounts to be tested: opened, booked on and looked at, with amounts that are told by one number.
 */
#ifndef PIPEWATCH_TESTS_BOOKS_H
#define PIPEWATCH_TESTS_BOOKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "accounts.h"

#define BOOT_USEC   UINT64_C(1700000000000000)
#define EXITED_USEC (SNAPSHOT_EXITED_SEC * UINT64_C(1000000))

static inline struct accounts *books(unsigned int max_groups)
{
	struct accounts *a = NULL;

	assert_int_equal(accounts_new(max_groups, &a), 0);
	assert_non_null(a);
	return a;
}

static inline struct account *process(struct accounts *a, uint32_t tgid, const char *comm,
				      const char *unit)
{
	struct account *p = accounts_open(a, tgid, tgid * UINT64_C(1000000));

	assert_non_null(p);
	assert_int_equal(account_identify(a, p, comm, unit), 0);
	return p;
}

/* @n reads of 100 bytes, a fourth of them with O_NOATIME, and 2 @n writes of 10 bytes. */
static inline void amount(uint64_t n, struct pipe_counts *ret_counts, struct pipe_sizes *ret_sizes)
{
	*ret_counts = (struct pipe_counts){
		.reads = n,
		.writes = 2 * n,
		.read_bytes = 100 * n,
		.written_bytes = 20 * n,
		.noatime_reads = n / 4,
	};
	memset(ret_sizes, 0, sizeof(*ret_sizes));
	ret_sizes->reads[6] = n;
	ret_sizes->writes[3] = 2 * n;
}

static inline int try_book(struct accounts *a, struct account *p, enum pipe_kind pipe, uint64_t n)
{
	struct pipe_counts counts;
	struct pipe_sizes sizes;

	amount(n, &counts, &sizes);
	return account_book(a, p, pipe, &counts, &sizes);
}

static inline void book(struct accounts *a, struct account *p, enum pipe_kind pipe, uint64_t n)
{
	assert_int_equal(try_book(a, p, pipe, n), 0);
}

static inline void book_other(struct accounts *a, enum pipe_kind pipe, uint64_t n)
{
	struct pipe_counts counts;
	struct pipe_sizes sizes;

	amount(n, &counts, &sizes);
	accounts_book_other(a, pipe, &counts, &sizes);
}

static const struct snapshot_wish all = { .n_processes = SIZE_MAX };

static inline struct snapshot *view_by(struct accounts *a, bool pid_label)
{
	struct snapshot *s = snapshot_new();

	assert_non_null(s);
	assert_int_equal(accounts_fill(a, BOOT_USEC, pid_label, &all, s), 0);
	snapshot_finish(s);
	return s;
}

static inline struct snapshot *view(struct accounts *a)
{
	return view_by(a, false);
}

static inline const struct snapshot_group *group(const struct snapshot *s, const char *unit,
						 const char *comm)
{
	for (size_t i = 0; i < s->n_groups; i++)
		if (!strcmp(s->groups[i].unit, unit) && !strcmp(s->groups[i].comm, comm))
			return &s->groups[i];
	fail_msg("no group %s %s", unit, comm);
	return NULL;
}

static inline void assert_counts(const struct pipe_counts *counts, uint64_t n)
{
	struct pipe_counts wanted;
	struct pipe_sizes sizes;

	amount(n, &wanted, &sizes);
	assert_int_equal(counts->reads, wanted.reads);
	assert_int_equal(counts->writes, wanted.writes);
	assert_int_equal(counts->read_bytes, wanted.read_bytes);
	assert_int_equal(counts->written_bytes, wanted.written_bytes);
	assert_int_equal(counts->noatime_reads, wanted.noatime_reads);
}

static inline void assert_sizes(const struct pipe_sizes *sizes, uint64_t n)
{
	struct pipe_counts counts;
	struct pipe_sizes wanted;

	amount(n, &counts, &wanted);
	assert_memory_equal(sizes, &wanted, sizeof(wanted));
}

#endif
