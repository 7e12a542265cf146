// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "log.h"
#include "pipewatch/util.h"

/* What JOURNAL_STREAM names. */
enum stream { NOTHING, STDERR, OTHER_DEVICE, OTHER_INODE };

/* What a message of @level and @text looks like on stderr. */
static const char *logged_to(enum stream named, int level, const char *text)
{
	static char buffer[8192];
	_cleanup_(fclosep) FILE *f = tmpfile();
	_cleanup_(closep) int before = dup(STDERR_FILENO);
	char stream[64];
	struct stat st;
	size_t n;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu",
		 (unsigned long long)st.st_dev + (named == OTHER_DEVICE),
		 (unsigned long long)st.st_ino + (named == OTHER_INODE));
	if (named != NOTHING)
		setenv("JOURNAL_STREAM", stream, 1);
	assert_true(before >= 0);
	assert_true(dup2(fileno(f), STDERR_FILENO) >= 0);
	log_message(level, "%s", text);
	assert_true(dup2(before, STDERR_FILENO) >= 0);
	rewind(f);
	n = fread(buffer, 1, sizeof(buffer) - 1, f);
	buffer[n] = '\0';
	return buffer;
}

static const char *logged(int level, const char *text)
{
	return logged_to(NOTHING, level, text);
}

static void test_terminal(void **state)
{
	(void)state;
	unsetenv("JOURNAL_STREAM");
	assert_string_equal(logged(LOG_ERR, "No BTF."), "pipewatchd: No BTF.\n");
	assert_string_equal(logged(LOG_DEBUG, ""), "pipewatchd: \n");
}

static void test_journal(void **state)
{
	(void)state;
	assert_string_equal(logged_to(STDERR, LOG_ERR, "No BTF."), "<3>No BTF.\n");
	assert_string_equal(logged_to(STDERR, LOG_INFO, "<0>x"), "<6><0>x\n");
	unsetenv("JOURNAL_STREAM");
}

/* Started by a service, but with stderr elsewhere. */
static void test_inherited_journal(void **state)
{
	(void)state;
	assert_string_equal(logged_to(OTHER_DEVICE, LOG_ERR, "No BTF."), "pipewatchd: No BTF.\n");
	assert_string_equal(logged_to(OTHER_INODE, LOG_ERR, "No BTF."), "pipewatchd: No BTF.\n");
	setenv("JOURNAL_STREAM", "none", 1);
	assert_string_equal(logged(LOG_ERR, "No BTF."), "pipewatchd: No BTF.\n");
	unsetenv("JOURNAL_STREAM");
}

/* Nobody writes a second line, or to the terminal's controls. */
static void test_control_characters(void **state)
{
	(void)state;
	assert_string_equal(logged(LOG_ERR, "a\nb\x1b[2J\x7f\tc\r\xc3\xa4"),
			    "pipewatchd: a?b?[2J??c?\xc3\xa4\n");
}

static void test_long_text(void **state)
{
	char text[5000], wanted[5000];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	snprintf(wanted, sizeof(wanted), "pipewatchd: %.2047s\n", text);
	assert_string_equal(logged(LOG_ERR, text), wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terminal),	  cmocka_unit_test(test_journal),
		cmocka_unit_test(test_inherited_journal), cmocka_unit_test(test_control_characters),
		cmocka_unit_test(test_long_text),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
