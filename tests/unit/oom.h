/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocations that fail when told to. A test that includes this is linked with --wrap for each of
 * the functions below, so that it decides for itself and for the library, not for libc.
 */
#ifndef PIPEWATCH_TESTS_OOM_H
#define PIPEWATCH_TESTS_OOM_H

#include <stdbool.h>
#include <stddef.h>

#define OOM_NEVER (-1L)

static long oom_after = OOM_NEVER; /* so many allocations succeed, the next ones fail */
static unsigned long oom_failed;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);

static bool oom_now(void)
{
	if (oom_after == OOM_NEVER)
		return false;
	if (oom_after > 0) {
		oom_after--;
		return false;
	}
	oom_failed++;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return oom_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return oom_now() ? NULL : __real_calloc(n, size);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return oom_now() ? NULL : __real_reallocarray(p, n, size);
}

#endif
