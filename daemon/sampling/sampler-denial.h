/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why sampling is denied: by name, and with the remedy.
 */
#ifndef PIPEWATCH_SAMPLER_DENIAL_H
#define PIPEWATCH_SAMPLER_DENIAL_H

#include <stdbool.h>
#include <stddef.h>

#include "permission.h"

enum sampler_step {
	SAMPLER_STEP_ADDRESSES, /* of kernel functions */
	SAMPLER_STEP_PROGRAM,	/* loading it */
	SAMPLER_STEP_EVENTS,	/* perf_event_open(2) */
};

struct sampler_denial_facts {
	struct permission_facts permission;
	int kptr_restrict; /* PERMISSION_UNKNOWN where it cannot be read */
	bool cap_syslog;
	bool events_killed; /* perf_event_open(2) ended in SIGSYS */
};

/* Sentences for @error (-errno) of @step. */
void sampler_denial_judge(const struct sampler_denial_facts *facts, enum sampler_step step,
			  int error, char *ret_reason, size_t size);

/* The same, with the facts of this process. */
void sampler_denial_explain(enum sampler_step step, int error, char *ret_reason, size_t size);

#endif
