// SPDX-License-Identifier: GPL-2.0-or-later
/* With an A/B and programs of our own. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ab.h"
#include "operation-cost.h"
#include "run-time.h"

#define READS  17
#define WRITES 18

static struct {
	int ab_error, enable_error, read_error[2];
	struct cost_figure operation;
	unsigned int measured, enabled;
	int enabled_fd;
	/* Each A/B has them run so often, and so long. */
	uint64_t runs_each[2], runs[2];
	double run_seconds[2];
} the;

static struct cost_figure figure(double ns)
{
	return (struct cost_figure){ .known = true,
				     .seconds = ns / 1e9,
				     .error_seconds = ns / 1e11 };
}

static int reset(void **state)
{
	(void)state;
	memset(&the, 0, sizeof(the));
	the.operation = figure(1200);
	the.enabled_fd = -1;
	for (int i = 0; i < 2; i++) {
		the.runs_each[i] = 1000 * (i + 1);
		the.run_seconds[i] = 1e-7 * (i + 1);
		the.runs[i] = 5000000;
	}
	return 0;
}

int ab_measure(const char *const *directories, unsigned int duration_usec,
	       const enum path_state paths[PIPE_KINDS][UPDATE_KINDS], struct ab *ret)
{
	assert_string_equal(directories[0], "/run");
	assert_int_equal(paths[PIPE_FIFO][UPDATE_ATIME], PATH_PAID);
	assert_int_equal(duration_usec, 20000);
	the.measured++;
	if (the.ab_error < 0)
		return the.ab_error;
	if (the.enabled_fd >= 0 && fcntl(the.enabled_fd, F_GETFD) >= 0)
		for (int i = 0; i < 2; i++)
			the.runs[i] += the.runs_each[i];
	memset(ret, 0, sizeof(*ret));
	return 0;
}

void ab_operation(const struct ab *ab, struct cost_figure *ret)
{
	(void)ab;
	*ret = the.operation;
}

int run_time_enable(void)
{
	if (the.enable_error < 0)
		return the.enable_error;
	the.enabled++;
	the.enabled_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(the.enabled_fd >= 0);
	return the.enabled_fd;
}

int run_time_read(int program_fd, uint64_t *ret_runs, double *ret_seconds)
{
	int i = program_fd - READS;

	assert_in_range(program_fd, READS, WRITES);
	if (the.read_error[i] < 0)
		return the.read_error[i];
	*ret_runs = the.runs[i];
	*ret_seconds = the.runs[i] * the.run_seconds[i];
	return 0;
}

static void try(struct operation_cost *c, int reads, int writes)
{
	static const char *const directories[] = { "/run", NULL };
	const enum path_state paths[PIPE_KINDS][UPDATE_KINDS] = {
		[PIPE_FIFO] = { [UPDATE_ATIME] = PATH_PAID }
	};

	operation_cost_try(c, directories, paths, (const int[]){ reads, writes });
	/* Nobody is timed any longer. */
	assert_true(the.enabled_fd < 0 || fcntl(the.enabled_fd, F_GETFD) < 0);
}

static void assert_ns(const struct cost_figure *f, double ns, double error_ns)
{
	assert_true(f->known);
	assert_float_equal(f->seconds * 1e9, ns, 1e-6);
	assert_float_equal(f->error_seconds * 1e9, error_ns, 1e-6);
}

static struct operation_cost new_cost(void)
{
	struct operation_cost c;

	memset(&c, 0xff, sizeof(c));
	operation_cost_init(&c);
	return c;
}

static void assert_counting_unknown(const struct operation_cost *c)
{
	assert_false(c->counting.known);
	assert_string_equal(c->counting.reason, "It has not been measured yet.");
	assert_true(c->ratio == 0);
}

static void test_nothing_is_known_at_first(void **state)
{
	struct operation_cost c = new_cost();

	(void)state;
	assert_false(c.operation.known);
	assert_string_equal(c.operation.reason, "It has not been measured yet.");
	assert_counting_unknown(&c);
	assert_true(c.run_seconds[0] == 0 && c.run_seconds[1] == 0);
}

static void test_the_difference_is_counting(void **state)
{
	struct operation_cost c = new_cost();
	struct cost_figure f = figure(1000);

	(void)state;
	operation_cost_without(&c, &f);
	assert_ns(&c.operation, 1000, 10);
	assert_counting_unknown(&c);
	try(&c, -1, -1);
	assert_ns(&c.operation, 1000, 10);
	assert_ns(&c.counting, 200, 15.6204994);
	assert_float_equal(c.ratio, 0.2, 1e-12);
}

static void test_later_ones_follow_the_cpu(void **state)
{
	struct operation_cost c = new_cost();
	struct cost_figure f = figure(1000);

	(void)state;
	operation_cost_without(&c, &f);
	f = figure(1200);
	operation_cost_with(&c, &f);
	/* At half the speed, without and with: the ratio is what it was. */
	f = figure(2000);
	operation_cost_without(&c, &f);
	assert_ns(&c.operation, 2000, 20);
	assert_ns(&c.counting, 400, 31.2409987);
	f = figure(3600);
	operation_cost_with(&c, &f);
	assert_ns(&c.operation, 3000, 30);
	assert_ns(&c.counting, 600, 46.8614981);
	assert_float_equal(c.ratio, 0.2, 1e-12);
}

/* With nothing measured without, there is nothing to tell. */
static void test_one_alone_says_nothing(void **state)
{
	struct operation_cost c = new_cost();
	struct cost_figure f = figure(1200);

	(void)state;
	operation_cost_with(&c, &f);
	assert_false(c.operation.known);
	assert_counting_unknown(&c);
}

/* Noise: the next one will tell. */
static void test_with_is_below_without(void **state)
{
	const double noise[] = { 1200, 1199, 1, 0, -5 };
	struct operation_cost c = new_cost();
	struct cost_figure f = figure(1200);

	(void)state;
	operation_cost_without(&c, &f);
	for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++) {
		f = figure(noise[i]);
		operation_cost_with(&c, &f);
		assert_ns(&c.operation, 1200, 12);
		assert_counting_unknown(&c);
	}
	f = figure(1500);
	operation_cost_with(&c, &f);
	assert_ns(&c.counting, 300, 19.2093727);
	assert_float_equal(c.ratio, 0.25, 1e-12);
	/* Once it is known noise moves both, and never below zero. */
	f = figure(1000);
	operation_cost_with(&c, &f);
	assert_ns(&c.operation, 800, 8);
	assert_float_equal(c.counting.seconds, 2e-7, 1e-15);
	f = figure(-1000);
	operation_cost_with(&c, &f);
	operation_cost_without(&c, &f);
	f = figure(0);
	operation_cost_with(&c, &f);
	operation_cost_without(&c, &f);
	assert_ns(&c.operation, 800, 8);
}

static void test_what_is_not_known_changes_nothing(void **state)
{
	const struct cost_figure unknown = { .reason = "Starved.", .seconds = 77 };
	struct operation_cost c = new_cost();
	struct cost_figure f = figure(1000);

	(void)state;
	operation_cost_without(&c, &unknown);
	operation_cost_with(&c, &unknown);
	assert_false(c.operation.known);
	operation_cost_without(&c, &f);
	operation_cost_with(&c, &unknown);
	operation_cost_without(&c, &unknown);
	assert_ns(&c.operation, 1000, 10);
	assert_counting_unknown(&c);
}

static void test_programs_are_timed(void **state)
{
	struct operation_cost c = new_cost();

	(void)state;
	try(&c, READS, WRITES);
	assert_int_equal(the.measured, 2);
	assert_int_equal(the.enabled, 1);
	assert_float_equal(c.run_seconds[0], 1e-7, 1e-12);
	assert_float_equal(c.run_seconds[1], 2e-7, 1e-12);
}

static void test_one_program_is_missing(void **state)
{
	struct operation_cost c = new_cost();

	(void)state;
	try(&c, -1, WRITES);
	assert_true(c.run_seconds[0] == 0);
	assert_float_equal(c.run_seconds[1], 2e-7, 1e-12);
}

/* Nobody used that kind, or nothing is told of it. */
static void test_programs_that_did_not_run(void **state)
{
	struct operation_cost c = new_cost();

	(void)state;
	the.runs_each[0] = 0;
	try(&c, READS, WRITES);
	assert_true(c.run_seconds[0] == 0);
	assert_float_equal(c.run_seconds[1], 2e-7, 1e-12);
	c = new_cost();
	the.read_error[1] = -EOPNOTSUPP;
	try(&c, READS, WRITES);
	assert_true(c.run_seconds[0] == 0 && c.run_seconds[1] == 0);
}

static void test_programs_may_not_be_timed(void **state)
{
	struct operation_cost c = new_cost();
	struct cost_figure f = figure(1000);

	(void)state;
	the.enable_error = -EPERM;
	operation_cost_without(&c, &f);
	try(&c, READS, WRITES);
	assert_int_equal(the.measured, 1);
	assert_true(c.run_seconds[0] == 0 && c.run_seconds[1] == 0);
	assert_float_equal(c.ratio, 0.2, 1e-12);
}

static void test_without_own_pipes(void **state)
{
	struct operation_cost c = new_cost();
	struct cost_figure f = figure(1000);

	(void)state;
	the.ab_error = -EMFILE;
	operation_cost_without(&c, &f);
	try(&c, READS, WRITES);
	assert_int_equal(the.measured, 1);
	assert_int_equal(the.enabled, 0);
	assert_counting_unknown(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_nothing_is_known_at_first, reset),
		cmocka_unit_test_setup(test_the_difference_is_counting, reset),
		cmocka_unit_test_setup(test_later_ones_follow_the_cpu, reset),
		cmocka_unit_test_setup(test_one_alone_says_nothing, reset),
		cmocka_unit_test_setup(test_with_is_below_without, reset),
		cmocka_unit_test_setup(test_what_is_not_known_changes_nothing, reset),
		cmocka_unit_test_setup(test_programs_are_timed, reset),
		cmocka_unit_test_setup(test_one_program_is_missing, reset),
		cmocka_unit_test_setup(test_programs_that_did_not_run, reset),
		cmocka_unit_test_setup(test_programs_may_not_be_timed, reset),
		cmocka_unit_test_setup(test_without_own_pipes, reset),
	};

	return cmocka_run_group_tests_name("operation-cost", tests, NULL, NULL);
}
