// SPDX-License-Identifier: (GPL-2.0-or-later OR BSD-2-Clause)
/* Programs that do nothing: what the kernel takes for running any program at these places. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("fexit/pipe_read")
int empty_read(void *ctx)
{
	return 0;
}

SEC("fexit/pipe_write")
int empty_write(void *ctx)
{
	return 0;
}
