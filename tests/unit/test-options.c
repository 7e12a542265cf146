// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "options.h"
#include "pipewatch/util.h"

/* Parses a command line with stdout and stderr caught. */
struct run {
	struct options *options;
	int r;
	char out[4096];
	char err[4096];
};

static void catch (int fd, FILE **ret_file, int *ret_saved)
{
	fflush(fd == 1 ? stdout : stderr);
	*ret_file = tmpfile();
	assert_non_null(*ret_file);
	*ret_saved = dup(fd);
	assert_int_equal(dup2(fileno(*ret_file), fd), fd);
}

static void release(int fd, FILE *file, int saved, char *ret, size_t size)
{
	fflush(fd == 1 ? stdout : stderr);
	assert_int_equal(dup2(saved, fd), fd);
	close(saved);
	rewind(file);
	ret[fread(ret, 1, size - 1, file)] = '\0';
	fclose(file);
}

static void run(struct run *ret, char *const *arguments)
{
	char *argv[16] = { (char *)"/usr/sbin/pipewatchd" };
	int argc = 1, saved_out, saved_err;
	FILE *out, *err;

	for (; arguments[argc - 1]; argc++)
		argv[argc] = arguments[argc - 1];
	ret->options = NULL;
	catch (1, &out, &saved_out);
	catch (2, &err, &saved_err);
	ret->r = options_parse(argc, argv, &ret->options);
	release(2, err, saved_err, ret->err, sizeof(ret->err));
	release(1, out, saved_out, ret->out, sizeof(ret->out));
}

#define RUN(ret, ...) run(ret, (char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })
#define ARGUMENTS(...)            \
	{                         \
		__VA_ARGS__, NULL \
	}

static void test_nothing(void **state)
{
	_cleanup_(config_freep) struct config *c = config_new();
	struct run x;

	(void)state;
	RUN(&x);
	assert_int_equal(x.r, 0);
	assert_int_equal(x.options->action, OPTIONS_RUN);
	assert_null(x.options->config_file);
	assert_int_equal(options_apply(x.options, c), 0);
	assert_string_equal(c->listen[0], "127.0.0.1:10057");
	assert_int_equal(c->mode, MODE_AUTO);
	assert_string_equal(x.out, "");
	assert_string_equal(x.err, "");
	options_free(x.options);
}

static void test_overrides(void **state)
{
	struct run x;

	(void)state;
	RUN(&x, (char *)"--config", (char *)"/my.conf", (char *)"--mode=off", (char *)"--mode",
	    (char *)"exact", (char *)"--budget", (char *)"2.5%", (char *)"--bus=none",
	    (char *)"--listen=[::1]:1", (char *)"--listen", (char *)"unix:/run/s",
	    (char *)"--check");
	assert_int_equal(x.r, 0);
	assert_int_equal(x.options->action, OPTIONS_CHECK);
	assert_string_equal(x.options->config_file, "/my.conf");

	/* At the start and at each reload alike, whatever the files say. */
	for (int i = 0; i < 2; i++) {
		_cleanup_(config_freep) struct config *c = config_new();
		const char *allowed;

		assert_int_equal(config_set(c, "Listen", "9.9.9.9:9 8.8.8.8:8", &allowed), 0);
		assert_int_equal(config_set(c, "Mode", "burst", &allowed), 0);
		assert_int_equal(config_set(c, "MaxGroups", "5", &allowed), 0);
		assert_int_equal(options_apply(x.options, c), 0);
		assert_int_equal(c->mode, MODE_EXACT);
		assert_true(c->budget_percent == 2.5);
		assert_string_equal(c->bus, "none");
		assert_string_equal(c->listen[0], "[::1]:1");
		assert_string_equal(c->listen[1], "unix:/run/s");
		assert_null(c->listen[2]);
		assert_int_equal(c->max_groups, 5);
	}
	options_free(x.options);
}

static void test_actions(void **state)
{
	struct run x;

	(void)state;
	RUN(&x, (char *)"--check-config");
	assert_int_equal(x.r, 0);
	assert_int_equal(x.options->action, OPTIONS_CHECK_CONFIG);
	options_free(x.options);
	RUN(&x, (char *)"--check");
	assert_int_equal(x.r, 0);
	assert_int_equal(x.options->action, OPTIONS_CHECK);
	options_free(x.options);
}

static void test_version_and_help(void **state)
{
	char expected[128];
	struct run x;

	(void)state;
	RUN(&x, (char *)"--version", (char *)"--what-follows-does-not-count", (char *)"x");
	assert_int_equal(x.r, 0);
	assert_int_equal(x.options->action, OPTIONS_DONE);
	snprintf(expected, sizeof(expected), "pipewatchd " PIPEWATCH_VERSION "\nlibbpf %u.%u\n",
		 libbpf_major_version(), libbpf_minor_version());
	assert_string_equal(x.out, expected);
	assert_string_equal(x.err, "");
	options_free(x.options);

	RUN(&x, (char *)"--help");
	assert_int_equal(x.r, 0);
	assert_int_equal(x.options->action, OPTIONS_DONE);
	assert_string_equal(x.err, "");
	for (size_t i = 0; i < 9; i++) {
		static const char *const options[] = { "--config=", "--check-config", "--check ",
						       "--listen=", "--bus=",	      "--mode=",
						       "--budget=", "--version",      "--help" };

		assert_non_null(strstr(x.out, options[i]));
	}
	options_free(x.options);
}

static void test_refused(void **state)
{
	static const struct {
		char *arguments[4];
		const char *message;
	} cases[] = {
		{ ARGUMENTS((char *)"--mode=fast"),
		  "pipewatchd: --mode=fast is not allowed; allowed is auto, exact, burst, profile or off\n" },
		{ ARGUMENTS((char *)"--mode="),
		  "pipewatchd: --mode= is not allowed; allowed is auto, exact" },
		{ ARGUMENTS((char *)"--budget=0"),
		  "pipewatchd: --budget=0 is not allowed; allowed is a percentage from 0.01 to 100\n" },
		{ ARGUMENTS((char *)"--budget", (char *)"nan"),
		  "pipewatchd: --budget=nan is not allowed;" },
		{ ARGUMENTS((char *)"--bus=\x1b[1m"),
		  "pipewatchd: --bus=\\x1b[1m is not allowed;" },
		{ ARGUMENTS((char *)"--listen="),
		  "pipewatchd: --listen= is not allowed; allowed is ADDR:PORT," },
		{ ARGUMENTS((char *)"--listen=1.1.1.1:1 2.2.2.2:2"),
		  "pipewatchd: --listen=1.1.1.1:1 2.2.2.2:2 is not allowed;" },
		{ ARGUMENTS((char *)"--listen=localhost:1"),
		  "pipewatchd: --listen=localhost:1 is not allowed;" },
		{ ARGUMENTS((char *)"--config="),
		  "pipewatchd: --config needs the name of a file\n" },
		{ ARGUMENTS((char *)"--check", (char *)"--check-config"),
		  "pipewatchd: --check and --check-config exclude each other\n" },
		{ ARGUMENTS((char *)"--check", (char *)"file"),
		  "pipewatchd: unexpected argument \"file\"\n" },
		{ ARGUMENTS((char *)""), "pipewatchd: unexpected argument \"\"\n" },
		{ ARGUMENTS((char *)"--", (char *)"--check"),
		  "pipewatchd: unexpected argument \"--check\"\n" },
		{ ARGUMENTS((char *)"x", (char *)"--help"),
		  "pipewatchd: unexpected argument \"x\"\n" },
		{ ARGUMENTS((char *)"--nonsense"), "unrecognized option '--nonsense'\n" },
		{ ARGUMENTS((char *)"--HANG"), "unrecognized option '--HANG'\n" },
		{ ARGUMENTS((char *)"-x"), "invalid option -- 'x'\n" },
		{ ARGUMENTS((char *)"--mode"), "option '--mode' requires an argument\n" },
		{ ARGUMENTS((char *)"--check=yes"),
		  "option '--check' doesn't allow an argument\n" },
		{ ARGUMENTS((char *)"--c"), "option '--c' is ambiguous;" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct run x;

		run(&x, cases[i].arguments);
		if (x.r != -EINVAL || !strstr(x.err, cases[i].message))
			print_error("case %zu: %d, %s\n", i, x.r, x.err);
		assert_int_equal(x.r, -EINVAL);
		assert_non_null(strstr(x.err, cases[i].message));
		assert_string_equal(x.out, "");
		assert_null(x.options);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_overrides),
		cmocka_unit_test(test_actions), cmocka_unit_test(test_version_and_help),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
