/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel's verifier says about a program that it refuses. */
#ifndef PIPEWATCH_VERIFIER_LOG_H
#define PIPEWATCH_VERIFIER_LOG_H

#include <stddef.h>

/* Copies the last line of @log that is not statistics: it names the cause. */
void verifier_log_summarize(const char *log, char *ret, size_t size);

#endif
