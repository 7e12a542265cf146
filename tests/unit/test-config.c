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
#include "dropin.h"
#include "util.h"

/* A directory of its own for each test, which stands for "/". */
struct fixture {
	char root[64];
	char warnings[4096];
	struct config_error error;
};

/* config_read()'s warn has no userdata. */
static struct fixture *current;

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	if (!x)
		return -1;
	strcpy(x->root, "/tmp/test-config-XXXXXX");
	if (!mkdtemp(x->root))
		return -1;
	*state = current = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;
	char command[128];
	int r;

	snprintf(command, sizeof(command), "rm -rf '%s'", x->root);
	r = system(command);
	free(x);
	return r;
}

static void warn(const char *line)
{
	size_t used = strlen(current->warnings);

	/* What lies in front of the path in the root does not matter. */
	if (!strncmp(line, current->root, strlen(current->root)))
		line += strlen(current->root);
	snprintf(current->warnings + used, sizeof(current->warnings) - used, "%s\n", line);
}

static void make_directories(const char *path)
{
	char copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *p = copy + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(copy, 0755);
		*p = '/';
	}
}

static void put_bytes(struct fixture *x, const char *path, const void *bytes, size_t n)
{
	char full[PATH_MAX];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", x->root, path);
	make_directories(full);
	f = fopen(full, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void put(struct fixture *x, const char *path, const char *text)
{
	put_bytes(x, path, text, strlen(text));
}

#define MAIN	"/etc/pipewatch/pipewatch.conf"
#define DROPINS "/pipewatch/pipewatch.conf.d/"

/* Reads the default files below the root; the message without the root. */
static int read_default(struct fixture *x, struct config *c)
{
	size_t n_root = strlen(x->root);
	int r;

	memset(&x->error, 0, sizeof(x->error));
	x->warnings[0] = '\0';
	r = config_read_below(c, x->root, NULL, warn, &x->error);
	if (!strncmp(x->error.message, x->root, n_root))
		memmove(x->error.message, x->error.message + n_root,
			strlen(x->error.message + n_root) + 1);
	return r;
}

static char *dump(const struct config *c)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	config_dump(c, f);
	assert_int_equal(fclose(f), 0);
	return text;
}

#define DEFAULTS                                                                       \
	"[Measurement]\nMode=auto\nBudget=1\nSampleFrequency=97\nMaxThreads=16384\n\n" \
	"[Metrics]\nListen=127.0.0.1:10057\nMaxGroups=200\nPidLabel=no\n\n[Bus]\nBus=system\n"

static void assert_dump(const struct config *c, const char *expected)
{
	_cleanup_(freep) char *text = dump(c);

	assert_string_equal(text, expected);
}

static void test_defaults(void **state)
{
	_cleanup_(config_freep) struct config *c = config_new();

	assert_dump(c, DEFAULTS);
	assert_int_equal(read_default(*state, c), 0);
	assert_dump(c, DEFAULTS);
	assert_string_equal(((struct fixture *)*state)->warnings, "");
}

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
#define BUS_ALLOWED                                         \
	"system, session, none or a D-Bus address such as " \
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
		    "unix:abstract=/tmp/dbus-x,guid=0123", "tcp:host=localhost,port=1",
		    "unix:path=/a;unix:path=/b", "unix:path=/a;", "unixexec:path=/bin/x,argv1=-y" },
		  { "", "System", "starter", "unix:", "unix:path", "unix:path=", "unix:=x",
		    "path=/x", "unix:guid=1", "foo:path=/x", "unix:path=/a b", ";unix:path=/a",
		    "unix:path=/a;bad", "unix:path=/\x01", "unix:path=/a\\", ":", ";" } },
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

static void test_file(void **state)
{
	struct fixture *x = *state;
	_cleanup_(config_freep) struct config *c = config_new();

	put(x, MAIN,
	    "\xef\xbb\xbf# comment\r\n\r\n[Measurement] ; why\r\n  Mode = burst \r\nBudget=2% ; two\r\n"
	    "\t; indented \\\r\n[Metrics]\r\nListen=1.1.1.1:1\r\nListen=\r\nListen=2.2.2.2:2 unix:/a\r\n"
	    "PidLabel=yes\r\n[Bus]\r\nBus=unix:path=/a;unix:path=/b\r\n[X-Other]\r\nA=b\r\n"
	    "[Measurement]\r\nX-Own=1\r\nMaxThreads=8");
	assert_int_equal(read_default(x, c), 0);
	assert_string_equal(x->warnings, "");
	assert_dump(c,
		    "[Measurement]\nMode=burst\nBudget=2\nSampleFrequency=97\nMaxThreads=8\n\n"
		    "[Metrics]\nListen=2.2.2.2:2\nListen=unix:/a\nMaxGroups=200\nPidLabel=yes\n\n"
		    "[Bus]\nBus=unix:path=/a;unix:path=/b\n");
}

static void test_unknown_is_told_and_ignored(void **state)
{
	struct fixture *x = *state;
	_cleanup_(config_freep) struct config *c = config_new();

	put(x, MAIN,
	    "Mode=off\n[Nonsense]\nMode=off\nOther=1\n[Bus]\nMode=off\nmode=off\nF\x1b[1moo=1\n"
	    "[metrics]\n[]\n");
	assert_int_equal(read_default(x, c), 0);
	assert_string_equal(
		x->warnings, MAIN
		":1: Mode= stands before the first section, ignored.\n" MAIN
		":2: Unknown section [Nonsense], ignored.\n" MAIN
		":6: Unknown key Mode= in section [Bus], ignored; it belongs in [Measurement].\n" MAIN
		":7: Unknown key mode= in section [Bus], ignored.\n" MAIN
		":8: Unknown key F\\x1b[1moo= in section [Bus], ignored.\n" MAIN
		":9: Unknown section [metrics], ignored.\n" MAIN
		":10: Unknown section [], ignored.\n");
	assert_dump(c, DEFAULTS);
}

static void assert_refused(struct fixture *x, const char *text, size_t n, const char *expected)
{
	_cleanup_(config_freep) struct config *c = config_new();

	put_bytes(x, MAIN, text, n);
	assert_int_equal(read_default(x, c), -EINVAL);
	assert_string_equal(x->error.message, expected);
}

#define ASSERT_REFUSED(text, expected) assert_refused(*state, text, sizeof(text) - 1, MAIN expected)

static void test_bad_files(void **state)
{
	ASSERT_REFUSED("[Measurement]\nMode=exact\nBudget=abc\nMode=foo\n",
		       ":3: Budget=abc is not allowed; allowed is a percentage from 0.01 to 100.");
	ASSERT_REFUSED("[Measurement]\n\nMode=\n",
		       ":3: Mode= is not allowed; allowed is auto, exact, burst, profile or off.");
	ASSERT_REFUSED(
		"[Measurement]\nMode=\x1b]0;x\x07\xff\xc2\x9b\xe2\x82\xac\n",
		":2: Mode=\\x1b]0;x\\x07\\xff\\xc2\\x9b\xe2\x82\xac is not allowed; allowed is auto, "
		"exact, burst, profile or off.");
	ASSERT_REFUSED(
		"[Measurement]\nMode=exact # no comment\n",
		":2: Mode=exact # no comment is not allowed; allowed is auto, exact, burst, profile "
		"or off.");
	ASSERT_REFUSED(
		"[Metrics]\nListen=1.1.1.1:1 \\\n 2.2.2.2:2\n",
		":2: The line ends in a backslash, but continuation lines are not supported.");
	ASSERT_REFUSED("[Measurement]\nMode exact\n",
		       ":2: \"Mode exact\" is neither \"[Section]\" nor \"Key=Value\".");
	ASSERT_REFUSED("[Measurement]\nMode: exact\n",
		       ":2: \"Mode: exact\" is neither \"[Section]\" nor \"Key=Value\".");
	ASSERT_REFUSED("[Measurement]\nMode ;=exact\n",
		       ":2: The line is neither \"[Section]\" nor \"Key=Value\".");
	ASSERT_REFUSED("=exact\n", ":1: \"=exact\" is neither \"[Section]\" nor \"Key=Value\".");
	ASSERT_REFUSED(
		"\n[Measurement\nMode=exact\n",
		":2: \"[Measurement\" is not a section; \"[Section]\" alone on its line is.");
	ASSERT_REFUSED(
		"[Measurement] Mode=exact\n",
		":1: \"[Measurement] Mode=exact\" is not a section; \"[Section]\" alone on its line "
		"is.");
	ASSERT_REFUSED("[Measurement]\nMode=ex\0act\n",
		       ":2: The line holds a NUL byte; the file is to be UTF-8 text.");
	ASSERT_REFUSED("\xff\xfe[\0M\0",
		       ":1: The line holds a NUL byte; the file is to be UTF-8 text.");
}

static void test_long_lines(void **state)
{
	struct fixture *x = *state;
	_cleanup_(config_freep) struct config *c = config_new();
	char text[4096];
	int n;

	/* A comment of any length is one; its end is not taken for a line of its own. */
	memset(text, 'x', sizeof(text));
	text[0] = '#';
	memcpy(text + 190, "\tMode=bad", 9);
	strcpy(text + 4000, "\n[Measurement]\nMode=off\n");
	put(x, MAIN, text);
	assert_int_equal(read_default(x, c), 0);
	assert_int_equal(c->mode, MODE_OFF);

	n = snprintf(text, sizeof(text), "[Bus]\nBus=unix:path=/");
	memset(text + n, 'x', 300);
	strcpy(text + n + 300, "\n");
	put(x, MAIN, text);
	assert_int_equal(read_default(x, c), -EINVAL);
	assert_string_equal(x->error.message, MAIN ":2: The line is longer than 197 characters.");
}

static void test_longest_bus_survives_a_dump(void **state)
{
	struct fixture *x = *state;
	_cleanup_(config_freep) struct config *c = config_new(), *again = config_new();
	_cleanup_(freep) char *text = NULL;
	char bus[192] = "unix:path=/";
	const char *allowed;

	memset(bus + 11, 'x', 191 - 11);
	bus[191] = '\0';
	assert_int_equal(config_set(c, "Bus", bus, &allowed), -EINVAL);
	bus[190] = '\0';
	assert_int_equal(config_set(c, "Bus", bus, &allowed), 0);
	text = dump(c);
	put(x, MAIN, text);
	assert_int_equal(read_default(x, again), 0);
	assert_string_equal(again->bus, bus);
}

static void test_no_files(void **state)
{
	struct fixture *x = *state;
	_cleanup_(config_freep) struct config *c = config_new();
	char path[PATH_MAX], expected[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/absent.conf", x->root);
	assert_int_equal(config_read(c, path, NULL, &x->error), -ENOENT);
	snprintf(expected, sizeof(expected), "%s: Cannot be read: No such file or directory.",
		 path);
	assert_string_equal(x->error.message, expected);

	assert_int_equal(config_read(c, x->root, NULL, &x->error), -EISDIR);
	snprintf(expected, sizeof(expected), "%s: Is a directory, but a file is needed.", x->root);
	assert_string_equal(x->error.message, expected);

	/* Nobody writes to it: opening it must not wait for that. */
	snprintf(path, sizeof(path), "%s/fifo", x->root);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(config_read(c, path, NULL, &x->error), -ENOTSUP);
	snprintf(expected, sizeof(expected), "%s: Is not a regular file.", path);
	assert_string_equal(x->error.message, expected);
	assert_int_equal(config_read(c, "/dev/zero", NULL, &x->error), -ENOTSUP);

	snprintf(path, sizeof(path), "%s/sparse", x->root);
	put(x, "/sparse", "");
	assert_int_equal(truncate(path, 1LL << 40), 0);
	assert_int_equal(config_read(c, path, NULL, &x->error), -EFBIG);

	assert_int_equal(config_read(c, "/dev/null", NULL, &x->error), 0);
	assert_dump(c, DEFAULTS);

	put(x, "/etc/pipewatch/pipewatch.conf.d", "a file");
	assert_int_equal(read_default(x, c), -ENOTDIR);
	assert_string_equal(x->error.message,
			    "/etc/pipewatch/pipewatch.conf.d: Cannot be read: Not a directory.");
}

static void test_dropins(void **state)
{
	struct fixture *x = *state;
	_cleanup_(config_freep) struct config *c = config_new();
	char path[PATH_MAX];

	/* 50-: /etc masks /run masks /usr/local/lib masks /usr/lib, and the base name decides the
	 * order. */
	put(x, MAIN,
	    "[Measurement]\nMode=exact\nBudget=2\n[Metrics]\nMaxGroups=1\nListen=1.1.1.1:1\n");
	put(x, "/usr/lib" DROPINS "10-a.conf",
	    "[Metrics]\nMaxGroups=10\n[Measurement]\nMode=burst\n");
	put(x, "/usr/lib" DROPINS "50-m.conf", "[Measurement]\nMode=off\n");
	put(x, "/usr/local/lib" DROPINS "50-m.conf", "[Measurement]\nMode=off\n");
	put(x, "/run" DROPINS "50-m.conf", "[Measurement]\nMode=off\n");
	put(x, "/etc" DROPINS "50-m.conf", "[Metrics]\nMaxGroups=50\n");
	put(x, "/run" DROPINS "40-n.conf", "[Metrics]\nMaxGroups=40\nListen=2.2.2.2:2\n");
	put(x, "/usr/local/lib" DROPINS "30-o.conf", "[Measurement]\nSampleFrequency=30\n");
	put(x, "/etc" DROPINS ".hidden.conf", "[Measurement]\nMode=off\n");
	put(x, "/etc" DROPINS "99-z.conf.bak", "[Measurement]\nMode=off\n");
	put(x, "/etc" DROPINS ".conf", "[Measurement]\nMode=off\n");
	/* Masked altogether. */
	put(x, "/usr/lib" DROPINS "60-p.conf", "[Measurement]\nMode=off\n");
	snprintf(path, sizeof(path), "%s/etc" DROPINS "60-p.conf", x->root);
	assert_int_equal(symlink("/dev/null", path), 0);

	assert_int_equal(read_default(x, c), 0);
	assert_string_equal(x->warnings, "");
	assert_dump(c,
		    "[Measurement]\nMode=burst\nBudget=2\nSampleFrequency=30\nMaxThreads=16384\n\n"
		    "[Metrics]\nListen=1.1.1.1:1\nListen=2.2.2.2:2\nMaxGroups=50\nPidLabel=no\n\n"
		    "[Bus]\nBus=system\n");

	put(x, "/run" DROPINS "70-q.conf", "[Metrics]\nMaxGroups=zero\n");
	assert_int_equal(read_default(x, c), -EINVAL);
	assert_string_equal(
		x->error.message,
		"/run" DROPINS
		"70-q.conf:2: MaxGroups=zero is not allowed; allowed is a whole number from 1 to "
		"100000.");

	/* A directory in a drop-in's place. */
	put(x, "/etc" DROPINS "70-q.conf/x", "");
	assert_int_equal(read_default(x, c), -EISDIR);
	assert_string_equal(x->error.message,
			    "/etc" DROPINS "70-q.conf: Is a directory, but a file is needed.");
}

static void test_dropins_of_a_named_file(void **state)
{
	struct fixture *x = *state;
	_cleanup_(config_freep) struct config *c = config_new();

	put(x, "/my.conf", "[Metrics]\nMaxGroups=3\n");
	put(x, "/my.conf.d/1.conf", "[Metrics]\nMaxGroups=4\n");
	put(x, "/my.conf.d/2.conf", "[Measurement]\nMode=off\n");
	put(x, "/etc" DROPINS "9.conf", "[Metrics]\nMaxGroups=9\n");
	assert_int_equal(config_read_below(c, x->root, "/my.conf", NULL, &x->error), 0);
	assert_int_equal(c->max_groups, 4);
	assert_int_equal(c->mode, MODE_OFF);
}

static void test_dump_is_read_again(void **state)
{
	struct fixture *x = *state;
	static const char *const settings[][2] = {
		{ "Mode", "profile" },
		{ "Budget", "0.0123456789012345" },
		{ "Budget", "33.3333333333333" },
		{ "MaxThreads", "64" },
		{ "SampleFrequency", "10000" },
		{ "Listen", "" },
		{ "Listen", "[::1]:5 unix:/a;b" },
		{ "PidLabel", "y" },
		{ "Bus", "unix:path=/x" },
	};
	_cleanup_(config_freep) struct config *c = config_new();

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		_cleanup_(config_freep) struct config *again = config_new();
		_cleanup_(freep) char *text = NULL;
		const char *allowed;

		assert_int_equal(config_set(c, settings[i][0], settings[i][1], &allowed), 0);
		text = dump(c);
		put(x, MAIN, text);
		assert_int_equal(read_default(x, again), 0);
		assert_string_equal(x->warnings, "");
		assert_dump(again, text);
		assert_true(again->budget_percent == c->budget_percent);
	}
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

/* Whatever stands in the file: no crash, and either an error with a place or a configuration that
 * reads the same again. */
static void test_mutated_files(void **state)
{
	static const char seed_text[] =
		"[Measurement]\nMode=exact\nBudget=1.5%\nSampleFrequency=97\nMaxThreads=1024\n[Metrics]\n"
		"Listen=127.0.0.1:1 [::1]:2\nListen=unix:/run/x\nMaxGroups=20\nPidLabel=no\n[Bus]\nBus=none\n";
	static const char interesting[] = "\0\n\r[]=;:#\\\"% \t\xff\xef\xbb\xbf\xc2\x9b"
					  "0-.e";
	struct fixture *x = *state;
	unsigned int seed = 1, n_good = 0, n_bad = 0;

	for (int i = 0; i < 600; i++) {
		_cleanup_(config_freep) struct config *c = config_new(), *again = config_new();
		char bytes[1024];
		size_t n = sizeof(seed_text) - 1;
		int r;

		memcpy(bytes, seed_text, n);
		for (int m = 0; m <= i % 7; m++) {
			size_t at = (size_t)rand_r(&seed) % n;
			size_t span = (size_t)rand_r(&seed) % 24 + 1;

			switch (rand_r(&seed) % 4) {
			case 0:
				bytes[at] = interesting[(size_t)rand_r(&seed) %
							(sizeof(interesting) - 1)];
				break;
			case 1: bytes[at] = (char)rand_r(&seed); break;
			case 2:
				if (at + span > n)
					break;
				memmove(bytes + at, bytes + at + span, n - at - span);
				n -= span;
				break;
			default:
				if (at + span > n || n + span > sizeof(bytes))
					break;
				memmove(bytes + at + span, bytes + at, n - at);
				n += span;
			}
		}
		put_bytes(x, MAIN, bytes, n);
		r = read_default(x, c);
		if (r < 0) {
			assert_int_equal(r, -EINVAL);
			assert_int_equal(strncmp(x->error.message, MAIN ":", strlen(MAIN ":")), 0);
			n_bad++;
		} else {
			_cleanup_(freep) char *text = dump(c);

			put(x, MAIN, text);
			assert_int_equal(read_default(x, again), 0);
			assert_dump(again, text);
			n_good++;
		}
	}
	/* Neither way was left out. */
	assert_int_equal(n_good + n_bad, 600);
	assert_true(n_good >= 50 && n_bad >= 50);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_defaults),
		TEST(test_values),
		TEST(test_values_are_stored),
		TEST(test_listen_list),
		TEST(test_unix_path_length),
		TEST(test_file),
		TEST(test_unknown_is_told_and_ignored),
		TEST(test_bad_files),
		TEST(test_long_lines),
		TEST(test_longest_bus_survives_a_dump),
		TEST(test_no_files),
		TEST(test_dropins),
		TEST(test_dropins_of_a_named_file),
		TEST(test_dump_is_read_again),
		TEST(test_render),
		TEST(test_mutated_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
