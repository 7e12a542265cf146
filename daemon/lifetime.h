/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Closes the accounts of processes that are gone without anybody having seen them go. */
#ifndef PIPEWATCH_LIFETIME_H
#define PIPEWATCH_LIFETIME_H

#include <stdint.h>

#include "accounts.h"

struct lifetime {
	struct accounts *accounts;
	uint64_t now_usec, checked_usec; /* CLOCK_MONOTONIC */
};

/*
 * Looks in /proc for the processes of open accounts that nobody holds, at most once a second, and
 * forgets what was closed long enough ago.
 */
void lifetime_check(struct lifetime *l, uint64_t now_usec);

#endif
