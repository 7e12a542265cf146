// SPDX-License-Identifier: GPL-2.0-or-later
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "pipewatch/util.h"

#define FLAG_KERNEL_THREAD 0x00200000 /* PF_KTHREAD of include/linux/sched.h */

uint64_t process_ticks(uint64_t start_boottime_ns)
{
	return start_boottime_ns / (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
}

int process_parse(const char *stat, size_t length, struct process *ret)
{
	const char *open, *close;
	char state, rest[1024], *field, *end;
	unsigned long long flags = 0, user = 0, system = 0, threads = 0, start = 0;
	int n = 3;

	/* "PID (comm) S …": comm may hold anything, parentheses and newlines included. */
	open = memchr(stat, '(', length);
	close = memrchr(stat, ')', length);
	if (!open || !close || close < open || close + 4 > stat + length)
		return -EBADMSG;
	if ((size_t)(close - open - 1) >= sizeof(ret->comm))
		return -EBADMSG;
	state = close[2];

	if ((size_t)(stat + length - close - 3) >= sizeof(rest))
		return -EBADMSG;
	memcpy(rest, close + 3, stat + length - close - 3);
	rest[stat + length - close - 3] = '\0';

	/* proc_pid_stat(5) */
	for (field = strtok_r(rest, " \n", &end); field; field = strtok_r(NULL, " \n", &end)) {
		unsigned long long *number;
		char *junk;

		switch (++n) {
		case 9: number = &flags; break;
		case 14: number = &user; break;
		case 15: number = &system; break;
		case 20: number = &threads; break;
		case 22: number = &start; break;
		default: continue;
		}
		errno = 0;
		*number = strtoull(field, &junk, 10);
		/* strtoull(3) takes signs, too. */
		if (errno || *junk || field[0] < '0' || field[0] > '9')
			return -EBADMSG;
		if (n == 22)
			break;
	}
	if (n < 22)
		return -EBADMSG;

	memset(ret, 0, sizeof(*ret));
	memcpy(ret->comm, open + 1, close - open - 1);
	ret->start_ticks = start;
	ret->kernel_thread = flags & FLAG_KERNEL_THREAD;
	ret->cpu_ticks = user + system;
	ret->ended = (state == 'Z' || state == 'X') && threads <= 1;
	return 0;
}

int process_read(const char *proc, uint32_t pid, struct process *ret)
{
	_cleanup_(closep) int fd = -1;
	char path[256], text[1024];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%u/stat", proc, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	n = read(fd, text, sizeof(text));
	if (n < 0)
		return -errno;
	return process_parse(text, n, ret);
}
