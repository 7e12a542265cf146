/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pipe or FIFO of our own, to observe and measure what the kernel does with it.
 */
#ifndef PIPEWATCH_OWN_PIPE_H
#define PIPEWATCH_OWN_PIPE_H

#include <stdbool.h>

#include "pipe.h"

struct own_pipe {
	int read_fd;
	int write_fd; /* both do not block */
	bool noatime; /* the mount forbids updates of atime */
};

/*
 * Opens a pipe, or a FIFO in the first of @directories (NULL-terminated) that will do: it must be
 * on a plain file system, preferably one mounted without noatime. When this returns the FIFO has no
 * name any more. Returns 0; -EMEDIUMTYPE when there is no suitable file system; or -errno. On
 * failure *ret_failed is the directory or system call that failed.
 */
int own_pipe_open(enum pipe_kind kind, const char *const *directories, struct own_pipe *ret,
		  const char **ret_failed);
void own_pipe_close(struct own_pipe *p); /* does nothing to one that is closed, or OWN_PIPE_NONE */

#define OWN_PIPE_NONE ((struct own_pipe){ -1, -1, false })

#endif
