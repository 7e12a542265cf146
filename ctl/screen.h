/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal taken over as a whole: alternate screen, keys, signals. It is given back whatever
 * ends the program, but for what cannot be caught.
 */
#ifndef PIPEWATCH_CTL_SCREEN_H
#define PIPEWATCH_CTL_SCREEN_H

#include <stdint.h>

#include "output.h"

struct screen;

enum screen_event {
	SCREEN_NONE, /* the time is over */
	SCREEN_KEY,
	SCREEN_REDRAW, /* another size, or back from a stop: output_measure() was called */
	SCREEN_QUIT,   /* a signal */
};

/* @o must be a terminal, and stay. Returns 0, or an exit code with @f filled. */
int screen_new(struct output *o, struct screen **ret_screen, struct failure *f);
struct screen *screen_free(struct screen *s); /* takes NULL; returns NULL */

static inline void screen_freep(struct screen **s)
{
	screen_free(*s);
}

/* Readable when there is an event. */
int screen_fd(const struct screen *s);

/* Waits for an event until @deadline_usec of CLOCK_MONOTONIC; 0: does not wait. */
enum screen_event screen_wait(struct screen *s, uint64_t deadline_usec, char *ret_key);

/* Shows as much of @frame as there is room for. */
void screen_show(struct screen *s, const char *frame);

#endif
