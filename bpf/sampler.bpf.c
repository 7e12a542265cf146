// SPDX-License-Identifier: (GPL-2.0-or-later OR BSD-2-Clause)
/*
 * Looks at the kernel stack whenever a CPU's sampling timer fires. A sample stands for the time
 * since the one before it on that CPU, whatever the timer's period was.
 *
 * Frames become bits of a mask per class of functions, bit 0 the innermost, by arithmetic on signs:
 * with an if for each range, verifiers up to 6.12 give up after a million instructions.
 */
#include "kernel.bpf.h"
#include "pipewatch/sampler-wire.h"

#include <linux/bpf_perf_event.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile __u32 own_tgid;	 /* the daemon: its own operations are left out */
const volatile __u64 period_ns;	 /* on average */
const volatile __u64 longest_ns; /* between samples; anything above is a pause of the machine */
const volatile struct sampler_ranges classes[SAMPLER_CLASSES];

/*
 * The first bytes of a function, up to where its call of a BPF trampoline returns to. The function
 * itself calls nothing from there, so a frame within them, with no other frame of the same function
 * below it, is that of a BPF program which observes the function.
 */
#if defined(__TARGET_ARCH_x86)
#define ENTRY_BYTES 9 /* endbr64, call */
#else
#define ENTRY_BYTES 12 /* bti c, mov, bl */
#endif

struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* preallocated: this is interrupt context */
	__uint(max_entries, 16384);
	__type(key, struct sampler_key);
	__type(value, struct sampler_entry);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the possible CPUs, set before loading */
	__type(key, __u32);
	__type(value, struct sampler_cpu);
} cpus SEC(".maps");

struct stack {
	__u64 n;
	__u64 frames[SAMPLER_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack);
} stacks SEC(".maps");

struct frames {
	__u64 whole; /* frames in functions of a class */
	__u64 entry; /* of these, the ones in the entry of one */
};

/*
 * n is read from the map in every iteration on purpose: this way all exits from the loop look alike
 * to the verifier, and it follows only one of them.
 */
static __always_inline struct frames classify(struct stack *stack, enum sampler_class class)
{
	const volatile struct sampler_ranges *c = &classes[class];
	struct frames f = {};

	for (__u32 i = 0; i < SAMPLER_FRAMES; i++) {
		__u64 ip, whole = 0, entry = 0;

		if (i >= *(volatile __u64 *)&stack->n)
			break;
		/* A return address may be that of the next function; the innermost one is where the
		 * CPU was. */
		ip = stack->frames[i] - (i != 0);
		for (__u32 r = 0; r < SAMPLER_RANGES && r < c->n; r++) {
			__u64 from_begin = ip - c->ranges[r].begin;
			__u64 to_last = c->ranges[r].end - 1 - ip;
			__u64 in = ~(from_begin | to_last) >> 63;

			whole |= in;
			entry |= in & ((from_begin - ENTRY_BYTES) >> 63);
		}
		f.whole |= whole << i;
		f.entry |= (i != 0 ? entry : 0) << i;
	}
	return f;
}

/* Does the innermost of these frames belong to the function itself, not to one that observes it? */
static __always_inline int innermost_is_body(struct frames f)
{
	return (f.whole & -f.whole & ~f.entry) != 0;
}

#if defined(__TARGET_ARCH_x86)

#define SYSCALL_READ   0
#define SYSCALL_WRITE  1
#define SYSCALL_READV  19
#define SYSCALL_WRITEV 20

/*
 * Which update fsnotify is, as a bit, when it runs for a read, write, readv or writev of a pipe; 0
 * for anything else. By then the pipe's own function has returned and left nothing on the stack,
 * but the file descriptor is still in the registers that the system call was entered with.
 */
static __always_inline __u32 notified_by_syscall(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct pt_regs___x86 *registers = user_registers();
	__u64 number = BPF_CORE_READ(registers, orig_ax);
	__u32 fd = BPF_CORE_READ(registers, di);
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files, *file = NULL;
	struct inode *inode;

	if (number != SYSCALL_READ && number != SYSCALL_WRITE && number != SYSCALL_READV &&
	    number != SYSCALL_WRITEV)
		return 0;
	if (fd >= BPF_CORE_READ(table, max_fds))
		return 0;
	files = BPF_CORE_READ(table, fd);
	bpf_probe_read_kernel(&file, sizeof(file), &files[fd]);
	inode = BPF_CORE_READ(file, f_inode);
	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFIFO)
		return 0;
	if (BPF_CORE_READ(inode, i_sb, s_magic) == PIPEFS_MAGIC)
		return 1 << SAMPLER_UPDATE_FSNOTIFY_ANONYMOUS;
	return 1 << SAMPLER_UPDATE_FSNOTIFY_FIFO;
}

#else

static __always_inline __u32 notified_by_syscall(void)
{
	return 0;
}

#endif

static __always_inline void sums_add(struct sampler_sums *sums, __u64 ns, __u32 updates)
{
	__sync_fetch_and_add(&sums->pipe_ns, ns);
	__sync_fetch_and_add(&sums->pipe_samples, 1);
	for (int update = 0; update < SAMPLER_UPDATES; update++) {
		if (!(updates & 1 << update))
			continue;
		__sync_fetch_and_add(&sums->update_ns[update], ns);
		__sync_fetch_and_add(&sums->update_samples[update], 1);
	}
}

static __always_inline void account(struct sampler_cpu *cpu, __u32 tgid, __u64 ns, __u32 updates)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct sampler_key key = {
		.start_boottime = BPF_CORE_READ(task, group_leader, start_boottime),
		.tgid = tgid,
	};
	struct sampler_entry *entry = bpf_map_lookup_elem(&processes, &key);

	if (!entry) {
		static const struct sampler_entry zero;

		bpf_map_update_elem(&processes, &key, &zero, BPF_NOEXIST);
		entry = bpf_map_lookup_elem(&processes, &key);
	}
	if (!entry) {
		cpu->lost++;
		sums_add(&cpu->unattributed, ns, updates);
		return;
	}
	BPF_CORE_READ_INTO(&entry->comm, task, group_leader, comm);
	entry->cgroup_id = task_cgroup_id(task);
	sums_add(&entry->sums, ns, updates);
}

/* Is the update's function called by the pipe's? The times of other files are updated under it too,
 * by page faults on mapped files. */
static __always_inline __u32 called_by(struct frames update, struct frames pipe)
{
	return (update.whole & (pipe.whole & ~pipe.entry) >> 1) != 0;
}

SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	__u32 id = bpf_get_smp_processor_id(), tgid = bpf_get_current_pid_tgid() >> 32, zero = 0;
	struct sampler_cpu *cpu = bpf_map_lookup_elem(&cpus, &id);
	struct stack *stack = bpf_map_lookup_elem(&stacks, &zero);
	struct frames pipe, atime, cmtime;
	__u32 updates;
	__u64 now = bpf_ktime_get_ns(), ns;
	long bytes;

	if (!cpu || !stack)
		return 0;
	ns = now - cpu->last_ns;
	if (!cpu->last_ns || ns > longest_ns)
		ns = period_ns;
	cpu->last_ns = now;
	cpu->samples++;
	cpu->ns += ns;

	if (tgid == 0 || tgid == own_tgid)
		return 0;
	bytes = bpf_get_stack(ctx, stack->frames, sizeof(stack->frames), 0);
	if (bytes <= 0)
		return 0; /* in user space */
	stack->n = bytes / sizeof(stack->frames[0]);

	pipe = classify(stack, SAMPLER_PIPE);
	if (!pipe.whole) {
		if (!classify(stack, SAMPLER_FSNOTIFY).whole ||
		    classify(stack, SAMPLER_SOFTIRQ).whole)
			return 0;
		updates = notified_by_syscall();
		if (updates)
			account(cpu, tgid, ns, updates);
		return 0;
	}
	if (!innermost_is_body(pipe) || classify(stack, SAMPLER_SOFTIRQ).whole)
		return 0;
	atime = classify(stack, SAMPLER_ATIME);
	cmtime = classify(stack, SAMPLER_CMTIME);
	if ((atime.whole && !innermost_is_body(atime)) ||
	    (cmtime.whole && !innermost_is_body(cmtime)))
		return 0;
	updates = called_by(atime, pipe) << SAMPLER_UPDATE_ATIME;
	updates |= called_by(cmtime, pipe) << SAMPLER_UPDATE_CMTIME;
	account(cpu, tgid, ns, updates);
	return 0;
}
