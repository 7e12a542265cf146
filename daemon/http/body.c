// SPDX-License-Identifier: GPL-2.0-or-later
#include "body.h"

#include <errno.h>
#include <zlib.h>

#include "exposition.h"
#include "page.h"
#include "pipewatch/util.h"
#include "text.h"

static int write_body(const struct snapshot *s, enum body_kind kind, FILE *f)
{
	struct exposition_self self;

	if (kind == BODY_PAGE)
		return page_write(s, f);
	exposition_self_read(&self);
	return exposition_write(s, &self,
				kind == BODY_TEXT ? EXPOSITION_TEXT : EXPOSITION_OPENMETRICS, f);
}

/* The fastest level: it takes most of the size away, and the event loop waits for it. */
static int compress_body(void *data, size_t size, void **ret_data, size_t *ret_size)
{
	/* 15 bits of window, 16 for the gzip header, the default of 8 for memory. */
	const int window_bits = 15 + 16, memory_level = 8;
	z_stream z = { 0 };
	void *out;
	uLong bound;

	if (deflateInit2(&z, 1, Z_DEFLATED, window_bits, memory_level, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	bound = deflateBound(&z, size);
	out = malloc(bound);
	if (!out) {
		deflateEnd(&z);
		return -ENOMEM;
	}

	z.next_in = data;
	z.avail_in = size;
	z.next_out = out;
	z.avail_out = bound;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END) {
		deflateEnd(&z);
		free(out);
		return -EIO;
	}
	*ret_data = out;
	*ret_size = z.total_out;
	deflateEnd(&z);
	return 0;
}

int body_render(const struct snapshot *s, enum body_kind kind, bool gzip, void **ret_data,
		size_t *ret_size)
{
	_cleanup_(freep) char *whole = NULL;
	struct text text;
	size_t size;
	int r;

	r = text_open(&text);
	if (r < 0)
		return r;
	/* A stream in memory fails only for want of it, and says so at its end. */
	write_body(s, kind, text.stream);
	r = text_close(&text, &whole, &size);
	if (r < 0)
		return r;

	if (gzip)
		return compress_body(whole, size, ret_data, ret_size);
	*ret_data = whole;
	*ret_size = size;
	whole = NULL;
	return 0;
}

const char *body_content_type(enum body_kind kind)
{
	switch (kind) {
	case BODY_TEXT: return exposition_content_type(EXPOSITION_TEXT);
	case BODY_OPENMETRICS: return exposition_content_type(EXPOSITION_OPENMETRICS);
	default: return "text/html; charset=utf-8";
	}
}
