// SPDX-License-Identifier: GPL-2.0-or-later
#include "cpus.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pipewatch/util.h"

/* A number at *list, which is moved on. */
static int number_parse(const char **list, unsigned long *ret)
{
	char *end;

	if (!isdigit((unsigned char)**list))
		return -EBADMSG;
	errno = 0;
	*ret = strtoul(*list, &end, 10);
	if (errno)
		return -EBADMSG;
	*list = end;
	return 0;
}

/* Goes through the list; with @online NULL it only checks it. */
static int list_walk(const char *list, bool *online, size_t n)
{
	for (;;) {
		unsigned long first, last;

		if (number_parse(&list, &first) < 0)
			return -EBADMSG;
		last = first;
		if (*list == '-') {
			list++;
			if (number_parse(&list, &last) < 0 || last < first)
				return -EBADMSG;
		}
		for (size_t cpu = first; online && cpu <= last && cpu < n; cpu++)
			online[cpu] = true;
		if (*list != ',')
			return !*list || !strcmp(list, "\n") ? 0 : -EBADMSG;
		list++;
	}
}

int cpus_parse(const char *list, bool *ret_online, size_t n)
{
	int r = list_walk(list, NULL, 0);

	if (r < 0)
		return r;
	memset(ret_online, 0, n * sizeof(*ret_online));
	return list_walk(list, ret_online, n);
}

int cpus_read(const char *path, bool *ret_online, size_t n)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "re");
	_cleanup_(freep) char *line = NULL;
	size_t size = 0;

	if (!f)
		return -errno;
	errno = 0;
	if (getline(&line, &size, f) < 0)
		return errno ? -errno : -EBADMSG;
	return cpus_parse(line, ret_online, n);
}
