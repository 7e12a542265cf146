/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts pipe operations, all of them or in windows, and books them on the accounts. With windows
 * the programs that count are attached for a short while now and then, and what is counted stands
 * for the time since the previous window.
 */
#ifndef PIPEWATCH_COUNTING_H
#define PIPEWATCH_COUNTING_H

#include <stdbool.h>
#include <stdint.h>

#include "accounts.h"
#include "cgroups.h"
#include "snapshot.h"

struct counting;

/* For how long operations are counted in a window, and for how long programs are expected to be
 * attached for one before there has been any. */
#define COUNTING_WINDOW_SECONDS	  0.2
#define COUNTING_ATTACHED_SECONDS 0.4

/*
 * Opens, loads and attaches; every operation is counted from then on. @accounts and @cgroups are
 * used, not owned. Returns 0, or -errno of tracer_open(), tracer_load() or tracer_attach().
 */
int counting_new(uint32_t max_threads, struct accounts *accounts, struct cgroups *cgroups,
		 struct counting **ret_counting);

/* Attaches everything for a moment, to see whether that works. Returns as counting_new(). */
int counting_try(uint32_t max_threads);

/* From where the counters of this counting go on, which are those of an earlier one. All zero:
 * there was none. */
struct counting_past {
	uint64_t missed[8];
};
void counting_past(const struct counting *c, struct counting_past *ret);
void counting_set_past(struct counting *c, const struct counting_past *past);

/* Books what is left, and detaches everything. */
struct counting *counting_free(struct counting *c);

static inline void counting_freep(struct counting **c)
{
	counting_free(*c);
}

/*
 * Counts in windows that are @period_usec apart on average; 0: all the time. Going from windows to
 * all the time takes one more window, which stands for the time before it.
 */
void counting_set_period(struct counting *c, uint64_t period_usec);

/*
 * Sets what counting adds to an operation, in seconds and as a share of one, for the errors of
 * extrapolation.
 */
void counting_set_cost(struct counting *c, double seconds, double ratio);

/* Opens or closes a window where that is due. Returns 0 or -errno; *ret_usec: when to call again,
 * in microseconds from now, UINT64_MAX: never. */
int counting_step(struct counting *c, uint64_t *ret_usec);

/*
 * Books what has been counted, except while a window is open, which is booked as a whole. To be
 * called now and then; and with @wake when counting_wake_fd() has input, which also closes an open
 * window. Returns 0 or -errno.
 */
int counting_collect(struct counting *c, bool wake);
int counting_wake_fd(const struct counting *c);

/* Are we permitted to read the maps? */
bool counting_permitted(const struct counting *c);

/* Share of the time that is counted: 1 without windows. */
double counting_coverage(const struct counting *c);

/* Of the last window, in seconds: for how long operations were counted, for how long programs were
 * attached, and the CPU time that it took us. Before the first one, what to expect. */
double counting_window_seconds(const struct counting *c);
double counting_attached_seconds(const struct counting *c);
double counting_window_cpu_seconds(const struct counting *c);

/* Operations per second in the last window; negative before there was one. */
double counting_window_rate(const struct counting *c);

/* Are there windows? Is one open? Are all programs attached, or all detached? */
bool counting_in_windows(const struct counting *c);
bool counting_window_open(const struct counting *c);
bool counting_settled(const struct counting *c);

/* Operations so far that ran with programs attached; an estimate where they were not counted. */
double counting_hooked_operations(const struct counting *c);

/* The programs that count; see tracer_counting_fds(). */
void counting_fds(const struct counting *c, int ret_fds[2]);

/* Calls @each for each program that should be attached but is not, with its name and the reason, a
 * clause. */
void counting_missing(const struct counting *c,
		      void (*each)(const char *program, const char *reason, void *userdata),
		      void *userdata);

/* Appends programs, maps and losses to @s; @run_seconds of the programs that count, reads and
 * writes, are added. Returns 0 or -errno. */
int counting_fill(const struct counting *c, const double run_seconds[2], struct snapshot *s);

#endif
