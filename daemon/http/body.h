/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a response carries: a snapshot rendered for one kind of reader, compressed or not.
 */
#ifndef PIPEWATCH_BODY_H
#define PIPEWATCH_BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "snapshot.h"

enum body_kind {
	BODY_TEXT,	  /* metrics in the text format */
	BODY_OPENMETRICS, /* metrics in OpenMetrics */
	BODY_PAGE,	  /* the page for people */
	BODY_KINDS,
};

/* Returns 0 and a buffer to be freed, or -ENOMEM. */
int body_render(const struct snapshot *s, enum body_kind kind, bool gzip, void **ret_data,
		size_t *ret_size);

const char *body_content_type(enum body_kind kind);

#endif
