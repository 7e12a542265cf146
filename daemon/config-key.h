/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the values (config.c) and the files they stand in (config-file.c): what keys there are.
 */
#ifndef PIPEWATCH_CONFIG_KEY_H
#define PIPEWATCH_CONFIG_KEY_H

#include "config.h"

struct config_key {
	const char *section;
	const char *name;
	const char *allowed; /* for config_set()'s ret_allowed */
	int (*set)(struct config *c,
		   const char *value); /* 0, -EINVAL, -ENOMEM; all or nothing but for -ENOMEM */
};

const struct config_key *config_key_find(const char *name); /* NULL if there is none */
bool config_section_known(const char *section);

#endif
