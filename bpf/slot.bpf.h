/* SPDX-License-Identifier: (GPL-2.0-or-later OR BSD-2-Clause) */
/*
 * Slots: finding, claiming and retiring. The states are in wire.h.
 */
#ifndef PIPEWATCH_SLOT_BPF_H
#define PIPEWATCH_SLOT_BPF_H

#include "kernel.bpf.h"
#include "pipewatch/wire.h"

#define SLOT_MASK (WIRE_SLOTS - 1)

struct wire_slot slots[WIRE_SLOTS];
struct wire_shared shared;

/*
 * Slot index to the thread that claimed it. 5.10 has no compare-and-swap; an insert that must not
 * find an entry decides between two threads just as well. max_entries (MaxThreads=) is how many
 * slots may be in use.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WIRE_SLOTS);
	__type(key, __u32);
	__type(value, __u32);
} claims SEC(".maps");

static __always_inline struct wire_slot *slot_at(__u32 index)
{
	return &slots[index & SLOT_MASK];
}

/* Where the search for a key begins: threads in their own place, FIFOs half the table away. */
static __always_inline __u32 slot_home(__u32 key)
{
	return key & WIRE_KEY_FIFO ? key + WIRE_SLOTS / 2 : key;
}

static __noinline struct wire_slot *slot_find(__u32 key)
{
	__u32 home = slot_home(key);

	for (int probe = 0; probe < WIRE_PROBES; probe++) {
		struct wire_slot *slot = slot_at(home + probe * WIRE_STRIDE);

		if (slot->key == key)
			return slot;
	}
	return NULL;
}

static __always_inline void slot_identify(struct wire_slot *slot, struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	BPF_CORE_READ_INTO(&slot->comm, leader, comm);
	slot->cgroup_id = task_cgroup_id(task);
}

static __noinline struct wire_slot *slot_claim(__u32 key)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 home = slot_home(key);

	for (int probe = 0; probe < WIRE_PROBES; probe++) {
		__u32 index = (home + probe * WIRE_STRIDE) & SLOT_MASK;
		struct wire_slot *slot = slot_at(index);

		if (slot->key || bpf_map_update_elem(&claims, &index, &key, BPF_NOEXIST))
			continue;
		slot->tgid = bpf_get_current_pid_tgid() >> 32;
		slot->start_boottime = BPF_CORE_READ(task, group_leader, start_boottime);
		slot_identify(slot, task);
		store_release(&slot->key, key);
		__sync_fetch_and_add(&shared.claimed, 1);
		return slot;
	}
	return NULL;
}

#endif
