/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What fuzz targets share: values taken from the input, checks that end the process, and an oracle
 * for UTF-8. Input that has run out gives zeros.
 */
#ifndef PIPEWATCH_TESTS_FUZZ_H
#define PIPEWATCH_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pipewatch/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                                     \
	do {                                                                                      \
		if (!(condition)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                  \
		}                                                                                 \
	} while (0)

struct fuzz_input {
	const uint8_t *data;
	size_t size;
};

/* Takes at most @n bytes; the rest of @ret is zeroed. Returns how many there were. */
static inline size_t fuzz_take(struct fuzz_input *in, void *ret, size_t n)
{
	size_t there = in->size < n ? in->size : n;

	memset(ret, 0, n);
	if (there > 0)
		memcpy(ret, in->data, there);
	in->data += there;
	in->size -= there;
	return there;
}

static inline uint8_t fuzz_u8(struct fuzz_input *in)
{
	uint8_t value;

	fuzz_take(in, &value, sizeof(value));
	return value;
}

/* Of a width that the input chooses, so that small numbers are as likely as great ones. */
static inline uint64_t fuzz_u64(struct fuzz_input *in)
{
	uint64_t value = 0;

	fuzz_take(in, &value, 1 + fuzz_u8(in) % sizeof(value));
	return value;
}

/* A length, then as many bytes, and a NUL. Returns the length, less than @size. */
static inline size_t fuzz_string(struct fuzz_input *in, char *ret, size_t size)
{
	size_t n = fuzz_u8(in) % size;

	memset(ret, 0, size);
	return fuzz_take(in, ret, n);
}

/* Is it UTF-8, as RFC 3629 has it? By decoding, and encoding again in the only right form. */
static inline bool fuzz_is_utf8(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	while (*p) {
		size_t more = *p < 0x80 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;
		uint32_t c = more ? *p & (0x3f >> more) : *p;
		unsigned char again[4];

		for (size_t i = 1; i <= more; i++) {
			if (!p[i])
				return false;
			c = c << 6 | (p[i] & 0x3f);
		}
		if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			return false;
		if (c < 0x80) {
			again[0] = c;
		} else {
			size_t n = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

			if (n != more)
				return false;
			for (size_t i = n; i > 0; i--, c >>= 6)
				again[i] = 0x80 | (c & 0x3f);
			again[0] = (unsigned char)(0xff00 >> (n + 1)) | c;
		}
		if (memcmp(p, again, more + 1) != 0)
			return false;
		p += more + 1;
	}
	return true;
}

/* One line for people: no control characters. */
static inline bool fuzz_is_line(const char *text)
{
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return false;
	return fuzz_is_utf8(text);
}

/* Makes the input a file. Its path is good until the next call with the same @fd, which begins as
 * -1. */
static inline const char *fuzz_file(int *fd, const uint8_t *data, size_t size, char path[32])
{
	if (*fd < 0)
		*fd = memfd_create("fuzz", MFD_CLOEXEC);
	FUZZ_CHECK(*fd >= 0);
	FUZZ_CHECK(ftruncate(*fd, 0) == 0);
	FUZZ_CHECK(pwrite(*fd, data, size, 0) == (ssize_t)size);
	snprintf(path, 32, "/proc/self/fd/%d", *fd);
	return path;
}

#endif
