/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshot to one JSON object: everything that is known, for Describe() and its readers.
 */
#ifndef PIPEWATCH_DESCRIBE_H
#define PIPEWATCH_DESCRIBE_H

#include "snapshot.h"

/* Returns 0 and a string to be freed, or -ENOMEM. */
int describe_json(const struct snapshot *s, char **ret_json);

#endif
