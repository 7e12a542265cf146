/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PIPEWATCH_UTIL_H
#define PIPEWATCH_UTIL_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* _cleanup_(fn): call fn(&variable) when the variable leaves its scope. */
#define _cleanup_(fn) __attribute__((cleanup(fn)))

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void freep(void *p)
{
	free(*(void **)p);
}

#endif
