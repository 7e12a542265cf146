// SPDX-License-Identifier: GPL-2.0-or-later
/* Names from outside, rendered: valid UTF-8 that reads back as what was put in; and the units of
 * cgroup paths. */
#include "name.h"

#include "fuzz.h"

#define NAME_MAX_BYTES 300

/* Walks along both: each step is a valid character that was kept, or one byte as \xNN. */
static void must_read_back(const char *bytes, size_t n, const char *rendered)
{
	while (n > 0) {
		char character[5] = "", escaped[5];
		size_t length = 0;

		for (size_t i = 1; i <= 4 && i <= n && length == 0; i++) {
			memcpy(character, bytes, i);
			character[i] = '\0';
			if (fuzz_is_utf8(character))
				length = i;
		}
		if (length > 0) {
			FUZZ_CHECK(strncmp(rendered, character, length) == 0);
			rendered += length;
		} else {
			snprintf(escaped, sizeof(escaped), "\\x%02x", (unsigned char)*bytes);
			FUZZ_CHECK(strncmp(rendered, escaped, 4) == 0);
			rendered += 4;
			length = 1;
		}
		bytes += length;
		n -= length;
	}
	FUZZ_CHECK(*rendered == '\0');
}

static void render(const char *bytes, size_t n, size_t room)
{
	char whole[4 * NAME_MAX_BYTES + 1], part[sizeof(whole)], again[sizeof(whole)];
	size_t length = name_render(bytes, n, whole, sizeof(whole)), n_part;

	FUZZ_CHECK(length == strlen(whole));
	FUZZ_CHECK(fuzz_is_utf8(whole));
	must_read_back(bytes, strnlen(bytes, n), whole);
	/* What is valid already stays as it is. */
	FUZZ_CHECK(name_render(whole, length, again, sizeof(again)) == length);
	FUZZ_CHECK(strcmp(whole, again) == 0);

	/* In less room: the beginning of the same, of whole characters. */
	room = 1 + room % sizeof(part);
	memset(part, 0x55, sizeof(part));
	n_part = name_render(bytes, n, part, room);
	FUZZ_CHECK(n_part < room && part[n_part] == '\0');
	FUZZ_CHECK(room == sizeof(part) || part[room] == 0x55);
	FUZZ_CHECK(strncmp(part, whole, n_part) == 0);
	FUZZ_CHECK(fuzz_is_utf8(part));
	FUZZ_CHECK(n_part == length || n_part + 4 >= room);
}

/* Is the name, or its first part, that of something in the path? */
static bool is_in(const char *path, const char *name, size_t length)
{
	while (*path) {
		size_t n = strcspn(path, "/");
		char rendered[4 * NAME_MAX_BYTES + 1];

		name_render(path, n, rendered, sizeof(rendered));
		if (n > 0 && (strncmp(rendered, name, length) == 0 ||
			      (rendered[0] == '_' && strncmp(rendered + 1, name, length) == 0)))
			return true;
		path += n + (path[n] == '/');
	}
	return false;
}

/* A service by any name, and below it whatever its processes made. */
static void service(const char *bytes, const char *below)
{
	char path[3 * NAME_MAX_BYTES], wanted[4 * NAME_MAX_BYTES + 16], found[sizeof(wanted)];
	int n = strcspn(bytes, "/");

	if (n == 0 || strncmp(bytes, "user@", 5) == 0)
		return;
	snprintf(path, sizeof(path), "%.*s.service", n, bytes);
	name_render(path, strlen(path), wanted, sizeof(wanted));
	/* As systemd escapes it. */
	snprintf(path, sizeof(path), "/system.slice/%s%.*s.service/%s", bytes[0] == '_' ? "_" : "",
		 n, bytes, below);
	name_unit_from_cgroup(path, found, sizeof(found));
	FUZZ_CHECK(strcmp(found, wanted) == 0);
}

static void unit(const char *path, size_t room)
{
	char whole[8 * NAME_MAX_BYTES + 2], part[sizeof(whole)];
	const char *inner;
	size_t length = name_unit_from_cgroup(path, whole, sizeof(whole)), n_part;

	FUZZ_CHECK(length == strlen(whole));
	FUZZ_CHECK(fuzz_is_utf8(whole));
	FUZZ_CHECK(length == 0 || is_in(path, whole, strcspn(whole, "/")));
	inner = strchr(whole, '/');
	FUZZ_CHECK(!inner || is_in(path, inner + 1, strlen(inner + 1)));
	room = 1 + room % sizeof(part);
	n_part = name_unit_from_cgroup(path, part, room);
	FUZZ_CHECK(n_part < room && n_part == strlen(part));
	FUZZ_CHECK(strncmp(part, whole, n_part) == 0);
	FUZZ_CHECK(fuzz_is_utf8(part));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	size_t room = fuzz_u64(&in);
	char bytes[NAME_MAX_BYTES + 1];

	/* Of that size exactly, so that a step beyond is seen. */
	_cleanup_(freep) char *exact = NULL;
	size_t n = fuzz_take(&in, bytes, NAME_MAX_BYTES);

	exact = malloc(n + 1);
	FUZZ_CHECK(exact);
	memcpy(exact, bytes, n);
	exact[n] = '\0';
	unit(exact, room);
	service(exact, exact);

	exact = realloc(exact, n ?: 1);
	FUZZ_CHECK(exact);
	render(exact, n, room);
	return 0;
}
