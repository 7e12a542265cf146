// SPDX-License-Identifier: GPL-2.0-or-later
#include "name.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "pipewatch/util.h"

/* A container's id is 64 hexadecimal digits; people and tools show the first twelve. */
#define CONTAINER_ID_DIGITS	  64
#define CONTAINER_ID_SHOWN_DIGITS 12

/*
 * The length of the UTF-8 character at @p, or 0 where there is none (RFC 3629: shortest form, no
 * surrogates). Code points that are set aside as no characters count as none: sd-bus neither sends
 * nor receives a message that holds one.
 */
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
	if (c < minima[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) ||
	    (c >= 0xfdd0 && c <= 0xfdef) || (c & 0xfffe) == 0xfffe)
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

static bool ends_with(const struct component *c, const char *suffix)
{
	size_t length = strlen(suffix);

	return c->length >= length && memcmp(c->text + c->length - length, suffix, length) == 0;
}

static bool equals(const struct component *c, const char *text)
{
	return c->length == strlen(text) && starts_with(c, text);
}

/*
 * Is it a unit of a type that has processes (slices only hold other units), or a container of LXC?
 * What would look like an attribute of a controller ("cpu.service") systemd puts behind a '_'.
 */
static bool unit_find(const struct component *c, bool in_slices, struct component *ret_unit)
{
	static const char *const types[] = { ".service", ".scope", ".socket", ".mount", ".swap" };
	struct component unit = *c;
	bool found = starts_with(c, "lxc.payload.");

	if (!found && in_slices && starts_with(&unit, "_")) {
		unit.text++;
		unit.length--;
	}
	for (size_t i = 0; !found && in_slices && i < ARRAY_SIZE(types); i++)
		found = unit.length > strlen(types[i]) && ends_with(&unit, types[i]);
	if (found)
		*ret_unit = unit;
	return found;
}

/* Is it the id of a container, perhaps behind the name of who manages it, as in libpod-<id>? */
static bool container_find(const struct component *c, struct component *ret_shown)
{
	size_t prefix = c->length - CONTAINER_ID_DIGITS;

	if (c->length < CONTAINER_ID_DIGITS || (prefix > 0 && c->text[prefix - 1] != '-') ||
	    strspn(c->text + prefix, "0123456789abcdef") < CONTAINER_ID_DIGITS)
		return false;
	*ret_shown = (struct component){ c->text, prefix + CONTAINER_ID_SHOWN_DIGITS };
	return true;
}

size_t name_unit_from_cgroup(const char *path, char *ret, size_t ret_size)
{
	static const char deleted[] = " (deleted)";
	struct component c, previous = { "", 0 }, outer = { "", 0 }, inner = { "", 0 };
	const char *cursor = path, *end = path + strlen(path);
	/* A systemd has its units in slices: below anything else they are those of one inside. */
	bool in_slices = true;
	size_t used;
	bool whole;

	/* Added by the kernel when the cgroup was removed under its last processes. */
	if ((size_t)(end - path) >= strlen(deleted) && strcmp(end - strlen(deleted), deleted) == 0)
		end -= strlen(deleted);

	for (; next_component(&cursor, end, &c); previous = c) {
		if (unit_find(&c, in_slices, outer.length > 0 ? &inner : &outer)) {
			/* A user's service manager has units of its own below it; what is below any
			 * other unit is that unit's own business. */
			if (inner.length > 0 || !starts_with(&c, "user@"))
				break;
		} else if (outer.length == 0 && previous.length > 0 &&
			   (container_find(&c, &inner) || equals(&previous, "lxc"))) {
			outer = previous;
			if (inner.length == 0)
				inner = c;
			break;
		} else if (equals(&c, "..")) {
			c.length = 0;
		} else {
			in_slices &= ends_with(&c, ".slice");
		}
	}

	used = render(outer.text, outer.length, ret, ret_size, &whole);
	/* Behind a part of the name it would be that of another. */
	if (whole && inner.length > 0 && used + 1 < ret_size) {
		ret[used++] = '/';
		used += name_render(inner.text, inner.length, ret + used, ret_size - used);
	}
	return used;
}
