// SPDX-License-Identifier: GPL-2.0-or-later
#include "holders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "pipewatch/clock.h"
#include "pipewatch/util.h"
#include "text.h"

/* How long all processes may be looked at. */
#define SCAN_SEC 3

struct scan {
	const char *proc;
	bool utf8;
	struct holders *h;
	size_t room;
	size_t n_own; /* entries of the process itself: the pipes that are looked for */
	uint64_t end_usec;
};

static void dirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

static bool late(const struct scan *s)
{
	return monotonic_usec() > s->end_usec;
}

/* The flags that a file was opened with, octal in fdinfo; -1: not to be known. */
static long open_flags(const struct scan *s, uint32_t pid, const char *fd)
{
	_cleanup_(fclosep) FILE *f = NULL;
	char path[4400], line[128];
	long flags = -1;

	snprintf(path, sizeof(path), "%s/%" PRIu32 "/fdinfo/%s", s->proc, pid, fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "flags: %lo", (unsigned long *)&flags) == 1)
			break;
	return flags;
}

static void read_comm(const struct scan *s, uint32_t pid, char *ret, size_t size)
{
	_cleanup_(closep) int fd = -1;
	char path[4400], comm[64];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%" PRIu32 "/comm", s->proc, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, comm, sizeof(comm) - 1);
	if (n > 0 && comm[n - 1] == '\n')
		n--;
	comm[n > 0 ? n : 0] = 0;
	text_safe(comm, s->utf8, ret, size);
}

/* The entry of @pid for this pipe, a new one if need be. NULL when out of memory. */
static struct holder *entry(struct scan *s, uint32_t pid, const struct stat *st)
{
	struct holders *h = s->h;
	struct holder *grown;

	for (size_t i = h->n; i > 0 && h->list[i - 1].pid == pid; i--)
		if (h->list[i - 1].device == st->st_dev && h->list[i - 1].inode == st->st_ino)
			return &h->list[i - 1];
	if (h->n == s->room) {
		grown = reallocarray(h->list, s->room * 2 + 16, sizeof(*grown));
		if (!grown)
			return NULL;
		h->list = grown;
		s->room = s->room * 2 + 16;
	}
	h->list[h->n] = (struct holder){ .device = st->st_dev, .inode = st->st_ino, .pid = pid };
	read_comm(s, pid, h->list[h->n].comm, sizeof(h->list[h->n].comm));
	return &h->list[h->n++];
}

static bool wanted(const struct scan *s, const struct stat *st)
{
	for (size_t i = 0; i < s->n_own; i++)
		if (s->h->list[i].device == st->st_dev && s->h->list[i].inode == st->st_ino)
			return true;
	return false;
}

/* Notes the pipes of one process: all of them, or those that are wanted. */
static int scan_process(struct scan *s, uint32_t pid, bool own)
{
	_cleanup_(dirp) DIR *d = NULL;
	struct dirent *e;
	char path[4400];

	snprintf(path, sizeof(path), "%s/%" PRIu32 "/fd", s->proc, pid);
	d = opendir(path);
	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		struct holder *holder;
		char target[32];
		struct stat st;
		ssize_t n;
		long flags;

		if (*e->d_name == '.' || fstatat(dirfd(d), e->d_name, &st, 0) < 0 ||
		    !S_ISFIFO(st.st_mode) || !(own || wanted(s, &st)))
			continue;
		holder = entry(s, pid, &st);
		if (!holder)
			return -ENOMEM;
		n = readlinkat(dirfd(d), e->d_name, target, sizeof(target));
		holder->fifo = n < 5 || strncmp(target, "pipe:", 5) != 0;
		flags = open_flags(s, pid, e->d_name);
		if (flags < 0)
			continue;
		holder->reads |= (flags & O_ACCMODE) != O_WRONLY;
		holder->writes |= (flags & O_ACCMODE) != O_RDONLY;
		holder->noatime |= (flags & O_ACCMODE) != O_WRONLY && (flags & O_NOATIME);
	}
	return 0;
}

static int scan_others(struct scan *s, uint32_t self)
{
	_cleanup_(dirp) DIR *d = opendir(s->proc);
	struct dirent *e;

	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		char *end;
		unsigned long pid;
		int r;

		if (*e->d_name < '1' || *e->d_name > '9')
			continue;
		pid = strtoul(e->d_name, &end, 10);
		if (*end || pid > UINT32_MAX || pid == self)
			continue;
		if (late(s)) {
			s->h->cut = true;
			break;
		}
		r = scan_process(s, (uint32_t)pid, false);
		if (r == -ENOMEM)
			return r;
		if (r == -EACCES || r == -EPERM)
			s->h->unreadable++;
	}
	return 0;
}

/* Pipes in the order in which the process itself has them. */
struct order {
	const struct holder *own;
	size_t n_own;
	uint32_t pid;
};

static size_t place(const struct order *order, const struct holder *h)
{
	size_t i;

	for (i = 0; i < order->n_own; i++)
		if (order->own[i].device == h->device && order->own[i].inode == h->inode)
			break;
	return i;
}

static int compare(const void *a, const void *b, void *userdata)
{
	const struct holder *x = a, *y = b;
	const struct order *order = userdata;
	size_t at_x = place(order, x), at_y = place(order, y);

	if (at_x != at_y)
		return at_x < at_y ? -1 : 1;
	if ((x->pid == order->pid) != (y->pid == order->pid))
		return x->pid == order->pid ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int sort(struct holders *h, size_t n_own, uint32_t pid)
{
	_cleanup_(freep) struct holder *own = calloc(n_own + 1, sizeof(*own));
	struct order order = { own, n_own, pid };

	if (!own)
		return -ENOMEM;
	if (n_own > 0)
		memcpy(own, h->list, n_own * sizeof(*own));
	if (h->n > 0)
		qsort_r(h->list, h->n, sizeof(*h->list), compare, &order);
	return 0;
}

int holders_find(const char *proc, uint32_t pid, bool utf8, struct holders *ret)
{
	struct holders h = {};
	struct scan s = { .proc = proc, .utf8 = utf8, .h = &h };
	int r;

	s.end_usec = monotonic_usec() + SCAN_SEC * UINT64_C(1000000);
	r = scan_process(&s, pid, true);
	if (r == 0) {
		s.n_own = h.n;
		r = h.n > 0 ? scan_others(&s, pid) : 0;
	}
	if (r == 0)
		r = sort(&h, s.n_own, pid);
	if (r < 0) {
		holders_clear(&h);
		return r;
	}
	*ret = h;
	return 0;
}

void holders_clear(struct holders *h)
{
	free(h->list);
	*h = (struct holders){};
}
