// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread, with a burst_new() of our own. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "burst-loading.h"
#include "pipewatch/util.h"

struct burst {
	int alive;
};

static struct {
	int result;
	bool until_stopped; /* burst_new() takes for ever */
	bool held;	    /* it takes until this is false */
	struct burst burst;
} the;

static const char *const directories[] = { "/run", NULL };

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

int burst_new(const char *const *where, const atomic_bool *stop, char *ret_reason, size_t size,
	      struct burst **ret_burst)
{
	if (where != directories)
		return -EINVAL;
	while (__atomic_load_n(&the.held, __ATOMIC_SEQ_CST) && !atomic_load(stop))
		nap();
	while (the.until_stopped && !atomic_load(stop))
		nap();
	if (the.until_stopped)
		return -ECANCELED;
	if (the.result < 0) {
		snprintf(ret_reason, size, "%0300d", 0);
		return the.result;
	}
	the.burst.alive++;
	*ret_burst = &the.burst;
	return 0;
}

struct burst *burst_free(struct burst *b)
{
	if (b)
		b->alive--;
	return NULL;
}

static int reset(void **state)
{
	(void)state;
	memset(&the, 0, sizeof(the));
	return 0;
}

static struct burst_loading *begin(void)
{
	struct burst_loading *l = NULL;

	assert_int_equal(burst_loading_new(directories, &l), 0);
	assert_non_null(l);
	return l;
}

static int result(struct burst_loading *l, char *ret_reason, size_t size, struct burst **ret_burst)
{
	int r;

	for (int i = 0; i < 10000; i++) {
		r = burst_loading_result(l, ret_reason, size, ret_burst);
		if (r != -EAGAIN)
			return r;
		nap();
	}
	return -ETIMEDOUT;
}

static void test_done(void **state)
{
	_cleanup_(burst_loading_freep) struct burst_loading *l = NULL;
	char reason[256] = "none";
	struct burst *b = NULL;

	(void)state;
	the.held = true;
	l = begin();
	assert_int_equal(burst_loading_result(l, reason, sizeof(reason), &b), -EAGAIN);
	assert_null(b);
	__atomic_store_n(&the.held, false, __ATOMIC_SEQ_CST);
	assert_int_equal(result(l, reason, sizeof(reason), &b), 0);
	assert_ptr_equal(b, &the.burst);
	assert_string_equal(reason, "none");
	/* It is ours now. */
	l = burst_loading_free(l);
	assert_null(l);
	assert_int_equal(the.burst.alive, 1);
}

static void test_failed(void **state)
{
	_cleanup_(burst_loading_freep) struct burst_loading *l = NULL;
	struct burst *b = NULL;
	char reason[256];

	(void)state;
	the.result = -EOPNOTSUPP;
	l = begin();
	assert_int_equal(result(l, reason, 8, &b), -EOPNOTSUPP);
	assert_string_equal(reason, "0000000");
	assert_int_equal(result(l, reason, sizeof(reason), &b), -EOPNOTSUPP);
	assert_int_equal(strlen(reason), 255);
	assert_null(b);
}

static void test_stopped(void **state)
{
	_cleanup_(burst_loading_freep) struct burst_loading *l = NULL;
	struct burst *b = NULL;
	char reason[256];

	(void)state;
	the.until_stopped = true;
	l = begin();
	assert_int_equal(burst_loading_result(l, reason, sizeof(reason), &b), -EAGAIN);
	burst_loading_stop(l);
	assert_int_equal(result(l, reason, sizeof(reason), &b), -ECANCELED);
	assert_null(b);
}

static void test_freed_before_it_is_done(void **state)
{
	(void)state;
	the.until_stopped = true;
	assert_null(burst_loading_free(begin()));
	/* One that nobody asked for. */
	the.until_stopped = false;
	the.held = true;
	assert_null(burst_loading_free(begin()));
	assert_int_equal(the.burst.alive, 0);
	assert_null(burst_loading_free(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_done, reset),
		cmocka_unit_test_setup(test_failed, reset),
		cmocka_unit_test_setup(test_stopped, reset),
		cmocka_unit_test_setup(test_freed_before_it_is_done, reset),
	};

	return cmocka_run_group_tests_name("burst-loading", tests, NULL, NULL);
}
