/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where text goes to, and what it may look like there.
 */
#ifndef PIPEWATCH_CTL_OUTPUT_H
#define PIPEWATCH_CTL_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "failure.h"

struct json_object;

struct output {
	FILE *f;
	bool terminal;
	bool colour;
	bool utf8;
	unsigned int width;  /* columns; 80 where it is no terminal */
	unsigned int height; /* lines; likewise 24 */
};

enum paint { PAINT_NONE, PAINT_HEAD, PAINT_GOOD, PAINT_BAD, PAINT_UNSURE, PAINTS };

/* What @f is. Colours are for terminals, unless NO_COLOR is set or TERM is dumb. */
void output_init(struct output *o, FILE *f);

/* Asks anew how large the terminal is. */
void output_measure(struct output *o);

/* The escape sequence that begins a colour, and ends it (PAINT_NONE); "" without colours. */
const char *output_paint(const struct output *o, enum paint paint);

/*
 * Writes what printf() would in lines no wider than the terminal, and than people like to read; the
 * first behind @first and others behind @rest. Returns the number of lines.
 */
__attribute__((format(printf, 4, 5))) unsigned int
output_say(const struct output *o, const char *first, const char *rest, const char *format, ...);

/* How the word "paid", "removed" or "unknown" is painted. */
enum paint output_state_paint(const char *state);

/* Prints @json and frees it; NULL stands for a lack of memory. On one line where @line. */
int output_json(const struct output *o, struct json_object *json, bool line, struct failure *f);

/* All that was written is out: 0, or an exit code with @f filled. */
int output_flush(const struct output *o, struct failure *f);

#endif
