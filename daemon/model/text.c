// SPDX-License-Identifier: GPL-2.0-or-later
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define ROOM_MIN 4096

/* A cookie_write_function_t: zero is an error. */
static ssize_t append(void *userdata, const char *bytes, size_t n)
{
	struct text *t = userdata;

	/* Text after a gap is of no use. */
	if (t->failed)
		return 0;
	if (t->room - t->size <= n) {
		size_t room = t->room + n < ROOM_MIN ? ROOM_MIN : 2 * (t->room + n);
		char *grown = reallocarray(t->data, room, 1);

		if (!grown) {
			t->failed = true;
			return 0;
		}
		t->data = grown;
		t->room = room;
	}
	memcpy(t->data + t->size, bytes, n);
	t->size += n;
	t->data[t->size] = '\0';
	return (ssize_t)n;
}

int text_open(struct text *t)
{
	const cookie_io_functions_t functions = { .write = append };

	*t = (struct text){ 0 };
	t->stream = fopencookie(t, "w", functions);
	if (!t->stream)
		return -ENOMEM;
	/* There is a text even when nothing is written. */
	append(t, "", 0);
	return 0;
}

int text_close(struct text *t, char **ret_data, size_t *ret_size)
{
	if (fclose(t->stream) != 0 || t->failed) {
		free(t->data);
		return -ENOMEM;
	}
	*ret_data = t->data;
	if (ret_size)
		*ret_size = t->size;
	return 0;
}
