// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "check.h"
#include "permission.h"
#include "pipewatch/api.h"
#include "pipewatch/util.h"

/* A machine where nothing is in the way. */
static const struct permission_facts free_machine = {
	.lockdown = LOCKDOWN_NONE,
	.cap_bpf = true,
	.cap_perfmon = true,
	.cap_bpf_exists = true,
	.bpf_built_in = true,
	.unprivileged_bpf_disabled = 2,
	.memlock_bytes = 8 << 20,
	.ftrace_enabled = 1,
	.perf_event_paranoid = 3,
};

static void assert_judged(const struct permission_facts *facts, int error, int exit_code,
			  const char *reason)
{
	char text[1024] = "before";

	assert_int_equal(permission_judge(facts, error, text, sizeof(text)), exit_code);
	assert_string_equal(text, reason);
}

static void test_nothing_in_the_way(void **state)
{
	struct permission_facts facts = free_machine;

	(void)state;
	assert_judged(&facts, 0, 0, "");
	/* A filter that lets bpf(2) pass is not in the way. */
	facts.seccomp = 2;
	assert_judged(&facts, 0, 0, "");
	/* Nor is integrity, nor a limit that nothing counts against or that can be raised. */
	facts.lockdown = LOCKDOWN_INTEGRITY;
	assert_judged(&facts, 0, 0, "");
	facts.lockdown = LOCKDOWN_UNKNOWN;
	assert_judged(&facts, 0, 0, "");
	facts.memlock_counts = true;
	facts.cap_sys_resource = true;
	assert_judged(&facts, 0, 0, "");
	facts.cap_sys_resource = false;
	facts.memlock_bytes = UINT64_MAX;
	assert_judged(&facts, 0, 0, "");
	facts.cap_bpf = facts.cap_perfmon = false;
	facts.cap_sys_admin = true;
	assert_judged(&facts, 0, 0, "");
	facts.cap_bpf_exists = false;
	assert_judged(&facts, 0, 0, "");
}

#define LOCKDOWN                                                                                   \
	"Kernel lockdown is in confidentiality mode, which keeps BPF from reading kernel memory: " \
	"boot with lockdown=integrity or lockdown=none."
#define LACKS(what)                                                                            \
	"The effective capability set lacks " what ": run as root, or grant it, in a systemd " \
	"unit with AmbientCapabilities= and CapabilityBoundingSet=."
#define SECCOMP(error)                                                                      \
	"A seccomp filter forbids bpf(2) (" error "): let it pass, in a systemd unit with " \
	"SystemCallFilter=bpf as the last of these lines."
#define KILLS                                                                                     \
	"A seccomp filter kills callers of bpf(2) (SIGSYS): let it pass, in a systemd unit with " \
	"SystemCallFilter=bpf as the last of these lines."

static void test_lockdown(void **state)
{
	struct permission_facts facts = free_machine;

	(void)state;
	facts.lockdown = LOCKDOWN_CONFIDENTIALITY;
	assert_judged(&facts, 0, PIPEWATCH_EXIT_NOT_PERMITTED, LOCKDOWN);
	assert_judged(&facts, -EPERM, PIPEWATCH_EXIT_NOT_PERMITTED, LOCKDOWN);
	/* The verifier does not know the helpers that read memory. */
	assert_judged(&facts, -EINVAL, PIPEWATCH_EXIT_NOT_PERMITTED, LOCKDOWN);
	/* What is missing besides is named at once. */
	facts.cap_bpf = false;
	assert_judged(&facts, -EPERM, PIPEWATCH_EXIT_NOT_PERMITTED, LOCKDOWN " " LACKS("CAP_BPF"));
}

static void test_capabilities(void **state)
{
	struct permission_facts facts = free_machine;

	(void)state;
	facts.cap_bpf = false;
	assert_judged(&facts, 0, PIPEWATCH_EXIT_NOT_PERMITTED, LACKS("CAP_BPF"));
	facts.cap_perfmon = false;
	assert_judged(&facts, -EPERM, PIPEWATCH_EXIT_NOT_PERMITTED,
		      LACKS("CAP_BPF and CAP_PERFMON"));
	facts.cap_bpf = true;
	assert_judged(&facts, -EPERM, PIPEWATCH_EXIT_NOT_PERMITTED, LACKS("CAP_PERFMON"));
	facts.cap_bpf_exists = false;
	assert_judged(&facts, -EPERM, PIPEWATCH_EXIT_NOT_PERMITTED, LACKS("CAP_SYS_ADMIN"));
}

static void test_user_namespace(void **state)
{
	struct permission_facts facts = free_machine;

	(void)state;
	facts.own_user_namespace = true;
	facts.cap_sys_admin = true;
	facts.load_error = -EPERM;
	assert_judged(
		&facts, 0, PIPEWATCH_EXIT_NOT_PERMITTED,
		"This process is in a user namespace of its own, where capabilities do not count for BPF: "
		"run it in the initial one, in a systemd unit with PrivateUsers=no.");
}

static void test_seccomp(void **state)
{
	struct permission_facts facts = free_machine;

	(void)state;
	facts.seccomp = 2;
	facts.bpf_error = facts.load_error = -EPERM;
	assert_judged(&facts, 0, PIPEWATCH_EXIT_NOT_PERMITTED, SECCOMP("EPERM"));
	facts.bpf_error = -EACCES;
	assert_judged(&facts, -EACCES, PIPEWATCH_EXIT_NOT_PERMITTED, SECCOMP("EACCES"));
	facts.bpf_error = -ENOSYS;
	assert_judged(&facts, -ENOSYS, PIPEWATCH_EXIT_NOT_PERMITTED, SECCOMP("ENOSYS"));

	facts.bpf_error = 0;
	facts.bpf_killed = true;
	assert_judged(&facts, 0, PIPEWATCH_EXIT_NOT_PERMITTED, KILLS);
	facts.cap_bpf = facts.cap_perfmon = false;
	assert_judged(&facts, 0, PIPEWATCH_EXIT_NOT_PERMITTED,
		      KILLS " " LACKS("CAP_BPF and CAP_PERFMON"));

	/* EPERM may come of the missing capability alone, or of both: the filter is then only
	 * mentioned. */
	facts.bpf_killed = false;
	facts.bpf_error = -EPERM;
	assert_judged(
		&facts, 0, PIPEWATCH_EXIT_NOT_PERMITTED,
		LACKS("CAP_BPF and CAP_PERFMON") " A seccomp filter is in force too, and may forbid bpf(2) "
						 "as well.");
	facts.unprivileged_bpf_disabled = 0;
	assert_judged(&facts, 0, PIPEWATCH_EXIT_NOT_PERMITTED,
		      SECCOMP("EPERM") " " LACKS("CAP_BPF and CAP_PERFMON"));
}

static void test_kernels_without(void **state)
{
	struct permission_facts facts = free_machine;

	(void)state;
	facts.bpf_error = -ENOSYS;
	facts.bpf_built_in = false;
	facts.cap_bpf = false; /* would not help */
	assert_judged(
		&facts, 0, PIPEWATCH_EXIT_UNAVAILABLE,
		"This kernel has no bpf(2) (ENOSYS): it needs one built with CONFIG_BPF_SYSCALL=y.");

	facts = free_machine;
	facts.btf_error = -ENOENT;
	assert_judged(
		&facts, 0, PIPEWATCH_EXIT_UNAVAILABLE,
		"The kernel offers no BTF (/sys/kernel/btf/vmlinux: ENOENT): it needs one built with "
		"CONFIG_DEBUG_INFO_BTF=y, and /sys mounted.");
	facts.btf_error = -EACCES;
	assert_judged(&facts, -EACCES, PIPEWATCH_EXIT_NOT_PERMITTED,
		      "/sys/kernel/btf/vmlinux cannot be read (EACCES): let it be read.");

	facts = free_machine;
	facts.ftrace_enabled = 0;
	assert_judged(&facts, 0, 0, "");
	assert_judged(
		&facts, -EBUSY, PIPEWATCH_EXIT_UNAVAILABLE,
		"kernel.ftrace_enabled is 0, which keeps programs from being attached to functions (EBUSY): "
		"set it to 1.");
}

static void test_memlock(void **state)
{
	struct permission_facts facts = free_machine;

	(void)state;
	facts.memlock_counts = true;
	facts.memlock_bytes = 64 << 10;
	assert_judged(
		&facts, -EPERM, PIPEWATCH_EXIT_NOT_PERMITTED,
		"RLIMIT_MEMLOCK allows 64 KiB, and this kernel counts BPF maps against it: raise it, in a "
		"systemd unit with LimitMEMLOCK=infinity, or grant CAP_SYS_RESOURCE.");
	facts.memlock_bytes = 64 << 20;
	assert_judged(&facts, 0, 0, "");
}

static void test_errors_without_a_known_cause(void **state)
{
	struct permission_facts facts = free_machine;

	(void)state;
	assert_judged(
		&facts, -EPERM, PIPEWATCH_EXIT_NOT_PERMITTED,
		"This kernel loads other BPF programs but refuses those for entry and exit of its functions "
		"(fentry, fexit: EPERM), though all capabilities are there: use a kernel that permits BPF "
		"trampolines. A security module may be the cause.");
	facts.load_error = -EPERM;
	facts.lockdown = LOCKDOWN_UNKNOWN;
	assert_judged(
		&facts, 0, PIPEWATCH_EXIT_NOT_PERMITTED,
		"The kernel refuses BPF programs (EPERM), though all capabilities are there and no seccomp "
		"filter forbids bpf(2). Kernel lockdown may be the cause: its state cannot be read; mount "
		"securityfs on /sys/kernel/security to see it.");
	facts.load_error = 0;
	assert_judged(
		&facts, -EINVAL, PIPEWATCH_EXIT_UNAVAILABLE,
		"The verifier of this kernel refused the program (EINVAL): its log says why.");
	assert_judged(&facts, -ESRCH, PIPEWATCH_EXIT_UNAVAILABLE,
		      "This kernel has none of the functions that are to be counted (ESRCH).");
	assert_judged(
		&facts, -524, PIPEWATCH_EXIT_UNAVAILABLE,
		"This kernel cannot attach BPF programs to the functions that are to be counted (ENOTSUPP); "
		"live patching or another tracer may hold them.");
	assert_judged(&facts, -EMFILE, PIPEWATCH_EXIT_OS,
		      "BPF programs could not be set up: Too many open files (EMFILE).");
	/* Our own shortage is not laid at the door of what happens to be missing as well. */
	facts.cap_bpf = false;
	assert_judged(&facts, -ENOMEM, PIPEWATCH_EXIT_OS,
		      "BPF programs could not be set up: Cannot allocate memory (ENOMEM).");
	facts.cap_bpf = true;
	assert_judged(&facts, -99999, PIPEWATCH_EXIT_OS,
		      "BPF programs could not be set up: Unknown error 99999 (unknown error).");
}

static void test_short_buffers(void **state)
{
	struct permission_facts facts = { .bpf_killed = true,
					  .seccomp = 2,
					  .own_user_namespace = true,
					  .lockdown = LOCKDOWN_CONFIDENTIALITY,
					  .btf_error = -ENOENT };
	char text[2048];

	(void)state;
	for (size_t size = 1; size < sizeof(text); size += 7) {
		memset(text, '#', sizeof(text));
		assert_int_equal(permission_judge(&facts, -EPERM, text, size),
				 PIPEWATCH_EXIT_NOT_PERMITTED);
		assert_non_null(memchr(text, '\0', size));
		assert_int_equal(text[size], '#');
	}
}

static void test_parsing(void **state)
{
	static const char status[] =
		"Name:\tSeccomp: 7\nNoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t5\n";

	(void)state;
	assert_int_equal(permission_lockdown_parse("[none] integrity confidentiality\n"),
			 LOCKDOWN_NONE);
	assert_int_equal(permission_lockdown_parse("none [integrity] confidentiality\n"),
			 LOCKDOWN_INTEGRITY);
	assert_int_equal(permission_lockdown_parse("none integrity [confidentiality]\n"),
			 LOCKDOWN_CONFIDENTIALITY);
	assert_int_equal(permission_lockdown_parse(""), LOCKDOWN_UNKNOWN);
	assert_int_equal(permission_lockdown_parse("none integrity\n"), LOCKDOWN_UNKNOWN);
	assert_int_equal(permission_status_parse(status, "Seccomp"), 2);
	assert_int_equal(permission_status_parse(status, "Seccomp_filters"), 5);
	assert_int_equal(permission_status_parse(status, "NoNewPrivs"), 0);
	assert_int_equal(permission_status_parse(status, "Name"), PERMISSION_UNKNOWN);
	assert_int_equal(permission_status_parse(status, "Absent"), PERMISSION_UNKNOWN);
	assert_int_equal(permission_status_parse("", "Seccomp"), PERMISSION_UNKNOWN);
}

/* What the facts of this process are in a child that first does something to itself. */
static void gather_in_child(void (*prepare)(void), struct permission_facts *ret)
{
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct permission_facts facts;

		prepare();
		permission_gather(NULL, NULL, &facts);
		_exit(write(fds[1], &facts, sizeof(facts)) == (ssize_t)sizeof(facts) ? 0 : 1);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], ret, sizeof(*ret)), sizeof(*ret));
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void filter_bpf(uint32_t action)
{
	struct sock_filter instructions[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_SIZE(instructions), instructions };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(2);
}

static void filter_eperm(void)
{
	filter_bpf(SECCOMP_RET_ERRNO | EPERM);
}

static void filter_enosys(void)
{
	filter_bpf(SECCOMP_RET_ERRNO | ENOSYS);
}

static void filter_kill(void)
{
	filter_bpf(SECCOMP_RET_KILL_PROCESS);
}

static void filter_nothing(void)
{
	filter_bpf(SECCOMP_RET_ALLOW);
}

static void become_nobody(void)
{
	if (setgid(65534) < 0 || setuid(65534) < 0)
		_exit(2);
}

static void enter_user_namespace(void)
{
	if (unshare(CLONE_NEWUSER) < 0)
		_exit(2);
}

static void nothing(void)
{
}

static void test_gather(void **state)
{
	struct permission_facts plain, facts;

	(void)state;
	gather_in_child(nothing, &plain);
	assert_false(plain.bpf_killed);
	if (geteuid() == 0 && plain.bpf_built_in)
		assert_int_equal(plain.bpf_error, 0);
	if (plain.seccomp != 0)
		skip();

	gather_in_child(filter_nothing, &facts);
	assert_int_equal(facts.seccomp, 2);
	assert_int_equal(facts.bpf_error, plain.bpf_error);
	assert_int_equal(facts.load_error, plain.load_error);
	assert_false(facts.bpf_killed);

	gather_in_child(filter_eperm, &facts);
	assert_int_equal(facts.seccomp, 2);
	assert_int_equal(facts.bpf_error, -EPERM);
	assert_int_equal(facts.load_error, -EPERM);
	assert_false(facts.bpf_killed);

	gather_in_child(filter_enosys, &facts);
	assert_int_equal(facts.bpf_error, -ENOSYS);
	assert_false(facts.bpf_killed);

	gather_in_child(filter_kill, &facts);
	assert_true(facts.bpf_killed);
	assert_int_equal(facts.seccomp, 2);
}

static void test_gather_unprivileged(void **state)
{
	struct permission_facts facts;

	(void)state;
	if (geteuid() != 0)
		skip();
	gather_in_child(become_nobody, &facts);
	assert_false(facts.cap_bpf || facts.cap_perfmon || facts.cap_sys_admin ||
		     facts.cap_sys_resource);
	assert_int_equal(facts.load_error, -EPERM);
	assert_false(facts.own_user_namespace);
}

static void test_gather_in_a_user_namespace(void **state)
{
	struct permission_facts facts;

	(void)state;
	if (access("/proc/self/ns/user", F_OK) < 0)
		skip();
	gather_in_child(enter_user_namespace, &facts);
	assert_true(facts.own_user_namespace);
	assert_true(facts.cap_bpf && facts.cap_perfmon && facts.cap_sys_admin);
	assert_int_equal(facts.load_error, -EPERM);
}

/* --check of a kernel that no longer pays, and of one that does but forbids BPF. */
static void assert_checked(const struct check *c, int exit_code, const char *expected)
{
	_cleanup_(freep) char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	assert_int_equal(check_print(c, f), exit_code);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(text, expected);
}

static void test_check(void **state)
{
	struct ab ab = { 0 };
	struct verdict v;
	struct check c = { "6.18.44\x1b", "x86_64", &v, 0, "", NULL, "no pipes." };

	(void)state;
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int update = 0; update < UPDATE_KINDS; update++)
			v.paths[pipe][update] = (struct verdict_path){
				pipe == PIPE_ANONYMOUS ? PATH_REMOVED : PATH_PAID,
				pipe == PIPE_ANONYMOUS ? PATH_REMOVED : PATH_PAID, PATH_UNKNOWN,
				"Because."
			};
	v.paths[PIPE_ANONYMOUS][UPDATE_CMTIME].state = PATH_UNKNOWN;
	assert_checked(
		&c, 0,
		"Kernel 6.18.44\\x1b (x86_64)\n\n"
		"Metadata updates of pipes: does this kernel pay for them?\n\n"
		"  PIPE       UPDATE    STATE    BY SYMBOL  BY BEHAVIOUR  REASON\n"
		"  anonymous  atime     removed  removed    unknown       Because.\n"
		"  anonymous  cmtime    unknown  removed    unknown       Because.\n"
		"  anonymous  fsnotify  removed  removed    unknown       Because.\n"
		"  fifo       atime     paid     paid       unknown       Because.\n"
		"  fifo       cmtime    paid     paid       unknown       Because.\n"
		"  fifo       fsnotify  paid     paid       unknown       Because.\n\n"
		"What can be measured here, by process\n\n"
		"  reads, writes and bytes      yes, exactly\n"
		"  anonymous atime    updates   not applicable: this kernel makes none\n"
		"  anonymous cmtime   updates   no: not known whether this kernel makes them\n"
		"  anonymous fsnotify updates   no: does not follow from counts\n"
		"  fifo      atime    updates   yes, exactly\n"
		"  fifo      cmtime   updates   yes, exactly\n"
		"  fifo      fsnotify updates   no: does not follow from counts\n\n"
		"What one update costs here, by A/B on own pipes (with standard error)\n\n"
		"  not measured: no pipes.\n");

	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int update = 0; update < UPDATE_KINDS; update++)
			cost_figure_unknown(&ab.updates[pipe][update], "None.");
	ab.updates[PIPE_FIFO][UPDATE_ATIME] = (struct cost_figure){ true, 81.06e-9, 3.34e-9, "" };
	ab.updates[PIPE_FIFO][UPDATE_CMTIME] = (struct cost_figure){ true, 35.02e-9, 4.53e-9, "" };
	ab.writes[PIPE_FIFO] = (struct cost_figure){ true, 338.96e-9, 2.49e-9, "" };
	c.ab = &ab;
	c.counting_exit = PIPEWATCH_EXIT_NOT_PERMITTED;
	c.counting_reason = "The reason.";
	assert_checked(
		&c, PIPEWATCH_EXIT_NOT_PERMITTED,
		"Kernel 6.18.44\\x1b (x86_64)\n\n"
		"Metadata updates of pipes: does this kernel pay for them?\n\n"
		"  PIPE       UPDATE    STATE    BY SYMBOL  BY BEHAVIOUR  REASON\n"
		"  anonymous  atime     removed  removed    unknown       Because.\n"
		"  anonymous  cmtime    unknown  removed    unknown       Because.\n"
		"  anonymous  fsnotify  removed  removed    unknown       Because.\n"
		"  fifo       atime     paid     paid       unknown       Because.\n"
		"  fifo       cmtime    paid     paid       unknown       Because.\n"
		"  fifo       fsnotify  paid     paid       unknown       Because.\n\n"
		"What can be measured here, by process\n\n"
		"  reads, writes and bytes      no: not permitted\n"
		"  anonymous atime    updates   not applicable: this kernel makes none\n"
		"  anonymous cmtime   updates   no: not known whether this kernel makes them\n"
		"  anonymous fsnotify updates   no: does not follow from counts\n"
		"  fifo      atime    updates   no: needs counting\n"
		"  fifo      cmtime   updates   no: needs counting\n"
		"  fifo      fsnotify updates   no: does not follow from counts\n\n"
		"What one update costs here, by A/B on own pipes (with standard error)\n\n"
		"  anonymous atime     not known: None.\n"
		"  anonymous cmtime    not known: None.\n"
		"  anonymous fsnotify  not known: None.\n"
		"  fifo      atime     81.1 +/- 3.3 ns\n"
		"  fifo      cmtime    35.0 +/- 4.5 ns of the 339 ns that a write of 100 bytes takes\n"
		"  fifo      fsnotify  not known: None.\n\n"
		"Why not: The reason.\n");
}

static void test_check_to_a_full_disk(void **state)
{
	_cleanup_(fclosep) FILE *f = fopen("/dev/full", "we");
	struct verdict v = { 0 };
	struct check c = { "1", "x", &v, 0, "", NULL, "" };

	(void)state;
	assert_non_null(f);
	assert_int_equal(check_print(&c, f), PIPEWATCH_EXIT_OS);
}

static int no_symbol(void *userdata, const char *function)
{
	(void)userdata;
	(void)function;
	return 0;
}

static int only_reads(void *userdata, const char *function)
{
	(void)userdata;
	return !strcmp(function, "pipe_read");
}

static int paying_kernel(void *userdata, const char *function)
{
	(void)userdata;
	return !strcmp(function, "pipe_read") || !strcmp(function, "pipe_write");
}

static void test_check_counting(void **state)
{
	char reason[1024];
	int r = permission_explain(0, NULL, NULL, reason, sizeof(reason));

	(void)state;
	/* Where the machine forbids it anyway, that comes first. */
	if (r != 0) {
		assert_int_equal(check_counting(no_symbol, NULL, 0, reason, sizeof(reason)), r);
		return;
	}
	assert_int_equal(check_counting(paying_kernel, NULL, 0, reason, sizeof(reason)), 0);
	assert_string_equal(reason, "");
	assert_int_equal(check_counting(no_symbol, NULL, 0, reason, sizeof(reason)),
			 PIPEWATCH_EXIT_UNAVAILABLE);
	assert_string_equal(
		reason,
		"This kernel has no function in which pipe reads and writes can be counted.");
	assert_int_equal(check_counting(only_reads, NULL, 0, reason, sizeof(reason)),
			 PIPEWATCH_EXIT_UNAVAILABLE);
	assert_string_equal(reason,
			    "This kernel has no function in which pipe writes can be counted.");
	assert_int_equal(check_counting(paying_kernel, NULL, -EMFILE, reason, sizeof(reason)),
			 PIPEWATCH_EXIT_OS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_in_the_way),
		cmocka_unit_test(test_lockdown),
		cmocka_unit_test(test_capabilities),
		cmocka_unit_test(test_user_namespace),
		cmocka_unit_test(test_seccomp),
		cmocka_unit_test(test_kernels_without),
		cmocka_unit_test(test_memlock),
		cmocka_unit_test(test_errors_without_a_known_cause),
		cmocka_unit_test(test_short_buffers),
		cmocka_unit_test(test_parsing),
		cmocka_unit_test(test_gather),
		cmocka_unit_test(test_gather_unprivileged),
		cmocka_unit_test(test_gather_in_a_user_namespace),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_check_to_a_full_disk),
		cmocka_unit_test(test_check_counting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
