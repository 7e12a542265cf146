/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Renders a snapshot as an HTML page for people: one self-contained document without scripts.
 */
#ifndef PIPEWATCH_PAGE_H
#define PIPEWATCH_PAGE_H

#include <stdio.h>

#include "snapshot.h"

/* Returns 0, or -errno when writing to @f failed. */
int page_write(const struct snapshot *s, FILE *f);

#endif
