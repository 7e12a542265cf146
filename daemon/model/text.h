/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stream into memory that yields the whole text or an error. open_memstream(3) does not tell when
 * its buffer could not grow: the text then lacks a part, or is NULL.
 */
#ifndef PIPEWATCH_TEXT_H
#define PIPEWATCH_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct text {
	FILE *stream;
	char *data;
	size_t size, room;
	bool failed;
};

/* Begins an empty text, to be written to @t->stream. Returns 0 or -ENOMEM. */
int text_open(struct text *t);

/* Ends it. Returns 0 and the text, NUL-terminated and to be freed, or -ENOMEM if any of it is
 * missing. @ret_size may be NULL. */
int text_close(struct text *t, char **ret_data, size_t *ret_size);

#endif
