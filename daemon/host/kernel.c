// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel.h"

#include <bpf/btf.h>

#include "error.h"

static const char *const function_names[KERNEL_FUNCTIONS][3] = {
	/* f017b0a4951f ("pipe: don't update {a,c,m}time for anonymous pipes", 6.15) gave anonymous
	 * pipes functions of their own, which those of FIFOs call. */
	[KERNEL_PIPE_READ] = { "anon_pipe_read", "pipe_read" },
	[KERNEL_PIPE_WRITE] = { "anon_pipe_write", "pipe_write" },
	/* 3e15dcf77b23 ("fs: rename __mnt_{want,drop}_write*() helpers", 6.7) */
	[KERNEL_MOUNT_WRITE_ACCESS] = { "mnt_get_write_access", "__mnt_want_write" },
	[KERNEL_MOUNT_WRITE_ACCESS_FILE] = { "mnt_get_write_access_file", "__mnt_want_write_file" },
	[KERNEL_INODE_UPDATE_TIME] = { "inode_update_time" },
	[KERNEL_GENERIC_UPDATE_TIME] = { "generic_update_time" },
	[KERNEL_TOUCH_ATIME] = { "touch_atime" },
	[KERNEL_FILE_UPDATE_TIME] = { "file_update_time" },
	[KERNEL_FSNOTIFY] = { "fsnotify" },
	[KERNEL_EMPTY] = { "bpf_fentry_test1" },
	[KERNEL_EMPTY_INNER] = { "bpf_fentry_test2" },
	[KERNEL_EMPTY_OUTER] = { "bpf_prog_test_run_tracing" },
};

const char *const *kernel_function_names(enum kernel_function function)
{
	return function_names[function];
}

const char *kernel_function_find(const struct btf *btf, enum kernel_function function)
{
	const char *const *name = function_names[function];

	while (*name && btf__find_by_name_kind(btf, *name, BTF_KIND_FUNC) <= 0)
		name++;
	return *name;
}

/* Before f3a95075549e ("bpf: Allow trampoline re-attach for tracing and lsm programs", 5.13) a
 * program forgets its function when it is attached. */
bool kernel_attaches_once(int error)
{
	return error == -ENOENT;
}

/* Up to six before 473e3150e30a ("bpf, x86: allow function arguments up to 12 for TRACING", 6.6).
 */
bool kernel_lacks_arguments(int error)
{
	return error == -KERNEL_ENOTSUPP;
}
