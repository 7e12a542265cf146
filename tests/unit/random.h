/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers at random, the same ones each time for the same seed. */
#ifndef PIPEWATCH_TESTS_RANDOM_H
#define PIPEWATCH_TESTS_RANDOM_H

#include <math.h>
#include <stdint.h>

/* 31 bits. */
static inline uint32_t random_next(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *seed >> 33;
}

/* From 0 to 1, without both. */
static inline double random_unit(uint64_t *seed)
{
	return (random_next(seed) + 0.5) / UINT32_C(0x80000000);
}

static inline double random_exponential(uint64_t *seed, double mean)
{
	return -mean * log(random_unit(seed));
}

/* Of many, by the normal distribution. */
static inline double random_poisson(uint64_t *seed, double mean)
{
	double product = random_unit(seed), limit = exp(-mean);
	unsigned int n = 0;

	if (mean > 100) {
		double normal = sqrt(-2 * log(product)) * cos(2 * M_PI * random_unit(seed));

		return fmax(0, round(mean + sqrt(mean) * normal));
	}
	while (product > limit) {
		product *= random_unit(seed);
		n++;
	}
	return n;
}

#endif
