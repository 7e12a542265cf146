/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel memory that BPF maps take, in addition to the daemon's own but within the same limit.
 */
#ifndef PIPEWATCH_MAP_MEMORY_H
#define PIPEWATCH_MAP_MEMORY_H

#include <stdint.h>

struct bpf_object;

/* In bytes, of all maps of a loaded object, as the kernel states it; 0 where it does not. */
uint64_t map_memory_bytes(const struct bpf_object *object);

#endif
