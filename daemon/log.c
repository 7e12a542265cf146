// SPDX-License-Identifier: GPL-2.0-or-later
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void log_message(int level, const char *format, ...)
{
	char text[2048];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';

	/* sd-daemon(3): systemd takes the level from a prefix; a terminal has no use for it. */
	if (getenv("JOURNAL_STREAM"))
		fprintf(stderr, "<%d>%s\n", level, text);
	else
		fprintf(stderr, "pipewatchd: %s\n", text);
}
