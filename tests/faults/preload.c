// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Faults for a daemon that knows nothing of them, by LD_PRELOAD: allocations that fail, a clock
 * that is stepped. The test says which, at any time, in the file named by FAULTS, which both map.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* As tests/faults/daemon.py has it. */
struct faults {
	int64_t count;	    /* allocations since the test set it to zero */
	int64_t fail_first; /* the first that fails, counted from 1; 0: none does */
	int64_t fail_last;
	int64_t clock_step_sec; /* added to CLOCK_REALTIME */
};

static struct faults *faults;

__attribute__((constructor)) static void map_faults(void)
{
	const char *path = getenv("FAULTS");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *p;

	if (fd < 0)
		return;
	p = mmap(NULL, sizeof(*faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p != MAP_FAILED)
		faults = p;
}

static bool fails(void)
{
	int64_t n;

	if (!faults)
		return false;
	n = __atomic_add_fetch(&faults->count, 1, __ATOMIC_RELAXED);
	if (n < faults->fail_first || n > faults->fail_last)
		return false;
	errno = ENOMEM;
	return true;
}

/* glibc's own, which need no dlsym(3), that allocates. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}

void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return fails() ? NULL : __libc_realloc(p, bytes);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
	void *p = fails() ? NULL : __libc_memalign(alignment, size);

	if (!p)
		return ENOMEM;
	*ret = p;
	return 0;
}

static time_t step_of(clockid_t clock)
{
	return faults && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
		       ? __atomic_load_n(&faults->clock_step_sec, __ATOMIC_RELAXED)
		       : 0;
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	static int (*real)(clockid_t, struct timespec *);
	int r;

	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	r = real(clock, ret);
	if (r == 0)
		ret->tv_sec += step_of(clock);
	return r;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &now) < 0)
		return -1;
	ret->tv_sec = now.tv_sec;
	ret->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *ret)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now) < 0)
		return -1;
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}
