/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Books what the sampler sees on the accounts, and keeps the sums by kind of update that unit costs
 * are checked against.
 */
#ifndef PIPEWATCH_SAMPLING_H
#define PIPEWATCH_SAMPLING_H

#include <stdint.h>

#include "accounts.h"
#include "pipe.h"

struct sampling;

/* Since the sampler began, of all processes. */
struct sampling_sum {
	double seconds;
	uint64_t samples;
};

/* As sampler_new(), booking on @accounts, which must outlive it. */
int sampling_new(unsigned int frequency_hz, uint32_t max_processes, struct accounts *accounts,
		 char *ret_reason, size_t size, struct sampling **ret_sampling);
struct sampling *sampling_free(struct sampling *s);

static inline void sampling_freep(struct sampling **s)
{
	sampling_free(*s);
}

/* Books what is new; call it after the counts have been booked, so that processes are known.
 * Returns 0 or -errno. */
int sampling_collect(struct sampling *s);

/* Follows the CPUs that come and go, and jitters; every few seconds. Returns 0 or -errno. */
int sampling_refresh(struct sampling *s);

struct sampling_sum sampling_updates(const struct sampling *s, enum update_kind kind);

#endif
