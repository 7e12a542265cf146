/* SPDX-License-Identifier: (GPL-2.0-or-later OR BSD-2-Clause) */
/*
 * The few kernel types that the programs read, declared by hand: libbpf relocates each access
 * against the running kernel, so the build needs no kernel's BTF, and only what is named here can
 * be depended on. Kernel differences live in this file, one small inline each.
 */
#ifndef PIPEWATCH_KERNEL_BPF_H
#define PIPEWATCH_KERNEL_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define likely(condition)   __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

#define PIPEFS_MAGIC 0x50495045

#define O_NOATIME 01000000 /* x86, arm64, riscv and all others that use the generic value */

#define X86_THREAD_SIZE 16384

#define S_IFMT	0170000
#define S_IFIFO 0010000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block {
	unsigned long s_magic;
};

struct vfsmount {
	struct super_block *mnt_sb;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
};

struct dentry {
	struct inode *d_inode;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	unsigned int f_flags;
	struct path f_path;
	struct inode *f_inode;
};

struct kiocb {
	struct file *ki_filp;
};

struct iov_iter;

struct kernfs_node {
	__u64 id;
};

struct cgroup_root {
	int hierarchy_id; /* 0 is cgroup v2 */
};

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct signal_struct {
	struct {
		int counter;
	} live;
};

struct task_struct {
	int pid;
	int tgid;
	char comm[16];
	__u64 start_boottime;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct css_set *cgroups;
	unsigned long nvcsw;
	unsigned long nivcsw;
	void *stack;
	struct files_struct *files;
};

struct files_struct {
	struct fdtable *fdt;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct linux_binprm;

/* A system call's registers: its number and its first argument. */
struct pt_regs___x86 {
	unsigned long di;
	unsigned long orig_ax;
};

#pragma clang attribute pop

static __always_inline __u64 task_cgroup_id(struct task_struct *task)
{
	return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

/* 3ca1032ab7ab ("bpf: Implement get_current_task_btf and RET_PTR_TO_BTF_ID", 5.11): reading a field
 * of the current task takes no further call. Five instructions fewer than
 * bpf_get_current_pid_tgid(). */
static __always_inline __u32 current_tid(void)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))
		return bpf_get_current_task_btf()->pid;
	return bpf_get_current_pid_tgid();
}

/* How often the current task has been switched away from; 5.11 as above. */
static __always_inline __u64 current_switches(void)
{
	struct task_struct *task;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)) {
		task = bpf_get_current_task_btf();
		return task->nvcsw + task->nivcsw;
	}
	task = (void *)bpf_get_current_task();
	return BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
}

/* @ctx is that of a program on fsnotify(). The sixth argument since 40a100d3adc1 ("fsnotify: pass
 * dir and inode arguments to fsnotify()", 5.9). */
static __always_inline struct inode *fsnotify_inode(__u64 *ctx)
{
	return (void *)ctx[5];
}

#if defined(__TARGET_ARCH_x86)
/* dd6e10fbd9fb ("bpf: Add bpf_task_pt_regs() helper", 5.15). Before that they are at the very top
 * of the stack, which is how the helper itself finds them. */
static __always_inline struct pt_regs___x86 *user_registers(void)
{
	struct task_struct *task;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	task = (void *)bpf_get_current_task();
	return BPF_CORE_READ(task, stack) + X86_THREAD_SIZE -
	       bpf_core_type_size(struct pt_regs___x86);
}
#endif

/*
 * Stores @value so that whoever reads it also sees everything stored before it. x86 never reorders
 * stores. Elsewhere this takes an exchange, 5ffa25502b5a ("bpf: Add instructions for
 * atomic_[cmp]xchg", 5.12): no other architecture had BPF trampolines before that.
 */
static __always_inline void store_release(__u32 *to, __u32 value)
{
#if defined(__TARGET_ARCH_x86)
	barrier();
	*(volatile __u32 *)to = value;
#else
	__sync_lock_test_and_set(to, value);
#endif
}

#endif
