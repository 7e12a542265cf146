// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * occupy FUNCTION READY: attaches empty programs to the exit of a kernel function until it takes no
 * more, creates the file READY, and holds them until it is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#define MORE_THAN_ANY_TAKES 100

static int attach(int btf_id)
{
	const struct bpf_insn instructions[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FEXIT,
		    .attach_btf_id = btf_id);
	int program = bpf_prog_load(BPF_PROG_TYPE_TRACING, "occupy", "GPL", instructions, 2,
				    &options);

	return program < 0 ? program : bpf_raw_tracepoint_open(NULL, program);
}

int main(int argc, char **argv)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	int btf_id, r = 0, n = 0;

	if (argc != 3) {
		fputs("usage: occupy FUNCTION READY\n", stderr);
		return 64;
	}
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	btf_id = libbpf_find_vmlinux_btf_id(argv[1], BPF_TRACE_FEXIT);
	if (btf_id < 0) {
		fprintf(stderr, "occupy: %s: %s\n", argv[1], strerror(-btf_id));
		return 1;
	}
	while (n < MORE_THAN_ANY_TAKES && (r = attach(btf_id)) >= 0)
		n++;
	if (r != -E2BIG) {
		fprintf(stderr, "occupy: after %d programs: %s\n", n, strerror(-r));
		return 1;
	}
	if (close(open(argv[2], O_CREAT | O_WRONLY, 0600)) < 0)
		return 1;
	for (;;)
		pause();
}
