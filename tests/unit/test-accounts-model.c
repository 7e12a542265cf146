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
#include "oom.h"
#include "pipewatch/util.h"
#include "random.h"

/*
 * What the books ought to say, kept in the plainest way. Amounts are single numbers, see amount().
 * They are multiples of four, so that the sum's fourth is the sum of the fourths.
 */
#define PIDS	   40
#define GENERATION 3
#define COMMS	   6
#define UNITS	   3
#define MAX_GROUPS 10

struct model {
	struct {
		struct account *account;
		uint64_t booked[PIPE_KINDS];
		uint64_t closed_usec;
		unsigned int holds;
		bool closed;
		int comm, unit; /* -1: not identified */
	} processes[PIDS * GENERATION];
	bool has_group[UNITS * COMMS];
	unsigned int n_groups;
	uint64_t groups[UNITS * COMMS + 1][PIPE_KINDS]; /* the last one is (other) */
	uint64_t booked[PIPE_KINDS];
	uint64_t unattributed;
};

static const char *const comms[COMMS] = { "a", "b", "c", "", "a\nb", "\\xff" };
static const char *const units[UNITS] = { "", "a.service", "b.scope" };

static size_t model_group(const struct model *m, size_t i)
{
	size_t g = m->processes[i].comm < 0
			   ? UNITS * COMMS
			   : (size_t)m->processes[i].unit * COMMS + m->processes[i].comm;

	return g < UNITS * COMMS && m->has_group[g] ? g : UNITS * COMMS;
}

static void model_compare(const struct model *m, struct accounts *a)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = view(a);
	uint32_t processes[UNITS * COMMS + 1] = {};
	size_t n_processes = 0, n_groups = 0, n_alive = 0;

	for (size_t i = 0; i < ARRAY_SIZE(m->processes); i++) {
		if (!m->processes[i].account)
			continue;
		n_processes++;
		n_alive += !m->processes[i].closed;
		processes[model_group(m, i)] += !m->processes[i].closed &&
						m->processes[i].comm >= 0;
	}
	assert_int_equal(s->n_processes, n_processes);
	assert_int_equal(s->tracked_processes, n_alive);
	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snapshot_process *p = &s->processes[i];
		size_t generation = (p->start_time_usec - BOOT_USEC) / 1000;
		size_t which = p->pid * GENERATION + generation;

		assert_non_null(m->processes[which].account);
		assert_int_equal(p->exited, m->processes[which].closed);
		if (m->processes[which].comm >= 0) {
			assert_string_equal(p->comm, comms[m->processes[which].comm]);
			assert_string_equal(p->unit, units[m->processes[which].unit]);
		}
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
			assert_counts(&p->counts[pipe], m->processes[which].booked[pipe]);
			assert_sizes(&p->sizes[pipe], m->processes[which].booked[pipe]);
		}
	}
	for (size_t g = 0; g < UNITS * COMMS; g++) {
		const struct snapshot_group *found;

		if (!m->has_group[g])
			continue;
		n_groups++;
		found = group(s, units[g / COMMS], comms[g % COMMS]);
		assert_int_equal(found->processes, processes[g]);
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
			assert_counts(&found->counts[pipe], m->groups[g][pipe]);
	}
	if (m->groups[UNITS * COMMS][PIPE_ANONYMOUS] || m->groups[UNITS * COMMS][PIPE_FIFO]) {
		const struct snapshot_group *other = group(s, SNAPSHOT_OTHER, SNAPSHOT_OTHER);

		n_groups++;
		assert_int_equal(other->processes, processes[UNITS * COMMS]);
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
			assert_counts(&other->counts[pipe], m->groups[UNITS * COMMS][pipe]);
	}
	assert_int_equal(s->n_groups, n_groups);
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		assert_counts(&s->totals[pipe], m->booked[pipe]);
		assert_sizes(&s->sizes[pipe], m->booked[pipe]);
	}
	assert_int_equal(s->unattributed_operations, 3 * m->unattributed);
}

static void model_identify(struct model *m, struct accounts *a, size_t i, int comm, int unit)
{
	size_t g = (size_t)unit * COMMS + comm;

	assert_int_equal(account_identify(a, m->processes[i].account, comms[comm], units[unit]), 0);
	if (m->processes[i].comm != comm || m->processes[i].unit != unit)
		if (!m->has_group[g] && m->n_groups < MAX_GROUPS) {
			m->has_group[g] = true;
			m->n_groups++;
		}
	m->processes[i].comm = comm;
	m->processes[i].unit = unit;
}

static void model_expire(struct model *m, struct accounts *a, uint64_t now)
{
	accounts_expire(a, now);
	for (size_t i = 0; i < ARRAY_SIZE(m->processes); i++)
		if (m->processes[i].account && m->processes[i].closed && !m->processes[i].holds &&
		    now - m->processes[i].closed_usec >= EXITED_USEC)
			memset(&m->processes[i], 0, sizeof(m->processes[i]));
}

static void test_random_operations(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(MAX_GROUPS);
	static struct model m;
	uint64_t seed = 20240229, now = 0;

	(void)state;
	memset(&m, 0, sizeof(m));
	for (int step = 0; step < 20000; step++) {
		size_t i = random_next(&seed) % ARRAY_SIZE(m.processes);
		enum pipe_kind pipe = random_next(&seed) % PIPE_KINDS;
		uint64_t n = random_next(&seed) % 1000 * 4;

		now += random_next(&seed) % 500000;
		if (!m.processes[i].account) {
			m.processes[i].account = accounts_open(a, i / GENERATION,
							       i % GENERATION * UINT64_C(1000000));
			assert_non_null(m.processes[i].account);
			m.processes[i].comm = m.processes[i].unit = -1;
		}
		switch (random_next(&seed) % 8) {
		case 0:
		case 1:
			model_identify(&m, a, i, random_next(&seed) % COMMS,
				       random_next(&seed) % UNITS);
			break;
		case 2:
		case 3:
		case 4:
			book(a, m.processes[i].account, pipe, n);
			m.processes[i].booked[pipe] += n;
			m.groups[model_group(&m, i)][pipe] += n;
			m.booked[pipe] += n;
			break;
		case 5:
			book_other(a, pipe, n);
			m.groups[UNITS * COMMS][pipe] += n;
			m.booked[pipe] += n;
			m.unattributed += n;
			break;
		case 6:
			if (m.processes[i].holds && random_next(&seed) % 4) {
				account_release(a, m.processes[i].account);
				m.processes[i].holds--;
			} else {
				account_hold(a, m.processes[i].account);
				m.processes[i].holds++;
			}
			break;
		case 7:
			account_close(a, m.processes[i].account, now);
			if (!m.processes[i].closed)
				m.processes[i].closed_usec = now;
			m.processes[i].closed = true;
			break;
		}
		if (step % 10 == 9)
			model_expire(&m, a, now);
		if (step % 100 == 99)
			model_compare(&m, a);
	}
	/* It came to groups beyond the limit, and to all that there can be. */
	assert_int_equal(m.n_groups, MAX_GROUPS);
}

/* One allocation in ten fails. What cannot get an account, or room on it, is booked on (other): no
 * operation is lost. */
static void test_random_operations_without_memory(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(MAX_GROUPS);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	uint64_t seed = 31415926, booked[PIPE_KINDS] = {}, unattributed = 0;
	unsigned int no_account = 0, no_name = 0, no_room = 0;

	(void)state;
	for (int step = 0; step < 20000; step++) {
		uint32_t tgid = random_next(&seed) % 3000;
		enum pipe_kind pipe = random_next(&seed) % PIPE_KINDS;
		uint64_t n = random_next(&seed) % 100 * 4;
		char comm[16], unit[16];
		struct account *p;

		snprintf(comm, sizeof(comm), "c%u", random_next(&seed) % 8);
		snprintf(unit, sizeof(unit), "u%u", random_next(&seed) % 3000);
		oom_after = random_next(&seed) % 10;
		p = accounts_open(a, tgid, 0);
		if (p) {
			if (account_identify(a, p, comm, unit) < 0)
				no_name++;
			if (try_book(a, p, pipe, n) < 0) {
				no_room++;
				unattributed += n;
			}
			if (random_next(&seed) % 4 == 0)
				account_close(a, p, step);
		} else {
			no_account++;
			book_other(a, pipe, n);
			unattributed += n;
		}
		booked[pipe] += n;
		if (step % 100 == 0)
			accounts_expire(a, step * UINT64_C(100000));
		oom_after = OOM_NEVER;
	}
	assert_in_range(no_account, 1, 20000);
	assert_in_range(no_name, 1, 20000);
	assert_in_range(no_room, 1, 20000);

	s = view(a);
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		assert_counts(&s->totals[pipe], booked[pipe]);
		assert_sizes(&s->sizes[pipe], booked[pipe]);
	}
	assert_int_equal(s->unattributed_operations, 3 * unattributed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_operations),
		cmocka_unit_test(test_random_operations_without_memory),
	};

	return cmocka_run_group_tests_name("accounts-model", tests, NULL, NULL);
}
