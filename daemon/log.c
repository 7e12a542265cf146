// SPDX-License-Identifier: GPL-2.0-or-later
#include "log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* systemd.exec(5): the variable is inherited by children whose stderr may be something else. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void log_message(int level, const char *format, ...)
{
	struct pollfd polled = { .fd = STDERR_FILENO, .events = POLLOUT };
	char text[2048], line[sizeof(text) + 32];
	va_list arguments;
	int n;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';

	/* sd-daemon(3): the journal takes the level from a prefix; nobody else has a use for it. */
	if (stderr_is_journal())
		n = snprintf(line, sizeof(line), "<%d>%s\n", level, text);
	else
		n = snprintf(line, sizeof(line), "pipewatchd: %s\n", text);

	/* A message that nobody reads is lost rather than waited for. Being no longer than
	 * PIPE_BUF, it is written as a whole or not at all. */
	if (poll(&polled, 1, 0) == 1 && polled.revents & POLLOUT)
		(void)!write(STDERR_FILENO, line, n);
}
