// SPDX-License-Identifier: GPL-2.0-or-later
#include "lifetime.h"

#include <errno.h>

#include "process.h"

#define INTERVAL_USEC UINT64_C(1000000)

static void account_check(struct account *account, void *userdata)
{
	struct lifetime *l = userdata;
	struct process process;
	int r;

	/* What cannot be read for another reason than that it is gone, is looked at again. */
	r = process_read("/proc", account_tgid(account), &process);
	if (r == -ESRCH ||
	    (r >= 0 && (process.ended ||
			process.start_ticks != process_ticks(account_start_boottime_ns(account)))))
		account_close(l->accounts, account, l->now_usec);
}

void lifetime_check(struct lifetime *l, uint64_t now_usec)
{
	l->now_usec = now_usec;
	/* Reads /proc for each of them. */
	if (now_usec - l->checked_usec >= INTERVAL_USEC) {
		l->checked_usec = now_usec;
		accounts_each_unheld(l->accounts, account_check, l);
	}
	accounts_expire(l->accounts, now_usec);
}
