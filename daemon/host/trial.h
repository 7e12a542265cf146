/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel does to a pipe of our own when a byte goes through it.
 */
#ifndef PIPEWATCH_TRIAL_H
#define PIPEWATCH_TRIAL_H

#include "pipe.h"

struct trial {
	enum path_state state; /* PATH_UNKNOWN where it could not be tried */
	char reason[112];      /* a clause such as "a write left mtime and ctime unchanged" */
};

/*
 * Tries each kind of update on a new pipe or FIFO. The FIFO is made in the first of @directories
 * (NULL-terminated) that will do, and is unlinked before it is used.
 */
void trial_run(enum pipe_kind kind, const char *const *directories,
	       struct trial ret[static UPDATE_KINDS]);

#endif
