/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text for people: what comes from outside made harmless, numbers made readable.
 */
#ifndef PIPEWATCH_CTL_TEXT_H
#define PIPEWATCH_CTL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The longest escape, and how many characters a byte becomes at most. */
#define TEXT_SAFE_MAX	 10
#define TEXT_SAFE_FACTOR 6

/*
 * Writes @bytes to @ret so that no terminal obeys or hides any of it: control characters, bytes
 * that are no UTF-8, and characters that show nothing or turn the text around become \xNN (bytes),
 * \uNNNN or \UNNNNNNNN. Other characters beyond ASCII are kept where @utf8. In a small @ret_size
 * the text ends early, never inside a character. Returns the length.
 */
size_t text_safe(const char *bytes, bool utf8, char *ret, size_t ret_size);

/* The same, in memory of its own; NULL when out of memory. */
char *text_safe_new(const char *bytes, bool utf8);

/* Does the locale, which setlocale() has set, print UTF-8? */
bool text_locale_utf8(void);

/*
 * Writes JSON text with every character that text_safe() would not keep as \uNNNN, which reads back
 * as the same.
 */
void text_write_json(const char *json, FILE *f);

/* How many bytes of @s, at most @max, end with a whole character: a precision for "%.*s". */
int text_fit(const char *s, size_t max);

/* Several lines as they are, but for what text_safe() would not keep of each. */
void text_write_lines(const char *lines, bool utf8, FILE *f);

/*
 * Writes @text in lines of at most @width columns, the first behind @first and others behind @rest.
 * Colours take no room. Returns the number of lines.
 */
unsigned int text_wrap(FILE *f, unsigned int width, const char *first, const char *rest,
		       const char *text);

/* Numbers; each fits TEXT_NUMBER_MAX and returns @ret. */
#define TEXT_NUMBER_MAX 40
const char *text_count(uint64_t value, char *ret);	 /* 1,234,567 */
const char *text_short_count(uint64_t value, char *ret); /* the same to 9,999,999, then 12.3M */
const char *text_seconds(double value, char *ret);	 /* 1.23 ms */
const char *text_ratio(double value, char *ret);	 /* 1.23 % */
const char *text_rate(double value, char *ret);		 /* 1.23k: three digits */
const char *text_duration(double value, char *ret);	 /* 3 h 5 min */

#endif
