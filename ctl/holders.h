/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who holds the ends of a process's pipes, as far as /proc shows it to us.
 */
#ifndef PIPEWATCH_CTL_HOLDERS_H
#define PIPEWATCH_CTL_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One process that has one pipe open, in one way or both. */
struct holder {
	uint64_t device;
	uint64_t inode;
	bool fifo; /* else it is anonymous */
	uint32_t pid;
	bool reads;
	bool writes;
	bool noatime;  /* a read end is open with O_NOATIME */
	char comm[64]; /* safe to print */
};

struct holders {
	/* By pipe, the process itself first. */
	struct holder *list;
	size_t n;
	size_t unreadable; /* processes whose open files we may not see */
	bool cut;	   /* it took too long to look at all of them */
};

/*
 * All who have a pipe of @pid open. Returns 0; -ENOENT: there is no such process; -EACCES: its open
 * files are not ours to see; -ENOMEM or another -errno.
 */
int holders_find(const char *proc, uint32_t pid, bool utf8, struct holders *ret);
void holders_clear(struct holders *h);

#endif
