// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler-denial.h"

#include <cap-ng.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "perf-event.h"
#include "pipewatch/util.h"

#define GRANT "grant it, in a systemd unit with AmbientCapabilities= and CapabilityBoundingSet="

struct text {
	char *text;
	size_t size;
};

__attribute__((format(printf, 2, 3))) static void say(const struct text *t, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(t->text, t->size, format, ap);
	va_end(ap);
}

static void judge_addresses(const struct sampler_denial_facts *facts, int error,
			    const struct text *t)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		if (facts->kptr_restrict >= 2)
			say(t,
			    "/proc/kallsyms hides the addresses of kernel functions from everybody "
			    "(kernel.kptr_restrict is %d): set it to 1.",
			    facts->kptr_restrict);
		else if (!facts->cap_syslog)
			say(t,
			    "/proc/kallsyms hides the addresses of kernel functions from those without CAP_SYSLOG: grant it, "
			    "or pass that file as standard input, in a systemd unit with StandardInput=file:/proc/kallsyms.");
		else
			say(t,
			    "/proc/kallsyms hides the addresses of kernel functions, though CAP_SYSLOG is there "
			    "(kernel.kptr_restrict is %d); ProtectKernelTunables= of a systemd unit, a user namespace or a security module "
			    "may be the cause.",
			    facts->kptr_restrict);
		break;
	case -ENOENT:
		say(t,
		    "There is no /proc/kallsyms: the kernel needs CONFIG_KALLSYMS=y, a systemd unit must not "
		    "have ProcSubset=pid.");
		break;
	case -ESRCH:
		say(t, "/proc/kallsyms has none of the functions that read and write pipes.");
		break;
	default: say(t, "/proc/kallsyms is of no use: %s.", strerror(-error));
	}
}

static void judge_events(const struct sampler_denial_facts *facts, int error, const struct text *t)
{
	const struct permission_facts *p = &facts->permission;
	bool denied = error == -EACCES || error == -EPERM;

	if (facts->events_killed)
		say(t,
		    "A seccomp filter kills callers of perf_event_open(2) (SIGSYS): let it pass, in a systemd "
		    "unit with SystemCallFilter=perf_event_open.");
	else if (denied && p->perf_event_paranoid > 2 && !p->cap_sys_admin)
		say(t,
		    "kernel.perf_event_paranoid is %d, which keeps perf_event_open(2) to those with CAP_SYS_ADMIN: "
		    "set it to 2, or grant CAP_SYS_ADMIN.",
		    p->perf_event_paranoid);
	else if (denied && !p->cap_sys_admin && !p->cap_perfmon)
		say(t, "perf_event_open(2) of whole CPUs needs CAP_PERFMON: " GRANT ".");
	else if ((denied || error == -ENOSYS) && p->seccomp == 2)
		say(t,
		    "A seccomp filter forbids perf_event_open(2) (%s): let it pass, in a systemd unit with "
		    "SystemCallFilter=perf_event_open.",
		    error_name(error));
	else if (denied)
		say(t,
		    "The kernel refuses perf_event_open(2) (%s), though the capabilities are there; a security "
		    "module may be the cause.",
		    error_name(error));
	else if (error == -ENOSYS || error == -ENOENT || error == -EOPNOTSUPP)
		say(t,
		    "This kernel has no perf events (%s): it needs one built with CONFIG_PERF_EVENTS=y.",
		    error_name(error));
	else
		say(t, "perf_event_open(2) failed: %s.", strerror(-error));
}

void sampler_denial_judge(const struct sampler_denial_facts *facts, enum sampler_step step,
			  int error, char *ret_reason, size_t size)
{
	const struct text t = { .text = ret_reason, .size = size };

	switch (step) {
	case SAMPLER_STEP_ADDRESSES: judge_addresses(facts, error, &t); break;
	case SAMPLER_STEP_PROGRAM:
		permission_judge(&facts->permission, error, ret_reason, size);
		break;
	case SAMPLER_STEP_EVENTS: judge_events(facts, error, &t); break;
	}
}

static int read_kptr_restrict(void)
{
	_cleanup_(fclosep) FILE *f = fopen("/proc/sys/kernel/kptr_restrict", "re");
	int value;

	return f && fscanf(f, "%d", &value) == 1 ? value : PERMISSION_UNKNOWN;
}

void sampler_denial_explain(enum sampler_step step, int error, char *ret_reason, size_t size)
{
	struct sampler_denial_facts facts = { .kptr_restrict = read_kptr_restrict() };

	permission_gather(NULL, NULL, &facts.permission);
	/* Judging would speak of programs at entry and exit of functions, which ours is not. */
	if (facts.permission.load_error == 0 && step == SAMPLER_STEP_PROGRAM)
		facts.permission.load_error = error;
	capng_get_caps_process();
	facts.cap_syslog = capng_have_capability(CAPNG_EFFECTIVE, CAP_SYSLOG) == 1;
	if (step == SAMPLER_STEP_EVENTS)
		perf_event_try(&facts.events_killed);
	sampler_denial_judge(&facts, step, error, ret_reason, size);
}
