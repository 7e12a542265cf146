// SPDX-License-Identifier: GPL-2.0-or-later
/* What was counted in windows, and stands for more. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "accounts.h"
#include "books.h"
#include "pipewatch/util.h"
#include "random.h"

static const struct extrapolation_factor one = { .factor = 1 };

static void window(struct accounts *a, double factor, int number)
{
	const struct extrapolation_factor f = { .factor = factor,
						.first = number == 0,
						.first_factor = number == 1 ? factor : 0 };

	accounts_set_factor(a, &f);
}

static const struct snapshot_process *process_of(const struct snapshot *s, uint32_t pid)
{
	const struct snapshot_process *p = snapshot_find_process(s, pid);

	assert_non_null(p);
	return p;
}

static void test_until_then_all_is_exact(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p = process(a, 1, "cat", "");

	(void)state;
	book(a, p, PIPE_FIFO, 8);
	accounts_set_factor(a, &one);
	book(a, p, PIPE_FIFO, 80);
	accounts_window_end(a);
	s = view(a);
	assert_false(s->estimated);
	assert_true(s->unseen_operations_max == 0);
	assert_counts(&process_of(s, 1)->counts[PIPE_FIFO], 88);
	assert_true(process_of(s, 1)->errors[PIPE_FIFO].reads == 0);
	assert_true(s->total_errors[PIPE_FIFO].writes == 0);
	assert_int_equal(accounts_counted(a), 3 * 88);
	assert_int_equal(accounts_operations(a), 3 * 88);
}

static void test_everything_is_scaled(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(1);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL, *later = NULL;
	struct account *p = process(a, 1, "cat", "");
	const double unit = 1.0 / (1 << 20);

	(void)state;
	accounts_set_unit_cost(a, PIPE_FIFO, UPDATE_ATIME, unit);
	accounts_set_unit_cost(a, PIPE_FIFO, UPDATE_CMTIME, 2 * unit);
	accounts_set_operation_cost(a, 4 * unit);
	window(a, 10, 0);
	book(a, p, PIPE_FIFO, 8);
	book(a, process(a, 2, "dog", ""), PIPE_FIFO, 16);
	book_other(a, PIPE_FIFO, 4);
	assert_int_equal(accounts_counted(a), 3 * 28);
	assert_int_equal(accounts_operations(a), 3 * 280);

	s = view(a);
	assert_true(s->estimated);
	assert_true(s->unseen_operations_max == 30);
	assert_counts(&process_of(s, 1)->counts[PIPE_FIFO], 80);
	assert_sizes(&process_of(s, 1)->sizes[PIPE_FIFO], 80);
	assert_counts(&group(s, "", "cat")->counts[PIPE_FIFO], 80);
	assert_counts(&group(s, SNAPSHOT_OTHER, SNAPSHOT_OTHER)->counts[PIPE_FIFO], 200);
	assert_counts(&s->totals[PIPE_FIFO], 280);
	assert_sizes(&s->sizes[PIPE_FIFO], 280);
	assert_int_equal(s->unattributed_operations, 3 * 40);
	assert_true(process_of(s, 1)->costs[PIPE_FIFO].seconds[UPDATE_ATIME] == 60 * unit);
	assert_true(process_of(s, 1)->costs[PIPE_FIFO].seconds[UPDATE_CMTIME] == 320 * unit);
	/* 80 reads of 64 to 127 bytes, 160 writes of 8 to 15. */
	assert_true(process_of(s, 1)->batch_seconds ==
		    4 * unit * (80 * (1 - 96 / 4096.) + 160 * (1 - 12 / 4096.)));

	/* Exact again; what was estimated stays so. */
	accounts_set_factor(a, &one);
	book(a, p, PIPE_FIFO, 8);
	later = view(a);
	assert_true(later->estimated);
	assert_true(later->unseen_operations_max == 0);
	assert_counts(&process_of(later, 1)->counts[PIPE_FIFO], 88);
	assert_counts(&later->totals[PIPE_FIFO], 288);
}

static void test_with_a_pid_label_too(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p = process(a, 1, "cat", "");

	(void)state;
	window(a, 2.5, 0);
	book(a, p, PIPE_FIFO, 8);
	assert_int_equal(account_identify(a, p, "dog", ""), 0);
	book(a, p, PIPE_FIFO, 16);
	s = view_by(a, true);
	assert_counts(&process_of(s, 1)->series[PIPE_FIFO], 40);
	assert_counts(&group(s, "", "dog")->rest[PIPE_FIFO], 0);
	assert_counts(&group(s, "", "cat")->rest[PIPE_FIFO], 20);
}

/* One reads when the other does not: together they do the same in each window. */
static void test_errors_of_a_group_are_not_those_of_its_processes(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p[] = { process(a, 1, "cat", ""), process(a, 2, "cat", ""),
				process(a, 3, "dog", "") };
	const struct pipe_errors *e;

	(void)state;
	for (int number = 0; number < 4; number++) {
		window(a, 5, number);
		book(a, p[number % 2], PIPE_ANONYMOUS, 100);
		book(a, p[2], PIPE_ANONYMOUS, 100 + 20 * number);
		book_other(a, PIPE_FIFO, 0);
		accounts_window_end(a);
	}
	s = view(a);
	/* 100 as if at random, and then from 100 to 0 and back, once doubly. */
	e = &process_of(s, 1)->errors[PIPE_ANONYMOUS];
	assert_float_equal(e->reads, sqrt(20 * (100 + 4 * 5000.)), 1e-2);
	assert_float_equal(e->writes, sqrt(20 * (200 + 4 * 20000.)), 1e-2);
	assert_true(process_of(s, 1)->errors[PIPE_FIFO].reads == 0);
	e = &group(s, "", "cat")->errors[PIPE_ANONYMOUS];
	assert_float_equal(e->reads, sqrt(20 * (100 + 4 / 6.)), 1e-2);
	assert_float_equal(e->writes, sqrt(20 * (200 + 4 / 6.)), 1e-2);
	e = &group(s, "", "dog")->errors[PIPE_ANONYMOUS];
	assert_float_equal(e->reads, sqrt(20 * (100 + 4 * 200.)), 1e-2);
	e = &s->total_errors[PIPE_ANONYMOUS];
	assert_float_equal(e->reads, sqrt(20 * (200 + 4 * 200.)), 1e-2);
	assert_float_equal(e->writes, sqrt(20 * (400 + 4 * 800.)), 1e-2);
	assert_true(s->total_errors[PIPE_FIFO].reads == 0);
}

static void test_errors_stay_when_all_is_counted_again(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct account *p = process(a, 1, "cat", "");

	(void)state;
	window(a, 5, 0);
	book(a, p, PIPE_FIFO, 80);
	accounts_window_end(a);
	accounts_set_factor(a, &one);
	book(a, p, PIPE_FIFO, 1000000);
	accounts_window_end(a);
	/* And nothing of that is compared with what comes after. */
	window(a, 5, 0);
	accounts_window_end(a);
	s = view(a);
	assert_float_equal(process_of(s, 1)->errors[PIPE_FIFO].reads, sqrt(20) * 80, 1e-3);
	assert_float_equal(s->total_errors[PIPE_FIFO].reads, sqrt(20) * 80, 1e-3);
	assert_counts(&s->totals[PIPE_FIFO], 1000400);
}

/* ---- a model: the plainest books of all, at random ---- */

#define PIDS	   20
#define COMMS	   4
#define MAX_GROUPS 3
#define PARTIES	   (PIDS + COMMS + 2) /* processes, groups, (other), and the host */
#define OTHER	   (PIDS + COMMS)
#define HOST	   (OTHER + 1)

struct party {
	struct pipe_counts counts[PIPE_KINDS];
	struct pipe_sizes sizes[PIPE_KINDS]; /* of processes and the host */
	struct extrapolation_error reads[PIPE_KINDS], writes[PIPE_KINDS];
};

struct model {
	struct party parties[PARTIES];
	struct account *accounts[PIDS];
	int comms[PIDS]; /* -1: not identified */
	bool has_group[COMMS];
	int n_groups;
	uint64_t counted, operations, unattributed;
	double factor;
};

static const char *const comms[COMMS] = { "a", "b", "c", "d" };

static uint64_t times(double factor, uint64_t n)
{
	return (uint64_t)llround(factor * n);
}

/* Each booking is rounded, and from then on a whole number. */
static void party_book(struct model *m, int party, enum pipe_kind pipe, uint64_t n)
{
	struct party *p = &m->parties[party];
	const struct pipe_counts scaled = {
		.reads = times(m->factor, n),
		.writes = times(m->factor, 2 * n),
		.read_bytes = times(m->factor, 100 * n),
		.written_bytes = times(m->factor, 20 * n),
		.noatime_reads = times(m->factor, n / 4),
	};

	pipe_counts_add(&p->counts[pipe], &scaled);
	p->sizes[pipe].reads[6] += scaled.reads;
	p->sizes[pipe].writes[3] += scaled.writes;
	p->reads[pipe].window += n;
	p->writes[pipe].window += 2 * n;
}

static int group_party(const struct model *m, int pid)
{
	int comm = m->comms[pid];

	return comm >= 0 && m->has_group[comm] ? PIDS + comm : OTHER;
}

static void model_book(struct model *m, int pid, enum pipe_kind pipe, uint64_t n)
{
	uint64_t before = m->parties[HOST].counts[pipe].reads +
			  m->parties[HOST].counts[pipe].writes;
	uint64_t operations;

	if (pid >= 0)
		party_book(m, pid, pipe, n);
	party_book(m, pid >= 0 ? group_party(m, pid) : OTHER, pipe, n);
	party_book(m, HOST, pipe, n);
	operations = m->parties[HOST].counts[pipe].reads + m->parties[HOST].counts[pipe].writes -
		     before;
	m->counted += 3 * n;
	m->operations += operations;
	if (pid < 0)
		m->unattributed += operations;
}

static void model_window_end(struct model *m, const struct extrapolation_factor *f)
{
	for (int i = 0; i < PARTIES; i++)
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
			extrapolation_error_end(&m->parties[i].reads[pipe], f);
			extrapolation_error_end(&m->parties[i].writes[pipe], f);
		}
}

static void assert_party(const struct party *p, const struct pipe_counts counts[PIPE_KINDS],
			 const struct pipe_errors errors[PIPE_KINDS])
{
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		assert_memory_equal(&counts[pipe], &p->counts[pipe], sizeof(counts[pipe]));
		assert_true(errors[pipe].reads == extrapolation_error(&p->reads[pipe]));
		assert_true(errors[pipe].writes == extrapolation_error(&p->writes[pipe]));
	}
}

static bool party_used(const struct party *p)
{
	uint64_t sum = 0;

	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		sum += p->counts[pipe].reads + p->counts[pipe].writes;
	return sum > 0;
}

static void model_compare(const struct model *m, struct accounts *a)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = view(a);
	struct pipe_counts sum[PIPE_KINDS] = {};

	for (int pid = 0; pid < PIDS; pid++) {
		const struct snapshot_process *p;

		if (!m->accounts[pid])
			continue;
		p = process_of(s, pid);
		assert_party(&m->parties[pid], p->counts, p->errors);
		assert_memory_equal(p->sizes, m->parties[pid].sizes, sizeof(p->sizes));
	}
	for (int comm = 0; comm < COMMS; comm++) {
		const struct snapshot_group *g;

		if (!m->has_group[comm])
			continue;
		g = group(s, "", comms[comm]);
		assert_party(&m->parties[PIDS + comm], g->counts, g->errors);
	}
	if (party_used(&m->parties[OTHER])) {
		const struct snapshot_group *g = group(s, SNAPSHOT_OTHER, SNAPSHOT_OTHER);

		assert_party(&m->parties[OTHER], g->counts, g->errors);
	}
	assert_int_equal(s->n_groups, m->n_groups + party_used(&m->parties[OTHER]));
	for (size_t i = 0; i < s->n_groups; i++)
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
			pipe_counts_add(&sum[pipe], &s->groups[i].counts[pipe]);
	assert_memory_equal(s->totals, sum, sizeof(sum));
	assert_party(&m->parties[HOST], s->totals, s->total_errors);
	assert_memory_equal(s->sizes, m->parties[HOST].sizes, sizeof(s->sizes));
	assert_int_equal(s->unattributed_operations, m->unattributed);
	assert_int_equal(accounts_counted(a), m->counted);
	assert_int_equal(accounts_operations(a), m->operations);
}

static bool counts_grew(const struct pipe_counts *before, const struct pipe_counts *after)
{
	return after->reads >= before->reads && after->writes >= before->writes &&
	       after->read_bytes >= before->read_bytes &&
	       after->written_bytes >= before->written_bytes &&
	       after->noatime_reads >= before->noatime_reads;
}

static bool errors_grew(const struct pipe_errors *before, const struct pipe_errors *after)
{
	return after->reads >= before->reads && after->writes >= before->writes;
}

/* No counter of @before falls. */
static void assert_monotone(const struct snapshot *before, const struct snapshot *after)
{
	for (size_t i = 0; i < before->n_processes; i++) {
		const struct snapshot_process *p = &before->processes[i],
					      *q = process_of(after, p->pid);

		for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
			assert_true(counts_grew(&p->counts[pipe], &q->counts[pipe]));
			assert_true(errors_grew(&p->errors[pipe], &q->errors[pipe]));
			for (int kind = 0; kind < UPDATE_KINDS; kind++)
				assert_true(q->costs[pipe].seconds[kind] >=
					    p->costs[pipe].seconds[kind]);
		}
		assert_true(q->batch_seconds >= p->batch_seconds);
	}
	for (size_t i = 0; i < before->n_groups; i++) {
		const struct snapshot_group *g = &before->groups[i],
					    *h = group(after, g->unit, g->comm);

		for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
			assert_true(counts_grew(&g->counts[pipe], &h->counts[pipe]));
			assert_true(errors_grew(&g->errors[pipe], &h->errors[pipe]));
			for (int kind = 0; kind < UPDATE_KINDS; kind++)
				assert_true(h->costs[pipe].seconds[kind] >=
					    g->costs[pipe].seconds[kind]);
		}
		assert_true(h->batch_seconds >= g->batch_seconds);
	}
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		assert_true(counts_grew(&before->totals[pipe], &after->totals[pipe]));
		assert_true(errors_grew(&before->total_errors[pipe], &after->total_errors[pipe]));
	}
	assert_true(after->unattributed_operations >= before->unattributed_operations);
}

static void random_booking(struct model *m, struct accounts *a, uint64_t *seed)
{
	enum pipe_kind pipe = random_next(seed) % PIPE_KINDS;
	uint64_t n = random_next(seed) % 1000 * 4;
	int pid = random_next(seed) % PIDS;

	if (random_next(seed) % 8 == 0) {
		book_other(a, pipe, n);
		model_book(m, -1, pipe, n);
		return;
	}
	if (!m->accounts[pid]) {
		m->accounts[pid] = accounts_open(a, pid, 0);
		assert_non_null(m->accounts[pid]);
		m->comms[pid] = -1;
	}
	if (random_next(seed) % 4 == 0) {
		int comm = random_next(seed) % COMMS;

		assert_int_equal(account_identify(a, m->accounts[pid], comms[comm], ""), 0);
		if (!m->has_group[comm] && m->n_groups < MAX_GROUPS) {
			m->has_group[comm] = true;
			m->n_groups++;
		}
		m->comms[pid] = comm;
	}
	book(a, m->accounts[pid], pipe, n);
	model_book(m, pid, pipe, n);
}

/* From exact to windows and back, a thousand times. */
static void test_random_changes(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(MAX_GROUPS);
	_cleanup_(snapshot_unrefp) struct snapshot *before = view(a);
	static struct model m;
	uint64_t seed = 27182818;

	(void)state;
	memset(&m, 0, sizeof(m));
	for (int change = 0; change < 1000; change++) {
		int windows = random_next(&seed) % 4; /* 0: all is counted */
		struct snapshot *after;

		accounts_set_unit_cost(a, PIPE_FIFO, UPDATE_ATIME, 1e-7 * random_unit(&seed));
		accounts_set_unit_cost(a, PIPE_ANONYMOUS, UPDATE_CMTIME, 1e-7 * random_unit(&seed));
		accounts_set_operation_cost(a, 1e-6 * random_unit(&seed));
		for (int number = 0; number < (windows ?: 1); number++) {
			struct extrapolation_factor f = one;
			double first_factor = m.factor;

			if (windows)
				f = (struct extrapolation_factor){
					.factor = 1 + 40 * random_unit(&seed),
					.systematic_ratio = 0.05 * random_unit(&seed),
					.first = number == 0,
					.first_factor = number == 1 ? first_factor : 0,
				};
			accounts_set_factor(a, &f);
			m.factor = f.factor;
			for (int i = random_next(&seed) % 20; i > 0; i--)
				random_booking(&m, a, &seed);
			accounts_window_end(a);
			model_window_end(&m, &f);
		}
		if (change % 10 == 9)
			model_compare(&m, a);
		after = view(a);
		assert_monotone(before, after);
		snapshot_unref(before);
		before = after;
	}
	assert_int_equal(m.n_groups, MAX_GROUPS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_until_then_all_is_exact),
		cmocka_unit_test(test_everything_is_scaled),
		cmocka_unit_test(test_with_a_pid_label_too),
		cmocka_unit_test(test_errors_of_a_group_are_not_those_of_its_processes),
		cmocka_unit_test(test_errors_stay_when_all_is_counted_again),
		cmocka_unit_test(test_random_changes),
	};

	return cmocka_run_group_tests_name("accounts-windows", tests, NULL, NULL);
}
