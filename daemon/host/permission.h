/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What would deny us BPF, or has denied it: by name, and with the remedy. Gathering facts and
 * judging them are apart, so that every case can be tried.
 */
#ifndef PIPEWATCH_PERMISSION_H
#define PIPEWATCH_PERMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verdict.h"

enum permission_lockdown {
	LOCKDOWN_UNKNOWN,
	LOCKDOWN_NONE, /* also where the kernel has no lockdown */
	LOCKDOWN_INTEGRITY,
	LOCKDOWN_CONFIDENTIALITY,
};

#define PERMISSION_UNKNOWN INT32_MIN /* of a number that could not be read */

/* Errors are 0 or -errno. */
struct permission_facts {
	enum permission_lockdown lockdown;
	bool own_user_namespace, own_pid_namespace;		    /* not in the initial one */
	bool cap_bpf, cap_perfmon, cap_sys_admin, cap_sys_resource; /* effective */
	bool cap_bpf_exists; /* from 5.8; before, CAP_SYS_ADMIN stood for it */
	int seccomp;	     /* as in /proc/PID/status: 2 is a filter */
	bool bpf_killed;     /* a call of bpf(2) ended in SIGSYS */
	int bpf_error;	     /* of a call of bpf(2) that asks for nothing */
	int load_error; /* of loading an empty program that needs the same capabilities as ours but
			   changes no kernel text */
	bool bpf_built_in;	       /* the sysctls of bpf(2) exist */
	int unprivileged_bpf_disabled; /* for information: it does not concern those with CAP_BPF */
	int btf_error;		       /* of reading /sys/kernel/btf/vmlinux */
	bool memlock_counts;	       /* maps count against RLIMIT_MEMLOCK: before 5.11 */
	uint64_t memlock_bytes; /* the most that the limit can be raised to; UINT64_MAX: none */
	int ftrace_enabled;
	int perf_event_paranoid; /* for sampling */
};

/* @symbol may be NULL. Starts a child process where a seccomp filter is in force, since the filter
 * may kill who calls bpf(2). */
void permission_gather(verdict_symbol_fn symbol, void *userdata, struct permission_facts *ret);

/*
 * Why @error (-errno of opening, loading or attaching our programs; 0: nothing was tried yet) came
 * about or would come about. Returns 0 when nothing was tried and nothing is in the way, leaving
 * *ret_reason empty; else PIPEWATCH_EXIT_NOT_PERMITTED, _UNAVAILABLE or _OS, and sentences with
 * cause and remedy.
 */
int permission_judge(const struct permission_facts *facts, int error, char *ret_reason,
		     size_t size);

/* Both in one. */
int permission_explain(int error, verdict_symbol_fn symbol, void *userdata, char *ret_reason,
		       size_t size);

/* The word in brackets of /sys/kernel/security/lockdown. */
enum permission_lockdown permission_lockdown_parse(const char *text);

/* The number behind "@field:" in the text of /proc/PID/status, or PERMISSION_UNKNOWN. */
int permission_status_parse(const char *text, const char *field);

#endif
