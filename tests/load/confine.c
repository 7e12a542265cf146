// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * confine [-u UID] [-c CAPABILITY]... [-s errno|kill] [-m BYTES] COMMAND...: run COMMAND as another
 * user who has these capabilities (by number) and no other, under a seccomp filter that answers
 * bpf(2) with EPERM or death, and with a limit on locked memory.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "confine: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void filter_bpf(uint32_t action)
{
	struct sock_filter instructions[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_bpf, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, instructions };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		die("seccomp");
}

static void become(int uid, uint64_t capabilities)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (prctl(PR_SET_KEEPCAPS, 1) < 0 || setgid(uid) < 0 || setuid(uid) < 0)
		die("setuid");
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted = data[i].inheritable = capabilities >>
									      (32 * i);
	if (syscall(SYS_capset, &header, data) < 0)
		die("capset");
	for (int i = 0; i < 64; i++)
		if (capabilities >> i & 1 &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0) < 0)
			die("ambient");
}

int main(int argc, char **argv)
{
	struct rlimit memlock;
	uint64_t capabilities = 0;
	const char *filter = NULL;
	int option, uid = 0;

	while ((option = getopt(argc, argv, "+u:c:s:m:")) >= 0) {
		switch (option) {
		case 'u': uid = atoi(optarg); break;
		case 'c': capabilities |= UINT64_C(1) << atoi(optarg); break;
		case 's': filter = optarg; break;
		case 'm':
			memlock.rlim_cur = memlock.rlim_max = atol(optarg);
			if (setrlimit(RLIMIT_MEMLOCK, &memlock) < 0)
				die("memlock");
			break;
		default: return 125;
		}
	}
	if (optind == argc)
		return 125;
	if (uid)
		become(uid, capabilities);
	if (filter)
		filter_bpf(!strcmp(filter, "kill") ? SECCOMP_RET_KILL_PROCESS
						   : SECCOMP_RET_ERRNO | EPERM);
	execv(argv[optind], argv + optind);
	die(argv[optind]);
}
