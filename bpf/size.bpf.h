/* SPDX-License-Identifier: (GPL-2.0-or-later OR BSD-2-Clause) */
/*
 * The size class of an operation, without a loop or a branch for most.
 */
#ifndef PIPEWATCH_SIZE_BPF_H
#define PIPEWATCH_SIZE_BPF_H

#include "kernel.bpf.h"
#include "pipewatch/wire.h"

/* A byte offset into wire_counts.sizes: four times floor(log2(n)). */
#define L2(n)  4 * (n), 4 * (n)
#define L4(n)  L2(n), L2(n)
#define L8(n)  L4(n), L4(n)
#define L16(n) L8(n), L8(n)
#define L32(n) L16(n), L16(n)
#define L64(n) L32(n), L32(n)
static const __u8 size_offset[256] = {
	0, 0, L2(1), L4(2), L8(3), L16(4), L32(5), L64(6), L64(7), L64(7),
};
#define SIZE_OFFSET_MAX (4 * (WIRE_SIZE_CLASSES - 1))

/* The counter of operations of @length bytes, which is above zero. */
static __always_inline __u32 *size_class(struct wire_counts *counts, __u64 length)
{
	__u64 offset;

	if (likely(length < 256))
		offset = size_offset[length];
	else if (length < 32768)
		offset = 4 * 8 + size_offset[(length >> 8) & 255];
	else
		offset = SIZE_OFFSET_MAX;
	return (void *)counts->sizes + (offset & SIZE_OFFSET_MAX);
}

#endif
