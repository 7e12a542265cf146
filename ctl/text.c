// SPDX-License-Identifier: GPL-2.0-or-later
#include "text.h"

#include <inttypes.h>
#include <langinfo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "pipewatch/util.h"

/* Decodes one character of UTF-8 at @s: its length, or 0 where there is none. */
static size_t decode(const unsigned char *s, uint32_t *ret_code)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t code;
	size_t n;

	if (s[0] < 0x80) {
		*ret_code = s[0];
		return 1;
	}
	n = s[0] >= 0xf5 ? 0 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;
	if (n == 0)
		return 0;
	code = s[0] & (0xffU >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < smallest[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return n;
}

/* What a terminal obeys, what turns text around, and what cannot be seen. */
static bool harmful(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x00, 0x1f },	       { 0x7f, 0xa0 },	     { 0xad, 0xad },
		{ 0x034f, 0x034f },    { 0x061c, 0x061c },   { 0x115f, 0x1160 },
		{ 0x1680, 0x1680 },    { 0x17b4, 0x17b5 },   { 0x180b, 0x180f },
		{ 0x2000, 0x200f },    { 0x2028, 0x202f },   { 0x205f, 0x206f },
		{ 0x2800, 0x2800 },    { 0x3000, 0x3000 },   { 0x3164, 0x3164 },
		{ 0xe000, 0xf8ff },    { 0xfdd0, 0xfdef },   { 0xfe00, 0xfe0f },
		{ 0xfeff, 0xfeff },    { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },
		{ 0xfffe, 0xffff },    { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
		{ 0xe0000, 0x10ffff },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

size_t text_safe(const char *bytes, bool utf8, char *ret, size_t ret_size)
{
	const unsigned char *s = (const unsigned char *)bytes;
	size_t length = 0;

	if (ret_size == 0)
		return 0;
	while (*s) {
		char escaped[TEXT_SAFE_MAX + 1];
		uint32_t code = 0;
		size_t n = decode(s, &code), m;

		if (n > 0 && !harmful(code) && (code < 0x80 || utf8)) {
			memcpy(escaped, s, n);
			m = n;
		} else if (n == 0) {
			m = (size_t)snprintf(escaped, sizeof(escaped), "\\x%02x", *s);
		} else {
			m = (size_t)snprintf(escaped, sizeof(escaped),
					     code > 0xffff ? "\\U%08" PRIx32 : "\\u%04" PRIx32,
					     code);
		}
		if (length + m >= ret_size)
			break;
		memcpy(ret + length, escaped, m);
		length += m;
		s += n ? n : 1;
	}
	ret[length] = 0;
	return length;
}

char *text_safe_new(const char *bytes, bool utf8)
{
	size_t size = strlen(bytes) * TEXT_SAFE_FACTOR + 1;
	char *safe = malloc(size);

	if (safe)
		text_safe(bytes, utf8, safe, size);
	return safe;
}

int text_fit(const char *s, size_t max)
{
	size_t n = strnlen(s, max);

	/* Inside a character the next byte continues it. */
	while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	return (int)n;
}

bool text_locale_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

void text_write_json(const char *json, FILE *f)
{
	const unsigned char *s = (const unsigned char *)json;

	while (*s) {
		uint32_t code = 0;
		size_t n = decode(s, &code);

		if (n == 0) {
			fputs("\\ufffd", f);
		} else if (code == '\n' || !harmful(code)) {
			/* Newlines are the form's: inside strings they are escaped already. */
			fwrite(s, 1, n, f);
		} else if (code > 0xffff) {
			code -= 0x10000;
			fprintf(f, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + (code >> 10),
				0xdc00 + (code & 0x3ff));
		} else {
			fprintf(f, "\\u%04" PRIx32, code);
		}
		s += n ? n : 1;
	}
}

void text_write_lines(const char *lines, bool utf8, FILE *f)
{
	while (*lines) {
		size_t n = strcspn(lines, "\n");
		_cleanup_(freep) char *line = strndup(lines, n);
		_cleanup_(freep) char *safe = line ? text_safe_new(line, utf8) : NULL;

		/* Without memory the line is missed, which is seen. */
		fprintf(f, "%s\n", safe ? safe : "(out of memory)");
		lines += n;
		if (*lines)
			lines++;
	}
}

/* Columns that the first @n bytes of @s take. */
static unsigned int columns(const char *s, size_t n)
{
	unsigned int width = 0;
	mbstate_t state = {};

	for (size_t i = 0; i < n;) {
		wchar_t c;
		size_t length;

		if (s[i] == '\033') {
			while (i < n && s[i] != 'm')
				i++;
			i++;
			continue;
		}
		length = mbrtowc(&c, s + i, n - i, &state);
		if (length == 0 || length > n - i) {
			state = (mbstate_t){};
			length = 1;
			c = L'?';
		}
		width += (unsigned int)(wcwidth(c) > 0 ? wcwidth(c) : 0);
		i += length;
	}
	return width;
}

/* The first word of @text; a number, what is before it and its unit are one. */
static size_t word_length(const char *text)
{
	static const char *const units[] = { "ns", "us", "ms", "s", "%", "min", "h", "days" };
	size_t n = strncmp(text, "< ", 2) ? 0 : 2;

	n += strcspn(text + n, " ");
	while (n > 0 && text[n] == ' ' && text[n - 1] >= '0' && text[n - 1] <= '9') {
		const char *unit = text + n + 1;
		size_t length = strcspn(unit, " ,.;:)"), i;

		for (i = 0; i < ARRAY_SIZE(units); i++)
			if (strlen(units[i]) == length && !strncmp(unit, units[i], length))
				break;
		if (i == ARRAY_SIZE(units))
			break;
		n += 1 + strcspn(unit, " ");
	}
	return n;
}

unsigned int text_wrap(FILE *f, unsigned int width, const char *first, const char *rest,
		       const char *text)
{
	unsigned int at = columns(first, strlen(first)), lines = 1;
	bool begun = false;

	fputs(first, f);
	for (;;) {
		size_t n;
		unsigned int wide;

		text += strspn(text, " ");
		n = word_length(text);
		if (n == 0)
			break;
		wide = columns(text, n);
		if (begun && at + 1 + wide > width) {
			fprintf(f, "\n%s", rest);
			at = columns(rest, strlen(rest));
			lines++;
			begun = false;
		}
		if (begun) {
			fputc(' ', f);
			at++;
		}
		fwrite(text, 1, n, f);
		at += wide;
		begun = true;
		text += n;
	}
	fputc('\n', f);
	return lines;
}

const char *text_count(uint64_t value, char *ret)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, value);
	char *to = ret;

	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = 0;
	return ret;
}

const char *text_short_count(uint64_t value, char *ret)
{
	return value < 10000000 ? text_count(value, ret) : text_rate((double)value, ret);
}

/* Three digits, as many of them behind the point as fit. */
static void three_digits(double value, const char *unit, char *ret)
{
	int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;

	snprintf(ret, TEXT_NUMBER_MAX, "%.*f%s", decimals, value, unit);
}

const char *text_seconds(double value, char *ret)
{
	char whole[TEXT_NUMBER_MAX];

	if (value < 0 || !isfinite(value))
		snprintf(ret, TEXT_NUMBER_MAX, "?");
	else if (value == 0)
		snprintf(ret, TEXT_NUMBER_MAX, "0 s");
	else if (value < 999.5e-9)
		three_digits(value * 1e9, " ns", ret);
	else if (value < 999.5e-6)
		three_digits(value * 1e6, " us", ret);
	else if (value < 999.5e-3)
		three_digits(value * 1e3, " ms", ret);
	else if (value < 999.5)
		three_digits(value, " s", ret);
	else if (value < 1e15)
		snprintf(ret, TEXT_NUMBER_MAX, "%.30s s",
			 text_count((uint64_t)(value + 0.5), whole));
	else
		snprintf(ret, TEXT_NUMBER_MAX, "%.3g s", value);
	return ret;
}

const char *text_ratio(double value, char *ret)
{
	value *= 100;
	if (value < 0 || !isfinite(value))
		snprintf(ret, TEXT_NUMBER_MAX, "?");
	else if (value == 0)
		snprintf(ret, TEXT_NUMBER_MAX, "0 %%");
	else if (value < 0.001)
		snprintf(ret, TEXT_NUMBER_MAX, "< 0.001 %%");
	else if (value < 0.0995)
		snprintf(ret, TEXT_NUMBER_MAX, "%.3f %%", value);
	else if (value < 1e9)
		three_digits(value, " %", ret);
	else
		snprintf(ret, TEXT_NUMBER_MAX, "%.3g %%", value);
	return ret;
}

const char *text_rate(double value, char *ret)
{
	static const char units[][2] = { "", "k", "M", "G", "T", "P", "E" };
	size_t unit = 0;

	if (value < 0 || !isfinite(value)) {
		snprintf(ret, TEXT_NUMBER_MAX, "?");
		return ret;
	}
	while (value >= 999.5 && unit + 1 < ARRAY_SIZE(units)) {
		value /= 1000;
		unit++;
	}
	if (unit == 0 && (value == 0 || value >= 99.95))
		snprintf(ret, TEXT_NUMBER_MAX, "%.0f", value);
	else if (unit == 0)
		snprintf(ret, TEXT_NUMBER_MAX, "%.1f", value);
	else if (value < 1e6)
		three_digits(value, units[unit], ret);
	else
		snprintf(ret, TEXT_NUMBER_MAX, "%.3g%s", value, units[unit]);
	return ret;
}

const char *text_duration(double value, char *ret)
{
	uint64_t s = value > 0 && value < 1e15 ? (uint64_t)value : 0;

	if (s >= 2 * 86400)
		snprintf(ret, TEXT_NUMBER_MAX, "%" PRIu64 " days %" PRIu64 " h", s / 86400,
			 s % 86400 / 3600);
	else if (s >= 3600)
		snprintf(ret, TEXT_NUMBER_MAX, "%" PRIu64 " h %" PRIu64 " min", s / 3600,
			 s % 3600 / 60);
	else if (s >= 60)
		snprintf(ret, TEXT_NUMBER_MAX, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
	else
		snprintf(ret, TEXT_NUMBER_MAX, "%" PRIu64 " s", s);
	return ret;
}
