/* SPDX-License-Identifier: (GPL-2.0-or-later OR BSD-2-Clause) */
/*
 * The memory that the BPF programs write and the collector reads. Both sides include this file,
 * nobody else.
 *
 * A thread that uses pipes owns a slot per kind of pipe and is the only one to write its counters,
 * so they need no atomics; the collector maps the slots and reads them without system calls. The
 * life of a slot:
 *
 *   free      key 0, no entry in the map of claims
 *   claimed   by the thread's first operation: an entry in claims (inserting it decides between
 *             rivals), then the identity, then the key
 *   live      counters grow
 *   exited    when the thread ends: name and cgroup are brought up to date, then the key gets
 *             WIRE_KEY_EXITED
 *   free      the collector has accounted for it: counters and key cleared, then the claim deleted
 */
#ifndef PIPEWATCH_WIRE_H
#define PIPEWATCH_WIRE_H

#include <linux/types.h>

/* Direct-mapped by thread id, so a power of two. 192 bytes each: 3 MiB, under the 4 MiB that 5.10
 * maps at most. */
#define WIRE_SLOTS 16384

/*
 * A thread whose own place is taken looks for a slot in other places, far apart: long-lived threads
 * tend to have consecutive ids, so that there is hardly ever a free place next to a taken one.
 */
#define WIRE_PROBES 16
#define WIRE_STRIDE 1023

/* A key is a thread id (at most 2^22) with these bits. */
#define WIRE_KEY_FIFO	(1u << 30)
#define WIRE_KEY_EXITED (1u << 31)

#define WIRE_SIZE_CLASSES 16
#define WIRE_COMM_LEN	  16

enum wire_direction { WIRE_READ, WIRE_WRITE, WIRE_DIRECTIONS };
enum wire_pipe { WIRE_ANONYMOUS, WIRE_FIFO, WIRE_PIPES };

/*
 * The number of operations is the sum over the size classes. These wrap at 2^32. The collector
 * takes differences, which stay right as long as it looks more than once per 2^32 operations of one
 * thread: at 5 million a second, every 14 minutes.
 */
struct wire_counts {
	__u64 bytes;
	__u32 sizes[WIRE_SIZE_CLASSES];
};

enum wire_slot_flags {
	/* With WIRE_KEY_EXITED: it was the last thread of its process. */
	WIRE_SLOT_PROCESS_EXITED = 1,
};

struct wire_slot {
	__u32 key;
	__u32 tgid;	      /* in the initial PID namespace */
	__u64 start_boottime; /* of the process, ns since boot; with tgid it names one process */
	__u32 flags;	      /* enum wire_slot_flags */
	__u32 noatime_reads;  /* wraps, as sizes do */
	struct wire_counts counts[WIRE_DIRECTIONS];
	char comm[WIRE_COMM_LEN]; /* of the process, that is, its main thread */
	__u64 cgroup_id;	  /* cgroup v2 */
};

_Static_assert(sizeof(struct wire_slot) == 192, "three cache lines");

/* Operations of threads that found no slot: exact sums that belong to nobody. Written atomically by
 * all CPUs. */
struct wire_overflow {
	struct wire_counts counts[WIRE_DIRECTIONS];
	__u32 noatime_reads;
	__u32 padding;
};

struct wire_shared {
	__u64 claimed;	    /* slots that were ever claimed; by BPF, after the key */
	__u64 exited;	    /* slots that ever became exited; by BPF */
	__u64 reaped;	    /* of these, freed again; by the collector */
	__u32 wake_pending; /* set by BPF when it woke the collector, cleared by the collector */
	__u32 counting;	    /* set by the tracer: operations are counted */
	struct wire_overflow overflow[WIRE_PIPES];
};

/* The paths of cgroups made since the daemon began, by id: one may be gone before anybody asks for
 * its name. */
#define WIRE_CGROUP_PATH_MAX 256
#define WIRE_CGROUPS	     1024 /* the last used ones are kept */

#endif
