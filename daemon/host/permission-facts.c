// SPDX-License-Identifier: GPL-2.0-or-later
#include <cap-ng.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "child.h"
#include "permission.h"
#include "pipewatch/util.h"

/* Small enough not to touch the bits that newer kernels take for flags. */
#define BPF_NO_SUCH_COMMAND 1000

/* Reads the start of a small file; up to @size - 1 bytes, NUL-terminated. */
static int read_text_at(int directory_fd, const char *path, char *ret, size_t size)
{
	_cleanup_(closep) int fd = openat(directory_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, ret, size - 1);
	if (n < 0)
		return -errno;
	ret[n] = '\0';
	return 0;
}

/* A sysctl that holds one whole number. */
static int read_number(const char *path)
{
	char text[32];
	int n;

	if (read_text_at(AT_FDCWD, path, text, sizeof(text)) < 0 || sscanf(text, "%d", &n) != 1)
		return PERMISSION_UNKNOWN;
	return n;
}

enum permission_lockdown permission_lockdown_parse(const char *text)
{
	if (strstr(text, "[none]"))
		return LOCKDOWN_NONE;
	if (strstr(text, "[integrity]"))
		return LOCKDOWN_INTEGRITY;
	if (strstr(text, "[confidentiality]"))
		return LOCKDOWN_CONFIDENTIALITY;
	return LOCKDOWN_UNKNOWN;
}

int permission_status_parse(const char *text, const char *field)
{
	size_t n_field = strlen(field);
	int n;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, field, n_field) && line[n_field] == ':')
			return sscanf(line + n_field + 1, "%d", &n) == 1 ? n : PERMISSION_UNKNOWN;
	}
	return PERMISSION_UNKNOWN;
}

/* A mount of securityfs that only this descriptor knows. */
static int securityfs_open(void)
{
	_cleanup_(closep) int fs_fd = fsopen("securityfs", FSOPEN_CLOEXEC);
	int fd;

	if (fs_fd < 0 || fsconfig(fs_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = fsmount(fs_fd, FSMOUNT_CLOEXEC,
		     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	return fd < 0 ? -errno : fd;
}

static enum permission_lockdown read_lockdown(bool may_mount)
{
	_cleanup_(closep) int securityfs_fd = -1;
	char text[128];
	int r;

	r = read_text_at(AT_FDCWD, "/sys/kernel/security/lockdown", text, sizeof(text));
	if (r == 0)
		return permission_lockdown_parse(text);
	if (r != -ENOENT || !may_mount)
		return LOCKDOWN_UNKNOWN;

	/* Not mounted, as in containers and small systems, or a kernel without lockdown. */
	securityfs_fd = securityfs_open();
	if (securityfs_fd < 0)
		return LOCKDOWN_UNKNOWN;
	r = read_text_at(securityfs_fd, "lockdown", text, sizeof(text));
	if (r == -ENOENT)
		return LOCKDOWN_NONE;
	return r < 0 ? LOCKDOWN_UNKNOWN : permission_lockdown_parse(text);
}

/* The initial user namespace maps all user IDs to themselves. */
static bool in_own_user_namespace(void)
{
	unsigned long inside, outside, count;
	char text[256];

	if (read_text_at(AT_FDCWD, "/proc/self/uid_map", text, sizeof(text)) < 0)
		return false;
	return sscanf(text, "%lu %lu %lu", &inside, &outside, &count) != 3 || inside != 0 ||
	       outside != 0 || count != UINT32_MAX;
}

/* The initial PID namespace has the same number on every machine. */
static bool in_own_pid_namespace(void)
{
	char link[32];
	ssize_t n = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);

	if (n < 0)
		return false;
	link[n] = '\0';
	return strcmp(link, "pid:[4026531836]") != 0;
}

static bool has_capability(unsigned int capability)
{
	return capng_have_capability(CAPNG_EFFECTIVE, capability) == 1;
}

/* Asks for nothing: a kernel that gets to see the call says EINVAL, or E2BIG where its attributes
 * are shorter. */
static int call_bpf(void)
{
	union bpf_attr attr = { 0 };

	if (syscall(SYS_bpf, BPF_NO_SUCH_COMMAND, &attr, sizeof(attr)) >= 0 || errno == EINVAL ||
	    errno == E2BIG)
		return 0;
	return -errno;
}

/* A program of a type that needs CAP_BPF and CAP_PERFMON, as ours do; attached to nothing. */
static int load_empty_program(void)
{
	static const struct bpf_insn return_zero[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insn_cnt = ARRAY_SIZE(return_zero),
		.insns = (uint64_t)(uintptr_t)return_zero,
		.license = (uint64_t)(uintptr_t) "GPL",
	};
	_cleanup_(closep) int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	return fd < 0 ? -errno : 0;
}

/* What @call returns where it cannot kill us; 0 where that cannot be found out. */
static int call_in_child(int (*call)(void), bool *ret_killed)
{
	int result;

	return child_call(call, &result, ret_killed) < 0 ? 0 : result;
}

void permission_gather(verdict_symbol_fn symbol, void *userdata, struct permission_facts *ret)
{
	struct permission_facts facts = {
		.own_user_namespace = in_own_user_namespace(),
		.own_pid_namespace = in_own_pid_namespace(),
		.seccomp = PERMISSION_UNKNOWN,
		.unprivileged_bpf_disabled =
			read_number("/proc/sys/kernel/unprivileged_bpf_disabled"),
		.bpf_built_in = access("/proc/sys/kernel/unprivileged_bpf_disabled", F_OK) == 0,
		.ftrace_enabled = read_number("/proc/sys/kernel/ftrace_enabled"),
		.perf_event_paranoid = read_number("/proc/sys/kernel/perf_event_paranoid"),
		.memlock_bytes = UINT64_MAX,
	};
	char status[8192];
	struct rlimit limit;

	capng_get_caps_process();
	facts.cap_bpf = has_capability(CAP_BPF);
	facts.cap_perfmon = has_capability(CAP_PERFMON);
	facts.cap_sys_admin = has_capability(CAP_SYS_ADMIN);
	facts.cap_sys_resource = has_capability(CAP_SYS_RESOURCE);
	facts.cap_bpf_exists = prctl(PR_CAPBSET_READ, CAP_BPF, 0, 0, 0) >= 0;

	if (read_text_at(AT_FDCWD, "/proc/self/status", status, sizeof(status)) == 0)
		facts.seccomp = permission_status_parse(status, "Seccomp");
	/* A filter might kill for a mount as well. */
	facts.lockdown = read_lockdown(facts.cap_sys_admin && facts.seccomp <= 0);
	if (facts.seccomp == 0) {
		facts.bpf_error = call_bpf();
		facts.load_error = load_empty_program();
	} else {
		bool killed = false;

		facts.bpf_error = call_in_child(call_bpf, &facts.bpf_killed);
		facts.load_error = call_in_child(load_empty_program, &killed);
	}

	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		facts.btf_error = -errno;
	/* This function went when maps came to be charged to control groups, in 5.11. */
	facts.memlock_counts = symbol && symbol(userdata, "bpf_map_charge_init") == 1;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_max != RLIM_INFINITY)
		facts.memlock_bytes = limit.rlim_max;
	*ret = facts;
}
