// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "oom.h"
#include "random.h"
#include "sparse-sizes.h"

static void assert_sizes(const struct sparse_sizes *s, const struct pipe_sizes *wanted)
{
	struct pipe_sizes sizes;

	memset(&sizes, 0xaa, sizeof(sizes));
	sparse_sizes_get(s, &sizes);
	assert_memory_equal(&sizes, wanted, sizeof(sizes));
}

static void test_none(void **state)
{
	struct sparse_sizes s = {};
	const struct pipe_sizes none = {};

	(void)state;
	assert_sizes(&s, &none);
	assert_int_equal(sparse_sizes_reserve(&s, &none), 0);
	sparse_sizes_add(&s, &none);
	assert_sizes(&s, &none);
	sparse_sizes_clear(&s);
	assert_sizes(&s, &none);
}

/* One class after another, in any order: from none over one, which needs no memory, to all. */
static void test_as_plain_ones(void **state)
{
	uint64_t seed = 4711;

	(void)state;
	for (int run = 0; run < 200; run++) {
		struct sparse_sizes s = {};
		struct pipe_sizes sum = {};

		for (int step = 0; step < 40; step++) {
			struct pipe_sizes add = {};

			for (uint32_t n = random_next(&seed) % 3; n > 0; n--) {
				uint64_t *numbers = random_next(&seed) % 2 ? add.reads : add.writes;

				numbers[random_next(&seed) % SIZE_CLASSES] = random_next(&seed);
			}
			assert_int_equal(sparse_sizes_reserve(&s, &add), 0);
			assert_sizes(&s, &sum);
			sparse_sizes_add(&s, &add);
			pipe_sizes_add(&sum, &add);
			assert_sizes(&s, &sum);
		}
		sparse_sizes_clear(&s);
	}
}

static void test_without_memory(void **state)
{
	struct sparse_sizes s = {};
	struct pipe_sizes sum = { .writes = { 1 } };
	const struct pipe_sizes add = { .reads = { [SIZE_CLASSES - 1] = 7 } };

	(void)state;
	oom_after = 0;
	assert_int_equal(sparse_sizes_reserve(&s, &sum), 0);
	sparse_sizes_add(&s, &sum);
	assert_int_equal(sparse_sizes_reserve(&s, &add), -ENOMEM);
	oom_after = OOM_NEVER;
	assert_sizes(&s, &sum);
	assert_int_equal(sparse_sizes_reserve(&s, &add), 0);
	sparse_sizes_add(&s, &add);
	sum.reads[SIZE_CLASSES - 1] = 7;
	assert_sizes(&s, &sum);
	sparse_sizes_clear(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_as_plain_ones),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests_name("sparse-sizes", tests, NULL, NULL);
}
