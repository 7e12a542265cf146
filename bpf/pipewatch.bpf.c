// SPDX-License-Identifier: (GPL-2.0-or-later OR BSD-2-Clause)
/*
 * Counts successful reads and writes of pipes per thread. The two fexit programs run on every pipe
 * operation of the host, so their common path is kept to a comparison of the slot's key and of the
 * file's mount, and two additions; all else is in account_slow(). The other programs keep the
 * identity of a slot true.
 */
#include "kernel.bpf.h"
#include "size.bpf.h"
#include "slot.bpf.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile __u64 wake_at_exited = WIRE_SLOTS / 16; /* exited slots that wake the collector */

/*
 * The only mount of pipefs, learnt from the first anonymous pipe seen; it never goes away. While
 * this is NULL every operation takes the slow path, which checks whether operations are counted at
 * all: the fast path has no instruction to spare for that.
 */
struct vfsmount *pipe_mount;

/* Wakes the collector when exited slots pile up; never carries data, so no event can be lost. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} wake SEC(".maps");

/* Names may be evicted. Counts never go into a map that evicts. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, WIRE_CGROUPS);
	__type(key, __u64);
	__type(value, char[WIRE_CGROUP_PATH_MAX]);
} cgroup_paths SEC(".maps");

/* Too large for the stack. A task that makes a cgroup holds cgroup_mutex, so one buffer is enough.
 */
static char cgroup_path[WIRE_CGROUP_PATH_MAX];

static __always_inline void slot_add(struct wire_slot *slot, struct file *file, __u64 length,
				     enum wire_direction direction)
{
	struct wire_counts *counts = &slot->counts[direction];

	/* First, since later on the slot's address would have to be kept in one more register. */
	if (direction == WIRE_READ && unlikely(file->f_flags & O_NOATIME))
		slot->noatime_reads++;
	counts->bytes += length;
	(*size_class(counts, length))++;
}

static __always_inline void overflow_add(enum wire_pipe pipe, struct file *file, __u64 length,
					 enum wire_direction direction)
{
	struct wire_overflow *overflow = &shared.overflow[pipe];
	struct wire_counts *counts = &overflow->counts[direction];

	__sync_fetch_and_add(&counts->bytes, length);
	__sync_fetch_and_add(size_class(counts, length), 1);
	if (direction == WIRE_READ && (file->f_flags & O_NOATIME))
		__sync_fetch_and_add(&overflow->noatime_reads, 1);
}

static __always_inline enum wire_pipe file_pipe(struct file *file)
{
	struct vfsmount *mount = file->f_path.mnt;

	if (mount == pipe_mount)
		return WIRE_ANONYMOUS;
	if (mount->mnt_sb->s_magic != PIPEFS_MAGIC)
		return WIRE_FIFO;
	pipe_mount = mount;
	return WIRE_ANONYMOUS;
}

/* The first operation of a thread on a kind of pipe, or any on a slot not in its own place. */
static __always_inline int account_slow(__u64 *ctx, enum wire_direction direction)
{
	struct kiocb *iocb = (void *)ctx[0];
	struct file *file = iocb->ki_filp;
	__s64 length = ctx[2];
	__u32 key = bpf_get_current_pid_tgid();
	enum wire_pipe pipe;
	struct wire_slot *slot;

	if (length <= 0 || !shared.counting)
		return 0;
	pipe = file_pipe(file);
	if (pipe == WIRE_FIFO)
		key |= WIRE_KEY_FIFO;
	slot = slot_find(key);
	if (!slot)
		slot = slot_claim(key);
	if (slot)
		slot_add(slot, file, length, direction);
	else
		overflow_add(pipe, file, length, direction);
	return 0;
}

static __noinline int read_slow(__u64 *ctx)
{
	return account_slow(ctx, WIRE_READ);
}

static __noinline int write_slow(__u64 *ctx)
{
	return account_slow(ctx, WIRE_WRITE);
}

/* ctx: the kiocb, the iov_iter, the result. Anything not positive has moved nothing and updated
 * nothing. */
static __always_inline int account(__u64 *ctx, enum wire_direction direction)
{
	/* Called first, so that little has to be kept in callee-saved registers, which cost a push
	 * and a pop each. */
	__u32 key = current_tid(), home = key;
	__s64 length = ctx[2];
	struct kiocb *iocb = (void *)ctx[0];
	struct vfsmount *pipes = pipe_mount;
	struct wire_slot *slot;
	struct file *file;

	if (length <= 0)
		return 0;
	file = iocb->ki_filp;
	/* Once the mount of pipefs is known, any other is a FIFO's. */
	if (unlikely(file->f_path.mnt != pipes)) {
		if (!pipes)
			goto slow;
		key |= WIRE_KEY_FIFO;
		home = slot_home(key);
	}
	slot = slot_at(home);
	/* Keep the address: clang would rather compute it again for each field. */
	asm volatile("" : "+r"(slot));
	if (unlikely(slot->key != key))
		goto slow;
	slot_add(slot, file, length, direction);
	return 0;
slow:
	return direction == WIRE_READ ? read_slow(ctx) : write_slow(ctx);
}

/* Attached to what this kernel has: pipe_read or anon_pipe_read (which fifo_pipe_read calls),
 * likewise for write. */
SEC("fexit/pipe_read")
int pipe_read_exit(__u64 *ctx)
{
	return account(ctx, WIRE_READ);
}

SEC("fexit/pipe_write")
int pipe_write_exit(__u64 *ctx)
{
	return account(ctx, WIRE_WRITE);
}

static __noinline void slot_retire(struct wire_slot *slot, __u32 flags)
{
	__u32 token = 0;

	slot->flags = flags;
	store_release(&slot->key, slot->key | WIRE_KEY_EXITED);
	__sync_fetch_and_add(&shared.exited, 1);
	if (shared.exited - shared.reaped < wake_at_exited || shared.wake_pending)
		return;
	shared.wake_pending = 1;
	bpf_ringbuf_output(&wake, &token, sizeof(token), 0);
}

static __always_inline __u32 task_exit_flags(struct task_struct *task)
{
	return BPF_CORE_READ(task, signal, live.counter) == 0 ? WIRE_SLOT_PROCESS_EXITED : 0;
}

/* @key's thread, which is @task, ends or gets another id. */
static __always_inline void thread_retire(__u32 key, struct task_struct *task, __u32 flags)
{
	struct wire_slot *slot = slot_find(key);

	if (!slot)
		return;
	slot_identify(slot, task);
	slot_retire(slot, flags);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(process_exit, struct task_struct *task)
{
	__u32 flags = task_exit_flags(task);
	__u32 tid = task->pid;

	thread_retire(tid, task, flags);
	thread_retire(tid | WIRE_KEY_FIFO, task, flags);
	return 0;
}

static __always_inline void thread_forget(__u32 key, struct task_struct *task)
{
	struct wire_slot *slot = slot_find(key);

	/* The id may belong to another thread by now. */
	if (!slot || slot->tgid != (__u32)task->tgid ||
	    (task->pid == task->tgid && slot->start_boottime != task->start_boottime))
		return;
	slot_retire(slot, task_exit_flags(task));
}

/*
 * A second chance: while a task is preempted inside a program, the kernel skips that program for
 * other tasks on the same CPU, process_exit among them. This one runs in a softirq, where nothing
 * is preempted. The task has left its cgroup by now, so the slot keeps the identity that it has.
 */
SEC("tp_btf/sched_process_free")
int BPF_PROG(process_free, struct task_struct *task)
{
	__u32 tid = task->pid;

	thread_forget(tid, task);
	thread_forget(tid | WIRE_KEY_FIFO, task);
	return 0;
}

/* A thread other than the main one that calls exec gets the main one's id, and the slots of its old
 * id would not be found any more. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(process_exec, struct task_struct *task, int old_tid)
{
	if (task->pid == old_tid)
		return 0;
	thread_retire(old_tid, task, 0);
	thread_retire(old_tid | WIRE_KEY_FIFO, task, 0);
	return 0;
}

static __always_inline void thread_rename(__u32 key, struct task_struct *task, const char *comm)
{
	struct wire_slot *slot = slot_find(key);

	if (!slot)
		return;
	/* It is that of a process that ended unnoticed, whose id has been reused. */
	if (slot->start_boottime != task->start_boottime)
		slot_retire(slot, WIRE_SLOT_PROCESS_EXITED);
	else
		bpf_probe_read_kernel_str(slot->comm, sizeof(slot->comm), comm);
}

/* exec, prctl(PR_SET_NAME) and writes to /proc/PID/comm. A process is named by its main thread. */
SEC("tp_btf/task_rename")
int BPF_PROG(process_rename, struct task_struct *task, const char *comm)
{
	__u32 tid = task->pid;

	if (task->tgid != task->pid)
		return 0;
	thread_rename(tid, task, comm);
	thread_rename(tid | WIRE_KEY_FIFO, task, comm);
	return 0;
}

static __always_inline void thread_move(__u32 key, __u64 cgroup_id)
{
	struct wire_slot *slot = slot_find(key);

	if (slot)
		slot->cgroup_id = cgroup_id;
}

SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(process_move, struct cgroup *cgroup, const char *path, struct task_struct *task)
{
	__u64 cgroup_id = task_cgroup_id(task);
	__u32 tid = task->pid;

	thread_move(tid, cgroup_id);
	thread_move(tid | WIRE_KEY_FIFO, cgroup_id);
	return 0;
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(cgroup_made, struct cgroup *cgroup, const char *path)
{
	__u64 id = cgroup->kn->id;
	long length;

	if (cgroup->root->hierarchy_id != 0)
		return 0;
	length = bpf_probe_read_kernel_str(cgroup_path, sizeof(cgroup_path), path);
	/* A name cut short would be a wrong one. */
	if (length > 1 && length < (long)sizeof(cgroup_path))
		bpf_map_update_elem(&cgroup_paths, &id, cgroup_path, BPF_ANY);
	return 0;
}
