/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line: one verb, and what it is to heed.
 */
#ifndef PIPEWATCH_CTL_OPTIONS_H
#define PIPEWATCH_CTL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum verb {
	VERB_NONE, /* --help, --usage or --version: printed already */
	VERB_STATUS,
	VERB_TOP,
	VERB_LIST,
	VERB_SHOW,
	VERB_GROUPS,
	VERB_REMEDIES,
	VERB_CHECK,
	VERB_BENCH,
	VERB_METRICS,
	VERBS,
};

#define OPTIONS_LIMIT_UNSET UINT32_MAX

struct options {
	enum verb verb;
	const char *bus; /* that of argv, or "system" */
	bool json;
	uint32_t limit; /* rows; 0: all; OPTIONS_LIMIT_UNSET */
	uint32_t pid;	/* show */
	bool groups;	/* top */
	uint32_t count; /* rounds of top; 0: until told to stop */
	double delay;	/* seconds between rounds of top */
	double seconds; /* of bench */
};

/*
 * Returns 0; -EINVAL for a wrong command line, which has been explained on stderr; -ENOMEM.
 */
int options_parse(int argc, char **argv, struct options *ret_options);

#endif
