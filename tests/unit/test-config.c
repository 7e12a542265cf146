// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "config.h"
#include "config-text.h"
#include "pipewatch/util.h"

static void assert_set(const char *key, const char *value, int expected,
		       const char *expected_allowed)
{
	_cleanup_(config_freep) struct config *c = config_new();
	const char *allowed = "untouched";
	int r = config_set(c, key, value, &allowed);

	if (r != expected)
		print_error("%s=%s gave %d\n", key, value, r);
	assert_int_equal(r, expected);
	assert_string_equal(allowed, expected_allowed ?: "untouched");
	if (r < 0)
		assert_dump(c, DEFAULTS);
}

#define LISTEN_ALLOWED                                                                        \
	"ADDR:PORT, [ADDR6]:PORT or unix:/PATH with a numeric address, several separated by " \
	"blanks"
#define BUS_ALLOWED                                                      \
	"system, session, none or the address of a Unix socket such as " \
	"unix:path=/run/dbus/system_bus_socket"

static void test_values(void **state)
{
	static const struct {
		const char *key;
		const char *allowed;
		const char *good[16];
		const char *bad[32];
	} cases[] = {
		{ "Mode",
		  "auto, exact, burst, profile or off",
		  { "auto", "exact", "burst", "profile", "off" },
		  { "", "Auto", "exact ", " exact", "exac", "on", "exactt", "\xff" } },
		{ "Budget",
		  "a percentage from 0.01 to 100",
		  { "0.01", "1", "1%", "100", "100%", "99.999999", "0.0123456789012345", "00.5",
		    "2.50" },
		  { "",
		    "0",
		    "0.009",
		    "100.01",
		    "-1",
		    "+1",
		    "1e1",
		    "0x1",
		    "nan",
		    "inf",
		    "1 %",
		    "1%%",
		    "%",
		    ".5",
		    "5.",
		    "1.2.3",
		    "1,5",
		    " 1",
		    "1 ",
		    "1a",
		    "0..1",
		    "infinity",
		    "1.0000000000000001",
		    "99999999999999999999999999999999999999999",
		    "\xd9\xa1" } },
		{ "SampleFrequency",
		  "a whole number from 1 to 10000",
		  { "1", "97", "10000", "007" },
		  { "", "0", "10001", "-1", "+5", "0x10", "1.0", "97Hz", " 97", "97 ", "4294967297",
		    "18446744073709551617", "99999999999999999999999999" } },
		{ "MaxThreads",
		  "a power of two from 8 to 1048576",
		  { "8", "16384", "1048576" },
		  { "", "0", "4", "9", "1000", "1048577", "2097152", "4294967304", "-8" } },
		{ "MaxGroups",
		  "a whole number from 1 to 100000",
		  { "1", "200", "100000" },
		  { "", "0", "100001", "-1", "many" } },
		{ "PidLabel",
		  "yes or no",
		  { "yes", "no", "1", "0", "true", "false", "on", "off", "y", "n", "t", "f", "YES",
		    "False" },
		  { "", "2", "maybe", "yes ", "ye", "-1" } },
		{ "Listen",
		  LISTEN_ALLOWED,
		  { "", "127.0.0.1:1", "0.0.0.0:65535", "[::1]:10057", "[::]:80",
		    "unix:/run/x.sock", "1.2.3.4:5 [::1]:6\tunix:/a", "unix:/r\xc3\xa4um;x#" },
		  { "127.0.0.1",
		    "127.0.0.1:",
		    "127.0.0.1:0",
		    "127.0.0.1:65536",
		    ":10057",
		    "localhost:1",
		    "::1:10057",
		    "[::1]",
		    "[::1]10057",
		    "[127.0.0.1]:1",
		    "127.1:1",
		    "127.0.0.1:-1",
		    "127.0.0.1:1x",
		    "unix:",
		    "unix:relative",
		    "unix:/",
		    "unix:/dir/",
		    "*:1",
		    "1.2.3.4:5 nonsense",
		    "[::1:5",
		    "[]:1",
		    "unix:/a\x01",
		    "unix:/\xff",
		    "unix:/a\\",
		    "0x7f.0.0.1:1",
		    "127.0.0.1:+1" } },
		{ "Bus",
		  BUS_ALLOWED,
		  { "system", "session", "none", "unix:path=/run/dbus/system_bus_socket",
		    "unix:abstract=/tmp/dbus-x,guid=0123", "unix:path=/a;unix:path=/b" },
		  { "",
		    "System",
		    "starter",
		    "unix:",
		    "unix:path",
		    "unix:path=",
		    "unix:=x",
		    "path=/x",
		    "unix:guid=1",
		    "foo:path=/x",
		    "unix:path=/a b",
		    ";unix:path=/a",
		    "unix:path=/a;bad",
		    "unix:path=/\x01",
		    "unix:path=/a\\",
		    ":",
		    ";",
		    "unix:path=/a;",
		    "unix:path=/a,",
		    "tcp:host=localhost,port=1",
		    "unixexec:path=/bin/x,argv1=-y" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(cases[i].good) && cases[i].good[j]; j++)
			assert_set(cases[i].key, cases[i].good[j], 0, NULL);
		for (size_t j = 0; j < ARRAY_SIZE(cases[i].bad) && cases[i].bad[j]; j++)
			assert_set(cases[i].key, cases[i].bad[j], -EINVAL, cases[i].allowed);
	}
	assert_set("mode", "auto", -ENOENT,
		   "Mode, Budget, SampleFrequency, MaxThreads, Listen, MaxGroups, PidLabel or Bus");
}

static void test_values_are_stored(void **state)
{
	_cleanup_(config_freep) struct config *c = config_new();
	const char *allowed;

	(void)state;
	assert_int_equal(config_set(c, "Budget", "2.5%", &allowed), 0);
	assert_true(c->budget_percent == 2.5);
	assert_int_equal(config_set(c, "Budget", "0.1", &allowed), 0);
	assert_true(c->budget_percent == 0.1);
	assert_int_equal(config_set(c, "SampleFrequency", "199", &allowed), 0);
	assert_int_equal(c->sample_frequency_hz, 199);
	assert_int_equal(config_set(c, "MaxThreads", "1024", &allowed), 0);
	assert_int_equal(c->max_threads, 1024);
	assert_int_equal(config_set(c, "MaxGroups", "7", &allowed), 0);
	assert_int_equal(c->max_groups, 7);
	assert_int_equal(config_set(c, "PidLabel", "on", &allowed), 0);
	assert_true(c->pid_label);
	assert_int_equal(config_set(c, "Mode", "profile", &allowed), 0);
	assert_int_equal(c->mode, MODE_PROFILE);
}

static void test_listen_list(void **state)
{
	_cleanup_(config_freep) struct config *c = config_new();
	const char *allowed;

	(void)state;
	/* The first replaces the default, the next add, the same again changes nothing. */
	assert_int_equal(config_set(c, "Listen", "1.1.1.1:1", &allowed), 0);
	assert_int_equal(config_set(c, "Listen", "[::1]:2  1.1.1.1:1 unix:/s", &allowed), 0);
	assert_string_equal(c->listen[0], "1.1.1.1:1");
	assert_string_equal(c->listen[1], "[::1]:2");
	assert_string_equal(c->listen[2], "unix:/s");
	assert_null(c->listen[3]);

	assert_int_equal(config_set(c, "Listen", "2.2.2.2:2 bad", &allowed), -EINVAL);
	assert_string_equal(c->listen[2], "unix:/s");
	assert_null(c->listen[3]);

	assert_int_equal(config_set(c, "Listen", " ", &allowed), 0);
	assert_null(c->listen[0]);
	assert_int_equal(config_set(c, "Listen", "3.3.3.3:3", &allowed), 0);
	assert_string_equal(c->listen[0], "3.3.3.3:3");
	assert_null(c->listen[1]);
}

static void test_unix_path_length(void **state)
{
	char listen[5 + 108 + 1] = "unix:/";

	(void)state;
	memset(listen + 6, 'a', 107);
	listen[5 + 107] = '\0';
	assert_true(config_listen_valid(listen));
	listen[5 + 107] = 'a';
	listen[5 + 108] = '\0';
	assert_false(config_listen_valid(listen));
}

static void test_render(void **state)
{
	char text[64], small[8];

	(void)state;
	assert_string_equal(config_render("", text, sizeof(text)), "");
	assert_string_equal(
		config_render("a\n\x7f\xe2\x82\xac\xc2\x9b\xc3\xa9\xe2\x82", text, sizeof(text)),
		"a\\x0a\\x7f\xe2\x82\xac\\xc2\\x9b\xc3\xa9\\xe2\\x82");
	assert_string_equal(config_render("1234567", small, sizeof(small)), "1234567");
	assert_string_equal(config_render("12345678", small, sizeof(small)), "1234...");
	assert_string_equal(config_render("12\xe2\x82\xac"
					  "4567",
					  small, sizeof(small)),
			    "12...");
	assert_string_equal(config_render("123\x01", small, sizeof(small)), "123\\x01");
	for (size_t size = 1; size < 20; size++) {
		config_render("ab\x01\xff\xe2\x82\xac\xf0\x9f\x98\x80z", text, size);
		assert_true(strlen(text) < size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),	    cmocka_unit_test(test_values_are_stored),
		cmocka_unit_test(test_listen_list), cmocka_unit_test(test_unix_path_length),
		cmocka_unit_test(test_render),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
