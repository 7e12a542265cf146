/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What --check prints: what this kernel pays for, and what can be measured here.
 */
#ifndef PIPEWATCH_CHECK_H
#define PIPEWATCH_CHECK_H

#include <stdio.h>

#include "ab.h"
#include "verdict.h"

struct check {
	const char *kernel_release;
	const char *machine;
	const struct verdict *verdict;
	int counting_exit; /* 0 when operations can be counted, else an exit code that says why not
			    */
	const char *counting_reason; /* sentences with cause and remedy; "" when they can */
	const struct ab *ab;	     /* NULL: not measured */
	const char *ab_reason;	     /* then why not; a clause */
};

/*
 * Can operations be counted here, judging by the functions of the kernel and by the permissions?
 * Or, when
 * @error is the -errno of a trial that failed, why did it? Returns 0, or an exit code and
 * *ret_reason.
 */
int check_counting(verdict_symbol_fn symbol, void *userdata, int error, char *ret_reason,
		   size_t size);

/* Returns the exit code for --check: counting_exit, or PIPEWATCH_EXIT_OS if @f is not writable. */
int check_print(const struct check *c, FILE *f);

#endif
