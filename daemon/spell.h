/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much time something has taken that goes on and off. Times are CLOCK_MONOTONIC, in
 * microseconds. */
#ifndef PIPEWATCH_SPELL_H
#define PIPEWATCH_SPELL_H

#include <stdint.h>

struct spell {
	uint64_t total_usec; /* of the spells that are over */
	uint64_t begin_usec; /* of the present one; 0: there is none */
};

static inline void spell_begin(struct spell *s, uint64_t now_usec)
{
	if (!s->begin_usec)
		s->begin_usec = now_usec;
}

static inline void spell_end(struct spell *s, uint64_t now_usec)
{
	if (s->begin_usec)
		s->total_usec += now_usec - s->begin_usec;
	s->begin_usec = 0;
}

static inline uint64_t spell_usec(const struct spell *s, uint64_t now_usec)
{
	return s->total_usec + (s->begin_usec ? now_usec - s->begin_usec : 0);
}

#endif
