// SPDX-License-Identifier: GPL-2.0-or-later
#include "slots.h"

#define PROCESS_EXITED WIRE_SLOT_PROCESS_EXITED
#define LOOKS_MAX      32 /* processes that are looked up in a round */

/* A worker ended before its process got another name, and before anybody looked: the new name
 * stays, and the worker's operations are the old one's. */
static void test_worker_ends_before_rename(void **state)
{
	_cleanup_(fixture_free) struct fixture f = fixture_new(10);
	_cleanup_(snapshot_unrefp) struct snapshot *first = NULL, *second = NULL, *third = NULL;
	/* Before and behind the worker in the table. */
	struct wire_slot *main_slot = slot_claim(NOBODY + 500, NOBODY + 500, 7, "old", 1);
	struct wire_slot *worker = slot_claim(NOBODY + 400, NOBODY + 500, 7, "old", 1);
	struct wire_slot *late = slot_claim(NOBODY + 600, NOBODY + 500, 7, "old", 1);

	(void)state;
	slot_write(main_slot, 1);
	slot_write(worker, 10);
	slot_write(late, 100);
	first = collected(&f);
	assert_int_equal(writes(first, "unit-1.service", "old"), 111);

	slot_write(worker, 1000);
	slot_retire(worker, "old", 0);
	slot_write(late, 10000);
	slot_retire(late, "old", 0);
	name_set(main_slot, "new");
	slot_write(main_slot, 100000);
	second = collected(&f);
	assert_int_equal(writes(second, "unit-1.service", "old"), 11111);
	assert_int_equal(writes(second, "unit-1.service", "new"), 100000);
	assert_string_equal(snapshot_find_process(second, NOBODY + 500)->comm, "new");
	assert_int_equal(claims(&f), 1);

	slot_write(main_slot, 1000000);
	third = collected(&f);
	assert_int_equal(writes(third, "unit-1.service", "new"), 1100000);
	assert_int_equal(third->tracked_processes, 1);
}

/* The same when all of it is over by the time somebody looks. */
static void test_worker_ends_before_rename_and_end(void **state)
{
	_cleanup_(fixture_free) struct fixture f = fixture_new(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct wire_slot *main_slot = slot_claim(NOBODY + 500, NOBODY + 500, 7, "old", 1);
	struct wire_slot *worker = slot_claim(NOBODY + 600, NOBODY + 500, 7, "old", 1);

	(void)state;
	slot_write(worker, 10);
	slot_retire(worker, "old", 0);
	slot_write(main_slot, 1);
	slot_retire(main_slot, "new", PROCESS_EXITED);
	s = collected(&f);
	assert_int_equal(writes(s, "unit-1.service", "old"), 10);
	assert_int_equal(writes(s, "unit-1.service", "new"), 1);
	assert_string_equal(snapshot_find_process(s, NOBODY + 500)->comm, "new");
	assert_true(snapshot_find_process(s, NOBODY + 500)->exited);
	assert_int_equal(claims(&f), 0);
}

/* A process id used sixteen times between two rounds. */
static void test_reused_id(void **state)
{
	_cleanup_(fixture_free) struct fixture f = fixture_new(WIRE_PROBES);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	char comm[16], unit[32];

	(void)state;
	for (uint32_t i = 0; i < WIRE_PROBES; i++) {
		struct wire_slot *anonymous, *fifo;

		snprintf(comm, sizeof(comm), "p%u", i);
		anonymous = slot_claim(NOBODY + 500, NOBODY + 500, i, comm, 1 + i);
		fifo = slot_claim((NOBODY + 500) | WIRE_KEY_FIFO, NOBODY + 500, i, comm, 1 + i);
		slot_write(anonymous, 1 << i);
		slot_write(fifo, 1 << i);
		if (i + 1 < WIRE_PROBES) {
			slot_retire(anonymous, comm, PROCESS_EXITED);
			slot_retire(fifo, comm, PROCESS_EXITED);
		}
	}
	assert_null(slot_claim(NOBODY + 500, NOBODY + 500, 99, "late", 1));
	s = collected(&f);
	assert_int_equal(claims(&f), 2);
	assert_int_equal(s->n_processes, WIRE_PROBES);
	assert_int_equal(s->tracked_processes, 1);
	for (uint32_t i = 0; i < WIRE_PROBES; i++) {
		snprintf(comm, sizeof(comm), "p%u", i);
		snprintf(unit, sizeof(unit), "unit-%u.service", 1 + i);
		assert_int_equal(writes(s, unit, comm), 2 << i);
	}
	assert_int_equal(total(s), 2 * ((1 << WIRE_PROBES) - 1));
	assert_false(snapshot_find_process(s, NOBODY + 500)->exited);
	assert_int_equal(snapshot_find_process(s, NOBODY + 500)->counts[PIPE_FIFO].writes,
			 1 << (WIRE_PROBES - 1));
}

static void test_moved_to_another_cgroup(void **state)
{
	_cleanup_(fixture_free) struct fixture f = fixture_new(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct wire_slot *slot = slot_claim(NOBODY + 500, NOBODY + 500, 7, "job", 1);

	(void)state;
	slot_write(slot, 1);
	collect(f.collector);
	slot->cgroup_id = 2;
	slot_write(slot, 10);
	collect(f.collector);
	slot->cgroup_id = 1;
	slot_write(slot, 100);
	s = collected(&f);
	assert_int_equal(writes(s, "unit-1.service", "job"), 101);
	assert_int_equal(writes(s, "unit-2.service", "job"), 10);
	assert_int_equal(group(s, "unit-1.service", "job")->processes, 1);
	assert_int_equal(group(s, "unit-2.service", "job")->processes, 0);
}

/* Main threads that use no pipes are looked up, once for all threads of a process. */
static void test_looked_up_once_a_process(void **state)
{
	_cleanup_(fixture_free) struct fixture f = fixture_new(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct wire_slot *slots[100];

	(void)state;
	kernel.named[kernel.n_named++] = (struct named){ NOBODY + 500, 7, "old" };
	for (int i = 0; i < 100; i++) {
		slots[i] = slot_claim(NOBODY + 501 + i, NOBODY + 500, 7, "older", 1);
		slot_write(slots[i], 1);
	}
	collect(f.collector);
	assert_int_equal(kernel.n_looks, 1);
	strcpy(kernel.named[0].comm, "new");
	for (int i = 0; i < 100; i++)
		slot_write(slots[i], 10);
	s = collected(&f);
	assert_int_equal(kernel.n_looks, 2);
	assert_int_equal(writes(s, "unit-1.service", "old"), 100);
	assert_int_equal(writes(s, "unit-1.service", "new"), 1000);
	/* Those who did nothing since are not looked up. */
	collect(f.collector);
	assert_int_equal(kernel.n_looks, 2);
}

/* Of thousands of such processes some each round, in turn. */
static void test_looked_up_in_turn(void **state)
{
	_cleanup_(fixture_free) struct fixture f = fixture_new(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	const uint32_t n = 3 * LOOKS_MAX + 10;
	struct wire_slot *slots[3 * LOOKS_MAX + 10];

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		kernel.named[kernel.n_named++] = (struct named){ NOBODY + 2 * i, 7, "now" };
		slots[i] = slot_claim(NOBODY + 2 * i + 1, NOBODY + 2 * i, 7, "then", 1);
	}
	for (uint32_t round = 1; round <= 5; round++) {
		for (uint32_t i = 0; i < n; i++)
			slot_write(slots[i], 1);
		snapshot_unref(s);
		s = collected(&f);
		assert_int_equal(kernel.n_looks, round <= 3   ? round * LOOKS_MAX
						 : round == 4 ? n
							      : n + LOOKS_MAX);
		assert_int_equal(group(s, "unit-1.service", "now")->processes,
				 round <= 3 ? round * LOOKS_MAX : n);
		assert_int_equal(total(s), round * n);
	}
	/* In round i + 1 it was the turn of the i-th, and from then on it is under the name. */
	assert_int_equal(writes(s, "unit-1.service", "then"),
			 LOOKS_MAX * (0 + 1 + 2) + (n - 3 * LOOKS_MAX) * 3);
}

/* More than there are groups for, and more than find a slot: the sum is exact. */
static void test_beyond_all_limits(void **state)
{
	_cleanup_(fixture_free) struct fixture f = fixture_new(3);
	_cleanup_(snapshot_unrefp) struct snapshot *first = NULL, *second = NULL;
	const uint32_t n = 20000;
	uint64_t sum = 0, named = 0;
	char comm[16];

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		struct wire_slot *slot;

		snprintf(comm, sizeof(comm), "p%u", i % 100);
		slot = slot_claim(NOBODY + i, NOBODY + i, i, comm, 1);
		sum += i;
		if (slot) {
			slot_write(slot, i);
			named += i;
		} else {
			overflow_write(WIRE_ANONYMOUS, i);
		}
	}
	first = collected(&f);
	assert_int_equal(total(first), sum);
	assert_int_equal(first->unattributed_operations, sum - named);
	assert_int_equal(first->n_groups, 4);
	assert_int_equal(claims(&f), first->n_processes);
	assert_int_equal(first->tracked_processes, first->n_processes);

	/* All of them end, each with one more. */
	for (uint32_t i = 0; i < WIRE_SLOTS; i++) {
		struct wire_slot *slot = &kernel.slots[i];

		if (!slot->key)
			continue;
		slot_write(slot, 1);
		sum++;
		slot_retire(slot, "ended", PROCESS_EXITED);
	}
	second = collected(&f);
	assert_int_equal(claims(&f), 0);
	assert_int_equal(second->tracked_processes, 0);
	assert_int_equal(total(second), sum);
	for (size_t i = 0; i < first->n_groups; i++)
		assert_true(writes(second, first->groups[i].unit, first->groups[i].comm) >=
			    writes(first, first->groups[i].unit, first->groups[i].comm));
}

/* The kernel may refuse for a while: the claims are deleted later, and the counts are not affected.
 */
static void test_deleting_is_refused(void **state)
{
	_cleanup_(fixture_free) struct fixture f = fixture_new(10);
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct wire_slot *slot = slot_claim(NOBODY + 500, NOBODY + 500, 7, "job", 1);

	(void)state;
	slot_write(slot, 3);
	slot_retire(slot, "job", PROCESS_EXITED);
	kernel.refuses = true;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(collector_collect(f.collector, ++kernel.now_usec), -EPERM);
		assert_int_equal(kernel.shared.reaped, 0);
		assert_true(kernel.claimed[slot - kernel.slots]);
	}
	kernel.refuses = false;
	s = collected(&f);
	assert_int_equal(kernel.shared.reaped, 1);
	assert_int_equal(claims(&f), 0);
	assert_int_equal(total(s), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worker_ends_before_rename),
		cmocka_unit_test(test_worker_ends_before_rename_and_end),
		cmocka_unit_test(test_reused_id),
		cmocka_unit_test(test_moved_to_another_cgroup),
		cmocka_unit_test(test_looked_up_once_a_process),
		cmocka_unit_test(test_looked_up_in_turn),
		cmocka_unit_test(test_beyond_all_limits),
		cmocka_unit_test(test_deleting_is_refused),
	};

	return cmocka_run_group_tests_name("collector", tests, NULL, NULL);
}
