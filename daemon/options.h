/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line: what to do, and values that override those of the configuration files.
 */
#ifndef PIPEWATCH_OPTIONS_H
#define PIPEWATCH_OPTIONS_H

#include <stdio.h>

#include "config.h"

enum options_action {
	OPTIONS_RUN,
	OPTIONS_CHECK,	      /* --check */
	OPTIONS_CHECK_CONFIG, /* --check-config */
	OPTIONS_DONE,	      /* --help, --usage or --version: printed already */
};

/* Strings are those of argv. NULL: not given. */
struct options {
	enum options_action action;
	const char *config_file;
	const char *mode;
	const char *budget;
	const char *bus;
	const char **listen; /* NULL-terminated */
	size_t n_listen;
};

/*
 * Parses @argv and checks every value. Returns 0; -EINVAL for a wrong command line, which has been
 * explained on stderr (exit with PIPEWATCH_EXIT_USAGE); or -ENOMEM.
 */
int options_parse(int argc, char **argv, struct options **ret_options);
struct options *options_free(struct options *o);

static inline void options_freep(struct options **o)
{
	options_free(*o);
}

/*
 * Overrides values in @c, which has just been read from the files, at the start or at a reload.
 * --listen replaces the configured list. Returns 0 or -ENOMEM.
 */
int options_apply(const struct options *o, struct config *c);

#endif
