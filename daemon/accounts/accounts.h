/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who did how much: an account for each process, summed into groups (unit and comm) whose counters
 * never fall. An operation is booked once, to a process and to the group that the process is in at
 * that moment; what a process did before it changed its name stays with the old group. Pure
 * bookkeeping: no BPF, no /proc.
 */
#ifndef PIPEWATCH_ACCOUNTS_H
#define PIPEWATCH_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "extrapolation.h"
#include "pipe.h"
#include "snapshot.h"

struct accounts;
struct account; /* a process; owned by the accounts, valid until accounts_expire() */

/* Returns 0 or -ENOMEM. At most @max_groups get series of their own, those that come first; the
 * others share (other). */
int accounts_new(unsigned int max_groups, struct accounts **ret_accounts);
struct accounts *accounts_free(struct accounts *a);

static inline void accounts_freep(struct accounts **a)
{
	accounts_free(*a);
}

/*
 * The account of the process @tgid that started at @start_boottime_ns (since boot), opened if need
 * be. NULL when out of memory: book on accounts_book_other() then.
 */
struct account *accounts_open(struct accounts *a, uint32_t tgid, uint64_t start_boottime_ns);

uint32_t account_tgid(const struct account *p);
uint64_t account_start_boottime_ns(const struct account *p);

/* When somebody looked it up in /proc last; 0: never. Kept for the one who does. */
uint64_t account_looked_usec(const struct account *p);
void account_set_looked(struct account *p, uint64_t now_usec);

/*
 * The name and unit (both UTF-8; "" when not known) from now on. Cheap when nothing changed.
 * Returns 0, or -ENOMEM, and then the process stays where it was.
 */
int account_identify(struct accounts *a, struct account *p, const char *comm, const char *unit);
bool account_identified(const struct account *p);
const char *account_unit(const struct account *p); /* "" when not known */

/*
 * Books what was counted on a process, on its group and on the host, scaled with the factor in
 * force (accounts_set_factor()). Returns 0, or -ENOMEM having done what accounts_book_other() does.
 */
int account_book(struct accounts *a, struct account *p, enum pipe_kind pipe,
		 const struct pipe_counts *counts, const struct pipe_sizes *sizes);

/* Books what nobody is known for: on (other) and on the host, and as unattributed. */
void accounts_book_other(struct accounts *a, enum pipe_kind pipe, const struct pipe_counts *counts,
			 const struct pipe_sizes *sizes);

/*
 * What a counted operation stands for from now on; 1 until then. accounts_window_end() closes a
 * window, after all of it has been booked: errors follow from how windows differ.
 */
void accounts_set_factor(struct accounts *a, const struct extrapolation_factor *factor);
void accounts_window_end(struct accounts *a);

/* Operations booked so far on the whole host, as counted, and with factors. */
uint64_t accounts_counted(const struct accounts *a);
uint64_t accounts_operations(const struct accounts *a);

/* Likewise CPU time that was sampled: in pipe operations, and of it in fsnotify. */
double accounts_pipe_cpu(const struct accounts *a);
double accounts_fsnotify(const struct accounts *a);

/*
 * While somebody holds an account (once per thread that may still book), it is not forgotten. An
 * open account that nobody holds is one whose threads with pipes are gone, but perhaps not the
 * process.
 */
void account_hold(struct accounts *a, struct account *p);
void account_release(struct accounts *a, struct account *p);

/*
 * CPU time in pipe operations, as sampled: on the process if it has an account, else on (other),
 * and on its group.
 */
void accounts_book_cpu(struct accounts *a, uint32_t tgid, uint64_t start_boottime_ns,
		       double seconds);

/* Likewise the part of it that was spent on updates of each kind. */
void accounts_book_updates(struct accounts *a, uint32_t tgid, uint64_t start_boottime_ns,
			   const double seconds[UPDATE_KINDS]);

/*
 * Likewise what fsnotify cost on one kind of pipe. It is charged as it is sampled, for which
 * operations somebody is notified of does not follow from counts.
 */
void accounts_book_fsnotify(struct accounts *a, uint32_t tgid, uint64_t start_boottime_ns,
			    enum pipe_kind pipe, double seconds);

/*
 * What one update costs from now on: booked operations are charged with it. The first time also for
 * all that were booked before, since until then nothing was known; later changes leave the past
 * alone, so that what was charged never falls. Nor does it with one that is not above zero, which
 * is noise: it changes nothing. Nor does it for UPDATE_FSNOTIFY.
 */
void accounts_set_unit_cost(struct accounts *a, enum pipe_kind pipe, enum update_kind kind,
			    double seconds);

/* What one operation costs as a whole, for what fewer of them would save; 0: not known. */
void accounts_set_operation_cost(struct accounts *a, double seconds);

/* The process is gone. Its account stays for SNAPSHOT_EXITED_SEC after @now_usec (monotonic). */
void account_close(struct accounts *a, struct account *p, uint64_t now_usec);
bool account_closed(const struct account *p);

/*
 * Forgets accounts that were closed long enough ago, and the oldest closed ones above a limit, so
 * that a storm of short processes takes no memory.
 */
void accounts_expire(struct accounts *a, uint64_t now_usec);

/* How many open accounts there are that nobody holds. */
size_t accounts_unheld(const struct accounts *a);

/* Calls @each for @max of these, in turn: those that have waited longest. @each may close the
 * account that it is given. */
void accounts_each_unheld(struct accounts *a, size_t max,
			  void (*each)(struct account *p, void *userdata), void *userdata);

/*
 * Appends processes and groups to @s and sets its totals, sizes and unattributed operations.
 * @boot_usec is when the machine was booted (CLOCK_REALTIME). With @pid_label live processes have
 * series of their own, and rows are made of all; else of what is wished for. What follows from the
 * rest of @s, such as which costs are known, must have been filled in before. Returns 0 or -ENOMEM.
 */
int accounts_fill(struct accounts *a, uint64_t boot_usec, bool pid_label,
		  const struct snapshot_wish *wish, struct snapshot *s);

#endif
