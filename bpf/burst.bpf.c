// SPDX-License-Identifier: (GPL-2.0-or-later OR BSD-2-Clause)
/*
 * Times the functions that update a pipe's times, with a program at the entry and one at the exit
 * of each. The first reads the clock as its last act and the second as its first, so that little of
 * the programs themselves is measured. Around those two readings all pairs have the same
 * instructions: what they do measure of themselves is the same for all, and is calibrated on a
 * function that does nothing. This is why everything specific to a pair is in functions that are
 * not inlined.
 */
#include "kernel.bpf.h"

#include <bpf/bpf_tracing.h>

#include "pipewatch/burst-wire.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile __u32 own_tgid;

/* Set only while everything is attached, which takes a while: no call must be timed with only some
 * of the programs in place. */
__u32 window_open;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the number of possible CPUs */
	__type(key, __u32);
	__type(value, struct burst_cpu);
} cpus SEC(".maps");

static __always_inline struct burst_cpu *this_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpus, &cpu);
}

static __always_inline __u32 log2_of(__u64 value)
{
	__u32 log2 = 0;

#pragma unroll
	for (int step = 16; step; step /= 2) {
		if (value >> step) {
			value >>= step;
			log2 += step;
		}
	}
	return log2;
}

static __noinline void histogram_add(struct burst_histogram *histogram, __u64 ns)
{
	struct burst_bucket *bucket;
	__u32 log2, index = 0;

	if (ns >> (BURST_LOG2_MAX + 1)) {
		index = BURST_BUCKETS - 1;
	} else if (ns >> BURST_LOG2_MIN) {
		log2 = log2_of(ns);
		index = (log2 - BURST_LOG2_MIN) << BURST_BUCKET_BITS;
		index += (ns >> (log2 - BURST_BUCKET_BITS)) & ((1 << BURST_BUCKET_BITS) - 1);
	}
	bucket = &histogram->buckets[index & (BURST_BUCKETS - 1)];
	bucket->count++;
	bucket->sum_ns += ns;
}

/* Returns where the time of the entry goes. */
static __always_inline __u64 *call_begin(enum burst_call call, enum burst_pipe pipe)
{
	struct burst_cpu *cpu;

	if (!window_open)
		return NULL;
	cpu = this_cpu();
	if (!cpu)
		return NULL;
	/* Its task went to another CPU before it ended. */
	if (cpu->task)
		cpu->switched++;
	cpu->call = call;
	cpu->pipe = pipe;
	cpu->hook = 0;
#pragma unroll
	for (int part = 0; part < BURST_PARTS; part++) {
		cpu->parts[part] = 0;
		cpu->part_ns[part] = 0;
	}
	cpu->switches = current_switches();
	cpu->task = bpf_get_current_pid_tgid();
	return &cpu->start_ns;
}

static __always_inline void call_end(enum burst_call call, __u64 now_ns)
{
	__u64 task = bpf_get_current_pid_tgid();
	struct burst_cpu *cpu = this_cpu();
	struct burst_histogram *histograms;
	enum burst_span span = BURST_PLAIN;
	__u32 owner;

	if (!cpu || cpu->task != task || cpu->call != call)
		return;
	cpu->task = 0;
	if (cpu->switches != current_switches()) {
		cpu->switched++;
		return;
	}
	owner = task >> 32 == own_tgid ? BURST_OWN : BURST_OTHERS;
	histograms = cpu->histograms[owner][cpu->pipe & 1][call];
#pragma unroll
	for (int part = 0; part < BURST_PARTS; part++) {
		if (!cpu->parts[part])
			continue;
		histogram_add(&histograms[BURST_PART + part], cpu->part_ns[part]);
		span = BURST_CHANGED;
	}
	histogram_add(&histograms[span], now_ns - cpu->start_ns);
}

/* The functions that are parts are called all over the kernel: only calls within a call that is
 * being timed are looked at. */
static __always_inline __u64 *part_begin(enum burst_hook hook)
{
	struct burst_cpu *cpu = this_cpu();

	if (!cpu || cpu->task != bpf_get_current_pid_tgid())
		return NULL;
	cpu->hits[cpu->call & (BURST_CALLS - 1)][hook]++;
	if (cpu->hook)
		return NULL;
	cpu->hook = 1 + hook;
	return &cpu->part_start_ns;
}

static __always_inline void part_end(enum burst_part part, enum burst_hook hook, __u64 now_ns)
{
	struct burst_cpu *cpu = this_cpu();

	if (!cpu || cpu->hook != 1 + hook || cpu->task != bpf_get_current_pid_tgid())
		return;
	cpu->hook = 0;
	cpu->parts[part]++;
	cpu->part_ns[part] += now_ns - cpu->part_start_ns;
}

static __always_inline __u64 *pipe_begin(enum burst_call call, struct inode *inode)
{
	if ((inode->i_mode & S_IFMT) != S_IFIFO)
		return NULL;
	return call_begin(call,
			  inode->i_sb->s_magic == PIPEFS_MAGIC ? BURST_ANONYMOUS : BURST_FIFO);
}

static __noinline __u64 *atime_begin(__u64 *ctx)
{
	struct path *path = (void *)ctx[0];

	return pipe_begin(BURST_ATIME, path->dentry->d_inode);
}

static __noinline __u64 *cmtime_begin(__u64 *ctx)
{
	struct file *file = (void *)ctx[0];

	return pipe_begin(BURST_CMTIME, file->f_inode);
}

static __noinline __u64 *fsnotify_begin(__u64 *ctx)
{
	return pipe_begin(BURST_FSNOTIFY, fsnotify_inode(ctx));
}

static __noinline __u64 *empty_begin(__u64 *ctx)
{
	return call_begin(BURST_EMPTY, BURST_ANONYMOUS);
}

#define CALL_END(name, call)                           \
	static __noinline int name##_end(__u64 now_ns) \
	{                                              \
		call_end(call, now_ns);                \
		return 0;                              \
	}

#define PART(name, part, hook)                            \
	static __noinline __u64 *name##_begin(__u64 *ctx) \
	{                                                 \
		return part_begin(hook);                  \
	}                                                 \
	static __noinline int name##_end(__u64 now_ns)    \
	{                                                 \
		part_end(part, hook, now_ns);             \
		return 0;                                 \
	}

/* The functions are given at load; see burst.c. */
#define PAIR(name)                                      \
	SEC("fentry/bpf_fentry_test1")                  \
	int name##_entry(__u64 *ctx)                    \
	{                                               \
		__u64 *start_ns = name##_begin(ctx);    \
                                                        \
		if (start_ns)                           \
			*start_ns = bpf_ktime_get_ns(); \
		return 0;                               \
	}                                               \
	SEC("fexit/bpf_fentry_test1")                   \
	int name##_exit(__u64 *ctx)                     \
	{                                               \
		name##_end(bpf_ktime_get_ns());         \
		return 0;                               \
	}

CALL_END(atime, BURST_ATIME)
CALL_END(cmtime, BURST_CMTIME)
CALL_END(fsnotify, BURST_FSNOTIFY)
CALL_END(empty, BURST_EMPTY)
PART(mount, BURST_MOUNT, BURST_HOOK_MOUNT)
PART(mount_file, BURST_MOUNT, BURST_HOOK_MOUNT_FILE)
PART(inode, BURST_INODE, BURST_HOOK_INODE)
PART(generic, BURST_INODE, BURST_HOOK_GENERIC)
PART(inner, BURST_MOUNT, BURST_HOOK_EMPTY)

PAIR(atime)
PAIR(cmtime)
PAIR(fsnotify)
PAIR(mount)
PAIR(mount_file)
PAIR(inode)
PAIR(generic)
/* For calibration: a pair on a function that does nothing, a pair within another, and that other.
 */
PAIR(empty)
PAIR(inner)

/* The function around the inner one. These programs are the same as those on the empty one, but a
 * program can only be attached to one function. */
#define outer_begin empty_begin
#define outer_end   empty_end
PAIR(outer)

struct burst_clock clock_times;

/* Reading the number of the NUMA node is one instruction, and no kernel inlines the call into the
 * program. */
SEC("raw_tp")
int clock(void *ctx)
{
	__u64 begin_ns, middle_ns = 0, last_ns, step_ns = -1ULL;

	begin_ns = bpf_ktime_get_ns();
#pragma unroll
	for (int i = 0; i < BURST_REPEAT; i++)
		middle_ns = bpf_ktime_get_ns();
#pragma unroll
	for (int i = 0; i < BURST_REPEAT; i++)
		bpf_get_numa_node_id();
	last_ns = bpf_ktime_get_ns();
	clock_times.reads_ns = middle_ns - begin_ns;
	clock_times.calls_ns = last_ns - middle_ns;

	clock_times.still = 0;
#pragma unroll
	for (int i = 0; i < BURST_REPEAT; i++) {
		__u64 now_ns = bpf_ktime_get_ns();

		if (now_ns == last_ns)
			clock_times.still++;
		else if (now_ns - last_ns < step_ns)
			step_ns = now_ns - last_ns;
		last_ns = now_ns;
	}
	clock_times.step_ns = step_ns;
	return 0;
}
