/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel memory that BPF maps take: on top of the daemon's own, but within its limit. */
#ifndef PIPEWATCH_MAP_MEMORY_H
#define PIPEWATCH_MAP_MEMORY_H

#include <stdint.h>

struct bpf_object;

/* Of all maps of a loaded object, as the kernel states it; 0 when it does not. */
uint64_t map_memory_bytes(const struct bpf_object *object);

#endif
