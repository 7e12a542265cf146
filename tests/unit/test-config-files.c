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
#include "dropin.h"
#include "pipewatch/util.h"

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

static void test_defaults(void **state)
{
	_cleanup_(config_freep) struct config *c = config_new();

	assert_dump(c, DEFAULTS);
	assert_int_equal(read_default(*state, c), 0);
	assert_dump(c, DEFAULTS);
	assert_string_equal(((struct fixture *)*state)->warnings, "");
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

	/* The longest that is read, and one more. */
	for (int length = 197; length <= 198; length++) {
		n = snprintf(text, sizeof(text), "[Bus]\nNothing=");
		memset(text + n, 'x', length - strlen("Nothing="));
		strcpy(text + n + length - strlen("Nothing="), "\n");
		put(x, MAIN, text);
		assert_int_equal(read_default(x, c), length == 197 ? 0 : -EINVAL);
	}
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
		TEST(test_file),
		TEST(test_unknown_is_told_and_ignored),
		TEST(test_bad_files),
		TEST(test_long_lines),
		TEST(test_longest_bus_survives_a_dump),
		TEST(test_no_files),
		TEST(test_dropins),
		TEST(test_dropins_of_a_named_file),
		TEST(test_dump_is_read_again),
		TEST(test_mutated_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
