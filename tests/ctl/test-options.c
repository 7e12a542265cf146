// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "options.h"
#include "pipewatch/util.h"

#define MAX 8

/* @line is split at blanks. */
static int parse(const char *line, struct options *ret)
{
	static char copy[256]; /* what was parsed points into it */
	char *argv[MAX + 2] = { "pipewatchctl" }, *rest = copy, *word;
	int argc = 1;

	snprintf(copy, sizeof(copy), "%s", line);
	while ((word = strsep(&rest, " ")) && argc <= MAX)
		if (*word)
			argv[argc++] = word;
	return options_parse(argc, argv, ret);
}

static void test_verbs(void **state)
{
	static const struct {
		const char *line;
		enum verb verb;
	} verbs[] = { { "status", VERB_STATUS },     { "top", VERB_TOP },
		      { "list", VERB_LIST },	     { "groups", VERB_GROUPS },
		      { "remedies", VERB_REMEDIES }, { "check", VERB_CHECK },
		      { "bench", VERB_BENCH },	     { "metrics", VERB_METRICS },
		      { "show 1", VERB_SHOW } };
	struct options o;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		assert_int_equal(parse(verbs[i].line, &o), 0);
		assert_int_equal(o.verb, verbs[i].verb);
		assert_false(o.json);
		assert_string_equal(o.bus, "system");
		assert_int_equal(o.limit, OPTIONS_LIMIT_UNSET);
	}
}

static void test_values(void **state)
{
	struct options o;

	(void)state;
	assert_int_equal(parse("--json --bus unix:path=/x --limit 7 show 4294967294", &o), 0);
	assert_true(o.json);
	assert_string_equal(o.bus, "unix:path=/x");
	assert_int_equal(o.limit, 7);
	assert_int_equal(o.pid, 4294967294);
	/* Options may follow the verb. */
	assert_int_equal(parse("top --groups -n 3 -d 0.5 --limit=0", &o), 0);
	assert_true(o.groups);
	assert_int_equal(o.count, 3);
	assert_true(o.delay == 0.5);
	assert_int_equal(o.limit, 0);
	assert_int_equal(parse("bench --seconds 2.5", &o), 0);
	assert_true(o.seconds == 2.5);
}

static void test_refused(void **state)
{
	static const char *const lines[] = {
		"",
		"help",
		"status list",
		"Status",
		"\033[31m",
		"show",
		"show 0",
		"show x",
		"show 1 2",
		"show -1",
		"show 4294967295",
		"show 18446744073709551617",
		"list --limit -1",
		"list --limit 1x",
		"list --limit",
		"list --bus=",
		"list --groups",
		"list -n 1",
		"status -d 1",
		"status --seconds 1",
		"top --seconds 1",
		"top -n 0",
		"top -d 0",
		"top -d 0.01",
		"top -d nan",
		"top -d inf",
		"top -d 1e9",
		"bench --seconds 0",
		"bench --seconds 601",
		"--nonsense status",
	};
	struct options o = { .pid = 77 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_int_equal(parse(lines[i], &o), -EINVAL);
		assert_int_equal(o.pid, 77);
	}
}

static void test_done(void **state)
{
	struct options o;

	(void)state;
	assert_int_equal(parse("--version", &o), 0);
	assert_int_equal(o.verb, VERB_NONE);
	assert_int_equal(parse("status --help nonsense", &o), 0);
	assert_int_equal(o.verb, VERB_NONE);
	assert_int_equal(parse("--usage", &o), 0);
	assert_int_equal(o.verb, VERB_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verbs),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
