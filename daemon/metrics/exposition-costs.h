/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the exposition that is about costs.
 */
#ifndef PIPEWATCH_EXPOSITION_COSTS_H
#define PIPEWATCH_EXPOSITION_COSTS_H

#include "metric.h"
#include "snapshot.h"

/* CPU time by group and what remedies would save of it, as far as it is counted or sampled. */
void exposition_write_costs(struct metric_writer *w, const struct snapshot *s);

/* What one update costs, with errors and agreement. */
void exposition_write_unit_costs(struct metric_writer *w, const struct snapshot *s);

#endif
