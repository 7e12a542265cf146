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
};

struct linux_binprm;

#pragma clang attribute pop

static __always_inline __u64 task_cgroup_id(struct task_struct *task)
{
	return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

/* 3ca1032ab7ab ("bpf: Implement get_current_task_btf and RET_PTR_TO_BTF_ID", 5.11): no calls to
 * read its fields. */
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

#endif
