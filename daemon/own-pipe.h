/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pipe or FIFO of our own, on which to see and measure what the kernel does.
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
 * Opens a pipe, or a FIFO in the first of @directories (NULL-terminated) that will do: on a plain
 * file system, one mounted without noatime rather than with. The FIFO has no name any more when
 * this returns. Returns 0; -EMEDIUMTYPE: not a file system for it; or -errno. *ret_failed, on
 * failure only: the directory or system call that failed.
 */
int own_pipe_open(enum pipe_kind kind, const char *const *directories, struct own_pipe *ret,
		  const char **ret_failed);
void own_pipe_close(struct own_pipe *p); /* may have been closed before, or be OWN_PIPE_NONE */

#define OWN_PIPE_NONE ((struct own_pipe){ -1, -1, false })

#endif
