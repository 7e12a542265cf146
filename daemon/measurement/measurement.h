/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is measured in the mode in force: counts, samples, unit costs, and what measuring them
 * costs. Follows the governor from mode to mode; what was booked stays.
 */
#ifndef PIPEWATCH_MEASUREMENT_H
#define PIPEWATCH_MEASUREMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "pipe.h"
#include "snapshot.h"

struct measurement;

/*
 * Says why nothing can be counted: when @error is 0, why it need not even be tried; else why trying
 * it failed with that -errno. Returns an exit code (pipewatch/api.h) with sentences in @ret_reason,
 * or 0 when nothing is known to prevent it.
 */
typedef int (*measurement_refusal_fn)(void *userdata, int error, char *ret_reason, size_t size);

struct measurement_setup {
	enum snapshot_mode mode; /* configured */
	double budget_ratio;
	uint32_t max_threads;
	unsigned int max_groups;
	unsigned int sample_frequency_hz;
	uint64_t start_usec, boot_usec; /* CLOCK_REALTIME */
	/* For FIFOs of our own, NULL-terminated; kept by the caller. */
	const char *const *directories;
	enum path_state paths[PIPE_KINDS][UPDATE_KINDS];
	measurement_refusal_fn refusal; /* kept, with its userdata */
	void *userdata;
};

/*
 * Starts what the mode wants. What turns out impossible is left out: see measurement_refused().
 * Returns 0, -ENOMEM or another -errno that has nothing to do with permissions.
 */
int measurement_new(const struct measurement_setup *setup, struct measurement **ret_measurement);
struct measurement *measurement_free(struct measurement *m); /* detaches everything */

static inline void measurement_freep(struct measurement **m)
{
	measurement_free(*m);
}

/* Tries whether operations can be counted. Returns 0, or an exit code and why not. */
int measurement_try(const struct measurement_setup *setup, char *ret_reason, size_t size);

/* 0 when what the configured mode asks for is measured; else an exit code, and why it is not. */
int measurement_refused(const struct measurement *m, const char **ret_reason);

void measurement_set_mode(struct measurement *m, enum snapshot_mode mode);
void measurement_set_budget(struct measurement *m, double ratio);

/* The mode in force, and why. */
enum snapshot_mode measurement_mode(const struct measurement *m, const char **ret_reason);

/* Does what is due. Returns in how many microseconds to call again. */
uint64_t measurement_step(struct measurement *m);

/* Books what there is to book. With @wake because measurement_wake_fd() had input. Returns 0 or
 * -errno. */
int measurement_collect(struct measurement *m, bool wake);

/* Why the last window was not counted, as -errno; 0: it was. The next one tries again. */
int measurement_window_error(const struct measurement *m);

/* To be polled; -1: nothing. It changes with the mode. */
int measurement_wake_fd(const struct measurement *m);

/* Will programs be attached again while we run? Are we permitted to read the maps? */
bool measurement_reattaches(const struct measurement *m);
bool measurement_permitted(const struct measurement *m);

/* Calls @each with each program that is missing and why, a clause. */
void measurement_missing(const struct measurement *m,
			 void (*each)(const char *program, const char *reason, void *userdata),
			 void *userdata);

/* Appends everything that is measured to @s, with the processes that are wished for. Once @s is
 * finished, measurement_finish() adds what follows from the order of its rows. Returns 0 or -errno.
 */
int measurement_fill(struct measurement *m, bool pid_label, const struct snapshot_wish *wish,
		     struct snapshot *s);
void measurement_finish(struct measurement *m, struct snapshot *s);

#endif
