// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "pipewatch/util.h"
#include "snapshot.h"

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(pipe_kind_name(PIPE_ANONYMOUS), "anonymous");
	assert_string_equal(pipe_kind_name(PIPE_FIFO), "fifo");
	assert_string_equal(update_kind_name(UPDATE_ATIME), "atime");
	assert_string_equal(update_kind_name(UPDATE_CMTIME), "cmtime");
	assert_string_equal(update_kind_name(UPDATE_FSNOTIFY), "fsnotify");
	assert_string_equal(path_state_name(PATH_UNKNOWN), "unknown");
	assert_string_equal(path_state_name(PATH_PAID), "paid");
	assert_string_equal(path_state_name(PATH_REMOVED), "removed");
	assert_string_equal(snapshot_state_name(STATE_STARTING), "starting");
	assert_string_equal(snapshot_state_name(STATE_RUNNING), "running");
	assert_string_equal(snapshot_state_name(STATE_DEGRADED), "degraded");
	assert_string_equal(snapshot_mode_name(MODE_AUTO), "auto");
	assert_string_equal(snapshot_mode_name(MODE_EXACT), "exact");
	assert_string_equal(snapshot_mode_name(MODE_BURST), "burst");
	assert_string_equal(snapshot_mode_name(MODE_PROFILE), "profile");
	assert_string_equal(snapshot_mode_name(MODE_OFF), "off");
}

static void test_counts_add_each_field(void **state)
{
	struct pipe_counts sum = { 1, 2, 3, 4, 5 };
	const struct pipe_counts add = { 10, 20, 30, 40, 50 };
	struct pipe_sizes sizes = { 0 }, more = { 0 };

	(void)state;
	pipe_counts_add(&sum, &add);
	assert_int_equal(sum.reads, 11);
	assert_int_equal(sum.writes, 22);
	assert_int_equal(sum.read_bytes, 33);
	assert_int_equal(sum.written_bytes, 44);
	assert_int_equal(sum.noatime_reads, 55);

	for (size_t i = 0; i < SIZE_CLASSES; i++) {
		sizes.reads[i] = i;
		more.reads[i] = 100;
		more.writes[i] = 1000 + i;
	}
	pipe_sizes_add(&sizes, &more);
	for (size_t i = 0; i < SIZE_CLASSES; i++) {
		assert_int_equal(sizes.reads[i], 100 + i);
		assert_int_equal(sizes.writes[i], 1000 + i);
	}
}

static void test_counts_updates(void **state)
{
	const struct pipe_counts counts = { .reads = 10, .writes = 7, .noatime_reads = 4 };
	const struct pipe_counts torn = { .reads = 3, .noatime_reads = 4 };

	(void)state;
	assert_int_equal(pipe_counts_updates(&counts, UPDATE_ATIME), 6);
	assert_int_equal(pipe_counts_updates(&counts, UPDATE_CMTIME), 7);
	assert_int_equal(pipe_counts_updates(&counts, UPDATE_FSNOTIFY), 0);
	assert_int_equal(pipe_counts_updates(&torn, UPDATE_ATIME), 0);
}

static void test_new_has_no_null_strings(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();

	(void)state;
	assert_non_null(s);
	assert_string_equal(s->version, "");
	assert_string_equal(s->libbpf_version, "");
	assert_string_equal(s->state_reason, "");
	assert_string_equal(s->mode_reason, "");
	assert_string_equal(s->kernel_release, "");
	assert_string_equal(s->machine, "");
	assert_string_equal(s->clocksource, "");
	assert_string_equal(s->counting_reason, "");
	for (size_t p = 0; p < PIPE_KINDS; p++)
		for (size_t u = 0; u < UPDATE_KINDS; u++)
			assert_string_equal(s->paths[p][u].reason, "");
	assert_string_equal(snapshot_add_process(s)->unit, "");
	assert_string_equal(snapshot_add_group(s)->unit, "");
	assert_string_equal(s->groups[0].comm, "");
	assert_string_equal(snapshot_add_program(s)->program, "");
	assert_string_equal(s->programs[0].hook, "");
	assert_string_equal(s->programs[0].reason, "");
	assert_string_equal(snapshot_add_map(s)->map, "");
	assert_string_equal(snapshot_add_loss(s)->reason, "");
}

static void test_references(void **state)
{
	struct snapshot *s = snapshot_new();

	(void)state;
	assert_ptr_equal(snapshot_ref(s), s);
	assert_int_equal(s->n_refs, 2);
	assert_null(snapshot_unref(s));
	assert_int_equal(s->n_refs, 1);
	assert_null(snapshot_unref(s));
	assert_null(snapshot_unref(NULL));
}

static void test_strings_are_shared(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();
	char text[32] = "cron.service";
	const char *first, *many[5000];

	(void)state;
	first = snapshot_string(s, text);
	assert_string_equal(first, "cron.service");
	assert_ptr_not_equal(first, text);
	text[0] = 'x';
	assert_string_equal(first, "cron.service");
	assert_ptr_equal(snapshot_string(s, "cron.service"), first);
	assert_ptr_not_equal(snapshot_string(s, "xron.service"), first);
	assert_string_equal(snapshot_string(s, ""), "");

	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		snprintf(text, sizeof(text), "string %zu", i);
		many[i] = snapshot_string(s, text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		snprintf(text, sizeof(text), "string %zu", i);
		assert_string_equal(many[i], text);
		assert_ptr_equal(snapshot_string(s, text), many[i]);
	}
	assert_string_equal(first, "cron.service");
}

static void add_process(struct snapshot *s, uint32_t pid, uint64_t start, uint64_t reads,
			uint64_t fifo_writes, bool exited)
{
	struct snapshot_process *p = snapshot_add_process(s);

	assert_non_null(p);
	p->pid = pid;
	p->start_time_usec = start;
	p->exited = exited;
	p->counts[PIPE_ANONYMOUS].reads = reads;
	p->counts[PIPE_FIFO].writes = fifo_writes;
}

static void test_processes_are_sorted_and_found(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();
	static const struct {
		uint32_t pid;
		uint64_t start;
	} expected[] = { { 3, 30 }, { 1, 10 }, { 2, 20 }, { 2, 21 }, { 9, 90 }, { 9, 91 } };

	(void)state;
	add_process(s, 2, 21, 5, 5, false);
	add_process(s, 2, 20, 10, 0, true);
	add_process(s, 9, 91, 1, 0, true);
	add_process(s, 9, 90, 1, 1, true);
	add_process(s, 1, 10, 0, 10, false);
	add_process(s, 3, 30, 6, 5, false);
	snapshot_finish(s);

	assert_int_equal(s->n_processes, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(s->processes[i].pid, expected[i].pid);
		assert_int_equal(s->processes[i].start_time_usec, expected[i].start);
	}
	assert_int_equal(s->tracked_processes, 3);

	assert_int_equal(snapshot_find_process(s, 2)->start_time_usec, 21);
	assert_int_equal(snapshot_find_process(s, 9)->start_time_usec, 91);
	assert_null(snapshot_find_process(s, 4));
}

static void add_group(struct snapshot *s, const char *unit, const char *comm, uint64_t reads,
		      uint64_t fifo_writes)
{
	struct snapshot_group *g = snapshot_add_group(s);

	assert_non_null(g);
	g->unit = snapshot_string(s, unit);
	g->comm = snapshot_string(s, comm);
	g->counts[PIPE_ANONYMOUS].reads = reads;
	g->counts[PIPE_ANONYMOUS].read_bytes = reads * 10;
	g->counts[PIPE_FIFO].writes = fifo_writes;
	g->counts[PIPE_FIFO].written_bytes = fifo_writes * 100;
}

static void test_groups_are_sorted_and_summed(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();
	static const char *const expected[][2] = {
		{ "b.service", "(other)" }, { "", "sh" },	    { "a.service", "cat" },
		{ "a.service", "sh" },	    { "b.service", "cat" }, { "(other)", "(other)" },
	};

	(void)state;
	add_group(s, "(other)", "(other)", 1000, 1000);
	add_group(s, "b.service", "cat", 2, 2);
	add_group(s, "a.service", "sh", 4, 0);
	add_group(s, "a.service", "cat", 0, 4);
	add_group(s, "b.service", "(other)", 50, 0);
	add_group(s, "", "sh", 5, 0);
	snapshot_finish(s);

	assert_int_equal(s->n_groups, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_string_equal(s->groups[i].unit, expected[i][0]);
		assert_string_equal(s->groups[i].comm, expected[i][1]);
	}
	assert_int_equal(s->totals[PIPE_ANONYMOUS].reads, 1061);
	assert_int_equal(s->totals[PIPE_ANONYMOUS].read_bytes, 10610);
	assert_int_equal(s->totals[PIPE_ANONYMOUS].writes, 0);
	assert_int_equal(s->totals[PIPE_FIFO].writes, 1006);
	assert_int_equal(s->totals[PIPE_FIFO].written_bytes, 100600);
}

/* What updates cost comes first, then what is sampled, then operations. */
static void test_groups_are_sorted_by_cost(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();

	(void)state;
	s->counting = true;
	s->paths[PIPE_FIFO][UPDATE_CMTIME].state = PATH_PAID;
	s->unit_costs[PIPE_FIFO][UPDATE_CMTIME].whole.known = true;
	add_group(s, "", "many", 100, 0);
	add_group(s, "", "long", 10, 0);
	s->groups[1].pipe_cpu_seconds = 1;
	add_group(s, "", "dear", 1, 1);
	s->groups[2].costs[PIPE_FIFO].seconds[UPDATE_CMTIME] = 0.5;
	snapshot_finish(s);
	assert_string_equal(s->groups[0].comm, "dear");
	assert_string_equal(s->groups[1].comm, "long");
	assert_string_equal(s->groups[2].comm, "many");
	assert_true(s->groups[0].cost_seconds == 0.5);
	assert_true(s->total_costs[PIPE_FIFO].seconds[UPDATE_CMTIME] == 0.5);
}

static void test_arrays_grow(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();

	(void)state;
	for (uint32_t i = 0; i < 3000; i++) {
		add_process(s, i, 0, i, 0, false);
		snapshot_add_map(s)->entries = i;
	}
	assert_int_equal(s->n_processes, 3000);
	for (uint32_t i = 0; i < 3000; i++) {
		assert_int_equal(s->processes[i].pid, i);
		assert_int_equal(s->processes[i].counts[PIPE_ANONYMOUS].reads, i);
		assert_int_equal(s->maps[i].entries, i);
		assert_int_equal(s->maps[i].max_entries, 0);
	}
	snapshot_finish(s);
	assert_int_equal(s->processes[0].pid, 2999);
}

static void test_updates_exist_only_where_paid(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();
	const struct pipe_counts counts = { .reads = 10, .writes = 7, .noatime_reads = 4 };
	uint64_t updates = 99;

	(void)state;
	assert_false(snapshot_updates(s, PIPE_ANONYMOUS, UPDATE_ATIME, &counts, &updates));
	s->paths[PIPE_ANONYMOUS][UPDATE_ATIME].state = PATH_REMOVED;
	assert_false(snapshot_updates(s, PIPE_ANONYMOUS, UPDATE_ATIME, &counts, &updates));
	s->paths[PIPE_ANONYMOUS][UPDATE_FSNOTIFY].state = PATH_PAID;
	assert_false(snapshot_updates(s, PIPE_ANONYMOUS, UPDATE_FSNOTIFY, &counts, &updates));
	assert_int_equal(updates, 99);

	s->paths[PIPE_FIFO][UPDATE_ATIME].state = PATH_PAID;
	assert_true(snapshot_updates(s, PIPE_FIFO, UPDATE_ATIME, &counts, &updates));
	assert_int_equal(updates, 6);
	s->paths[PIPE_FIFO][UPDATE_CMTIME].state = PATH_PAID;
	assert_true(snapshot_updates(s, PIPE_FIFO, UPDATE_CMTIME, &counts, &updates));
	assert_int_equal(updates, 7);
}

/* Costs follow from counts, but for what is sampled. */
static void test_pipe_used(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();
	const struct pipe_counts none = {}, read = { .reads = 1 }, written = { .writes = 1 };
	struct pipe_costs costs = { .seconds = { 1, 1, 0 } };

	(void)state;
	assert_false(snapshot_pipe_used(s, PIPE_FIFO, &read, &costs));
	s->counting = true;
	assert_true(snapshot_pipe_used(s, PIPE_FIFO, &read, &costs));
	assert_true(snapshot_pipe_used(s, PIPE_FIFO, &written, &costs));
	assert_false(snapshot_pipe_used(s, PIPE_FIFO, &none, &costs));
	costs.seconds[UPDATE_FSNOTIFY] = 0.5;
	assert_false(snapshot_pipe_used(s, PIPE_FIFO, &none, &costs));
	s->counting = false;
	s->sampling = s->sampling_sees[UPDATE_FSNOTIFY] = true;
	s->paths[PIPE_FIFO][UPDATE_FSNOTIFY].state = PATH_PAID;
	assert_true(snapshot_pipe_used(s, PIPE_FIFO, &none, &costs));
	assert_false(snapshot_pipe_used(s, PIPE_ANONYMOUS, &none, &costs));
}

/* What is not counted costs nobody knows how much. */
static void test_costs_need_counts(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();
	const struct pipe_costs costs[PIPE_KINDS] = { { { 1, 2, 4 } }, { { 8, 16, 32 } } };
	double seconds = 99;

	(void)state;
	s->paths[PIPE_ANONYMOUS][UPDATE_ATIME].state = PATH_PAID;
	s->unit_costs[PIPE_ANONYMOUS][UPDATE_ATIME].whole.known = true;
	s->observer.operation.known = true;
	assert_false(snapshot_cost_known(s, PIPE_ANONYMOUS, UPDATE_ATIME));
	for (enum remedy remedy = 0; remedy < REMEDIES; remedy++)
		assert_false(snapshot_saving(s, remedy, costs, 64, &seconds));
	assert_true(seconds == 99);
	s->counting = true;
	assert_true(snapshot_cost_known(s, PIPE_ANONYMOUS, UPDATE_ATIME));
	assert_true(snapshot_saving(s, REMEDY_KERNEL, costs, 64, &seconds));
	assert_true(seconds == 1);
	assert_true(snapshot_saving(s, REMEDY_BATCH, costs, 64, &seconds));
	assert_true(seconds == 64);
}

static void test_measured_seconds(void **state)
{
	struct timespec before, after;
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;

	(void)state;
	clock_gettime(CLOCK_REALTIME, &before);
	s = snapshot_new();
	clock_gettime(CLOCK_REALTIME, &after);
	assert_in_range(s->time_usec, before.tv_sec * UINT64_C(1000000) + before.tv_nsec / 1000,
			after.tv_sec * UINT64_C(1000000) + after.tv_nsec / 1000);
	s->start_time_usec = s->time_usec - 2500000;
	assert_true(snapshot_measured_seconds(s) == 2.5);
	s->start_time_usec = s->time_usec + 1;
	assert_true(snapshot_measured_seconds(s) == 0);
}

static void test_watches_of_a_name(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();
	static const char *const names[] = { "a", "b", "a" };
	uint64_t watches = 99;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct snapshot_watcher *w = snapshot_add_watcher(s);

		assert_non_null(w);
		strcpy(w->comm, names[i]);
		w->watches = UINT32_MAX;
	}
	assert_true(snapshot_watches(s, 1, &watches));
	assert_int_equal(watches, UINT32_MAX);
	assert_false(snapshot_watches(s, 2, &watches));
	assert_int_equal(watches, UINT32_MAX);
	assert_true(snapshot_watches(s, 0, &watches));
	assert_int_equal(watches, 2ULL * UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_counts_add_each_field),
		cmocka_unit_test(test_counts_updates),
		cmocka_unit_test(test_new_has_no_null_strings),
		cmocka_unit_test(test_references),
		cmocka_unit_test(test_strings_are_shared),
		cmocka_unit_test(test_processes_are_sorted_and_found),
		cmocka_unit_test(test_groups_are_sorted_and_summed),
		cmocka_unit_test(test_groups_are_sorted_by_cost),
		cmocka_unit_test(test_arrays_grow),
		cmocka_unit_test(test_updates_exist_only_where_paid),
		cmocka_unit_test(test_pipe_used),
		cmocka_unit_test(test_costs_need_counts),
		cmocka_unit_test(test_measured_seconds),
		cmocka_unit_test(test_watches_of_a_name),
	};

	return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
