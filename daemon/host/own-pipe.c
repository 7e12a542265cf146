// SPDX-License-Identifier: GPL-2.0-or-later
#include "own-pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "pipewatch/util.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

#define ST_NOATIME_BIT 0x0400 /* of statfs.f_flags; glibc hides it behind statvfs */

void own_pipe_close(struct own_pipe *p)
{
	closep(&p->read_fd);
	closep(&p->write_fd);
	*p = OWN_PIPE_NONE;
}

/* File systems whose FIFOs show what the kernel's pipe code does. overlayfs, for one, hides it. */
static bool is_plain_file_system(unsigned int magic)
{
	switch (magic) {
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC: return true;
	default: return false;
	}
}

/* Makes a FIFO that has no name any more when this returns. -EMEDIUMTYPE: the file system is not
 * suitable. */
static int fifo_open(const char *directory, struct own_pipe *ret)
{
	_cleanup_(closep) int directory_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(closep) int read_fd = -1, write_fd = -1;
	struct statfs fs;
	struct stat st;
	char name[48];
	int r = 0;

	if (directory_fd < 0 || fstatfs(directory_fd, &fs) < 0)
		return -errno;
	if (!is_plain_file_system((unsigned int)fs.f_type))
		return -EMEDIUMTYPE;

	for (int n_tries = 0; n_tries < 8; n_tries++) {
		uint64_t random;

		if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
			random = (uint64_t)getpid() << 8 | (uint64_t)n_tries;
		snprintf(name, sizeof(name), ".pipewatch-%016llx", (unsigned long long)random);
		r = mkfifoat(directory_fd, name, 0600) < 0 ? -errno : 0;
		if (r != -EEXIST)
			break;
	}
	if (r < 0)
		return r;

	read_fd = openat(directory_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (read_fd < 0)
		r = -errno;
	if (r == 0) {
		write_fd = openat(directory_fd, name,
				  O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
		if (write_fd < 0)
			r = -errno;
	}
	if (unlinkat(directory_fd, name, 0) < 0 && r == 0)
		r = -errno;
	if (r < 0)
		return r;
	/* In a directory that others can write to, the name may have been given to something else.
	 */
	if (fstat(read_fd, &st) < 0 || !S_ISFIFO(st.st_mode) || st.st_uid != geteuid())
		return -EPERM;

	*ret = (struct own_pipe){ read_fd, write_fd, fs.f_flags & ST_NOATIME_BIT };
	read_fd = write_fd = -1;
	return 0;
}

/* Prefers a mount that updates atime; one that does not still serves for everything else. */
static int fifo_open_somewhere(const char *const *directories, struct own_pipe *ret,
			       const char **ret_failed)
{
	struct own_pipe found = OWN_PIPE_NONE;
	int r = -ENOENT;

	*ret_failed = "no directory";
	for (; *directories; directories++) {
		struct own_pipe p;
		int r2 = fifo_open(*directories, &p);

		if (r2 < 0) {
			r = r2;
			*ret_failed = *directories;
			continue;
		}
		if (found.read_fd >= 0) {
			if (p.noatime) {
				own_pipe_close(&p);
				continue;
			}
			own_pipe_close(&found);
		}
		found = p;
		if (!found.noatime)
			break;
	}
	if (found.read_fd < 0)
		return r;
	*ret = found;
	return 0;
}

int own_pipe_open(enum pipe_kind kind, const char *const *directories, struct own_pipe *ret,
		  const char **ret_failed)
{
	int fds[2];

	if (kind == PIPE_FIFO)
		return fifo_open_somewhere(directories, ret, ret_failed);
	if (pipe2(fds, O_NONBLOCK | O_CLOEXEC) < 0) {
		*ret_failed = "pipe2";
		return -errno;
	}
	*ret = (struct own_pipe){ fds[0], fds[1], false };
	return 0;
}
