// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "pipewatch/util.h"
#include "symbols.h"
#include "trial.h"
#include "verdict.h"

static const char *const directories[] = { "/dev/shm", "/run", "/tmp", NULL };

/* A kernel with the functions in a blank-separated list; "-errno" makes them unknowable. */
static int fake_symbol(void *userdata, const char *function)
{
	char list[256], *save;

	snprintf(list, sizeof(list), "%s", (const char *)userdata);
	if (list[0] == '-')
		return -atoi(list + 1);
	for (char *f = strtok_r(list, " ", &save); f; f = strtok_r(NULL, " ", &save))
		if (!strcmp(f, function))
			return 1;
	return 0;
}

static void assert_concluded(enum path_state symbol, enum path_state behaviour,
			     const char *symbol_reason, const char *behaviour_reason,
			     enum path_state state, const char *reason)
{
	struct verdict_path path = { .by_symbol = symbol, .by_behaviour = behaviour };

	verdict_path_conclude(&path, symbol_reason, behaviour_reason);
	assert_string_equal(path.reason, reason);
	assert_int_equal(path.state, state);
	assert_int_equal(path.by_symbol, symbol);
	assert_int_equal(path.by_behaviour, behaviour);
}

static void test_conclude(void **state)
{
	enum path_state u = PATH_UNKNOWN, p = PATH_PAID, r = PATH_REMOVED;

	(void)state;
	assert_concluded(u, u, "sym", "beh", u, "Sym; beh.");
	assert_concluded(u, p, "sym", "beh", p, "Sym; beh.");
	assert_concluded(u, r, "sym", "beh", r, "Sym; beh.");
	assert_concluded(p, u, "sym", "beh", p, "Sym; beh.");
	assert_concluded(p, p, "sym", "beh", p, "Sym, and beh.");
	assert_concluded(p, r, "sym", "beh", u,
			 "Contradiction: by symbol paid (sym), by behaviour removed (beh).");
	assert_concluded(r, u, "sym", "beh", r, "Sym; beh.");
	assert_concluded(r, p, "sym", "beh", u,
			 "Contradiction: by symbol removed (sym), by behaviour paid (beh).");
	assert_concluded(r, r, "sym", "beh", r, "Sym, and beh.");

	assert_concluded(u, p, NULL, "beh", p, "Beh.");
	assert_concluded(u, p, "", "beh", p, "Beh.");
	assert_concluded(r, u, "sym", NULL, r, "Sym.");
	assert_concluded(u, u, NULL, NULL, u, "Nothing is known of it.");
	assert_concluded(
		r, p, NULL, "", u,
		"Contradiction: by symbol removed (no reason given), by behaviour paid (no reason "
		"given).");
}

static void test_long_reasons_end(void **state)
{
	struct verdict_path path = { .by_symbol = PATH_PAID, .by_behaviour = PATH_REMOVED };
	char reason[1000];

	(void)state;
	memset(reason, 'x', sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	verdict_path_conclude(&path, reason, reason);
	assert_int_equal(strlen(path.reason), 255);
	path.by_behaviour = PATH_PAID;
	verdict_path_conclude(&path, reason, reason);
	assert_int_equal(strlen(path.reason), 110 + strlen(", and ") + 120 + 1);
}

static void test_symbols(void **state)
{
	enum path_state u = PATH_UNKNOWN, p = PATH_PAID, r = PATH_REMOVED;
	const struct {
		const char *kernel;
		enum path_state by_symbol[PIPE_KINDS][2]; /* atime, cmtime */
		const char *reason[PIPE_KINDS]; /* how that of atime begins, in any case */
	} cases[] = {
		{ "pipe_read pipe_write",
		  { { p, p }, { p, p } },
		  { "he kernel has pipe_read and no anon_pipe_read",
		    "he kernel has pipe_read and no anon_pipe_read" } },
		{ "anon_pipe_read anon_pipe_write fifo_pipe_read fifo_pipe_write",
		  { { r, r }, { p, p } },
		  { "he kernel has anon_pipe_read", "he kernel has fifo_pipe_read" } },
		{ "anon_pipe_read anon_pipe_write fifo_pipe_read fifo_pipe_write pipe_read",
		  { { r, r }, { p, p } },
		  { "he kernel has anon_pipe_read", "he kernel has fifo_pipe_read" } },
		{ "anon_pipe_write fifo_pipe_write pipe_read",
		  { { p, r }, { p, p } },
		  { "he kernel has pipe_read and no anon_pipe_read",
		    "he kernel has pipe_read and no anon_pipe_read" } },
		{ "anon_pipe_read anon_pipe_write",
		  { { r, r }, { u, u } },
		  { "he kernel has anon_pipe_read",
		    "he kernel has anon_pipe_read but no fifo_pipe_read" } },
		{ "",
		  { { u, u }, { u, u } },
		  { "he kernel has neither pipe_read nor anon_pipe_read",
		    "he kernel has neither pipe_read nor anon_pipe_read" } },
		{ "-13",
		  { { u, u }, { u, u } },
		  { "he kernel's symbols cannot be read (EACCES)",
		    "he kernel's symbols cannot be read (EACCES)" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct verdict v;

		verdict_find(fake_symbol, (void *)cases[i].kernel, directories, &v);
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
			const struct verdict_path *paths = v.paths[pipe];

			assert_int_equal(paths[UPDATE_ATIME].by_symbol,
					 cases[i].by_symbol[pipe][0]);
			assert_int_equal(paths[UPDATE_CMTIME].by_symbol,
					 cases[i].by_symbol[pipe][1]);
			assert_int_equal(paths[UPDATE_FSNOTIFY].by_symbol, u);
			assert_non_null(strstr(paths[UPDATE_ATIME].reason, cases[i].reason[pipe]));
			for (int update = 0; update < UPDATE_KINDS; update++) {
				const struct verdict_path *path = &paths[update];
				size_t n = strlen(path->reason);

				assert_true(n > 10 && path->reason[n - 1] == '.');
				if (path->by_symbol != u && path->by_behaviour != u &&
				    path->by_symbol != path->by_behaviour)
					assert_int_equal(path->state, u);
				else
					assert_int_equal(path->state, path->by_symbol != u
									      ? path->by_symbol
									      : path->by_behaviour);
			}
		}
	}
}

/* The running kernel's two answers come from independent sources, so each tests the other. */
static void test_running_kernel(void **state)
{
	_cleanup_(symbols_freep) struct symbols *s = NULL;
	struct timespec before, after;
	struct verdict v;
	long msec = 1000;

	(void)state;
	assert_int_equal(symbols_open(&s), 0);
	if (symbols_has(s, "pipe_read") < 0)
		skip();
	/* It takes less than a second, unless the machine is paused: not three times. */
	for (int tries = 3; tries > 0 && msec >= 1000; tries--) {
		clock_gettime(CLOCK_MONOTONIC, &before);
		verdict_find(symbols_has, s, directories, &v);
		clock_gettime(CLOCK_MONOTONIC, &after);
		msec = (after.tv_sec - before.tv_sec) * 1000 +
		       (after.tv_nsec - before.tv_nsec) / 1000000;
	}
	assert_true(msec < 1000);

	for (int update = UPDATE_ATIME; update <= UPDATE_CMTIME; update++) {
		const char *function = update == UPDATE_ATIME ? "anon_pipe_read"
							      : "anon_pipe_write";
		enum path_state anonymous = symbols_has(s, function) ? PATH_REMOVED : PATH_PAID;

		assert_int_equal(v.paths[PIPE_ANONYMOUS][update].by_symbol, anonymous);
		assert_int_equal(v.paths[PIPE_ANONYMOUS][update].by_behaviour, anonymous);
		assert_int_equal(v.paths[PIPE_ANONYMOUS][update].state, anonymous);
		assert_int_equal(v.paths[PIPE_FIFO][update].by_symbol, PATH_PAID);
		assert_int_equal(v.paths[PIPE_FIFO][update].by_behaviour, PATH_PAID);
		assert_int_equal(v.paths[PIPE_FIFO][update].state, PATH_PAID);
	}
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		int inotify_fd = inotify_init1(IN_CLOEXEC);

		assert_int_equal(v.paths[pipe][UPDATE_FSNOTIFY].state,
				 inotify_fd >= 0 ? PATH_PAID : PATH_UNKNOWN);
		if (inotify_fd >= 0) {
			assert_string_equal(
				v.paths[pipe][UPDATE_FSNOTIFY].reason,
				pipe == PIPE_FIFO
					? "A write to a watched pipe gave an event: paid only "
					  "while some pipe is watched."
					: "As on a FIFO, a write to a watched pipe gave an event: "
					  "paid only while some pipe is watched.");
			close(inotify_fd);
		}
	}
}

static void assert_trial(enum pipe_kind kind, const char *const *in, const char *reason)
{
	struct trial trials[UPDATE_KINDS];

	trial_run(kind, in, trials);
	for (int update = 0; update < UPDATE_KINDS; update++) {
		assert_int_equal(trials[update].state, PATH_UNKNOWN);
		assert_string_equal(trials[update].reason, reason);
	}
}

static void test_no_place_for_a_fifo(void **state)
{
	(void)state;
	assert_trial(PIPE_FIFO, (const char *const[]){ NULL },
		     "no own FIFO could be made (no directory: ENOENT)");
	assert_trial(PIPE_FIFO, (const char *const[]){ "/nonexistent", NULL },
		     "no own FIFO could be made (/nonexistent: ENOENT)");
	assert_trial(PIPE_FIFO, (const char *const[]){ "/dev/null", NULL },
		     "no own FIFO could be made (/dev/null: ENOTDIR)");
	assert_trial(PIPE_FIFO, (const char *const[]){ "/nonexistent", "/proc", NULL },
		     "no own FIFO could be made (/proc: not a file system to try it on)");
}

static void test_first_usable_directory(void **state)
{
	struct trial trials[UPDATE_KINDS];

	(void)state;
	trial_run(PIPE_FIFO, (const char *const[]){ "/nonexistent", "/proc", "/tmp", NULL },
		  trials);
	assert_string_equal(trials[UPDATE_CMTIME].reason, "a write updated mtime or ctime");
	assert_int_equal(trials[UPDATE_CMTIME].state, PATH_PAID);
}

static void test_no_descriptors(void **state)
{
	struct rlimit limit, none;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_trial(PIPE_ANONYMOUS, directories, "no own pipe could be made (pipe2: EMFILE)");
	assert_trial(PIPE_FIFO, directories, "no own FIFO could be made (/tmp: EMFILE)");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Has the system call @number fail with @error from here on. */
static bool refuse(unsigned int number, unsigned int error)
{
	struct sock_filter instructions[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_SIZE(instructions), instructions };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Its exit status is 0; 77: it cannot be tried here. */
static void in_child(int (*run)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(run());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* In a mount namespace of its own, where the test may mount. */
static int noatime_child(void)
{
	struct trial trials[UPDATE_KINDS];

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("test", "/mnt", "tmpfs", MS_NOATIME, NULL) < 0)
		return 77;
	trial_run(PIPE_FIFO, (const char *const[]){ "/mnt", NULL }, trials);
	if (trials[UPDATE_ATIME].state != PATH_UNKNOWN ||
	    strcmp(trials[UPDATE_ATIME].reason,
		   "a read could not be tried (only mounts with noatime)") ||
	    trials[UPDATE_CMTIME].state != PATH_PAID || trials[UPDATE_FSNOTIFY].state != PATH_PAID)
		return 1;
	/* A later mount that keeps atimes is the better one. */
	trial_run(PIPE_FIFO, (const char *const[]){ "/mnt", "/tmp", NULL }, trials);
	return trials[UPDATE_ATIME].state == PATH_PAID ? 0 : 2;
}

static void test_noatime(void **state)
{
	(void)state;
	in_child(noatime_child);
}

static int without_inotify_child(void)
{
	struct trial trials[UPDATE_KINDS];

	if (!refuse(SYS_inotify_init1, EMFILE))
		return 77;
	trial_run(PIPE_FIFO, directories, trials);
	if (strcmp(trials[UPDATE_FSNOTIFY].reason,
		   "a watch could not be tried (inotify_init1: EMFILE)") ||
	    trials[UPDATE_FSNOTIFY].state != PATH_UNKNOWN)
		return 1;
	return trials[UPDATE_ATIME].state == PATH_UNKNOWN ? 2 : 0;
}

static void test_without_inotify(void **state)
{
	(void)state;
	in_child(without_inotify_child);
}

/* Where timestamps cannot be set, ticks are waited for, and the answer is the same. */
static int without_utimensat_child(void)
{
	struct trial with[PIPE_KINDS][UPDATE_KINDS], without[PIPE_KINDS][UPDATE_KINDS];

	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		trial_run(pipe, directories, with[pipe]);
	if (!refuse(SYS_utimensat, EPERM))
		return 77;
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		trial_run(pipe, directories, without[pipe]);
		for (int update = 0; update < UPDATE_KINDS; update++)
			if (with[pipe][update].state != without[pipe][update].state ||
			    strcmp(with[pipe][update].reason, without[pipe][update].reason))
				return 1 + pipe;
	}
	return 0;
}

static void test_without_utimensat(void **state)
{
	(void)state;
	in_child(without_utimensat_child);
}

static void test_kallsyms(void **state)
{
	_cleanup_(symbols_freep) struct symbols *s = NULL, *none = NULL, *empty = NULL;
	char path[] = "/tmp/test-verdict-XXXXXX";
	int fd = mkstemp(path);
	static const char text[] = "0000000000000000 t pipe_read\n"
				   "0000000000000000 T touch_atime\n"
				   "0000000000000000 d pipe_data\n"
				   "0000000000000000 t inode_needs_update_time.part.0\n"
				   "0000000000000000 t fifo_pipe_read\t[module]\n"
				   "nonsense\n"
				   "0000000000000000 t last";

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	assert_int_equal(symbols_open_at("/nonexistent", path, &s), 0);
	assert_int_equal(symbols_has(s, "pipe_read"), 1);
	assert_int_equal(symbols_has(s, "touch_atime"), 1);
	assert_int_equal(symbols_has(s, "last"), 1);
	assert_int_equal(symbols_has(s, "pipe_data"), 0);
	assert_int_equal(symbols_has(s, "pipe"), 0);
	assert_int_equal(symbols_has(s, "inode_needs_update_time"), 0);
	assert_int_equal(symbols_has(s, "fifo_pipe_read"), 0);
	assert_int_equal(symbols_has(s, "pipe_write"), 0);
	unlink(path);

	assert_int_equal(symbols_open_at("/nonexistent", "/nonexistent", &none), 0);
	assert_int_equal(symbols_has(none, "pipe_read"), -ENOENT);
	/* What is no BTF is passed over. */
	assert_int_equal(symbols_open_at("/dev/null", "/dev/null", &empty), 0);
	assert_int_equal(symbols_has(empty, "pipe_read"), -ENODATA);
}

static void test_sources_agree(void **state)
{
	_cleanup_(symbols_freep) struct symbols *btf = NULL, *kallsyms = NULL;
	static const char *const functions[] = { "pipe_read",	   "pipe_write",
						 "anon_pipe_read", "anon_pipe_write",
						 "fifo_pipe_read", "fifo_pipe_write",
						 "touch_atime",	   "no_such_function" };

	(void)state;
	assert_int_equal(symbols_open_at("/sys/kernel/btf/vmlinux", "/nonexistent", &btf), 0);
	assert_int_equal(symbols_open_at("/nonexistent", "/proc/kallsyms", &kallsyms), 0);
	if (symbols_has(btf, "touch_atime") < 0 || symbols_has(kallsyms, "touch_atime") < 0)
		skip();
	assert_int_equal(symbols_has(btf, "touch_atime"), 1);
	assert_int_equal(symbols_has(btf, "no_such_function"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		assert_int_equal(symbols_has(btf, functions[i]),
				 symbols_has(kallsyms, functions[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conclude),
		cmocka_unit_test(test_long_reasons_end),
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_running_kernel),
		cmocka_unit_test(test_no_place_for_a_fifo),
		cmocka_unit_test(test_first_usable_directory),
		cmocka_unit_test(test_no_descriptors),
		cmocka_unit_test(test_without_inotify),
		cmocka_unit_test(test_noatime),
		cmocka_unit_test(test_without_utimensat),
		cmocka_unit_test(test_kallsyms),
		cmocka_unit_test(test_sources_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
