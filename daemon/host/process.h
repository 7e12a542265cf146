/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc says about a process, which may vanish at any time. */
#ifndef PIPEWATCH_PROCESS_H
#define PIPEWATCH_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process {
	char comm[64];	      /* raw bytes, NUL-terminated */
	uint64_t start_ticks; /* since boot, of USER_HZ, as process_ticks() gives */
	uint64_t cpu_ticks;   /* of USER_HZ: user and system time of all its threads */
	bool ended;	      /* a zombie without threads, which will never do anything again */
	bool kernel_thread;   /* which has no files */
};

/* Reads PROC/@pid/stat (@proc is "/proc" but in tests). Returns 0, -ESRCH when there is no such
 * process, or -errno. */
int process_read(const char *proc, uint32_t pid, struct process *ret);

/* Understands the text of a stat file. Returns 0 or -EBADMSG. */
int process_parse(const char *stat, size_t length, struct process *ret);

/* Converts a time since boot to the unit of stat files. */
uint64_t process_ticks(uint64_t start_boottime_ns);

#endif
