// SPDX-License-Identifier: GPL-2.0-or-later
#include "delta.h"

#include <string.h>

_Static_assert(WIRE_SIZE_CLASSES == SIZE_CLASSES, "the size classes");

/* What was added to @now since @booked, which is brought up to date. The slot may be written
 * meanwhile: read once. */
static void counts_take(const struct wire_counts *now, struct wire_counts *booked,
			uint64_t *ret_operations, uint64_t *ret_bytes,
			uint64_t ret_sizes[static SIZE_CLASSES])
{
	uint64_t bytes;

	*ret_operations = *ret_bytes = 0;
	memset(ret_sizes, 0, SIZE_CLASSES * sizeof(*ret_sizes));
	/* As mostly: few both read and write. */
	if (!memcmp(now, booked, sizeof(*booked)))
		return;
	bytes = __atomic_load_n(&now->bytes, __ATOMIC_RELAXED);
	*ret_bytes = bytes - booked->bytes;
	booked->bytes = bytes;
	for (int i = 0; i < WIRE_SIZE_CLASSES; i++) {
		uint32_t operations = __atomic_load_n(&now->sizes[i], __ATOMIC_RELAXED);

		ret_sizes[i] = (uint32_t)(operations - booked->sizes[i]);
		*ret_operations += ret_sizes[i];
		booked->sizes[i] = operations;
	}
}

bool delta_take(const struct wire_counts now[static WIRE_DIRECTIONS], const uint32_t *noatime_now,
		struct wire_counts booked[static WIRE_DIRECTIONS], uint32_t *noatime_booked,
		struct pipe_counts *ret_counts, struct pipe_sizes *ret_sizes)
{
	uint32_t noatime = __atomic_load_n(noatime_now, __ATOMIC_ACQUIRE);

	memset(ret_counts, 0, sizeof(*ret_counts));
	ret_counts->noatime_reads = (uint32_t)(noatime - *noatime_booked);
	*noatime_booked = noatime;
	counts_take(&now[WIRE_READ], &booked[WIRE_READ], &ret_counts->reads,
		    &ret_counts->read_bytes, ret_sizes->reads);
	/* It is counted a few instructions before the read that it belongs to, which we may not
	 * have seen: wait for it. */
	if (ret_counts->noatime_reads > ret_counts->reads) {
		*noatime_booked -= ret_counts->noatime_reads - ret_counts->reads;
		ret_counts->noatime_reads = ret_counts->reads;
	}
	counts_take(&now[WIRE_WRITE], &booked[WIRE_WRITE], &ret_counts->writes,
		    &ret_counts->written_bytes, ret_sizes->writes);
	return ret_counts->reads || ret_counts->writes || ret_counts->read_bytes ||
	       ret_counts->written_bytes || ret_counts->noatime_reads;
}

uint64_t delta_pending(const struct wire_counts now[static WIRE_DIRECTIONS],
		       const struct wire_counts booked[static WIRE_DIRECTIONS])
{
	uint64_t sum = 0;

	for (int direction = 0; direction < WIRE_DIRECTIONS; direction++)
		for (int i = 0; i < WIRE_SIZE_CLASSES; i++)
			sum += (uint32_t)(now[direction].sizes[i] - booked[direction].sizes[i]);
	return sum;
}
