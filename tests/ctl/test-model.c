// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "record.h"
#include "row.h"

static void assert_amount(struct amount a, double value)
{
	assert_true(a.known);
	assert_true(a.value == value);
}

static void assert_count(struct count c, uint64_t value)
{
	assert_true(c.known);
	assert_true(c.value == value);
}

static void test_full(void **state)
{
	struct model *m = record_parse("full");

	(void)state;
	assert_string_equal(m->version, "1.2.3");
	assert_string_equal(m->release, "6.1.0-test");
	assert_string_equal(m->mode, "exact");
	assert_string_equal(m->configured_mode, "auto");
	assert_true(m->seconds == 1000);
	assert_true(m->now_usec == 1700001000000000);
	assert_amount(m->budget, 0.01);
	assert_amount(m->allowed, 0.0005);
	assert_amount(m->predicted[MODEL_BURST], 0.0001);
	assert_amount(m->overhead, 0.0079);
	assert_amount(m->own[MODEL_PROGRAMS], 0.5);
	assert_amount(m->own[MODEL_DAEMON], 0.3125);
	assert_amount(m->coverage, 1);
	assert_false(m->estimated);
	assert_string_equal(m->paths[MODEL_FIFO][MODEL_CMTIME].state, "paid");
	assert_amount(m->costs[MODEL_ANONYMOUS][MODEL_ATIME].seconds, 43.1e-9);
	assert_false(m->costs[MODEL_FIFO][MODEL_FSNOTIFY].seconds.known);
	assert_count(m->lost, 15);
	assert_int_equal(m->n_missing, 0);
	assert_true(m->listed);
	assert_true(m->remedies_known);

	assert_int_equal(m->n_processes, 4);
	assert_int_equal(m->processes[0].pid, 185);
	assert_amount(m->processes[0].cpu_share, 0.1653);
	assert_amount(m->processes[0].sampled[MODEL_ATIME], 4.05);
	assert_false(m->processes[0].sampled[MODEL_FSNOTIFY].known);
	assert_amount(m->processes[0].savings[MODEL_BATCH], 4.875);
	assert_false(m->processes[0].savings[MODEL_UNWATCH].known);
	assert_true(m->processes[1].exited);
	assert_string_equal(m->processes[2].comm,
			    "evil\\u001b[31m\\u000aname\"\\\\u0001\\u009b\\u202e");
	assert_int_equal(m->processes[3].pid, UINT32_MAX);
	assert_count(m->processes[2].pipes[MODEL_FIFO].writes, UINT64_MAX);
	assert_int_equal(m->n_groups, 5);
	assert_int_equal(m->groups[4].processes, 12);
	model_free(m);
}

static void test_sums(void **state)
{
	struct model *m = record_parse("full");

	(void)state;
	assert_count(row_reads(&m->processes[2]), 1003);
	/* A sum that has no room is the most that there is. */
	assert_count(row_operations(&m->processes[2]), UINT64_MAX);
	assert_count(row_updates(&m->processes[0]), 128894000);
	assert_amount(row_cost(&m->processes[0]), 5);
	assert_amount(row_cost(&m->processes[2]), 0.0625);
	assert_amount(row_cost(&m->host), 4.78125 + 0.515625 + 0.0078125 + 0.0078125);
	assert_amount(row_bytes_per_read(&m->processes[1]), 45);
	assert_false(row_bytes_per_write(&m->processes[1]).known);
	assert_int_equal(row_best_remedy(&m->processes[0]), MODEL_KERNEL);
	assert_int_equal(row_best_remedy(&m->processes[3]), -1);
	model_free(m);
}

static void test_burst(void **state)
{
	struct model *m = record_parse("burst");

	(void)state;
	assert_true(m->estimated);
	assert_amount(m->coverage, 0.025);
	assert_amount(m->unseen, 1200);
	assert_false(m->overhead.known);
	assert_string_equal(m->overhead_reason, "The mode has just changed.");
	assert_int_equal(m->n_missing, 1);
	assert_string_equal(m->missing[0].hook, "pipe_write");
	assert_int_equal(m->n_watchers, 1);
	assert_int_equal(m->watchers[0].pid, 77);
	assert_string_equal(m->watchers[0].comm, "snoop\\u001b]0;x\\u0007");
	assert_amount(m->host.savings[MODEL_UNWATCH], 0.5);
	model_free(m);
}

/* Writes whose cost is not known yet are not free. */
static void test_uncharged(void **state)
{
	static const char text[] =
		"{\"version\":\"1\",\"groups\":["
		"{\"anonymous\":{\"atime_updates\":0,\"cmtime_updates\":5,\"atime_cpu_seconds\":0}},"
		"{\"anonymous\":{\"atime_updates\":2,\"cmtime_updates\":5,\"atime_cpu_seconds\":1}},"
		"{\"anonymous\":{\"atime_updates\":2,\"cmtime_updates\":0,\"atime_cpu_seconds\":1}},"
		"{\"fifo\":{\"atime_updates\":2,\"cmtime_updates\":3}},"
		"{\"anonymous\":{\"atime_updates\":0,\"cmtime_updates\":0,\"atime_cpu_seconds\":0}}]}";
	char kinds[ROW_KINDS_MAX];
	struct model *m = NULL;

	(void)state;
	assert_int_equal(model_parse(text, true, &m), 0);
	assert_int_equal(m->n_groups, 5);
	assert_false(row_cost(&m->groups[0]).known);
	assert_string_equal(row_uncharged(&m->groups[0], kinds), "cmtime");
	assert_amount(row_cost(&m->groups[1]), 1);
	assert_string_equal(row_uncharged(&m->groups[1], kinds), "cmtime");
	assert_amount(row_cost(&m->groups[2]), 1);
	assert_null(row_uncharged(&m->groups[2], kinds));
	assert_false(row_cost(&m->groups[3]).known);
	assert_string_equal(row_uncharged(&m->groups[3], kinds), "atime and cmtime");
	assert_amount(row_cost(&m->groups[4]), 0);
	assert_null(row_uncharged(&m->groups[4], kinds));
	model_free(m);
}

/* From before own cost and remedies were told. */
static void test_old(void **state)
{
	struct model *m = record_parse("old");

	(void)state;
	assert_string_equal(m->version, "9.8.7");
	assert_false(m->own_known);
	assert_false(m->remedies_known);
	assert_false(m->overhead.known);
	assert_string_equal(m->overhead_reason, "The daemon does not measure its own cost.");
	assert_true(m->listed);
	assert_int_equal(m->n_processes, 3);
	assert_false(row_cost(&m->processes[0]).known);
	assert_false(row_cost(&m->host).known);
	/* The start is known; the time since is ours to look up. */
	assert_true(m->seconds > 0);
	model_free(m);
}

static void test_uncounted(void **state)
{
	struct model *m = record_parse("uncounted");

	(void)state;
	assert_false(m->counting);
	assert_string_equal(m->counting_reason, "BPF is forbidden here.");
	assert_false(m->listed);
	assert_int_equal(m->n_processes, 0);
	assert_false(m->lost.known);
	assert_false(m->coverage.known);
	model_free(m);
}

static void test_no_description(void **state)
{
	static const char *const texts[] = { "",
					     "{",
					     "[]",
					     "null",
					     "\"x\"",
					     "{}",
					     "7",
					     "{\"version\":7}",
					     "{\"version\":\"1\"",
					     "{\"version\":\"1\"} x",
					     "<html>" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct model *m = NULL;

		assert_int_equal(model_parse(texts[i], true, &m), -EBADMSG);
		assert_null(m);
	}
}

/* Whatever is of another type than it should be is not known. */
static void test_wrong_types(void **state)
{
	static const char text[] =
		"{\"version\":\"1\",\"mode\":7,\"kernel\":[],\"paths\":{\"anonymous\":7},"
		"\"unit_costs\":\"x\",\"programs\":[7,{\"attached\":\"no\"},null],\"watchers\":[[]],"
		"\"groups\":[null,7,{\"anonymous\":[],\"remedies\":7,\"pid\":4294967296}],"
		"\"processes\":{},"
		"\"budget_ratio\":\"1\",\"coverage_ratio\":-1,\"lost_updates\":-7,"
		"\"unattributed_operations\":1.5,\"own_cost\":{\"cpu_seconds\":[],"
		"\"overhead_ratio\":null},\"totals\":[],\"start_time_usec\":true}";
	struct model *m = NULL;

	(void)state;
	assert_int_equal(model_parse(text, true, &m), 0);
	assert_string_equal(m->mode, "");
	assert_string_equal(m->paths[MODEL_ANONYMOUS][MODEL_ATIME].state, "unknown");
	assert_int_equal(m->n_missing, 0);
	assert_int_equal(m->n_watchers, 0);
	/* What is not an object is no row, and no process has a number beyond 32 bits. */
	assert_int_equal(m->n_groups, 1);
	assert_int_equal(m->groups[0].pid, 0);
	assert_int_equal(m->n_processes, 0);
	assert_false(m->budget.known);
	assert_false(m->coverage.known);
	assert_false(m->lost.known);
	assert_false(m->unattributed.known);
	assert_false(m->overhead.known);
	assert_false(row_operations(&m->groups[0]).known);
	assert_true(m->seconds == 0);
	model_free(m);
}

/* Every beginning of a description is refused, and none of it lost. */
static void test_cut_off(void **state)
{
	char *text = record_read("uncounted");
	struct model *m = NULL;

	(void)state;
	for (size_t n = strlen(text) - 1; n-- > 0;) {
		text[n] = 0;
		assert_int_equal(model_parse(text, true, &m), -EBADMSG);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),	    cmocka_unit_test(test_sums),
		cmocka_unit_test(test_burst),	    cmocka_unit_test(test_old),
		cmocka_unit_test(test_uncounted),   cmocka_unit_test(test_no_description),
		cmocka_unit_test(test_wrong_types), cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_uncharged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
