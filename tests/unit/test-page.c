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
#include "published.h"
#include "util.h"

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
		size_t size = 0;
		FILE *f = open_memstream(&text, &size);

		add_unit_costs(s);
		s->sampling_reason = counting[i] ? "" : "It is <not> permitted.";
		assert_non_null(f);
		assert_int_equal(page_write(s, f), 0);
		assert_int_equal(fclose(f), 0);
		assert_null(strstr(text, "<script"));
		assert_golden(names[i], text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page),
	};

	return cmocka_run_group_tests_name("page", tests, NULL, NULL);
}
