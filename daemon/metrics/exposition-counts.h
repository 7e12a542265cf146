/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the exposition that is about operations; only while counting.
 */
#ifndef PIPEWATCH_EXPOSITION_COUNTS_H
#define PIPEWATCH_EXPOSITION_COUNTS_H

#include "metric.h"
#include "snapshot.h"

/* Operations and updates by group, with their errors where they were extrapolated. */
void exposition_write_counts(struct metric_writer *w, const struct snapshot *s);

/* Operations of the whole host by size. */
void exposition_write_sizes(struct metric_writer *w, const struct snapshot *s);

#endif
