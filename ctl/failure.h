/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a verb cannot do what it was asked for. Functions that fill one return 0 or the exit code of
 * the program; main prints the message, once.
 */
#ifndef PIPEWATCH_CTL_FAILURE_H
#define PIPEWATCH_CTL_FAILURE_H

#include "pipewatch/api.h"

/* Whole sentences: what happened, why, what to do. May hold bytes from outside. */
struct failure {
	char message[2048];
};

/* Sets the message; returns @exit_code. */
__attribute__((format(printf, 3, 4))) int failure_set(struct failure *f, int exit_code,
						      const char *format, ...);

/* For what the system refused: "@what: reason." */
int failure_os(struct failure *f, const char *what, int error);

#endif
