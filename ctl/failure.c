// SPDX-License-Identifier: GPL-2.0-or-later
#include "failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int failure_set(struct failure *f, int exit_code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(f->message, sizeof(f->message), format, arguments);
	va_end(arguments);
	return exit_code;
}

int failure_os(struct failure *f, const char *what, int error)
{
	return failure_set(f, PIPEWATCH_EXIT_OS, "%s: %s.", what, strerror(abs(error)));
}
