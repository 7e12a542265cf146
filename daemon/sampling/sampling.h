/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Books what the sampler sees on the accounts, and keeps the sums by kind of update that unit costs
 * are checked against.
 */
#ifndef PIPEWATCH_SAMPLING_H
#define PIPEWATCH_SAMPLING_H

#include <stdint.h>

#include "accounts.h"
#include "cgroups.h"
#include "snapshot.h"

struct sampling;

/* As sampler_new(), booking on @accounts; units are looked up in @cgroups (NULL: not at all). Both
 * must outlive it. */
int sampling_new(unsigned int frequency_hz, uint32_t max_processes, struct accounts *accounts,
		 struct cgroups *cgroups, char *ret_reason, size_t size,
		 struct sampling **ret_sampling);
struct sampling *sampling_free(struct sampling *s);

static inline void sampling_freep(struct sampling **s)
{
	sampling_free(*s);
}

/*
 * Books what is new. Processes that nothing was counted of get an account; those that have ended
 * are closed, and forgotten in time. Call it after the counts have been booked. @now_usec is
 * CLOCK_MONOTONIC. Returns 0 or -errno; whatever it is, nothing is booked twice.
 */
int sampling_collect(struct sampling *s, uint64_t now_usec);

/* Follows the CPUs that come and go, and jitters; every few seconds. Returns 0 or -errno. */
int sampling_refresh(struct sampling *s);

/* Are we permitted to read what was sampled? */
bool sampling_permitted(const struct sampling *s);

/* Samples taken so far, idle or not, and those in pipe operations that there was no room for. */
uint64_t sampling_taken(const struct sampling *s);
uint64_t sampling_lost(const struct sampling *s);

/* Sets what can be seen by sampling in @out. */
void sampling_fill(const struct sampling *s, struct snapshot *out);

/*
 * Adds to the unit costs of @out, whose counts must be there, what samples say of them; of a kind
 * of update only where nearly all were on one kind of pipe, since samples do not tell.
 */
void sampling_check_costs(const struct sampling *s, struct snapshot *out);

#endif
