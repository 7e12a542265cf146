/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keys of the configuration: shared by config.c, which holds the values, and config-file.c,
 * which reads the files.
 */
#ifndef PIPEWATCH_CONFIG_KEY_H
#define PIPEWATCH_CONFIG_KEY_H

#include "config.h"

struct config_key {
	const char *section;
	const char *name;
	const char *allowed; /* for config_set()'s ret_allowed */
	/* Returns 0, -EINVAL or -ENOMEM, and but for the last sets all or nothing. */
	int (*set)(struct config *c, const char *value);
};

const struct config_key *config_key_find(const char *name); /* NULL if there is none */
bool config_section_known(const char *section);

#endif
