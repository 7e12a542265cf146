// SPDX-License-Identifier: GPL-2.0-or-later
#include "lifetime.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>

#include "process.h"

#define INTERVAL_USEC UINT64_C(1000000)

/* In an interval: looking at a process in /proc takes some 15,000 instructions, asking only whether
 * there is one with its id some hundred. */
#define LOOKS_MAX  64
#define PROBES_MAX 1024

/* To be hidden (hidepid=2, ProtectProc=) or without /proc looks as if it were gone, but not to
 * kill(2). */
static bool process_gone(const struct account *account)
{
	return kill(account_tgid(account), 0) < 0 && errno == ESRCH;
}

static void account_probe(struct account *account, void *userdata)
{
	struct lifetime *l = userdata;

	if (process_gone(account))
		account_close(l->accounts, account, l->now_usec);
}

static void account_look(struct account *account, void *userdata)
{
	struct lifetime *l = userdata;
	struct process process;
	int r;

	/* What cannot be read for another reason than that it is gone, is looked at again. */
	r = process_read("/proc", account_tgid(account), &process);
	if ((r == -ESRCH && process_gone(account)) ||
	    (r >= 0 && (process.ended ||
			process.start_ticks != process_ticks(account_start_boottime_ns(account)))))
		account_close(l->accounts, account, l->now_usec);
}

void lifetime_check(struct lifetime *l, uint64_t now_usec)
{
	size_t n = accounts_unheld(l->accounts);

	l->now_usec = now_usec;
	if (now_usec - l->looked_usec >= INTERVAL_USEC) {
		l->looked_usec = now_usec;
		accounts_each_unheld(l->accounts, LOOKS_MAX, account_look, l);
	}
	/* All of many, as often as their number allows. */
	if (n > LOOKS_MAX && now_usec - l->probed_usec >= INTERVAL_USEC * (1 + n / PROBES_MAX)) {
		l->probed_usec = now_usec;
		accounts_each_unheld(l->accounts, n, account_probe, l);
	}
	accounts_expire(l->accounts, now_usec);
}
