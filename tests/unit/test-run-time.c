// SPDX-License-Identifier: GPL-2.0-or-later
/* With a kernel of our own. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/bpf.h>
#include <cmocka.h>

#include "run-time.h"

static struct {
	int error;
	uint32_t info_size;
	int n_enabled;
} the_kernel;

int bpf_enable_stats(enum bpf_stats_type type)
{
	assert_int_equal(type, BPF_STATS_RUN_TIME);
	if (the_kernel.error) {
		errno = the_kernel.error;
		return -1;
	}
	the_kernel.n_enabled++;
	return 42;
}

int bpf_obj_get_info_by_fd(int fd, void *info, uint32_t *size)
{
	struct bpf_prog_info *program = info;

	assert_int_equal(fd, 17);
	assert_int_equal(*size, sizeof(*program));
	if (the_kernel.error) {
		errno = the_kernel.error;
		return -1;
	}
	program->run_cnt = 4000000000000;
	program->recursion_misses = 3000000000000;
	program->run_time_ns = 1500000001;
	*size = the_kernel.info_size;
	return 0;
}

static int reset(void **state)
{
	(void)state;
	the_kernel.error = 0;
	the_kernel.info_size = sizeof(struct bpf_prog_info);
	the_kernel.n_enabled = 0;
	return 0;
}

static void test_enable(void **state)
{
	(void)state;
	assert_int_equal(run_time_enable(), 42);
	assert_int_equal(the_kernel.n_enabled, 1);
	the_kernel.error = EPERM;
	assert_int_equal(run_time_enable(), -EPERM);
	the_kernel.error = EINVAL;
	assert_int_equal(run_time_enable(), -EINVAL);
}

static void test_read(void **state)
{
	uint64_t runs = 0;
	double seconds = 0;

	(void)state;
	assert_int_equal(run_time_read(17, &runs, &seconds), 0);
	assert_int_equal(runs, 4000000000000);
	assert_true(seconds == 1.500000001);
	/* All that there was in Linux 5.1, which began to count. */
	the_kernel.info_size = offsetof(struct bpf_prog_info, run_cnt) + 8;
	assert_int_equal(run_time_read(17, &runs, &seconds), 0);
}

static void test_missed(void **state)
{
	uint64_t missed = 0;

	(void)state;
	assert_int_equal(run_time_missed(17, &missed), 0);
	assert_int_equal(missed, 3000000000000);
	/* All that there was in Linux 5.12, which began to count these. */
	the_kernel.info_size = offsetof(struct bpf_prog_info, recursion_misses) + 8;
	assert_int_equal(run_time_missed(17, &missed), 0);
	missed = 5;
	the_kernel.info_size--;
	assert_int_equal(run_time_missed(17, &missed), -EOPNOTSUPP);
	the_kernel.error = EBADF;
	assert_int_equal(run_time_missed(17, &missed), -EBADF);
	assert_int_equal(missed, 5);
}

static void test_refused(void **state)
{
	uint64_t runs = 5;
	double seconds = 6;

	(void)state;
	the_kernel.info_size = offsetof(struct bpf_prog_info, run_cnt) + 7;
	assert_int_equal(run_time_read(17, &runs, &seconds), -EOPNOTSUPP);
	the_kernel.error = EBADF;
	assert_int_equal(run_time_read(17, &runs, &seconds), -EBADF);
	assert_int_equal(runs, 5);
	assert_true(seconds == 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_enable, reset),
		cmocka_unit_test_setup(test_read, reset),
		cmocka_unit_test_setup(test_missed, reset),
		cmocka_unit_test_setup(test_refused, reset),
	};

	return cmocka_run_group_tests_name("run-time", tests, NULL, NULL);
}
