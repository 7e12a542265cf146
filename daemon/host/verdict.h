/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does this kernel pay for metadata updates on pipes? This is answered twice: by the functions that
 * the kernel has, and by what it does to a pipe and a FIFO of our own. Needs neither BPF nor
 * privileges.
 */
#ifndef PIPEWATCH_VERDICT_H
#define PIPEWATCH_VERDICT_H

#include "pipe.h"

struct verdict_path {
	enum path_state state;	      /* what is published */
	enum path_state by_symbol;    /* PATH_UNKNOWN where symbols say nothing */
	enum path_state by_behaviour; /* PATH_UNKNOWN where it could not be tried */
	char reason[256];	      /* a sentence, always set */
};

struct verdict {
	struct verdict_path paths[PIPE_KINDS][UPDATE_KINDS];
};

/*
 * Does the kernel have a function of this name, according to its BTF or else /proc/kallsyms?
 * Returns 1 or 0, or -errno when that cannot be known.
 */
typedef int (*verdict_symbol_fn)(void *userdata, const char *function);

/*
 * Transfers a byte through an own pipe and FIFO and watches fstat(2), waiting a few ticks of the
 * coarse clock between steps (under 100 ms in all). @directories (NULL-terminated) are tried in
 * turn for the FIFO. Always fills *ret; what could not be found out is unknown, with the reason.
 */
void verdict_find(verdict_symbol_fn symbol, void *userdata, const char *const *directories,
		  struct verdict *ret);

/* Fills state and reason: what both sources say, or the only one that says anything; unknown where
 * they contradict each other. */
void verdict_path_conclude(struct verdict_path *path, const char *symbol_reason,
			   const char *behaviour_reason);

#endif
