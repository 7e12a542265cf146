/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes one line per message to stderr, prefixed with the level for the journal. Only main logs.
 */
#ifndef PIPEWATCH_LOG_H
#define PIPEWATCH_LOG_H

#include <syslog.h>

/* @level as in syslog(3). Control characters in the text are replaced. */
void log_message(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
