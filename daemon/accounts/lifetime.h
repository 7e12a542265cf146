/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Closes the accounts of processes that are gone without anybody having seen them go. */
#ifndef PIPEWATCH_LIFETIME_H
#define PIPEWATCH_LIFETIME_H

#include <stdint.h>

#include "accounts.h"

struct lifetime {
	struct accounts *accounts;
	uint64_t now_usec, looked_usec, probed_usec; /* CLOCK_MONOTONIC */
};

/*
 * Looks for the processes of open accounts that nobody holds, and forgets what was closed long
 * enough ago. Once a second it looks at some tens of them, in turn; of more than that it finds
 * those that are gone within some seconds, and those whose id is another's by now, when it is their
 * turn.
 */
void lifetime_check(struct lifetime *l, uint64_t now_usec);

#endif
