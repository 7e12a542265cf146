/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What kernels differ in, as far as user space has to know: each difference names the commit that
 * made it. Which one applies is found out, not looked up by version. For BPF programs see
 * kernel.bpf.h.
 */
#ifndef PIPEWATCH_KERNEL_H
#define PIPEWATCH_KERNEL_H

#include <stdbool.h>

struct btf;

/* Functions that programs are attached to. */
enum kernel_function {
	KERNEL_PIPE_READ,
	KERNEL_PIPE_WRITE,
	KERNEL_MOUNT_WRITE_ACCESS,
	KERNEL_MOUNT_WRITE_ACCESS_FILE,
	KERNEL_INODE_UPDATE_TIME,
	KERNEL_GENERIC_UPDATE_TIME,
	KERNEL_TOUCH_ATIME,
	KERNEL_FILE_UPDATE_TIME,
	KERNEL_FSNOTIFY,
	/* For calibration: two that do nothing, and one that calls them. */
	KERNEL_EMPTY,
	KERNEL_EMPTY_INNER,
	KERNEL_EMPTY_OUTER,
	KERNEL_FUNCTIONS,
};

/* The names that kernels have for it, the newest first, NULL-terminated. */
const char *const *kernel_function_names(enum kernel_function function);

/* The name that this kernel has for it; NULL when it has no such function. */
const char *kernel_function_find(const struct btf *btf, enum kernel_function function);

/* Does @error (-errno of attaching a program that was attached before) mean that this kernel lets a
 * program be attached only once? */
bool kernel_attaches_once(int error);

/* Does @error (-errno of attaching) mean that the function has more arguments than this kernel's
 * trampolines can pass on? */
bool kernel_lacks_arguments(int error);

#endif
