// SPDX-License-Identifier: GPL-2.0-or-later
#include "kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "pipewatch/util.h"

struct symbol {
	uint64_t address;
	const char *name;
	size_t length;
	bool text;
	bool module;
};

/* "ADDRESS TYPE NAME[\t[MODULE]]\n" */
static bool symbol_parse(const char *line, struct symbol *ret)
{
	char *end;

	errno = 0;
	ret->address = strtoull(line, &end, 16);
	if (errno || end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
		return false;
	ret->text = strchr("tTwW", end[1]);
	ret->name = end + 3;
	ret->length = strcspn(ret->name, "\t\n");
	ret->module = ret->name[ret->length] == '\t';
	return ret->length > 0;
}

/* Compilers append a dot and more to the names of parts and copies; no name in C has a dot. */
static bool symbol_is_of(const struct symbol *s, const char *function)
{
	size_t length = strlen(function);

	return s->length >= length && !memcmp(s->name, function, length) &&
	       (s->length == length || s->name[length] == '.');
}

static int find(FILE *f, const char *const *functions, struct kallsyms_range *ret, size_t max,
		size_t *ret_n)
{
	_cleanup_(freep) char *line = NULL;
	size_t size = 0, n = 0, n_ended = 0, n_symbols = 0;

	errno = 0;
	while (getline(&line, &size, f) >= 0) {
		struct symbol s;

		if (!symbol_parse(line, &s))
			continue;
		n_symbols++;
		/* The kernel proper comes first and sorted: the next address ends a function. */
		while (n_ended < n && ret[n_ended].begin < s.address)
			ret[n_ended++].end = s.address;
		if (!s.text || s.module)
			continue;
		for (size_t i = 0; functions[i]; i++) {
			if (!symbol_is_of(&s, functions[i]))
				continue;
			if (s.address == 0)
				return -EACCES;
			if (n == max)
				return -ENOSPC;
			ret[n++] = (struct kallsyms_range){ .function = i, .begin = s.address };
		}
	}
	if (ferror(f))
		return errno ? -errno : -EIO;
	/* The end of a function that nothing follows is not known. */
	if (n_symbols == 0 || n_ended < n)
		return -ENODATA;
	*ret_n = n;
	return 0;
}

int kallsyms_find(const char *path, const char *const *functions, struct kallsyms_range *ret,
		  size_t max, size_t *ret_n)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "re");

	return f ? find(f, functions, ret, max, ret_n) : -errno;
}

int kallsyms_find_passed(int fd, const char *const *functions, struct kallsyms_range *ret,
			 size_t max, size_t *ret_n)
{
	_cleanup_(fclosep) FILE *f = NULL;
	struct statfs fs;
	int copy;

	if (fstatfs(fd, &fs) < 0)
		return -errno;
	if (fs.f_type != PROC_SUPER_MAGIC)
		return -ENOTTY;
	/* Opening it again would hide the addresses. */
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (copy < 0)
		return -errno;
	f = fdopen(copy, "r");
	if (!f) {
		close(copy);
		return -errno;
	}
	rewind(f);
	return find(f, functions, ret, max, ret_n);
}
