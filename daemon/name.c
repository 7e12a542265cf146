// SPDX-License-Identifier: GPL-2.0-or-later
#include "name.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "pipewatch/util.h"

/* A container's id is 64 hexadecimal digits; people and tools show the first twelve. */
#define CONTAINER_ID_DIGITS	  64
#define CONTAINER_ID_SHOWN_DIGITS 12

/* The length of the UTF-8 character at @p, or 0 where there is none (RFC 3629: shortest form, no
 * surrogates). */
static size_t utf8_length(const unsigned char *p, size_t n)
{
	static const uint32_t minima[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c;
	size_t length;

	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc0 && p[0] < 0xe0) {
		length = 2;
		c = p[0] & 0x1f;
	} else if (p[0] >= 0xe0 && p[0] < 0xf0) {
		length = 3;
		c = p[0] & 0x0f;
	} else if (p[0] >= 0xf0 && p[0] < 0xf8) {
		length = 4;
		c = p[0] & 0x07;
	} else {
		return 0;
	}

	if (length > n)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < minima[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	return length;
}

/* As name_render(); *ret_whole says whether all of it fitted. */
static size_t render(const char *bytes, size_t n_bytes, char *ret, size_t ret_size, bool *ret_whole)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *p = (const unsigned char *)bytes;
	size_t used = 0, n = strnlen(bytes, n_bytes), i = 0;

	*ret_whole = false;
	if (ret_size == 0)
		return 0;

	while (i < n) {
		char escaped[4];
		size_t length = utf8_length(p + i, n - i), step = length, width = length;
		const char *text = bytes + i;

		if (length == 0) {
			escaped[0] = '\\';
			escaped[1] = 'x';
			escaped[2] = digits[p[i] >> 4];
			escaped[3] = digits[p[i] & 0xf];
			text = escaped;
			width = sizeof(escaped);
			step = 1;
		}
		if (used + width >= ret_size)
			break;
		memcpy(ret + used, text, width);
		used += width;
		i += step;
	}

	*ret_whole = i == n;
	ret[used] = '\0';
	return used;
}

size_t name_render(const char *bytes, size_t n_bytes, char *ret, size_t ret_size)
{
	bool whole;

	return render(bytes, n_bytes, ret, ret_size, &whole);
}

/* A part of the path between two slashes. */
struct component {
	const char *text;
	size_t length;
};

static bool next_component(const char **cursor, const char *end, struct component *ret)
{
	while (*cursor < end && **cursor == '/')
		(*cursor)++;
	if (*cursor == end)
		return false;

	ret->text = *cursor;
	while (*cursor < end && **cursor != '/')
		(*cursor)++;
	ret->length = *cursor - ret->text;
	return true;
}

static bool starts_with(const struct component *c, const char *prefix)
{
	return c->length >= strlen(prefix) && memcmp(c->text, prefix, strlen(prefix)) == 0;
}

/* The types of unit that have processes: slices only hold other units. */
static bool is_unit(const struct component *c)
{
	static const char *const types[] = { ".service", ".scope", ".socket", ".mount", ".swap" };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		size_t length = strlen(types[i]);

		if (c->length > length &&
		    memcmp(c->text + c->length - length, types[i], length) == 0)
			return true;
	}
	return false;
}

static bool is_container_id(const struct component *c)
{
	return c->length == CONTAINER_ID_DIGITS &&
	       strspn(c->text, "0123456789abcdef") >= CONTAINER_ID_DIGITS;
}

size_t name_unit_from_cgroup(const char *path, char *ret, size_t ret_size)
{
	static const char deleted[] = " (deleted)";
	struct component c, previous = { "", 0 }, outer = { "", 0 }, inner = { "", 0 };
	const char *cursor = path, *end = path + strlen(path);
	size_t used;
	bool whole;

	/* Added by the kernel when the cgroup was removed under its last processes. */
	if ((size_t)(end - path) >= strlen(deleted) && strcmp(end - strlen(deleted), deleted) == 0)
		end -= strlen(deleted);

	for (; next_component(&cursor, end, &c); previous = c) {
		if (is_unit(&c) || starts_with(&c, "lxc.payload.")) {
			if (outer.length > 0) {
				inner = c;
				break;
			}
			outer = c;
			/* A user's service manager has units of its own below it; what is below any
			 * other unit is that unit's own business. */
			if (!starts_with(&c, "user@"))
				break;
		} else if (is_container_id(&c) && outer.length == 0 && previous.length > 0) {
			outer = previous;
			inner = (struct component){ c.text, CONTAINER_ID_SHOWN_DIGITS };
			break;
		}
	}

	used = render(outer.text, outer.length, ret, ret_size, &whole);
	/* After a name that was cut it would belong to another unit. */
	if (whole && inner.length > 0 && used + 1 < ret_size) {
		ret[used++] = '/';
		used += name_render(inner.text, inner.length, ret + used, ret_size - used);
	}
	return used;
}
