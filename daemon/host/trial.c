// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>

#include "error.h"
#include "own-pipe.h"
#include "pipewatch/util.h"
#include "trial.h"

/* Longest wait for the coarse clock; its tick is 10 ms at worst. */
#define TICK_WAIT_NS 40000000LL

__attribute__((format(printf, 3, 4))) static void
conclude(struct trial *trial, enum path_state state, const char *format, ...)
{
	va_list ap;

	trial->state = state;
	va_start(ap, format);
	vsnprintf(trial->reason, sizeof(trial->reason), format, ap);
	va_end(ap);
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/*
 * Makes sure that an update would show: sets atime and mtime far into the past, and waits until the
 * clock that updates use differs from both. Normally the former suffices, and there is nothing to
 * wait for. Where it is not allowed, this waits for two ticks, since one may have been used up by
 * the multigrain clock, which runs ahead of the coarse one. Times are only compared for equality,
 * so that setting the clock does no harm.
 */
static int prepare(int fd, struct stat *ret_before)
{
	static const struct timespec past[2] = { { .tv_sec = 86400 }, { .tv_sec = 86400 } };
	struct timespec now, last, start;
	struct stat before;
	int n_ticks;

	(void)futimens(fd, past);
	if (fstat(fd, &before) < 0)
		return -errno;
	n_ticks = same_time(&before.st_atim, &past[0]) && same_time(&before.st_mtim, &past[1]) ? 0
											       : 2;

	clock_gettime(CLOCK_MONOTONIC, &start);
	clock_gettime(CLOCK_REALTIME_COARSE, &last);
	for (;;) {
		static const struct timespec nap = { .tv_nsec = 1000000 };
		struct timespec mono;

		clock_gettime(CLOCK_REALTIME_COARSE, &now);
		if (!same_time(&now, &last)) {
			last = now;
			n_ticks--;
		}
		if (n_ticks <= 0 && !same_time(&now, &before.st_atim) &&
		    !same_time(&now, &before.st_mtim))
			break;
		clock_gettime(CLOCK_MONOTONIC, &mono);
		if ((mono.tv_sec - start.tv_sec) * 1000000000LL + mono.tv_nsec - start.tv_nsec >
		    TICK_WAIT_NS)
			return -ETIME;
		nanosleep(&nap, NULL);
	}
	*ret_before = before;
	return 0;
}

static int write_byte(int fd)
{
	ssize_t n = write(fd, "", 1);

	return n == 1 ? 0 : n < 0 ? -errno : -EIO;
}

static int read_byte(int fd)
{
	char byte;
	ssize_t n = read(fd, &byte, 1);

	return n == 1 ? 0 : n < 0 ? -errno : -EIO;
}

static void try_cmtime(const struct own_pipe *p, struct trial *ret)
{
	struct stat before, after;
	int r;

	r = prepare(p->write_fd, &before);
	if (r < 0) {
		conclude(ret, PATH_UNKNOWN, "a write could not be tried (fstat: %s)",
			 error_name(r));
		return;
	}
	r = write_byte(p->write_fd);
	if (r < 0 || fstat(p->write_fd, &after) < 0) {
		conclude(ret, PATH_UNKNOWN, "a write could not be tried (%s)",
			 error_name(r < 0 ? r : errno));
		return;
	}
	if (same_time(&before.st_mtim, &after.st_mtim) &&
	    same_time(&before.st_ctim, &after.st_ctim))
		conclude(ret, PATH_REMOVED, "a write left mtime and ctime unchanged");
	else
		conclude(ret, PATH_PAID, "a write updated mtime or ctime");
}

static void try_atime(const struct own_pipe *p, struct trial *ret)
{
	struct stat before, after;
	int r;

	if (p->noatime) {
		conclude(ret, PATH_UNKNOWN, "a read could not be tried (only mounts with noatime)");
		(void)read_byte(p->read_fd);
		return;
	}
	r = prepare(p->read_fd, &before);
	if (r < 0) {
		conclude(ret, PATH_UNKNOWN, "a read could not be tried (fstat: %s)", error_name(r));
		return;
	}
	r = read_byte(p->read_fd);
	if (r < 0 || fstat(p->read_fd, &after) < 0) {
		conclude(ret, PATH_UNKNOWN, "a read could not be tried (%s)",
			 error_name(r < 0 ? r : errno));
		return;
	}
	if (same_time(&before.st_atim, &after.st_atim))
		conclude(ret, PATH_REMOVED, "a read left atime unchanged");
	else
		conclude(ret, PATH_PAID, "a read updated atime");
}

/*
 * Does a watched FIFO give an event? While the watch exists, fsnotify runs for every file of the
 * file system. So the watch lasts for one write only, and nothing is waited for: events are queued
 * before write(2) returns.
 *
 * Anonymous pipes are not tried. They are all on one file system, which is rarely watched; and
 * since 07a3b8d0bf72 ("fsnotify: lazy attach fsnotify_sb_info state to sb", 6.10) a file system
 * that has been watched once has 3 to 6 more instructions to run in each operation until the next
 * boot.
 */
static void try_fsnotify(const struct own_pipe *p, struct trial *ret)
{
	_Alignas(struct inotify_event) char buffer[4 * sizeof(struct inotify_event)];
	_cleanup_(closep) int watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	uint32_t mask = 0;
	char path[32];
	ssize_t n;
	int r;

	if (watch_fd < 0) {
		conclude(ret, PATH_UNKNOWN, "a watch could not be tried (inotify_init1: %s)",
			 error_name(errno));
		return;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->read_fd);
	if (inotify_add_watch(watch_fd, path, IN_MODIFY) < 0) {
		conclude(ret, PATH_UNKNOWN, "a watch could not be tried (inotify_add_watch: %s)",
			 error_name(errno));
		return;
	}
	r = write_byte(p->write_fd);
	n = read(watch_fd, buffer, sizeof(buffer));
	if (r < 0 || (n < 0 && errno != EAGAIN)) {
		conclude(ret, PATH_UNKNOWN, "a watch could not be tried (%s)",
			 error_name(r < 0 ? r : errno));
		return;
	}
	for (ssize_t at = 0; at + (ssize_t)sizeof(struct inotify_event) <= n;) {
		const struct inotify_event *event = (const struct inotify_event *)(buffer + at);

		mask |= event->mask;
		at += (ssize_t)(sizeof(*event) + event->len);
	}
	if (mask & IN_MODIFY)
		conclude(
			ret, PATH_PAID,
			"a write to a watched pipe gave an event: paid only while some pipe is watched");
	else
		conclude(ret, PATH_REMOVED, "a write to a watched pipe gave no event");
}

void trial_run(enum pipe_kind kind, const char *const *directories,
	       struct trial ret[static UPDATE_KINDS])
{
	const char *failed;
	struct own_pipe p;
	int r;

	r = own_pipe_open(kind, directories, &p, &failed);
	if (r < 0) {
		for (int update = 0; update < UPDATE_KINDS; update++) {
			if (r == -EMEDIUMTYPE)
				conclude(
					&ret[update], PATH_UNKNOWN,
					"no own FIFO could be made (%.32s: not a file system to try it on)",
					failed);
			else
				conclude(&ret[update], PATH_UNKNOWN,
					 "no own %s could be made (%.32s: %s)",
					 kind == PIPE_FIFO ? "FIFO" : "pipe", failed,
					 error_name(r));
		}
		return;
	}

	/* In this order each finds in the pipe what it needs: the byte that is read was written by
	 * the one before. */
	try_cmtime(&p, &ret[UPDATE_CMTIME]);
	try_atime(&p, &ret[UPDATE_ATIME]);
	if (kind == PIPE_FIFO)
		try_fsnotify(&p, &ret[UPDATE_FSNOTIFY]);
	else
		conclude(
			&ret[UPDATE_FSNOTIFY], PATH_UNKNOWN,
			"a watch was not tried, which would slow all anonymous pipes down until the next boot");
	own_pipe_close(&p);
}
