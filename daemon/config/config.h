/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the operator asked for: compile-time defaults, overridden by the configuration files and
 * then by the command line. Knows no other module but the vocabulary.
 */
#ifndef PIPEWATCH_CONFIG_H
#define PIPEWATCH_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "snapshot.h"

struct config {
	/* [Measurement] */
	enum snapshot_mode mode;
	double budget_percent;		  /* of the time spent in pipe operations; 0.01 .. 100 */
	unsigned int sample_frequency_hz; /* 1 .. 10000 */
	unsigned int max_threads; /* slots for threads with pipes; 8 .. 1048576, a power of two */

	/* [Metrics] */
	char **listen;		 /* ADDR:PORT, [ADDR6]:PORT or unix:PATH; NULL-terminated */
	bool listen_is_default;	 /* the first assignment replaces the default, later ones add */
	unsigned int max_groups; /* 1 .. 100000 */
	bool pid_label;

	/* [Bus] */
	char *bus; /* system, session, none, or the address of a Unix socket */
};

/* Which value cannot be used, where it stands, and what would be allowed. */
struct config_error {
	char message[512]; /* "FILE:LINE: …", a whole sentence without the final newline */
};

struct config *config_new(void); /* the defaults; NULL when out of memory */
struct config *config_free(struct config *c);

static inline void config_freep(struct config **c)
{
	config_free(*c);
}

/*
 * Reads @file (NULL: the default file, which may be absent) and, beside it, the drop-ins
 * FILE.d/\*.conf as systemd does: from /etc, /run, /usr/local/lib and /usr/lib, sorted by base
 * name, the same name in an earlier directory masking the later. An explicitly named file must
 * exist, and its drop-ins are only those of FILE.d. Unknown sections and keys are reported to
 * @warn, one line each, and ignored. Returns 0, -EINVAL for a bad value (with *ret_error filled),
 * or -errno for a file that cannot be read (likewise). @c may hold part of the files on failure:
 * throw it away.
 */
int config_read(struct config *c, const char *file, void (*warn)(const char *line),
		struct config_error *ret_error);

/* The same with every absolute path taken below @root ("" outside of tests). */
int config_read_below(struct config *c, const char *root, const char *file,
		      void (*warn)(const char *line), struct config_error *ret_error);

/*
 * Sets one value by its name in the files ("Mode", "Budget", "Listen", …), checked in the same way.
 * An assignment of Listen= adds; an empty one clears the list. Returns 0, -ENOENT for an unknown
 * key, -EINVAL, -ENOMEM; on failure *ret_allowed is a phrase saying what is allowed ("a percentage
 * from 0.01 to 100").
 */
int config_set(struct config *c, const char *key, const char *value, const char **ret_allowed);

/* Is this a well-formed Listen= value? */
bool config_listen_valid(const char *listen);

/*
 * Makes text from outside fit for a message: valid UTF-8, with control characters as \\xNN, and cut
 * with
 * "..." where it does not fit into @ret_size. Returns @ret.
 */
const char *config_render(const char *text, char *ret, size_t ret_size);

/* Writes the effective configuration in the form of the file. */
void config_dump(const struct config *c, FILE *f);

#endif
