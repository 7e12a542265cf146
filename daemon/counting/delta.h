/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What has been added to counters that the counting programs write, since it was last booked. They
 * may write meanwhile, and their counters wrap.
 */
#ifndef PIPEWATCH_DELTA_H
#define PIPEWATCH_DELTA_H

#include <stdbool.h>
#include <stdint.h>

#include "pipe.h"
#include "pipewatch/wire.h"

/* Brings what is booked up to date. Returns whether there is anything new. */
bool delta_take(const struct wire_counts now[static WIRE_DIRECTIONS], const uint32_t *noatime_now,
		struct wire_counts booked[static WIRE_DIRECTIONS], uint32_t *noatime_booked,
		struct pipe_counts *ret_counts, struct pipe_sizes *ret_sizes);

/* The operations that are not booked yet. */
uint64_t delta_pending(const struct wire_counts now[static WIRE_DIRECTIONS],
		       const struct wire_counts booked[static WIRE_DIRECTIONS]);

#endif
