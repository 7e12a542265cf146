// SPDX-License-Identifier: GPL-2.0-or-later
#include "http-linger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <utlist.h>

#include "pipewatch/util.h"

/* How often one is read from before others have their turn. */
#define READS_PER_WAKEUP 16

struct lingerer {
	struct lingerers *all;
	int fd;
	sd_event_source *io;
	sd_event_source *timer;
	struct lingerer *prev, *next;
};

struct lingerers {
	sd_event *event;
	struct lingerer *list; /* the oldest first */
	size_t n;
};

static void lingerer_free(struct lingerer *one)
{
	sd_event_source_disable_unref(one->io);
	sd_event_source_disable_unref(one->timer);
	closep(&one->fd);
	free(one);
}

static void lingerer_drop(struct lingerer *one)
{
	DL_DELETE(one->all->list, one);
	one->all->n--;
	lingerer_free(one);
}

/* Throws away what has come. Is it the end, too? */
static bool is_over(int fd)
{
	char buffer[16384];

	for (unsigned int i = 0; i < READS_PER_WAKEUP; i++) {
		ssize_t n = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);

		if (n < 0)
			return errno != EAGAIN && errno != EINTR;
		if (n == 0)
			return true;
	}
	return false;
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	(void)source;
	(void)revents;

	if (is_over(fd))
		lingerer_drop(userdata);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	(void)source;
	(void)usec;

	lingerer_drop(userdata);
	return 0;
}

void lingerers_add(struct lingerers *l, int fd, uint64_t usec)
{
	struct lingerer *one;

	if (is_over(fd))
		return;
	one = calloc(1, sizeof(*one));
	if (!one)
		return;
	one->all = l;
	one->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (one->fd < 0 || sd_event_add_io(l->event, &one->io, one->fd, EPOLLIN, on_io, one) < 0 ||
	    sd_event_add_time_relative(l->event, &one->timer, CLOCK_MONOTONIC, usec, 0, on_timer,
				       one) < 0) {
		lingerer_free(one);
		return;
	}
	sd_event_source_set_description(one->io, "http-linger");
	DL_APPEND(l->list, one);
	if (++l->n > LINGERERS_MAX)
		lingerer_drop(l->list);
}

void lingerers_drop(struct lingerers *l)
{
	while (l->list)
		lingerer_drop(l->list);
}

int lingerers_new(sd_event *event, struct lingerers **ret_lingerers)
{
	struct lingerers *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->event = sd_event_ref(event);
	*ret_lingerers = l;
	return 0;
}

struct lingerers *lingerers_free(struct lingerers *l)
{
	if (!l)
		return NULL;
	lingerers_drop(l);
	sd_event_unref(l->event);
	free(l);
	return NULL;
}
