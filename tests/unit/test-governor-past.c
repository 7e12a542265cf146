// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "governor-facts.h"

/* One choice a second. */
struct run {
	struct governor *governor;
	struct governor_facts facts;
	enum snapshot_mode mode;
	unsigned int n_changes;
	char reason[256];
};

static void run_start(struct run *r)
{
	*r = (struct run){ .governor = governor_new(), .facts = usual };
	r->facts.now_seconds = 1e6;
	assert_non_null(r->governor);
}

/* At so many thousands of operations per second. */
static enum snapshot_mode run_step(struct run *r, double thousands)
{
	struct governor_choice c;

	r->facts.operations_per_second = thousands * 1000;
	governor_choose(r->governor, &r->facts, &c);
	r->facts.now_seconds += 1;
	if (r->mode != MODE_AUTO && c.mode != r->mode)
		r->n_changes++;
	r->mode = c.mode;
	memcpy(r->reason, c.reason, sizeof(c.reason));
	return c.mode;
}

/* From exact with all that can be saved up: 0.2375 s of the 0.24 s, and twice 0.002 s. */
static void run_exhaust(struct run *r)
{
	assert_int_equal(run_step(r, 1250), MODE_EXACT);
	assert_int_equal(run_step(r, 20), MODE_EXACT);
	assert_int_equal(run_step(r, 20), MODE_BURST);
}

/* 0.002 s are allowed per second, and 0.24 s saved up at the start; thousands take 0.0002 s each.
 */
static void test_leave(void **state)
{
	struct run r;

	(void)state;
	run_start(&r);
	assert_int_equal(run_step(&r, 1), MODE_EXACT);
	/* 0.001 s above for each second: 240 of them. */
	for (int i = 0; i < 239; i++)
		assert_int_equal(run_step(&r, 15), MODE_EXACT);
	assert_string_equal(r.reason, "Counting every operation costs 0.15 % of the CPU time, more "
				      "than the 0.1 % that the budget of 1 % allows, for a moment "
				      "at least.");
	/* What is saved up again is used again, and no more than that. */
	assert_int_equal(run_step(&r, 5), MODE_EXACT);
	assert_int_equal(run_step(&r, 15), MODE_EXACT);
	assert_int_equal(run_step(&r, 16), MODE_BURST);
	governor_free(r.governor);

	/* No more is saved up in however long a time. */
	run_start(&r);
	for (int i = 0; i < 1000; i++)
		run_step(&r, 1);
	run_exhaust(&r);
	governor_free(r.governor);
}

static void test_return(void **state)
{
	struct run r;

	(void)state;
	run_start(&r);
	assert_int_equal(run_step(&r, 50), MODE_BURST);
	/* Within, but not well within. */
	for (int i = 0; i < 30; i++)
		assert_int_equal(run_step(&r, 7.1), MODE_BURST);
	assert_string_equal(r.reason,
			    "Counting every operation would cost 0.071 % of the CPU time, and must "
			    "stay well within the 0.1 % that the budget of 1 % allows for 10 s "
			    "first: counted in windows, 0.2 s of every 1 s.");
	for (int i = 0; i < 10; i++)
		assert_int_equal(run_step(&r, 6.9), MODE_BURST);
	run_step(&r, 7.1); /* starts anew */
	for (int i = 0; i < 10; i++)
		assert_int_equal(run_step(&r, 6.9), MODE_BURST);
	assert_int_equal(run_step(&r, 6.9), MODE_EXACT);
	assert_int_equal(r.n_changes, 1);
	governor_free(r.governor);
}

/* Windows use what they take: nothing of it is saved up for a return to exact. */
static void test_windows_use_room(void **state)
{
	struct run r;
	int n = 0;

	(void)state;
	run_start(&r);
	run_step(&r, 1);
	run_exhaust(&r);
	/* A window takes 0.0025 s, as much as fits into 1.25 s. */
	for (int i = 0; i < 200; i++)
		assert_int_equal(run_step(&r, 50), MODE_BURST);
	/* Here 0.00025 s in each second, so that 0.00175 s are left for 11 of them. */
	for (int i = 0; i < 10; i++)
		assert_int_equal(run_step(&r, 5), MODE_BURST);
	assert_int_equal(run_step(&r, 5), MODE_EXACT);
	/* 0.001 s more than fits, for each second. */
	while (run_step(&r, 15) == MODE_EXACT && n < 1000)
		n++;
	assert_int_equal(n, 17);
	governor_free(r.governor);
}

/* Down to profile and up again, over burst where exact is still too much. */
static void test_return_from_profile(void **state)
{
	struct run r;

	(void)state;
	run_start(&r);
	run_step(&r, 1);
	run_exhaust(&r);
	r.facts.window_cpu_seconds = 1; /* above, but not twice */
	assert_int_equal(run_step(&r, 20), MODE_BURST);
	assert_int_equal(run_step(&r, 20), MODE_PROFILE);
	r.facts.window_cpu_seconds = 0.43; /* within, but not well within */
	for (int i = 0; i < 20; i++)
		run_step(&r, 20);
	r.facts.window_cpu_seconds = 0.4;
	for (int i = 0; i < 10; i++)
		assert_int_equal(run_step(&r, 20), MODE_PROFILE);
	assert_int_equal(run_step(&r, 20), MODE_BURST);
	r.facts.window_cpu_seconds = 2;
	assert_int_equal(run_step(&r, 20), MODE_PROFILE);
	/* Exact at once, although windows never become affordable. */
	for (int i = 0; i < 10; i++)
		assert_int_equal(run_step(&r, 5), MODE_PROFILE);
	assert_int_equal(run_step(&r, 5), MODE_EXACT);
	assert_int_equal(r.n_changes, 5);
	governor_free(r.governor);
}

/* In 1000 s at so many thousands for so long, then at so many for so long. */
static unsigned int changes(double first, int first_sec, double then, int then_sec,
			    enum snapshot_mode *ret_mode)
{
	struct run r;

	run_start(&r);
	for (int i = 0; i < 1000; i++)
		run_step(&r, i % (first_sec + then_sec) < first_sec ? first : then);
	governor_free(r.governor);
	*ret_mode = r.mode;
	return r.n_changes;
}

static void test_flapping(void **state)
{
	enum snapshot_mode mode;

	(void)state;
	/* Between idle and a little too much: nothing to do about it. */
	assert_int_equal(changes(0, 1, 15, 1, &mode), 0);
	assert_int_equal(mode, MODE_EXACT);
	/* Between idle and far too much: left once. */
	assert_int_equal(changes(0, 1, 500, 1, &mode), 1);
	assert_int_equal(mode, MODE_BURST);
	/* Around the limit, and a little above it on average: 0.0002 s in 3 s, for which what is
	 * saved up lasts longer. */
	assert_int_equal(changes(9, 1, 11, 2, &mode), 0);
	assert_int_equal(mode, MODE_EXACT);
	/* Ten times as much, and it does not. */
	assert_int_equal(changes(9, 1, 15.5, 2, &mode), 1);
	assert_int_equal(mode, MODE_BURST);
	/* 20 s each: it follows, 25 times there and 24 times back. */
	assert_int_equal(changes(0, 20, 500, 20, &mode), 49);
	assert_int_equal(mode, MODE_BURST);
	/* 10 s each: too short to return. */
	assert_int_equal(changes(0, 10, 500, 10, &mode), 1);
	assert_int_equal(mode, MODE_BURST);
}

/* What was so before something else was asked for, or possible, does not matter afterwards. */
static void test_past_forgotten(void **state)
{
	struct run r;

	(void)state;
	run_start(&r);
	assert_int_equal(run_step(&r, 500), MODE_BURST);
	assert_int_equal(run_step(&r, 5), MODE_BURST);
	r.facts.configured = MODE_EXACT;
	assert_int_equal(run_step(&r, 5), MODE_EXACT);
	r.facts.configured = MODE_AUTO;
	assert_int_equal(run_step(&r, 5), MODE_EXACT);
	r.facts.window_cpu_seconds = 50;
	assert_int_equal(run_step(&r, 5000), MODE_PROFILE);
	r.facts.can_sample = false;
	assert_int_equal(run_step(&r, 50), MODE_BURST);
	r.facts.can_count = false;
	assert_int_equal(run_step(&r, 50), MODE_OFF);
	r.facts.can_count = r.facts.can_sample = true;
	assert_int_equal(run_step(&r, 5), MODE_EXACT);
	r.facts.counting_seconds = 0;
	assert_int_equal(run_step(&r, 500), MODE_EXACT);
	r.facts.counting_seconds = usual.counting_seconds;
	assert_int_equal(run_step(&r, 15), MODE_EXACT);
	governor_free(r.governor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leave),
		cmocka_unit_test(test_return),
		cmocka_unit_test(test_windows_use_room),
		cmocka_unit_test(test_return_from_profile),
		cmocka_unit_test(test_flapping),
		cmocka_unit_test(test_past_forgotten),
	};

	return cmocka_run_group_tests_name("governor-past", tests, NULL, NULL);
}
