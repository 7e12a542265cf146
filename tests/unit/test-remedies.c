// SPDX-License-Identifier: GPL-2.0-or-later
/* What would be saved, and by what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipewatch/util.h"
#include "snapshot.h"

static void test_what_is_smaller_can_be_batched(void **state)
{
	const struct {
		int class;
		double saved; /* of one operation: all but the share of 4096 that its bytes are */
	} cases[] = {
		{ 0, 1 - 1.5 / 4096 },
		{ 6, 1 - 96. / 4096 },
		{ 10, 0.625 },
		{ 11, 0.25 },
		{ 12, 0 },
		{ 15, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pipe_sizes sizes = {};

		sizes.reads[cases[i].class] = 1000;
		assert_true(pipe_sizes_batchable(&sizes) == 1000 * cases[i].saved);
		sizes.writes[cases[i].class] = 24;
		assert_true(pipe_sizes_batchable(&sizes) == 1024 * cases[i].saved);
	}
}

static void test_classes_are_summed(void **state)
{
	struct pipe_sizes sizes = {};

	(void)state;
	assert_true(pipe_sizes_batchable(&sizes) == 0);
	sizes.reads[10] = 8;
	sizes.writes[11] = 16;
	sizes.writes[12] = 1000000;
	assert_true(pipe_sizes_batchable(&sizes) == 8 * 0.625 + 16 * 0.25);
}

/* A kernel that pays for everything, and a daemon that knows everything. */
static struct snapshot *everything(void)
{
	struct snapshot *s = snapshot_new();

	assert_non_null(s);
	s->counting = s->sampling = s->sampling_sees[UPDATE_FSNOTIFY] = true;
	s->observer.operation = (struct cost_figure){ .known = true, .seconds = 1e-6 };
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++) {
			s->paths[pipe][kind].state = PATH_PAID;
			s->unit_costs[pipe][kind].whole = (struct cost_figure){ .known = true };
		}
	return s;
}

static const struct pipe_costs costs[PIPE_KINDS] = {
	[PIPE_ANONYMOUS] = { .seconds = { 1, 2, 4 } },
	[PIPE_FIFO] = { .seconds = { 8, 16, 32 } },
};

#define NOTHING (-1.0)

static void assert_saving(const struct snapshot *s, enum remedy remedy, double seconds)
{
	double saved = NOTHING;

	assert_int_equal(snapshot_saving(s, remedy, costs, 64, &saved), seconds != NOTHING);
	assert_true(saved == seconds);
}

static void test_each_remedy_saves_its_own(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = everything();

	(void)state;
	assert_saving(s, REMEDY_KERNEL, 1 + 2);
	assert_saving(s, REMEDY_NOATIME, 1 + 8);
	assert_saving(s, REMEDY_UNWATCH, 4 + 32);
	assert_saving(s, REMEDY_BATCH, 64);
}

static void test_a_newer_kernel_has_nothing_to_save_on_anonymous_pipes(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = everything();

	(void)state;
	s->paths[PIPE_ANONYMOUS][UPDATE_ATIME].state = PATH_REMOVED;
	assert_saving(s, REMEDY_KERNEL, 2);
	assert_saving(s, REMEDY_NOATIME, 8);
	s->paths[PIPE_ANONYMOUS][UPDATE_CMTIME].state = PATH_REMOVED;
	assert_saving(s, REMEDY_KERNEL, NOTHING);
	assert_saving(s, REMEDY_UNWATCH, 4 + 32);
	s->paths[PIPE_FIFO][UPDATE_ATIME].state = PATH_UNKNOWN;
	assert_saving(s, REMEDY_NOATIME, NOTHING);
}

/* What one update costs may be known of one kind only. */
static void test_what_is_not_known_is_not_saved(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = everything();

	(void)state;
	s->unit_costs[PIPE_ANONYMOUS][UPDATE_ATIME].whole.known = false;
	assert_saving(s, REMEDY_KERNEL, 2);
	assert_saving(s, REMEDY_NOATIME, 8);
	s->unit_costs[PIPE_ANONYMOUS][UPDATE_CMTIME].whole.known = false;
	assert_saving(s, REMEDY_KERNEL, NOTHING);
	s->reads_missing = true;
	assert_saving(s, REMEDY_NOATIME, NOTHING);
	s->observer.operation.known = false;
	assert_saving(s, REMEDY_BATCH, NOTHING);
}

static void test_a_watch_is_seen_by_sampling(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = everything();

	(void)state;
	s->counting = false;
	assert_saving(s, REMEDY_UNWATCH, 4 + 32);
	assert_saving(s, REMEDY_KERNEL, NOTHING);
	assert_saving(s, REMEDY_BATCH, NOTHING);
	s->paths[PIPE_FIFO][UPDATE_FSNOTIFY].state = PATH_REMOVED;
	assert_saving(s, REMEDY_UNWATCH, 4);
	s->sampling_sees[UPDATE_FSNOTIFY] = false;
	assert_saving(s, REMEDY_UNWATCH, NOTHING);
	s->sampling_sees[UPDATE_FSNOTIFY] = true;
	s->sampling = false;
	assert_saving(s, REMEDY_UNWATCH, NOTHING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_smaller_can_be_batched),
		cmocka_unit_test(test_classes_are_summed),
		cmocka_unit_test(test_each_remedy_saves_its_own),
		cmocka_unit_test(test_a_newer_kernel_has_nothing_to_save_on_anonymous_pipes),
		cmocka_unit_test(test_what_is_not_known_is_not_saved),
		cmocka_unit_test(test_a_watch_is_seen_by_sampling),
	};

	return cmocka_run_group_tests_name("remedies", tests, NULL, NULL);
}
