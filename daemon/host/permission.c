// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "permission.h"
#include "pipewatch/api.h"

/* What the maps of the default configuration take, with room to spare. */
#define MEMLOCK_NEEDED_BYTES (64ULL << 20)

/* The sentences so far; the first cause decides the exit code. */
struct causes {
	char *text;
	size_t size;
	size_t used;
	int exit_code;
};

__attribute__((format(printf, 3, 4))) static void add(struct causes *causes, int exit_code,
						      const char *format, ...)
{
	va_list ap;
	int n;

	if (causes->exit_code == 0)
		causes->exit_code = exit_code;
	else if (causes->used + 2 < causes->size)
		causes->text[causes->used++] = ' ';

	va_start(ap, format);
	n = vsnprintf(causes->text + causes->used, causes->size - causes->used, format, ap);
	va_end(ap);
	if (n > 0)
		causes->used += (size_t)n < causes->size - causes->used
					? (size_t)n
					: causes->size - causes->used - 1;
}

/* "CAP_BPF and CAP_PERFMON", or "" when nothing is missing. */
static const char *missing_capabilities(const struct permission_facts *facts)
{
	if (facts->cap_sys_admin)
		return "";
	if (!facts->cap_bpf_exists)
		return "CAP_SYS_ADMIN";
	if (!facts->cap_bpf)
		return facts->cap_perfmon ? "CAP_BPF" : "CAP_BPF and CAP_PERFMON";
	return facts->cap_perfmon ? "" : "CAP_PERFMON";
}

/* Everything that is known to stand in the way, the hardest to change first. */
static void add_known(struct causes *causes, const struct permission_facts *facts, int error)
{
	const char *missing = missing_capabilities(facts);
	bool filtered = facts->seccomp == 2;

	if (facts->bpf_killed) {
		add(causes, PIPEWATCH_EXIT_NOT_PERMITTED,
		    "A seccomp filter kills callers of bpf(2) (SIGSYS): let it pass, in a systemd unit with "
		    "SystemCallFilter=bpf as the last of these lines.");
	} else if (facts->bpf_error == -ENOSYS && !(filtered && facts->bpf_built_in)) {
		add(causes, PIPEWATCH_EXIT_UNAVAILABLE,
		    "This kernel has no bpf(2) (ENOSYS): it needs one built with CONFIG_BPF_SYSCALL=y.");
		return;
	} else if (filtered && facts->bpf_error < 0 &&
		   !(*missing && facts->unprivileged_bpf_disabled > 0 &&
		     facts->bpf_error == -EPERM)) {
		add(causes, PIPEWATCH_EXIT_NOT_PERMITTED,
		    "A seccomp filter forbids bpf(2) (%s): let it pass, in a systemd unit with "
		    "SystemCallFilter=bpf as the last of these lines.",
		    error_name(facts->bpf_error));
	}

	if (facts->lockdown == LOCKDOWN_CONFIDENTIALITY)
		add(causes, PIPEWATCH_EXIT_NOT_PERMITTED,
		    "Kernel lockdown is in confidentiality mode, which keeps BPF from reading kernel memory: boot "
		    "with lockdown=integrity or lockdown=none.");
	if (facts->own_user_namespace)
		add(causes, PIPEWATCH_EXIT_NOT_PERMITTED,
		    "This process is in a user namespace of its own, where capabilities do not count for BPF: run it "
		    "in the initial one, in a systemd unit with PrivateUsers=no.");
	if (facts->own_pid_namespace)
		add(causes, PIPEWATCH_EXIT_NOT_PERMITTED,
		    "This process is in a PID namespace of its own, where processes have other ids than those that are "
		    "counted: run it in the initial one, in a container with --pid=host.");
	if (*missing)
		add(causes, PIPEWATCH_EXIT_NOT_PERMITTED,
		    "The effective capability set lacks %s: run as root, or grant it, in a systemd unit with "
		    "AmbientCapabilities= and CapabilityBoundingSet=.",
		    missing);
	/* Kernels before 5.10 refuse every call of bpf(2) to those without capabilities, as a
	 * filter would. */
	if (*missing && filtered && !facts->bpf_killed && facts->bpf_error == -EPERM &&
	    facts->unprivileged_bpf_disabled > 0)
		add(causes, PIPEWATCH_EXIT_NOT_PERMITTED,
		    "A seccomp filter is in force too, and may forbid bpf(2) as well.");
	if (facts->memlock_counts && facts->memlock_bytes < MEMLOCK_NEEDED_BYTES &&
	    !facts->cap_sys_resource)
		add(causes, PIPEWATCH_EXIT_NOT_PERMITTED,
		    "RLIMIT_MEMLOCK allows %llu KiB, and this kernel counts BPF maps against it: raise it, in a systemd "
		    "unit with LimitMEMLOCK=infinity, or grant CAP_SYS_RESOURCE.",
		    (unsigned long long)(facts->memlock_bytes >> 10));
	if (facts->btf_error == -EACCES || facts->btf_error == -EPERM)
		add(causes, PIPEWATCH_EXIT_NOT_PERMITTED,
		    "/sys/kernel/btf/vmlinux cannot be read (%s): let it be read.",
		    error_name(facts->btf_error));
	else if (facts->btf_error < 0)
		add(causes, PIPEWATCH_EXIT_UNAVAILABLE,
		    "The kernel offers no BTF (/sys/kernel/btf/vmlinux: %s): it needs one built with "
		    "CONFIG_DEBUG_INFO_BTF=y, and /sys mounted.",
		    error_name(facts->btf_error));
	if (facts->ftrace_enabled == 0 && (error == -EBUSY || error == -ENODEV))
		add(causes, PIPEWATCH_EXIT_UNAVAILABLE,
		    "kernel.ftrace_enabled is 0, which keeps programs from being attached to functions (%s): set it to "
		    "1.",
		    error_name(error));
}

/* EPERM that none of the facts explains. */
static void add_unexplained(struct causes *causes, const struct permission_facts *facts, int error)
{
	static const char *const lockdowns[] = {
		[LOCKDOWN_UNKNOWN] =
			"Kernel lockdown may be the cause: its state cannot be read; mount securityfs on "
			"/sys/kernel/security to see it.",
		[LOCKDOWN_NONE] = "A security module may be the cause.",
		[LOCKDOWN_INTEGRITY] =
			"Kernel lockdown is in integrity mode, which as such permits BPF; a security module or a "
			"change to this kernel may be the cause.",
		[LOCKDOWN_CONFIDENTIALITY] = "",
	};

	if (facts->load_error == 0)
		add(causes, PIPEWATCH_EXIT_NOT_PERMITTED,
		    "This kernel loads other BPF programs but refuses those for entry and exit of its functions "
		    "(fentry, fexit: %s), though all capabilities are there: use a kernel that permits BPF "
		    "trampolines.",
		    error_name(error));
	else
		add(causes, PIPEWATCH_EXIT_NOT_PERMITTED,
		    "The kernel refuses BPF programs (%s), though all capabilities are there and no seccomp filter "
		    "forbids bpf(2).",
		    error_name(error));
	add(causes, PIPEWATCH_EXIT_NOT_PERMITTED, "%s", lockdowns[facts->lockdown]);
}

int permission_judge(const struct permission_facts *facts, int error, char *ret_reason, size_t size)
{
	struct causes causes = { .text = ret_reason, .size = size };
	bool own_shortage = error == -ENOMEM || error == -EMFILE || error == -ENFILE ||
			    error == -EINTR || error == -EIO;

	ret_reason[0] = '\0';
	if (!own_shortage)
		add_known(&causes, facts, error);
	if (causes.exit_code != 0)
		return causes.exit_code;

	if (error == 0)
		error = facts->load_error;
	switch (error) {
	case 0: break;
	case -EPERM: add_unexplained(&causes, facts, error); break;
	case -EACCES:
	case -EINVAL:
	case -E2BIG:
	case -ENOSPC:
		add(&causes, PIPEWATCH_EXIT_UNAVAILABLE,
		    "The verifier of this kernel refused the program (%s): its log says why.",
		    error_name(error));
		break;
	case -ENOENT:
	case -ESRCH:
		add(&causes, PIPEWATCH_EXIT_UNAVAILABLE,
		    "This kernel has none of the functions that are to be counted (%s).",
		    error_name(error));
		break;
	case -EBUSY:
	case -ENODEV:
	case -ENOSYS:
	case -EOPNOTSUPP:
	case -KERNEL_ENOTSUPP:
		add(&causes, PIPEWATCH_EXIT_UNAVAILABLE,
		    "This kernel cannot attach BPF programs to the functions that are to be counted (%s); live "
		    "patching or another tracer may hold them.",
		    error_name(error));
		break;
	default:
		add(&causes, PIPEWATCH_EXIT_OS, "BPF programs could not be set up: %s (%s).",
		    strerror(-error), error_name(error));
	}
	return causes.exit_code;
}

int permission_explain(int error, verdict_symbol_fn symbol, void *userdata, char *ret_reason,
		       size_t size)
{
	struct permission_facts facts;

	permission_gather(symbol, userdata, &facts);
	return permission_judge(&facts, error, ret_reason, size);
}
