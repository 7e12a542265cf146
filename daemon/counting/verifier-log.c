// SPDX-License-Identifier: GPL-2.0-or-later
#include "verifier-log.h"

#include <stdio.h>
#include <string.h>

void verifier_log_summarize(const char *log, char *ret, size_t size)
{
	const char *line = log, *best = log;

	while (*line) {
		size_t length = strcspn(line, "\n");

		if (length > 0 && strncmp(line, "processed ", 10) && strncmp(line, "--", 2) &&
		    strncmp(line, "stack depth ", 12))
			best = line;
		line += length + (line[length] == '\n');
	}
	snprintf(ret, size, "%.*s", (int)strcspn(best, "\n"), best);
}
