// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "name.h"
#include "pipewatch/util.h"

static void assert_rendered(const char *bytes, size_t n, const char *expected)
{
	char text[256];

	assert_int_equal(name_render(bytes, n, text, sizeof(text)), strlen(expected));
	assert_string_equal(text, expected);
}

#define ASSERT_RENDERED(bytes, expected) assert_rendered(bytes, sizeof(bytes) - 1, expected)

static void test_valid_names_stay(void **state)
{
	(void)state;
	ASSERT_RENDERED("", "");
	ASSERT_RENDERED("bash", "bash");
	ASSERT_RENDERED("a\nb\"c\\d{e\tf\x01", "a\nb\"c\\d{e\tf\x01");
	ASSERT_RENDERED("\x7f", "\x7f");
	ASSERT_RENDERED("\xc2\x80", "\xc2\x80");
	ASSERT_RENDERED("\xdf\xbf", "\xdf\xbf");
	ASSERT_RENDERED("\xe0\xa0\x80", "\xe0\xa0\x80");
	ASSERT_RENDERED("\xed\x9f\xbf", "\xed\x9f\xbf");
	ASSERT_RENDERED("\xee\x80\x80", "\xee\x80\x80");
	ASSERT_RENDERED("\xef\xbf\xbf", "\xef\xbf\xbf");
	ASSERT_RENDERED("\xf0\x90\x80\x80", "\xf0\x90\x80\x80");
	ASSERT_RENDERED("\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf");
}

static void test_nul_ends(void **state)
{
	(void)state;
	ASSERT_RENDERED("ab\0cd", "ab");
	ASSERT_RENDERED("\0", "");
	/* A character must not reach over the end or the NUL. */
	assert_rendered("\xc3\xa9", 1, "\\xc3");
	ASSERT_RENDERED("\xc3\0\xa9", "\\xc3");
}

static void test_invalid_bytes_are_escaped(void **state)
{
	(void)state;
	ASSERT_RENDERED("\xff\xfe", "\\xff\\xfe");
	ASSERT_RENDERED("\x80", "\\x80");
	ASSERT_RENDERED("a\xe9z", "a\\xe9z");
	/* overlong forms of '/', U+7f, U+7ff, U+ffff */
	ASSERT_RENDERED("\xc0\xaf", "\\xc0\\xaf");
	ASSERT_RENDERED("\xc1\xbf", "\\xc1\\xbf");
	ASSERT_RENDERED("\xe0\x9f\xbf", "\\xe0\\x9f\\xbf");
	ASSERT_RENDERED("\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf");
	/* the first and the last surrogate */
	ASSERT_RENDERED("\xed\xa0\x80", "\\xed\\xa0\\x80");
	ASSERT_RENDERED("\xed\xbf\xbf", "\\xed\\xbf\\xbf");
	/* above U+10FFFF, and lead bytes that are none */
	ASSERT_RENDERED("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
	ASSERT_RENDERED("\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80");
	ASSERT_RENDERED("\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80");
	/* cut off, followed by good ones */
	ASSERT_RENDERED("\xe2\x82z", "\\xe2\\x82z");
	ASSERT_RENDERED("\xe2\xc3\xa9", "\\xe2\xc3\xa9");
}

static void test_every_comm_fits(void **state)
{
	char text[64], comm[15];

	(void)state;
	memset(comm, 0xff, sizeof(comm));
	assert_int_equal(name_render(comm, sizeof(comm), text, sizeof(text)), 60);
	assert_int_equal(strlen(text), 60);
}

static void test_small_buffers_end_between_characters(void **state)
{
	char text[8];

	(void)state;
	assert_int_equal(name_render("abc", 3, text, 3), 2);
	assert_string_equal(text, "ab");
	assert_int_equal(name_render("a\xc3\xa9", 3, text, 3), 1);
	assert_string_equal(text, "a");
	assert_int_equal(name_render("a\xff", 2, text, 5), 1);
	assert_string_equal(text, "a");
	assert_int_equal(name_render("a\xff", 2, text, 6), 5);
	assert_string_equal(text, "a\\xff");
	assert_int_equal(name_render("a", 1, text, 1), 0);
	assert_string_equal(text, "");
	text[0] = 'x';
	assert_int_equal(name_render("a", 1, text, 0), 0);
	assert_int_equal(text[0], 'x');
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_units_from_cgroups(void **state)
{
	static const char *const cases[][2] = {
		{ "/", "" },
		{ "", "" },
		{ "/system.slice", "" },
		{ "/user.slice/user-0.slice", "" },
		{ "/system.slice/cron.service", "cron.service" },
		{ "/init.scope", "init.scope" },
		{ "/system.slice/dev-hugepages.mount", "dev-hugepages.mount" },
		{ "/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service" },
		{ "/user.slice/user-1000.slice/session-3.scope", "session-3.scope" },
		{ "/user.slice/user-0.slice/user@0.service/app.slice/a.service",
		  "user@0.service/a.service" },
		{ "/user.slice/user-0.slice/user@0.service/init.scope",
		  "user@0.service/init.scope" },
		{ "/user.slice/user-0.slice/user@0.service", "user@0.service" },
		{ "/user.slice/user-0.slice/user@0.service/app.slice", "user@0.service" },
		{ "/user.slice/user-7.slice/user@7.service/user.slice/libpod-" ID
		  ".scope/container",
		  "user@7.service/libpod-" ID ".scope" },
		{ "/system.slice/docker-" ID ".scope", "docker-" ID ".scope" },
		{ "/system.slice/docker-" ID ".scope/init.scope", "docker-" ID ".scope" },
		{ "/system.slice/docker-" ID ".scope/system.slice/nginx.service",
		  "docker-" ID ".scope" },
		{ "/docker/" ID, "docker/0123456789ab" },
		{ "/docker/" ID "/system.slice/nginx.service", "docker/0123456789ab" },
		{ "/kubepods/burstable/pod12-34/" ID, "pod12-34/0123456789ab" },
		{ "/" ID, "" },
		{ "/docker/" ID "0", "" },
		{ "/docker/0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", "" },
		{ "/lxc.payload.web/system.slice/nginx.service", "lxc.payload.web" },
		{ "/system.slice/cron.service (deleted)", "cron.service" },
		{ "/system.slice/cron.service/sub/group", "cron.service" },
		{ "/system.slice/.service", "" },
		{ "//system.slice//cron.service//", "cron.service" },
		{ "/../other.service", "other.service" },
		{ "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt",
		  "machine-qemu\\x2d1\\x2dvm.scope" },
		{ "/system.slice/\xff\xc3\xa9.service", "\\xff\xc3\xa9.service" },
		{ "/system.slice/a\nb\".service", "a\nb\".service" },
	};
	char unit[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(name_unit_from_cgroup(cases[i][0], unit, sizeof(unit)),
				 strlen(cases[i][1]));
		assert_string_equal(unit, cases[i][1]);
	}
}

static void test_long_units_are_cut(void **state)
{
	char unit[16];

	(void)state;
	assert_int_equal(name_unit_from_cgroup("/system.slice/a-rather-long-name.service", unit,
					       sizeof(unit)),
			 15);
	assert_string_equal(unit, "a-rather-long-n");
	assert_int_equal(
		name_unit_from_cgroup("/user@0.service/app.slice/b.service", unit, sizeof(unit)),
		15);
	assert_string_equal(unit, "user@0.service/");
	assert_int_equal(name_unit_from_cgroup("/user@1.service/b.service", unit, 15), 14);
	assert_string_equal(unit, "user@1.service");
	/* Nothing follows a name that is cut, even where there is room for a shorter part. */
	assert_int_equal(name_unit_from_cgroup("/user@\xff.service/b.service", unit, 9), 5);
	assert_string_equal(unit, "user@");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid_names_stay),
		cmocka_unit_test(test_nul_ends),
		cmocka_unit_test(test_invalid_bytes_are_escaped),
		cmocka_unit_test(test_every_comm_fits),
		cmocka_unit_test(test_small_buffers_end_between_characters),
		cmocka_unit_test(test_units_from_cgroups),
		cmocka_unit_test(test_long_units_are_cut),
	};

	return cmocka_run_group_tests_name("name", tests, NULL, NULL);
}
