// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads and processes at random, over many rounds: whatever happens between two of them, each
 * operation is in one group, the right one, and in the process that it is of.
 */
#include "random.h"
#include "slots.h"

#define PIDS	100
#define THREADS 4 /* the first one is the main thread, which begins */
#define COMMS	4
#define UNITS	3

struct model {
	struct {
		bool alive;
		uint64_t start_ns;
		int comm, unit;
		struct wire_slot *slots[THREADS][WIRE_PIPES];
		uint64_t pending[THREADS]; /* not booked yet */
		uint64_t written;
	} processes[PIDS];
	uint64_t starts;
	uint64_t groups[UNITS][COMMS];
	uint64_t total, unattributed;
};

static const char *const comms[COMMS] = { "a", "b", "", "d" };

/* Those of one process want places next to each other, as do others, 16384 apart. */
static uint32_t tid_of(int process, int thread)
{
	return NOBODY + process % 3 * WIRE_SLOTS + process / 3 * THREADS + thread;
}

static void process_write(struct model *m, int i, int thread, enum wire_pipe pipe, uint32_t n)
{
	struct wire_slot **slot = &m->processes[i].slots[thread][pipe];

	if (!*slot)
		*slot = slot_claim(tid_of(i, thread) | (pipe ? WIRE_KEY_FIFO : 0), tid_of(i, 0),
				   m->processes[i].start_ns, comms[m->processes[i].comm],
				   1 + m->processes[i].unit);
	assert_non_null(*slot);
	slot_write(*slot, n);
	m->processes[i].pending[thread] += n;
	m->processes[i].written += n;
	m->total += n;
}

static void process_start(struct model *m, int i, uint64_t *seed)
{
	memset(&m->processes[i], 0, sizeof(m->processes[i]));
	m->processes[i].alive = true;
	m->processes[i].start_ns = ++m->starts;
	m->processes[i].comm = random_next(seed) % COMMS;
	m->processes[i].unit = random_next(seed) % UNITS;
	process_write(m, i, 0, random_next(seed) % WIRE_PIPES, 1);
}

/* It gets another name and is moved. Only the slots of its main thread tell its name. */
static void process_change(struct model *m, int i, uint64_t *seed)
{
	m->processes[i].comm = random_next(seed) % COMMS;
	m->processes[i].unit = random_next(seed) % UNITS;
	for (int thread = 0; thread < THREADS; thread++)
		for (int pipe = 0; pipe < WIRE_PIPES; pipe++) {
			struct wire_slot *slot = m->processes[i].slots[thread][pipe];

			if (slot && thread == 0)
				name_set(slot, comms[m->processes[i].comm]);
			if (slot)
				slot->cgroup_id = 1 + m->processes[i].unit;
		}
}

static void thread_end(struct model *m, int i, int thread, uint32_t flags)
{
	for (int pipe = 0; pipe < WIRE_PIPES; pipe++) {
		struct wire_slot **slot = &m->processes[i].slots[thread][pipe];

		if (*slot)
			slot_retire(*slot, comms[m->processes[i].comm], flags);
		*slot = NULL;
	}
	m->groups[m->processes[i].unit][m->processes[i].comm] += m->processes[i].pending[thread];
	m->processes[i].pending[thread] = 0;
}

static void process_end(struct model *m, int i)
{
	for (int thread = THREADS - 1; thread >= 0; thread--)
		thread_end(m, i, thread, thread == 0 ? WIRE_SLOT_PROCESS_EXITED : 0);
	m->processes[i].alive = false;
}

static void model_step(struct model *m, uint64_t *seed)
{
	int i = random_next(seed) % PIDS, thread = random_next(seed) % THREADS;
	enum wire_pipe pipe = random_next(seed) % WIRE_PIPES;
	uint32_t n = 1 + random_next(seed) % 1000;

	if (!m->processes[i].alive) {
		process_start(m, i, seed);
		return;
	}
	switch (random_next(seed) % 10) {
	case 0: process_end(m, i); break;
	case 1:
		if (thread > 0)
			thread_end(m, i, thread, 0);
		break;
	case 2:
	case 3: process_change(m, i, seed); break;
	case 4:
		overflow_write(pipe, n);
		m->total += n;
		m->unattributed += n;
		break;
	default: process_write(m, i, thread, pipe, n);
	}
}

static void model_collect(struct model *m, struct collector *c)
{
	collect(c);
	for (int i = 0; i < PIDS; i++)
		for (int thread = 0; thread < THREADS; thread++) {
			m->groups[m->processes[i].unit][m->processes[i].comm] +=
				m->processes[i].pending[thread];
			m->processes[i].pending[thread] = 0;
		}
}

static void compare_processes(const struct model *m, const struct snapshot *s)
{
	uint32_t alive = 0;

	for (int i = 0; i < PIDS; i++) {
		const struct snapshot_process *p = snapshot_find_process(s, tid_of(i, 0));
		char unit[32];

		if (!m->processes[i].alive) {
			assert_true(!p || p->exited);
			continue;
		}
		alive++;
		snprintf(unit, sizeof(unit), "unit-%d.service", 1 + m->processes[i].unit);
		assert_non_null(p);
		assert_false(p->exited);
		assert_string_equal(p->comm, comms[m->processes[i].comm]);
		assert_string_equal(p->unit, unit);
		assert_int_equal(p->counts[PIPE_ANONYMOUS].writes + p->counts[PIPE_FIFO].writes,
				 m->processes[i].written);
	}
	assert_int_equal(s->tracked_processes, alive);
}

static void compare_groups(const struct model *m, const struct snapshot *s)
{
	for (int unit = 0; unit < UNITS; unit++)
		for (int comm = 0; comm < COMMS; comm++) {
			char text[32];

			snprintf(text, sizeof(text), "unit-%d.service", 1 + unit);
			assert_int_equal(writes(s, text, comms[comm]), m->groups[unit][comm]);
		}
}

static void run(unsigned int max_groups, uint64_t seed)
{
	_cleanup_(fixture_free) struct fixture f = fixture_new(max_groups);
	static struct model m;

	memset(&m, 0, sizeof(m));
	for (int round = 0; round < 200; round++) {
		_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
		int steps = random_next(&seed) % 300;

		for (int step = 0; step < steps; step++)
			model_step(&m, &seed);
		model_collect(&m, f.collector);
		s = view(f.accounts);
		assert_int_equal(total(s), m.total);
		assert_int_equal(s->unattributed_operations, m.unattributed);
		compare_processes(&m, s);
		if (max_groups == UNITS * COMMS)
			compare_groups(&m, s);
		else
			assert_int_equal(s->n_groups, max_groups + 1);
	}
	/* No main thread was without a slot. */
	assert_int_equal(kernel.n_looks, 0);
}

static void test_room_for_all_groups(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++)
		run(UNITS * COMMS, seed);
}

static void test_room_for_some_groups(void **state)
{
	(void)state;
	run(4, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room_for_all_groups),
		cmocka_unit_test(test_room_for_some_groups),
	};

	return cmocka_run_group_tests_name("collector-model", tests, NULL, NULL);
}
