/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a governor is told in tests, but for what each of them changes. */
#ifndef PIPEWATCH_TESTS_GOVERNOR_FACTS_H
#define PIPEWATCH_TESTS_GOVERNOR_FACTS_H

#include "governor.h"

/* An operation takes 1 us, counting adds 0.2 us to it; two CPUs. So the budget of 1 % is of 0.2 s
 * per second up to 200 000 operations per second, and allows 0.002 s: 10 000 operations counted. */
static const struct governor_facts usual = {
	.configured = MODE_AUTO,
	.can_count = true,
	.can_sample = true,
	.operation_seconds = 1e-6,
	.counting_seconds = 0.2e-6,
	.window_seconds = 0.2,
	.attached_seconds = 0.25,
	.budget_ratio = 0.01,
	.cpus = 2,
};

#endif
