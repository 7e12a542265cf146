// SPDX-License-Identifier: GPL-2.0-or-later
#include "map-memory.h"

#include <bpf/libbpf.h>
#include <inttypes.h>
#include <stdio.h>

#include "pipewatch/util.h"

static uint64_t map_bytes(int fd)
{
	_cleanup_(fclosep) FILE *f = NULL;
	char path[64], line[256];
	uint64_t bytes;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "memlock: %" SCNu64, &bytes) == 1)
			return bytes;
	return 0;
}

uint64_t map_memory_bytes(const struct bpf_object *object)
{
	const struct bpf_map *map;
	uint64_t sum = 0;

	bpf_object__for_each_map(map, object) if (bpf_map__fd(map) >= 0)
		sum += map_bytes(bpf_map__fd(map));
	return sum;
}
