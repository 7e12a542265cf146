// SPDX-License-Identifier: GPL-2.0-or-later
#include "output.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "pipewatch/util.h"
#include "text.h"

#define WIDTH_MAX 100

void output_measure(struct output *o)
{
	struct winsize size;

	o->width = 80;
	o->height = 24;
	if (!o->terminal || ioctl(fileno(o->f), TIOCGWINSZ, &size) < 0)
		return;
	if (size.ws_col > 0)
		o->width = size.ws_col;
	if (size.ws_row > 0)
		o->height = size.ws_row;
}

void output_init(struct output *o, FILE *f)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	o->f = f;
	o->utf8 = text_locale_utf8();
	o->terminal = isatty(fileno(f));
	o->colour = o->terminal && !(no_color && *no_color) && term && strcmp(term, "dumb");
	output_measure(o);
}

const char *output_paint(const struct output *o, enum paint paint)
{
	static const char *const sequences[PAINTS] = {
		[PAINT_NONE] = "\033[0m", [PAINT_HEAD] = "\033[1m",    [PAINT_GOOD] = "\033[32m",
		[PAINT_BAD] = "\033[31m", [PAINT_UNSURE] = "\033[33m",
	};

	return o->colour ? sequences[paint] : "";
}

unsigned int output_say(const struct output *o, const char *first, const char *rest,
			const char *format, ...)
{
	_cleanup_(freep) char *text = NULL;
	va_list arguments;
	int r;

	va_start(arguments, format);
	r = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (r < 0)
		text = NULL;
	/* Without memory the sentence is missed, which is seen. */
	return text_wrap(o->f, o->width < WIDTH_MAX ? o->width : WIDTH_MAX, first, rest,
			 text ? text : "(out of memory)");
}

enum paint output_state_paint(const char *state)
{
	return !strcmp(state, "paid")	   ? PAINT_BAD
	       : !strcmp(state, "removed") ? PAINT_GOOD
					   : PAINT_UNSURE;
}

int output_json(const struct output *o, struct json_object *json, bool line, struct failure *f)
{
	const char *text = NULL;

	if (json)
		text = json_object_to_json_string_ext(
			json, JSON_C_TO_STRING_NOSLASHESCAPE |
				      (line ? JSON_C_TO_STRING_PLAIN
					    : JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED));
	if (text) {
		text_write_json(text, o->f);
		fputc('\n', o->f);
	}
	json_object_put(json);
	return text ? output_flush(o, f) : failure_os(f, "Printing JSON failed", ENOMEM);
}

int output_flush(const struct output *o, struct failure *f)
{
	const bool failed = ferror(o->f);

	errno = 0;
	/* A stream does not keep the reason why it failed; the next character meets it again. */
	if (failed)
		fputc('\n', o->f);
	if (fflush(o->f) == 0 && !failed)
		return 0;
	return failure_os(f, "Writing the output failed", errno ? errno : EIO);
}
