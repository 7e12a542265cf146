/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A listening stream socket, made from an address or received from systemd.
 */
#ifndef PIPEWATCH_LISTENER_H
#define PIPEWATCH_LISTENER_H

#include <stddef.h>
#include <sys/types.h>

struct listener {
	int fd;	       /* non-blocking */
	char *address; /* as given; NULL for a received socket */
	char *path;    /* of an own Unix socket, else NULL */
	dev_t path_device;
	ino_t path_inode;
};

/*
 * Listens on ADDR:PORT, [ADDR6]:PORT (numeric) or unix:PATH (absolute). A Unix socket left by a
 * dead process is replaced; one that is still served, or a file of another kind, gives -EADDRINUSE.
 * -EINVAL for an address that is none, -ENAMETOOLONG for a path too long for a socket.
 */
int listener_open(const char *address, struct listener **ret_listener);

/* Takes @fd over on success. -ENOTSOCK or -EINVAL when it is not a listening stream socket. */
int listener_adopt(int fd, struct listener **ret_listener);

/* Closes it, and removes its own Unix socket unless something else has taken its place. Takes NULL,
 * returns NULL. */
struct listener *listener_free(struct listener *l);

static inline void listener_freep(struct listener **l)
{
	listener_free(*l);
}

#endif
