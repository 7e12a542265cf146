/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Closes links in a thread: the last close of a link detaches its program and then waits, up to a
 * second, until every task of the host has left the code that called it.
 */
#ifndef PIPEWATCH_DETACHMENT_H
#define PIPEWATCH_DETACHMENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define DETACHMENT_FDS 2

/* All zero: nothing is being detached. */
struct detachment {
	pthread_t thread;
	bool running; /* or ended, but not joined */
	int fds[DETACHMENT_FDS];
	uint64_t end_usec; /* CLOCK_MONOTONIC; written by the thread, last of all */
};

/* Starts closing @fds (-1: none), which it takes over. Where no thread can be had it closes them
 * itself.
 */
void detachment_begin(struct detachment *d, const int fds[static DETACHMENT_FDS]);

/* When it ended (CLOCK_MONOTONIC); 0: it has not yet. */
uint64_t detachment_end_usec(const struct detachment *d);

/* Waits for the end. */
void detachment_join(struct detachment *d);

#endif
