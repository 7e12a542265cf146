/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon publishes, for programs of tests that are linked statically: fetched over HTTP,
 * as series sorted by name.
 */
#ifndef PIPEWATCH_TESTS_SERIES_H
#define PIPEWATCH_TESTS_SERIES_H

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERIES_PORT	10057
#define SERIES_MAX	8192
#define SERIES_TEXT_MAX (1 << 20)

struct series {
	char *name; /* with labels */
	double value;
};

/* All zero at the start. */
struct series_list {
	struct series all[SERIES_MAX];
	size_t n;
};

static int series_compare(const void *a, const void *b)
{
	const struct series *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static inline struct series *series_find(struct series_list *list, const char *name)
{
	struct series key = { .name = (char *)name };

	return bsearch(&key, list->all, list->n, sizeof(key), series_compare);
}

/* NAN: absent */
static inline double series_value(struct series_list *list, const char *name)
{
	const struct series *found = series_find(list, name);

	return found ? found->value : NAN;
}

static inline void series_sort(struct series_list *list)
{
	qsort(list->all, list->n, sizeof(*list->all), series_compare);
}

/* To be sorted after it. Returns 0 or -1. */
static inline int series_add(struct series_list *list, const char *name, double value)
{
	char *copy = list->n < SERIES_MAX ? strdup(name) : NULL;

	if (!copy)
		return -1;
	list->all[list->n++] = (struct series){ copy, value };
	return 0;
}

/* Into @text, of SERIES_TEXT_MAX. Returns its length or -1. */
static inline ssize_t series_request(char *text)
{
	static const char request[] =
		"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(SERIES_PORT),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ssize_t n = 0, got = -1;

	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
	    write(fd, request, strlen(request)) == (ssize_t)strlen(request))
		while ((got = read(fd, text + n, SERIES_TEXT_MAX - 1 - n)) > 0)
			n += got;
	close(fd);
	text[n] = '\0';
	return got < 0 ? -1 : n;
}

/* Replaces @list. Returns 0, or -1 and errno. */
static inline int series_fetch(struct series_list *list)
{
	static char text[SERIES_TEXT_MAX];
	char *rest, *line;

	if (series_request(text) < 0)
		return -1;
	rest = strstr(text, "\r\n\r\n");
	if (!rest || strncmp(text, "HTTP/1.1 200 ", 13)) {
		errno = EPROTO;
		return -1;
	}
	while (list->n > 0)
		free(list->all[--list->n].name);
	rest += 4;
	while ((line = strsep(&rest, "\n"))) {
		char *space = strrchr(line, ' ');

		if (line[0] == '#' || !space)
			continue;
		*space = '\0';
		if (series_add(list, line, strtod(space + 1, NULL)) < 0)
			return -1;
	}
	series_sort(list);
	return 0;
}

#endif
