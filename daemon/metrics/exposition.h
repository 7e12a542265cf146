/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshot to Prometheus text. Pure: the same snapshot and process figures give the same bytes.
 */
#ifndef PIPEWATCH_EXPOSITION_H
#define PIPEWATCH_EXPOSITION_H

#include <stdio.h>

#include "snapshot.h"

enum exposition_format {
	EXPOSITION_TEXT,	/* text/plain; version=0.0.4 */
	EXPOSITION_OPENMETRICS, /* application/openmetrics-text; version=1.0.0 */
};

/* The standard process_* metrics of the daemon itself; a negative value is left out. */
struct exposition_self {
	double cpu_seconds;
	double start_time_seconds; /* since the epoch */
	double open_fds;
	double max_fds;
	double virtual_bytes;
	double resident_bytes;
	double threads;
};

/* Reads them of the calling process from /proc/self; what cannot be read is negative. */
void exposition_self_read(struct exposition_self *ret);

/* Returns 0, or -errno when writing to @f failed. @self may be NULL. */
int exposition_write(const struct snapshot *s, const struct exposition_self *self,
		     enum exposition_format format, FILE *f);

/* The Content-Type header that belongs to a format. */
const char *exposition_content_type(enum exposition_format format);

/*
 * Which format an Accept header (NULL: none) prefers; the text format unless OpenMetrics 1.0.0 is
 * asked for with a quality not lower than that of text/plain.
 */
enum exposition_format exposition_negotiate(const char *accept);

#endif
