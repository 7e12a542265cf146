// SPDX-License-Identifier: (GPL-2.0-or-later OR BSD-2-Clause)
/*
 * Places where counters could be kept, for comparison. Each pair of programs counts the same
 * things: operations by size class, bytes and reads with O_NOATIME, of anonymous pipes only, by the
 * same test of the mount; what differs is how the counters are found and added to. Only "direct" is
 * what the daemon does; the others are not fit for use (a per-CPU entry is torn when a program is
 * preempted by another task's, which PREEMPT kernels allow).
 */
#include "kernel.bpf.h"
#include "size.bpf.h"
#include "slot.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define PROCESSES 16384

struct entry {
	struct wire_counts counts[WIRE_DIRECTIONS];
	__u64 noatime_reads;
};

struct combined {
	__u64 tgid;
	struct entry entry;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES);
	__type(key, __u32);
	__type(value, struct entry);
} by_process SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, PROCESSES);
	__type(key, __u32);
	__type(value, struct entry);
} by_process_and_cpu SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct entry);
} by_task SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct combined);
} by_cpu SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WIRE_SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct wire_slot);
} by_thread SEC(".maps");

/* Operations that found no counters. A form that loses any has not been measured. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

static const struct entry zero;
struct vfsmount *pipe_mount;

static __noinline int lose(void)
{
	__u32 key = 0;
	__u64 *count = bpf_map_lookup_elem(&lost, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

static __noinline int learn_mount(struct vfsmount *mount)
{
	if (mount->mnt_sb->s_magic != PIPEFS_MAGIC)
		return 0;
	pipe_mount = mount;
	return 1;
}

/* The file of a successful operation on an anonymous pipe, or NULL. ctx: the kiocb, the iov_iter,
 * the result. */
static __always_inline struct file *file_of(__u64 *ctx)
{
	struct kiocb *iocb = (void *)ctx[0];
	struct vfsmount *mount;
	struct file *file;

	if ((__s64)ctx[2] <= 0)
		return NULL;
	file = iocb->ki_filp;
	mount = file->f_path.mnt;
	if (mount != pipe_mount && !learn_mount(mount))
		return NULL;
	return file;
}

#define is_noatime(file, direction) ((direction) == WIRE_READ && ((file)->f_flags & O_NOATIME))

static __always_inline void entry_add(struct entry *entry, struct file *file, __u64 length,
				      enum wire_direction direction)
{
	struct wire_counts *counts = &entry->counts[direction];

	counts->bytes += length;
	(*size_class(counts, length))++;
	if (is_noatime(file, direction))
		entry->noatime_reads++;
}

/* For one reader and writer of each counter there is no need of atomics; here many threads share an
 * entry. */
static __always_inline void entry_add_shared(struct entry *entry, struct file *file, __u64 length,
					     enum wire_direction direction)
{
	struct wire_counts *counts = &entry->counts[direction];

	__sync_fetch_and_add(&counts->bytes, length);
	__sync_fetch_and_add(size_class(counts, length), 1);
	if (is_noatime(file, direction))
		__sync_fetch_and_add(&entry->noatime_reads, 1);
}

static __always_inline void *lookup_or_insert(void *map, __u32 *key)
{
	void *value = bpf_map_lookup_elem(map, key);

	if (value)
		return value;
	bpf_map_update_elem(map, key, &zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

/* 1. A hash by process, with counters for each CPU. */

static __always_inline int percpu_hash(__u64 *ctx, enum wire_direction direction)
{
	struct file *file = file_of(ctx);
	struct entry *entry;
	__u32 tgid;

	if (!file)
		return 0;
	tgid = bpf_get_current_pid_tgid() >> 32;
	entry = lookup_or_insert(&by_process_and_cpu, &tgid);
	if (!entry)
		return lose();
	entry_add(entry, file, ctx[2], direction);
	return 0;
}

/* 2. A hash by process, with atomic additions. */

static __always_inline int hash(__u64 *ctx, enum wire_direction direction)
{
	struct file *file = file_of(ctx);
	struct entry *entry;
	__u32 tgid;

	if (!file)
		return 0;
	tgid = bpf_get_current_pid_tgid() >> 32;
	entry = lookup_or_insert(&by_process, &tgid);
	if (!entry)
		return lose();
	entry_add_shared(entry, file, ctx[2], direction);
	return 0;
}

/* 3. Storage that hangs on the task. */

static __always_inline int task_storage(__u64 *ctx, enum wire_direction direction)
{
	struct file *file = file_of(ctx);
	struct entry *entry;

	if (!file)
		return 0;
	entry = bpf_task_storage_get(&by_task, bpf_get_current_task_btf(), NULL,
				     BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!entry)
		return lose();
	entry_add(entry, file, ctx[2], direction);
	return 0;
}

/* 4. An entry for each CPU that belongs to its current process, added to the hash when another
 * comes. */

static __noinline int combined_flush(struct combined *combined)
{
	__u32 tgid = combined ? combined->tgid : 0;
	struct entry *from, *to;

	if (!tgid)
		return 0;
	from = &combined->entry;
	to = lookup_or_insert(&by_process, &tgid);
	if (!to)
		return lose();
	for (int d = 0; d < WIRE_DIRECTIONS; d++) {
		if (!from->counts[d].bytes)
			continue;
		__sync_fetch_and_add(&to->counts[d].bytes, from->counts[d].bytes);
		from->counts[d].bytes = 0;
		for (int i = 0; i < WIRE_SIZE_CLASSES; i++) {
			if (!from->counts[d].sizes[i])
				continue;
			__sync_fetch_and_add(&to->counts[d].sizes[i], from->counts[d].sizes[i]);
			from->counts[d].sizes[i] = 0;
		}
	}
	__sync_fetch_and_add(&to->noatime_reads, from->noatime_reads);
	from->noatime_reads = 0;
	return 0;
}

static __always_inline int combining(__u64 *ctx, enum wire_direction direction)
{
	struct file *file = file_of(ctx);
	struct combined *combined;
	__u32 zero_key = 0;
	__u64 tgid;

	if (!file)
		return 0;
	combined = bpf_map_lookup_elem(&by_cpu, &zero_key);
	if (!combined)
		return lose();
	tgid = bpf_get_current_pid_tgid() >> 32;
	if (combined->tgid != tgid) {
		combined_flush(combined);
		combined->tgid = tgid;
	}
	entry_add(&combined->entry, file, ctx[2], direction);
	return 0;
}

static __always_inline void slot_add(struct wire_slot *slot, struct file *file, __u64 length,
				     enum wire_direction direction)
{
	struct wire_counts *counts = &slot->counts[direction];

	counts->bytes += length;
	(*size_class(counts, length))++;
	if (is_noatime(file, direction))
		slot->noatime_reads++;
}

/* 5. A slot for each thread, in an array map. */

static __noinline struct wire_slot *array_slot_claim(__u32 tid)
{
	for (int probe = 0; probe < WIRE_PROBES; probe++) {
		__u32 index = (tid + probe) & SLOT_MASK;
		struct wire_slot *slot = bpf_map_lookup_elem(&by_thread, &index);

		if (!slot)
			return NULL;
		if (slot->key == tid)
			return slot;
		if (slot->key || bpf_map_update_elem(&claims, &index, &tid, BPF_NOEXIST))
			continue;
		slot->key = tid;
		return slot;
	}
	return NULL;
}

static __always_inline int array(__u64 *ctx, enum wire_direction direction)
{
	__u32 tid = bpf_get_current_pid_tgid(), index = tid & SLOT_MASK;
	struct file *file = file_of(ctx);
	struct wire_slot *slot;

	if (!file)
		return 0;
	slot = bpf_map_lookup_elem(&by_thread, &index);
	if (slot && slot->key != tid)
		slot = array_slot_claim(tid);
	if (!slot)
		return lose();
	slot_add(slot, file, ctx[2], direction);
	return 0;
}

/* 6. A slot for each thread, by its address. */

static __always_inline int direct(__u64 *ctx, enum wire_direction direction)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct file *file = file_of(ctx);
	struct wire_slot *slot;

	if (!file)
		return 0;
	slot = slot_at(tid);
	asm volatile("" : "+r"(slot));
	if (slot->key != tid) {
		slot = slot_find(tid);
		if (!slot)
			slot = slot_claim(tid);
		if (!slot)
			return lose();
	}
	slot_add(slot, file, ctx[2], direction);
	return 0;
}

#define PROGRAMS(form)                        \
	SEC("fexit/pipe_read")                \
	int form##_read(__u64 *ctx)           \
	{                                     \
		return form(ctx, WIRE_READ);  \
	}                                     \
                                              \
	SEC("fexit/pipe_write")               \
	int form##_write(__u64 *ctx)          \
	{                                     \
		return form(ctx, WIRE_WRITE); \
	}

PROGRAMS(percpu_hash)
PROGRAMS(hash)
PROGRAMS(task_storage)
PROGRAMS(combining)
PROGRAMS(array)
PROGRAMS(direct)
