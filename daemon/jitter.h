/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps what is repeated from falling into step with the load that it observes. */
#ifndef PIPEWATCH_JITTER_H
#define PIPEWATCH_JITTER_H

#include <stdint.h>
#include <sys/random.h>

/* The period give or take a fifth, evenly distributed; the period itself where there is no
 * randomness. */
static inline uint64_t jitter(uint64_t period)
{
	uint64_t fifth = period / 5;
	uint32_t random;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		return period;
	return period - fifth + (2 * fifth * random >> 32);
}

#endif
