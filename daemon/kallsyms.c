// SPDX-License-Identifier: GPL-2.0-or-later
#include "kallsyms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "util.h"

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

/* A dot begins what compilers append to the names of parts and copies; no name in C has one. */
static bool symbol_is_of(const struct symbol *s, const char *function)
{
	size_t length = strlen(function);

	return s->length >= length && !memcmp(s->name, function, length) &&
	       (s->length == length || s->name[length] == '.');
}

int kallsyms_find(const char *path, const char *const *functions, struct kallsyms_range *ret,
		  size_t max, size_t *ret_n)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "re");
	_cleanup_(freep) char *line = NULL;
	size_t size = 0, n = 0, n_ended = 0, n_symbols = 0;

	if (!f)
		return -errno;
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
	/* What nothing follows has no known end. */
	if (n_symbols == 0 || n_ended < n)
		return -ENODATA;
	*ret_n = n;
	return 0;
}
