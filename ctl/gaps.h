/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a daemon does not measure, and why: one sentence or two for each reason.
 */
#ifndef PIPEWATCH_CTL_GAPS_H
#define PIPEWATCH_CTL_GAPS_H

#include "model.h"

struct gaps;

struct gaps *gaps_new(const struct model *m); /* NULL when out of memory */
struct gaps *gaps_free(struct gaps *g);	      /* takes NULL; returns NULL */

static inline void gaps_freep(struct gaps **g)
{
	gaps_free(*g);
}

/* The most important first. */
size_t gaps_count(const struct gaps *g);
const char *gaps_get(const struct gaps *g, size_t i);

#endif
