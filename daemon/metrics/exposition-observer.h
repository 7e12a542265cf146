/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the exposition that is about the measuring itself: what is attached and what it
 * costs.
 */
#ifndef PIPEWATCH_EXPOSITION_OBSERVER_H
#define PIPEWATCH_EXPOSITION_OBSERVER_H

#include "metric.h"
#include "snapshot.h"

void exposition_write_observer(struct metric_writer *w, const struct snapshot *s);

#endif
