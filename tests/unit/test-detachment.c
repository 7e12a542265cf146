// SPDX-License-Identifier: GPL-2.0-or-later
/* With threads as they are, and a close() that takes as long as we say. */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "pipewatch/clock.h"
#include "detachment.h"

static struct {
	bool no_thread;
	bool held; /* close() does not return */
	int closed;
} the;

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* In place of libc's. */
int close(int fd)
{
	while (__atomic_load_n(&the.held, __ATOMIC_SEQ_CST))
		nap();
	__atomic_add_fetch(&the.closed, 1, __ATOMIC_SEQ_CST);
	return (int)syscall(SYS_close, fd);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
		   void *userdata)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (the.no_thread)
		return EAGAIN;
	*(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
	return create(thread, attributes, run, userdata);
}

static int reset(void **state)
{
	(void)state;
	memset(&the, 0, sizeof(the));
	return 0;
}

/* A descriptor, of which the other end tells whether it is open. */
static int opened(int *ret_other)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	*ret_other = fds[0];
	return fds[1];
}

static void assert_closed(int other)
{
	char byte;

	assert_int_equal(read(other, &byte, 1), 0);
	assert_int_equal(syscall(SYS_close, other), 0);
}

static void test_does_not_wait(void **state)
{
	struct detachment d = {};
	int others[2], fds[DETACHMENT_FDS] = { opened(&others[0]), opened(&others[1]) };
	uint64_t before = monotonic_usec(), end;

	(void)state;
	the.held = true;
	detachment_begin(&d, fds);
	assert_int_equal(detachment_end_usec(&d), 0);
	nap();
	assert_int_equal(detachment_end_usec(&d), 0);
	assert_int_equal(__atomic_load_n(&the.closed, __ATOMIC_SEQ_CST), 0);
	__atomic_store_n(&the.held, false, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 10000 && !detachment_end_usec(&d); i++)
		nap();
	end = detachment_end_usec(&d);
	assert_in_range(end, before + 1000, monotonic_usec());
	assert_int_equal(the.closed, 2);
	detachment_join(&d);
	assert_int_equal(detachment_end_usec(&d), end);
	assert_closed(others[0]);
	assert_closed(others[1]);
}

static void test_join_waits(void **state)
{
	struct detachment d = {};
	int other, fds[DETACHMENT_FDS] = { -1, opened(&other) };

	(void)state;
	detachment_begin(&d, fds);
	detachment_join(&d);
	detachment_join(&d);
	assert_true(detachment_end_usec(&d) > 0);
	assert_int_equal(the.closed, 1);
	assert_closed(other);
}

static void test_an_end_is_forgotten(void **state)
{
	struct detachment d = {};
	int others[2], fds[DETACHMENT_FDS] = { opened(&others[0]), -1 };

	(void)state;
	detachment_begin(&d, fds);
	detachment_join(&d);
	assert_true(detachment_end_usec(&d) > 0);
	the.held = true;
	fds[0] = opened(&others[1]);
	detachment_begin(&d, fds);
	assert_int_equal(detachment_end_usec(&d), 0);
	__atomic_store_n(&the.held, false, __ATOMIC_SEQ_CST);
	detachment_join(&d);
	assert_closed(others[0]);
	assert_closed(others[1]);
}

/* The one before ends first. */
static void test_one_after_another(void **state)
{
	struct detachment d = {};
	int others[20];

	(void)state;
	for (int i = 0; i < 20; i++) {
		int fds[DETACHMENT_FDS] = { opened(&others[i]), -1 };

		detachment_begin(&d, fds);
		assert_in_range(__atomic_load_n(&the.closed, __ATOMIC_SEQ_CST), i, i + 1);
	}
	detachment_join(&d);
	assert_int_equal(the.closed, 20);
	for (int i = 0; i < 20; i++)
		assert_closed(others[i]);
	assert_true(detachment_end_usec(&d) > 0);
}

static void test_without_a_thread(void **state)
{
	struct detachment d = {};
	int others[2], fds[DETACHMENT_FDS] = { opened(&others[0]), opened(&others[1]) };

	(void)state;
	the.no_thread = true;
	detachment_begin(&d, fds);
	assert_true(detachment_end_usec(&d) > 0);
	assert_int_equal(the.closed, 2);
	detachment_join(&d);
	assert_closed(others[0]);
	assert_closed(others[1]);
}

static void test_nothing_to_join(void **state)
{
	struct detachment d = {};

	(void)state;
	detachment_join(&d);
	assert_int_equal(detachment_end_usec(&d), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_does_not_wait, reset),
		cmocka_unit_test_setup(test_join_waits, reset),
		cmocka_unit_test_setup(test_an_end_is_forgotten, reset),
		cmocka_unit_test_setup(test_one_after_another, reset),
		cmocka_unit_test_setup(test_without_a_thread, reset),
		cmocka_unit_test_setup(test_nothing_to_join, reset),
	};

	return cmocka_run_group_tests_name("detachment", tests, NULL, NULL);
}
