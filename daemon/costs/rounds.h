/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Short rounds of pipe operations on our own pipe and FIFO, with O_NOATIME and without. All
 * variants are in each round: what disturbs one disturbs the others as well, and drops out of the
 * differences within a round.
 */
#ifndef PIPEWATCH_ROUNDS_H
#define PIPEWATCH_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipe.h"

/* Writes, then as many reads, of 100 bytes, the usual small message. They fit into one page, which
 * is the least that a pipe has. */
#define ROUND_OPERATIONS 32
#define ROUND_BYTES	 100

/* Writes or reads. */
struct round_part {
	uint32_t ns; /* of all ROUND_OPERATIONS, and of one reading of the clock */
	bool usual;  /* no tick came that made the kernel store a new time */
};

/* One fill and drain of one variant. */
struct round_variant {
	struct round_part writes, reads;
};

/* Index: kind of pipe, O_NOATIME on the read end. */
struct round {
	struct round_variant variants[PIPE_KINDS][2];
};

struct rounds;

/*
 * Runs for @duration_usec in a thread of its own, which stays on one CPU and yields to everybody.
 * Where others keep it from running, the rounds that it has completed are the result. Returns 0;
 * -EBUSY where it did not get to run at all; or -errno when no pipe or thread can be had. Without a
 * FIFO, or without O_NOATIME, only that variant is missing.
 */
int rounds_run(const char *const *directories, unsigned int duration_usec,
	       struct rounds **ret_rounds);
struct rounds *rounds_free(struct rounds *r);

static inline void rounds_freep(struct rounds **r)
{
	rounds_free(*r);
}

const struct round *rounds_list(const struct rounds *r, size_t *ret_n);

/* Why the variant is not measured, as a clause; NULL where it is. */
const char *rounds_missing(const struct rounds *r, enum pipe_kind kind, bool noatime);

/* What one reading of the clock costs; 0 where not even one round was completed. */
double rounds_clock_seconds(const struct rounds *r);

#endif
