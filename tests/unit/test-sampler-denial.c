// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf-event.h"
#include "sampler-denial.h"

static struct sampler_denial_facts all_granted(void)
{
	struct sampler_denial_facts facts = { .kptr_restrict = 1, .cap_syslog = true };

	facts.permission.cap_bpf = facts.permission.cap_perfmon = true;
	facts.permission.cap_sys_admin = facts.permission.cap_bpf_exists = true;
	facts.permission.perf_event_paranoid = 2;
	return facts;
}

static void assert_says(const struct sampler_denial_facts *facts, enum sampler_step step, int error,
			const char *wanted)
{
	char reason[512] = "";

	sampler_denial_judge(facts, step, error, reason, sizeof(reason));
	if (!strstr(reason, wanted))
		fail_msg("\"%s\" does not say \"%s\"", reason, wanted);
}

static void test_addresses(void **state)
{
	struct sampler_denial_facts facts = all_granted();

	(void)state;
	assert_says(&facts, SAMPLER_STEP_ADDRESSES, -EACCES, "though CAP_SYSLOG is there");
	facts.cap_syslog = false;
	assert_says(&facts, SAMPLER_STEP_ADDRESSES, -EACCES, "from those without CAP_SYSLOG");
	assert_says(&facts, SAMPLER_STEP_ADDRESSES, -EACCES, "StandardInput=file:/proc/kallsyms");
	facts.kptr_restrict = 2;
	assert_says(&facts, SAMPLER_STEP_ADDRESSES, -EACCES, "kernel.kptr_restrict is 2");
	assert_says(&facts, SAMPLER_STEP_ADDRESSES, -ENOENT, "ProcSubset=pid");
	assert_says(&facts, SAMPLER_STEP_ADDRESSES, -ESRCH, "none of the functions");
	assert_says(&facts, SAMPLER_STEP_ADDRESSES, -ENODATA, "No data available");
}

static void test_program(void **state)
{
	struct sampler_denial_facts facts = all_granted();

	(void)state;
	facts.permission.cap_sys_admin = facts.permission.cap_bpf = false;
	assert_says(&facts, SAMPLER_STEP_PROGRAM, -EPERM, "lacks CAP_BPF");
	facts = all_granted();
	facts.permission.lockdown = LOCKDOWN_CONFIDENTIALITY;
	assert_says(&facts, SAMPLER_STEP_PROGRAM, -EPERM, "confidentiality");
}

static void test_events(void **state)
{
	struct sampler_denial_facts facts = all_granted();

	(void)state;
	assert_says(&facts, SAMPLER_STEP_EVENTS, -EACCES, "a security module");
	assert_says(&facts, SAMPLER_STEP_EVENTS, -ENOENT, "CONFIG_PERF_EVENTS=y");
	assert_says(&facts, SAMPLER_STEP_EVENTS, -EMFILE, "Too many open files");
	facts.permission.seccomp = 2;
	assert_says(&facts, SAMPLER_STEP_EVENTS, -EPERM,
		    "A seccomp filter forbids perf_event_open(2) (EPERM)");
	assert_says(&facts, SAMPLER_STEP_EVENTS, -ENOSYS, "(ENOSYS)");
	assert_says(&facts, SAMPLER_STEP_EVENTS, -EMFILE, "Too many open files");
	facts.permission.cap_sys_admin = false;
	facts.permission.perf_event_paranoid = 3;
	assert_says(&facts, SAMPLER_STEP_EVENTS, -EACCES, "kernel.perf_event_paranoid is 3");
	facts.permission.perf_event_paranoid = 2;
	facts.permission.cap_perfmon = false;
	assert_says(&facts, SAMPLER_STEP_EVENTS, -EACCES, "needs CAP_PERFMON");
	facts.events_killed = true;
	assert_says(&facts, SAMPLER_STEP_EVENTS, -EPERM, "kills callers");
}

/* Tries under a filter that does @action to perf_event_open(2). Returns the error, or 100 for
 * killed. */
static int try_filtered(uint32_t action)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = filter };
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		bool killed;
		int r;

		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
			_exit(255);
		r = perf_event_try(&killed);
		_exit(killed && r == -EPERM ? 100 : -r);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_try(void **state)
{
	(void)state;
	assert_int_equal(try_filtered(SECCOMP_RET_ERRNO | EPERM), EPERM);
	assert_int_equal(try_filtered(SECCOMP_RET_ERRNO | ENOSYS), ENOSYS);
	assert_int_equal(try_filtered(SECCOMP_RET_KILL_PROCESS), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_try),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
