/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts pipe operations, all of them or in windows, and books them on the accounts. In windows the
 * programs that count are attached for a short while now and then, and what is counted stands for
 * the time since the window before.
 */
#ifndef PIPEWATCH_COUNTING_H
#define PIPEWATCH_COUNTING_H

#include <stdbool.h>
#include <stdint.h>

#include "accounts.h"
#include "cgroups.h"
#include "snapshot.h"

struct counting;

/* How long a window counts, and, as long as there was none, how long programs are expected to be
 * attached for one. */
#define COUNTING_WINDOW_SECONDS	  0.2
#define COUNTING_ATTACHED_SECONDS 0.4

/*
 * Opens, loads and attaches; every operation is counted from then on. @accounts and @cgroups are
 * used, not owned. Returns 0, or -errno of tracer_open(), tracer_load() or tracer_attach().
 */
int counting_new(uint32_t max_threads, struct accounts *accounts, struct cgroups *cgroups,
		 struct counting **ret_counting);

/* Can it be done? Everything is attached for a moment. Returns as counting_new(). */
int counting_try(uint32_t max_threads);

/* Books what is left, and detaches everything. */
struct counting *counting_free(struct counting *c);

static inline void counting_freep(struct counting **c)
{
	counting_free(*c);
}

/*
 * Counts in windows that are @period_usec apart on average; 0: always. From windows to always it
 * takes one more window, which stands for the time before it.
 */
void counting_set_period(struct counting *c, uint64_t period_usec);

/*
 * What counting costs, for the errors of extrapolation: what it adds to an operation, and that as a
 * share of one.
 */
void counting_set_cost(struct counting *c, double seconds, double ratio);

/* Opens or closes a window where that is due. Returns 0 or -errno; *ret_usec: when to call again,
 * in microseconds from now, UINT64_MAX: never. */
int counting_step(struct counting *c, uint64_t *ret_usec);

/*
 * Books what has been counted, unless a window is open: that is booked as a whole. To be called now
 * and then, and when counting_wake_fd() has input, with @wake: then a window is closed. Returns 0
 * or -errno.
 */
int counting_collect(struct counting *c, bool wake);
int counting_wake_fd(const struct counting *c);

/* Are we permitted to read the maps? */
bool counting_permitted(const struct counting *c);

/* Share of the time that is counted: 1 without windows. */
double counting_coverage(const struct counting *c);

/* Of the last window: how long it counted, for how long programs were attached for it, and the CPU
 * time that it took us. In seconds; before there was one, what to expect. */
double counting_window_seconds(const struct counting *c);
double counting_attached_seconds(const struct counting *c);
double counting_window_cpu_seconds(const struct counting *c);

/* Operations per second in the last window; negative before there was one. */
double counting_window_rate(const struct counting *c);

/* Are there windows, is one open now, and are all programs attached, or all detached? */
bool counting_in_windows(const struct counting *c);
bool counting_window_open(const struct counting *c);
bool counting_settled(const struct counting *c);

/* Operations so far that ran with programs attached, an estimate where they did not count. */
double counting_hooked_operations(const struct counting *c);

/* The programs that count; see tracer_counting_fds(). */
void counting_fds(const struct counting *c, int ret_fds[2]);

/* Is a program missing that should count? Calls @each with its name and the reason, a clause. */
void counting_missing(const struct counting *c,
		      void (*each)(const char *program, const char *reason, void *userdata),
		      void *userdata);

/* Appends programs, maps and losses to @s; @run_seconds of the programs that count, reads and
 * writes, are added. Returns 0 or -errno. */
int counting_fill(const struct counting *c, const double run_seconds[2], struct snapshot *s);

#endif
