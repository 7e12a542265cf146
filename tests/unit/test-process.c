// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "pipewatch/util.h"
#include "process.h"

#define FLAGS "4194560"

/* Fields 4 to 52 with 20 (num_threads) and 22 (starttime) left open, as Linux 6.12 has them. */
#define FIELDS                                                                                \
	"1 2 3 0 -1 " FLAGS " 121 0 3 0 10 20 0 0 20 0 %s 0 %s 4096 88 18446744073709551615 " \
	"1 1 0 0 0 0 0 4 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"

/* A process of that name, state, number of threads and start. */
static int parse_fields(const char *comm, char state, const char *threads, const char *start,
			struct process *ret)
{
	char text[1024];
	int n;

	n = snprintf(text, sizeof(text), "4711 (%s) %c " FIELDS, comm, state, threads, start);
	assert_in_range(n, 1, sizeof(text) - 1);
	return process_parse(text, n, ret);
}

/* @stat is refused, and the result left alone. */
static void assert_refused_text(const char *stat, size_t length)
{
	struct process p, before;

	memset(&p, 0xaa, sizeof(p));
	before = p;
	assert_int_equal(process_parse(stat, length, &p), -EBADMSG);
	assert_memory_equal(&p, &before, sizeof(p));
}

static void assert_refused(const char *threads, const char *start)
{
	char text[1024];
	int n;

	n = snprintf(text, sizeof(text), "4711 (cat) S " FIELDS, threads, start);
	assert_refused_text(text, n);
}

static void test_ticks(void **state)
{
	uint64_t tick = UINT64_C(1000000000) / sysconf(_SC_CLK_TCK);

	(void)state;
	assert_int_equal(process_ticks(0), 0);
	assert_int_equal(process_ticks(tick - 1), 0);
	assert_int_equal(process_ticks(tick), 1);
	assert_int_equal(process_ticks(1000 * tick + 1), 1000);
}

static void test_parse(void **state)
{
	struct process p;

	(void)state;
	assert_int_equal(parse_fields("cat", 'S', "3", "123456789", &p), 0);
	assert_string_equal(p.comm, "cat");
	assert_int_equal(p.start_ticks, 123456789);
	assert_int_equal(p.cpu_ticks, 10 + 20);
	assert_false(p.ended);
	assert_false(p.kernel_thread);
}

static void test_kernel_thread(void **state)
{
	/* As Linux 6.12 has it. */
	static const char stat[] = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 6 ";
	struct process p;

	(void)state;
	assert_int_equal(process_parse(stat, strlen(stat), &p), 0);
	assert_string_equal(p.comm, "kthreadd");
	assert_true(p.kernel_thread);
}

static void test_hostile_names(void **state)
{
	static const char *const names[] = {
		"",	     ")",      "(",	"((((",	      "))))",	  ") Z 1 1 1",
		") S (",     "a b",    "a\nb",	"\n) Z (\n",  "\"\\{}\t", "\x01\xff\xfe",
		") R 1 2 3", "%s%n%d", "() ()", "tmux: serv", "\xc3\xa4", "fifteen-letters",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct process p;

		assert_int_equal(parse_fields(names[i], 'S', "1", "77", &p), 0);
		assert_string_equal(p.comm, names[i]);
		assert_int_equal(p.start_ticks, 77);
		assert_false(p.ended);
	}
}

/* Kernel threads have names of up to 63 bytes. */
static void test_long_names(void **state)
{
	char name[80];
	struct process p;

	(void)state;
	memset(name, 'k', sizeof(name));
	name[63] = '\0';
	assert_int_equal(parse_fields(name, 'I', "1", "5", &p), 0);
	assert_string_equal(p.comm, name);
	name[63] = 'k';
	name[64] = '\0';
	assert_int_equal(parse_fields(name, 'I', "1", "5", &p), -EBADMSG);
}

static void test_ended(void **state)
{
	struct process p;

	(void)state;
	assert_int_equal(parse_fields("sh", 'Z', "1", "5", &p), 0);
	assert_true(p.ended);
	assert_int_equal(parse_fields("sh", 'X', "0", "5", &p), 0);
	assert_true(p.ended);
	/* The main thread has ended, others have not. */
	assert_int_equal(parse_fields("sh", 'Z', "2", "5", &p), 0);
	assert_false(p.ended);
	assert_int_equal(parse_fields("sh", 'T', "1", "5", &p), 0);
	assert_false(p.ended);
}

/* It ends early, anywhere: refused, or, once the start is complete, understood. */
static void test_truncated(void **state)
{
	char text[1024];
	int n, known;

	(void)state;
	n = snprintf(text, sizeof(text), "4711 (cat) S " FIELDS, "1", "987");
	known = strstr(text, " 987 ") + 4 - text;
	for (int length = 0; length <= n; length++) {
		/* Of exactly that size, so that a sanitizer sees reads beyond it. */
		_cleanup_(freep) char *exact = malloc(length);
		struct process p;

		assert_non_null(exact);
		memcpy(exact, text, length);
		if (length < known - 2) {
			assert_refused_text(exact, length);
			continue;
		}
		assert_int_equal(process_parse(exact, length, &p), 0);
		assert_string_equal(p.comm, "cat");
		assert_int_equal(p.start_ticks, length == known - 2   ? 9
						: length == known - 1 ? 98
								      : 987);
	}
}

static void test_not_a_stat_file(void **state)
{
	static const char *const texts[] = {
		"",	      "\n",	     "x",	  "1 cat S 1 2 3", "1 (cat",
		"1 cat) S",   "1 )cat( S 1", "1 (cat)",	  "1 (cat) ",	   "1 (cat) S",
		"1 (cat) S ", "()",	     "(((((((((", "))))))))))",
	};
	char zeros[100] = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_refused_text(texts[i], strlen(texts[i]));
	assert_refused_text(zeros, sizeof(zeros));
}

static void test_numbers(void **state)
{
	struct process p;

	(void)state;
	assert_int_equal(parse_fields("x", 'S', "1", "18446744073709551615", &p), 0);
	assert_int_equal(p.start_ticks, UINT64_MAX);
	assert_refused("1", "18446744073709551616");
	assert_refused("1", "99999999999999999999999999");
	assert_refused("99999999999999999999999999", "1");
	assert_refused("1", "-1");
	assert_refused("-1", "1");
	assert_refused("1", "+1");
	assert_refused("1", "0x10");
	assert_refused("1", "12a");
	assert_refused("one", "1");
}

static void test_cpu_ticks(void **state)
{
	static const struct {
		const char *user_system;
		uint64_t ticks;
	} cases[] = {
		{ "0 0", 0 },
		{ "9223372036854775807 1", UINT64_C(1) << 63 },
		{ "0 4711", 4711 },
	};
	static const char *const refused[] = { "-1 0", "0 -1", "x 0", "0 0x1",
					       "18446744073709551616 0" };
	char text[256];
	struct process p;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(text, sizeof(text), "1 (x) S 1 2 3 0 -1 4 5 6 7 8 %s 0 0 20 0 1 0 99\n",
			 cases[i].user_system);
		assert_int_equal(process_parse(text, strlen(text), &p), 0);
		assert_int_equal(p.cpu_ticks, cases[i].ticks);
		assert_int_equal(p.start_ticks, 99);
	}
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		snprintf(text, sizeof(text), "1 (x) S 1 2 3 0 -1 4 5 6 7 8 %s 0 0 20 0 1 0 99\n",
			 refused[i]);
		assert_refused_text(text, strlen(text));
	}
}

/* More than any kernel prints. */
static void test_endless(void **state)
{
	char text[4096];

	(void)state;
	memset(text, '9', sizeof(text));
	memcpy(text, "1 (cat) S ", 10);
	assert_refused_text(text, sizeof(text));
	memset(text + 10, ' ', sizeof(text) - 10);
	assert_refused_text(text, sizeof(text));
}

static void test_this_process(void **state)
{
	struct process p;
	struct timespec now;
	char before[16];

	(void)state;
	assert_int_equal(prctl(PR_GET_NAME, before), 0);
	assert_int_equal(prctl(PR_SET_NAME, ") Z (\n\"\\\x01\xff"), 0);
	assert_int_equal(process_read("/proc", getpid(), &p), 0);
	assert_string_equal(p.comm, ") Z (\n\"\\\x01\xff");
	assert_false(p.ended);
	assert_int_equal(prctl(PR_SET_NAME, ""), 0);
	assert_int_equal(process_read("/proc", getpid(), &p), 0);
	assert_string_equal(p.comm, "");
	assert_int_equal(prctl(PR_SET_NAME, before), 0);

	/* Started within the last hour, and not in the future. */
	assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &now), 0);
	assert_in_range(p.start_ticks,
			now.tv_sec > 3600 ? process_ticks((now.tv_sec - 3600) * INT64_C(1000000000))
					  : 0,
			process_ticks(now.tv_sec * INT64_C(1000000000) + now.tv_nsec));
}

static void test_zombie_and_gone(void **state)
{
	struct process p, before;
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(process_read("/proc", pid, &p), 0);
	assert_true(p.ended);

	assert_int_equal(waitpid(pid, NULL, 0), pid);
	before = p;
	assert_int_equal(process_read("/proc", pid, &p), -ESRCH);
	assert_memory_equal(&p, &before, sizeof(p));
}

static void test_other_proc(void **state)
{
	char proc[] = "/tmp/pipewatch-process-XXXXXX", path[64];
	struct process p;

	(void)state;
	assert_non_null(mkdtemp(proc));
	assert_int_equal(process_read(proc, 7, &p), -ESRCH);
	snprintf(path, sizeof(path), "%s/7", proc);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(process_read(proc, 7, &p), -ESRCH);

	snprintf(path, sizeof(path), "%s/7/stat", proc);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(process_read(proc, 7, &p), -EISDIR);
	assert_int_equal(rmdir(path), 0);

	fclose(fopen(path, "we"));
	assert_int_equal(process_read(proc, 7, &p), -EBADMSG);

	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/7", proc);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(proc), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ticks),		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_kernel_thread),	cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_long_names),	cmocka_unit_test(test_ended),
		cmocka_unit_test(test_truncated),	cmocka_unit_test(test_not_a_stat_file),
		cmocka_unit_test(test_numbers),		cmocka_unit_test(test_cpu_ticks),
		cmocka_unit_test(test_endless),		cmocka_unit_test(test_this_process),
		cmocka_unit_test(test_zombie_and_gone), cmocka_unit_test(test_other_proc),
	};

	return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
