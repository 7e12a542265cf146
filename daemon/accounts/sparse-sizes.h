/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sizes of what one process reads and writes, of which few classes are ever used, and mostly
 * one: room is made for those only. All zero at the start.
 */
#ifndef PIPEWATCH_SPARSE_SIZES_H
#define PIPEWATCH_SPARSE_SIZES_H

#include "pipe.h"

struct sparse_sizes {
	union {
		uint64_t number;   /* of the only class in use */
		uint64_t *numbers; /* of the classes in use, in their order */
	};
	uint32_t classes; /* a bit for each: reads, then writes */
};

/* Makes room for the classes that @add uses. Returns 0, or -ENOMEM and changes nothing. */
int sparse_sizes_reserve(struct sparse_sizes *s, const struct pipe_sizes *add);

/* *sum += *add, for whose classes there is room. */
void sparse_sizes_add(struct sparse_sizes *sum, const struct pipe_sizes *add);

void sparse_sizes_get(const struct sparse_sizes *s, struct pipe_sizes *ret);

/* Frees what it holds. */
void sparse_sizes_clear(struct sparse_sizes *s);

#endif
