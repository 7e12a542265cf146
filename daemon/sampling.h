/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Books what the sampler sees on the accounts, and keeps the sums by kind of update that unit costs
 * are checked against.
 */
#ifndef PIPEWATCH_SAMPLING_H
#define PIPEWATCH_SAMPLING_H

#include <stdint.h>

#include "accounts.h"
#include "snapshot.h"

struct sampling;

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

/*
 * Adds to the unit costs of @out, whose counts must be there, what samples say of them; of a kind
 * of update only where nearly all were on one kind of pipe, since samples do not tell.
 */
void sampling_check_costs(const struct sampling *s, struct snapshot *out);

#endif
