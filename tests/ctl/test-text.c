// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <json-c/json.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "pipewatch/util.h"
#include "text.h"

static void assert_safe(const char *bytes, const char *expected)
{
	char ret[256];

	assert_int_equal(text_safe(bytes, true, ret, sizeof(ret)), strlen(expected));
	assert_string_equal(ret, expected);
}

static void test_kept(void **state)
{
	(void)state;
	assert_safe("", "");
	assert_safe("plain name-1.2 (x) \\x41 \"'", "plain name-1.2 (x) \\x41 \"'");
	assert_safe("caf\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x90\xa7",
		    "caf\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x90\xa7");
}

/* Every control character of ASCII, and every one of C1 as UTF-8 and as a byte. */
static void test_controls(void **state)
{
	char bytes[4], expected[16];

	(void)state;
	for (unsigned int c = 1; c < 0x20; c++) {
		snprintf(bytes, sizeof(bytes), "%c", (int)c);
		snprintf(expected, sizeof(expected), "\\u%04x", c);
		assert_safe(bytes, expected);
	}
	assert_safe("\177", "\\u007f");
	for (unsigned int c = 0x80; c < 0xa0; c++) {
		snprintf(bytes, sizeof(bytes), "\xc2%c", (int)c);
		snprintf(expected, sizeof(expected), "\\u%04x", c);
		assert_safe(bytes, expected);
		snprintf(bytes, sizeof(bytes), "%c", (int)c);
		snprintf(expected, sizeof(expected), "\\x%02x", c);
		assert_safe(bytes, expected);
	}
	assert_safe("a\033[31mb\033]0;title\a", "a\\u001b[31mb\\u001b]0;title\\u0007");
}

static void test_direction(void **state)
{
	static const unsigned int codes[] = { 0x61c,  0x200b, 0x200d, 0x200e, 0x200f,
					      0x2028, 0x2029, 0x202a, 0x202b, 0x202c,
					      0x202d, 0x202e, 0x2066, 0x2067, 0x2068,
					      0x2069, 0xfeff, 0xfffe, 0xad };
	char bytes[4], expected[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		unsigned int c = codes[i];

		if (c < 0x800)
			snprintf(bytes, sizeof(bytes), "%c%c", (int)(0xc0 | c >> 6),
				 (int)(0x80 | (c & 0x3f)));
		else
			snprintf(bytes, sizeof(bytes), "%c%c%c", (int)(0xe0 | c >> 12),
				 (int)(0x80 | (c >> 6 & 0x3f)), (int)(0x80 | (c & 0x3f)));
		snprintf(expected, sizeof(expected), "\\u%04x", c);
		assert_safe(bytes, expected);
	}
	/* A tag, and one of the last plane. */
	assert_safe("\xf3\xa0\x81\x81", "\\U000e0041");
	assert_safe("\xf4\x8f\xbf\xbd", "\\U0010fffd");
}

static void test_no_utf8(void **state)
{
	(void)state;
	assert_safe("\xff", "\\xff");
	assert_safe("\xc0\xaf", "\\xc0\\xaf");			 /* longer than it need be */
	assert_safe("\xed\xa0\x80", "\\xed\\xa0\\x80");		 /* a surrogate */
	assert_safe("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* beyond Unicode */
	assert_safe("\xe6\xbc", "\\xe6\\xbc");			 /* cut off */
	assert_safe("\xe6\033[2J", "\\xe6\\u001b[2J");
}

static void test_ascii_terminal(void **state)
{
	char ret[64];

	(void)state;
	text_safe("caf\xc3\xa9 \xf0\x9f\x90\xa7", false, ret, sizeof(ret));
	assert_string_equal(ret, "caf\\u00e9 \\U0001f427");
}

static void test_small_room(void **state)
{
	char ret[8];

	(void)state;
	assert_int_equal(text_safe("abcdefghij", true, ret, sizeof(ret)), 7);
	assert_string_equal(ret, "abcdefg");
	/* No escape and no character is cut. */
	assert_int_equal(text_safe("abc\033", true, ret, sizeof(ret)), 3);
	assert_string_equal(ret, "abc");
	assert_int_equal(text_safe("abcde\xe6\xbc\xa2", true, ret, sizeof(ret)), 5);
	assert_string_equal(ret, "abcde");
	assert_int_equal(text_safe("abc", true, ret, 0), 0);
	assert_int_equal(text_safe("abc", true, ret, 1), 0);
	assert_string_equal(ret, "");
}

static void test_own_memory(void **state)
{
	char bytes[1025];
	char *safe;

	(void)state;
	/* Those that grow the most. */
	memset(bytes, '\033', sizeof(bytes) - 1);
	bytes[sizeof(bytes) - 1] = 0;
	safe = text_safe_new(bytes, true);
	assert_non_null(safe);
	assert_int_equal(strlen(safe), 1024 * TEXT_SAFE_FACTOR);
	free(safe);
}

static void test_json(void **state)
{
	static const char hostile[] =
		"\001\033\177\xc2\x9b\xe2\x80\xae\"\\\n\xf3\xa0\x81\x81\xc3\xa9";
	struct json_object *json = json_object_new_string(hostile), *again;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	assert_non_null(f);
	text_write_json(json_object_to_json_string(json), f);
	fclose(f);
	assert_string_equal(
		text, "\"\\u0001\\u001b\\u007f\\u009b\\u202e\\\"\\\\\\n\\udb40\\udc41\xc3\xa9\"");
	again = json_tokener_parse(text);
	assert_non_null(again);
	assert_string_equal(json_object_get_string(again), hostile);
	json_object_put(again);
	json_object_put(json);
	free(text);
}

static void test_lines(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	text_write_lines("one\n\ntwo\033[2J\nthree", true, f);
	fclose(f);
	assert_string_equal(text, "one\n\ntwo\\u001b[2J\nthree\n");
	free(text);
}

static void assert_wrap(unsigned int width, const char *text, const char *expected,
			unsigned int lines)
{
	char *written = NULL;
	size_t size;
	FILE *f = open_memstream(&written, &size);

	assert_int_equal(text_wrap(f, width, "- ", "  ", text), lines);
	fclose(f);
	assert_string_equal(written, expected);
	free(written);
}

static void test_wrap(void **state)
{
	(void)state;
	assert_wrap(10, "", "- \n", 1);
	assert_wrap(10, "aaa bbb ccc ddd", "- aaa bbb\n  ccc ddd\n", 2);
	assert_wrap(9, "aaa bbb ccc", "- aaa bbb\n  ccc\n", 2);
	assert_wrap(8, "aaa bbb ccc", "- aaa\n  bbb\n  ccc\n", 3);
	/* A number stays with its unit. */
	assert_wrap(9, "aaa 12 ms", "- aaa\n  12 ms\n", 2);
	assert_wrap(9, "aa 5 %, 1", "- aa 5 %,\n  1\n", 2);
	assert_wrap(9, "aaa < 1 s b", "- aaa\n  < 1 s b\n", 2);
	assert_wrap(9, "aaa 12 mx", "- aaa 12\n  mx\n", 2);
	/* What is wider than a line has one of its own. */
	assert_wrap(6, "a bbbbbbbbbb c", "- a\n  bbbbbbbbbb\n  c\n", 3);
	/* Colours take no room; wide characters take two. */
	assert_wrap(9, "\033[31maaa\033[0m bbb c", "- \033[31maaa\033[0m bbb\n  c\n", 2);
	assert_wrap(9, "\xe6\xbc\xa2\xe6\xbc\xa2 bb c", "- \xe6\xbc\xa2\xe6\xbc\xa2 bb\n  c\n", 2);
}

#define assert_number(function, value, expected)                        \
	do {                                                            \
		char number[TEXT_NUMBER_MAX];                           \
		assert_string_equal(function(value, number), expected); \
	} while (0)

static void test_numbers(void **state)
{
	(void)state;
	assert_number(text_count, 0, "0");
	assert_number(text_count, 999, "999");
	assert_number(text_count, 1000, "1,000");
	assert_number(text_count, UINT64_MAX, "18,446,744,073,709,551,615");

	assert_number(text_seconds, 0, "0 s");
	assert_number(text_seconds, 43.14e-9, "43.1 ns");
	assert_number(text_seconds, 999.6e-9, "1.00 us");
	assert_number(text_seconds, 0.0123, "12.3 ms");
	assert_number(text_seconds, 9.999, "10.0 s");
	assert_number(text_seconds, 123.4, "123 s");
	assert_number(text_seconds, 123456, "123,456 s");
	assert_number(text_seconds, 1e300, "1e+300 s");
	assert_number(text_seconds, -1, "?");
	assert_number(text_seconds, (double)NAN, "?");

	assert_number(text_ratio, 0, "0 %");
	assert_number(text_ratio, 1e-9, "< 0.001 %");
	assert_number(text_ratio, 0.0001234, "0.012 %");
	assert_number(text_ratio, 0.0123, "1.23 %");
	assert_number(text_ratio, 1, "100 %");
	assert_number(text_ratio, (double)INFINITY, "?");

	assert_number(text_rate, 0, "0");
	assert_number(text_rate, 1.04, "1.0");
	assert_number(text_rate, 99.96, "100");
	assert_number(text_rate, 999.6, "1.00k");
	assert_number(text_rate, 123456, "123k");
	assert_number(text_rate, 18446744073709551615.0, "18.4E");
	assert_number(text_rate, 1e300, "1e+282E");

	assert_number(text_duration, 59.9, "59 s");
	assert_number(text_duration, 61, "1 min 1 s");
	assert_number(text_duration, 3600, "1 h 0 min");
	assert_number(text_duration, 90000, "25 h 0 min");
	assert_number(text_duration, 180000, "2 days 2 h");
	assert_number(text_duration, -5, "0 s");
}

/* Never inside a character. */
static void test_fit(void **state)
{
	static const char text[] = "a\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x90\xa7z";
	static const int fits[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11, 11 };

	(void)state;
	for (size_t max = 0; max < ARRAY_SIZE(fits); max++)
		assert_int_equal(text_fit(text, max), fits[max]);
	assert_int_equal(text_fit("", 0), 0);
	assert_int_equal(text_fit("\x80\x80", 1), 0);
}

static void test_short_count(void **state)
{
	char ret[TEXT_NUMBER_MAX];

	(void)state;
	assert_string_equal(text_short_count(0, ret), "0");
	assert_string_equal(text_short_count(9999999, ret), "9,999,999");
	assert_string_equal(text_short_count(10000000, ret), "10.0M");
	assert_string_equal(text_short_count(128894000, ret), "129M");
	assert_string_equal(text_short_count(UINT64_MAX, ret), "18.4E");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),	       cmocka_unit_test(test_controls),
		cmocka_unit_test(test_direction),      cmocka_unit_test(test_no_utf8),
		cmocka_unit_test(test_ascii_terminal), cmocka_unit_test(test_small_room),
		cmocka_unit_test(test_own_memory),     cmocka_unit_test(test_json),
		cmocka_unit_test(test_lines),	       cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_numbers),	       cmocka_unit_test(test_fit),
		cmocka_unit_test(test_short_count),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
