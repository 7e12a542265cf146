// SPDX-License-Identifier: GPL-2.0-or-later
/* Exact bytes, with names that would like to be more than text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "page.h"
#include "pipewatch/util.h"
#include "published.h"

static char *render(const struct snapshot *s)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	assert_int_equal(page_write(s, f), 0);
	assert_int_equal(fclose(f), 0);
	return text;
}

/* A cost by all estimators, one by A/B alone, and one that is not known. */
static void add_unit_costs(struct snapshot *s)
{
	struct cost_estimate *e = s->unit_costs[PIPE_ANONYMOUS];

	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++)
			cost_estimate_unknown(&s->unit_costs[pipe][kind], "It is <not> known.");
	e[UPDATE_ATIME].whole = figure(1.5104e-7, 2.06e-9);
	e[UPDATE_ATIME].by[COST_BURST] = figure(1.44e-7, 3e-9);
	e[UPDATE_ATIME].by[COST_AB] = figure(1.51e-7, 4e-11);
	e[UPDATE_ATIME].by[COST_SAMPLE] = figure(1.666e-7, 3.33e-8);
	e[UPDATE_ATIME].agreement = COST_AGREE;
	e = s->unit_costs[PIPE_FIFO];
	e[UPDATE_CMTIME].whole = figure(1.52e-7, 2e-9);
	e[UPDATE_CMTIME].by[COST_AB] = e[UPDATE_CMTIME].whole;
	e[UPDATE_CMTIME].undivided = true;
}

static void test_page(void **state)
{
	static const bool counting[] = { true, false };
	static const char *const names[] = { "counting.html", "degraded.html" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		_cleanup_(snapshot_unrefp) struct snapshot *s = make_snapshot(counting[i]);
		_cleanup_(freep) char *text = NULL;

		add_unit_costs(s);
		text = render(s);
		assert_null(strstr(text, "<script"));
		assert_golden(names[i], text);
	}
}

/* In profile mode after exact, with a cost that is not small and more watchers than are named. */
static void test_counts_stand_still(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = make_snapshot(true);
	_cleanup_(freep) char *text = NULL;

	(void)state;
	s->mode = MODE_PROFILE;
	s->coverage_ratio = 0;
	s->unseen_operations_max = 0;
	s->observer.overhead = figure(12.5, 0.25);
	for (uint32_t pid = 100; pid < 110; pid++)
		add_watcher(s, pid, "x", 1);
	text = render(s);
	assert_non_null(strstr(text, "operations are counted 0 % of the time. <span class=\"dim\">"
				     "Operations are not counted in this mode: the counts stand "
				     "still.</span></p>\n"));
	assert_non_null(strstr(text, "<b>Own cost:</b> 1250 % &plusmn; 25 %, and "));
	assert_non_null(strstr(
		text, "<bdi>x</bdi> (process 106, 1 watch) and 3 others, and pay for it.</p>"));
}

/* Nobody watches; whether that is all that there is to know is said. */
static void test_no_watchers(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = make_snapshot(true);
	_cleanup_(freep) char *none = NULL, *unknown = NULL;

	(void)state;
	s->n_watchers = 0;
	none = render(s);
	assert_null(strstr(none, "watch a pipe"));
	s->watchers_reason = "It is hidden.";
	unknown = render(s);
	assert_non_null(strstr(unknown, "<p>Nobody is known to watch a pipe. <span class=\"dim\">"
					"It is hidden.</span></p>\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page),
		cmocka_unit_test(test_counts_stand_still),
		cmocka_unit_test(test_no_watchers),
	};

	return cmocka_run_group_tests_name("page", tests, NULL, NULL);
}
