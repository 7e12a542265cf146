/* SPDX-License-Identifier: (GPL-2.0-or-later OR BSD-2-Clause) */
/*
 * What the programs of a burst write, an element of an array for each CPU, and burst.c reads when
 * they are detached. Only the program that runs on a CPU writes to its element, so there are no
 * atomics.
 */
#ifndef PIPEWATCH_BURST_WIRE_H
#define PIPEWATCH_BURST_WIRE_H

#include <linux/types.h>

/* What is timed as a whole. */
enum burst_call {
	BURST_ATIME,
	BURST_CMTIME,
	BURST_FSNOTIFY,
	BURST_EMPTY, /* calibration: functions that do nothing */
	BURST_CALLS,
};

/* What is timed within such a call. */
enum burst_part { BURST_MOUNT, BURST_INODE, BURST_PARTS };

/* The functions that may be such parts. Which of them are called, and by which others, depends on
 * the kernel. */
enum burst_hook {
	BURST_HOOK_MOUNT,
	BURST_HOOK_MOUNT_FILE,
	BURST_HOOK_INODE,
	BURST_HOOK_GENERIC,
	BURST_HOOK_EMPTY,
	BURST_HOOKS,
};

/* Calls with and without parts take different times. They are kept apart so that the rarer ones are
 * not taken for outliers. */
enum burst_span { BURST_PLAIN, BURST_CHANGED, BURST_PART, BURST_SPANS = BURST_PART + BURST_PARTS };

enum burst_pipe { BURST_ANONYMOUS, BURST_FIFO, BURST_PIPES };
enum burst_owner { BURST_OTHERS, BURST_OWN, BURST_OWNERS };

/* Four buckets to each power of two from 2^4 to 2^20 ns; the first and the last also hold what is
 * beyond. */
#define BURST_BUCKETS	  64
#define BURST_BUCKET_BITS 2
#define BURST_LOG2_MIN	  4
#define BURST_LOG2_MAX	  19

/* Both wrap at 2^32; the sum of one CPU's times in a window of less than 4 s does not. */
struct burst_bucket {
	__u32 count;
	__u32 sum_ns;
};

struct burst_histogram {
	struct burst_bucket buckets[BURST_BUCKETS];
};

struct burst_cpu {
	/* The call in progress: which task's (0: none), which one, and how often the task had been
	 * switched when it began. */
	__u64 task;
	__u64 switches;
	__u64 start_ns;
	__u32 call;
	__u32 pipe;
	/* The part in progress (1 + enum burst_hook; 0: none), and those that have ended. */
	__u64 part_start_ns;
	__u32 hook;
	__u32 parts[BURST_PARTS];
	__u32 padding;
	__u64 part_ns[BURST_PARTS];

	__u64 switched; /* calls left out because of a context switch inside */
	__u64 hits[BURST_CALLS][BURST_HOOKS];
	struct burst_histogram histograms[BURST_OWNERS][BURST_PIPES][BURST_CALLS][BURST_SPANS];
};

/* How often the program that times the clock does each thing. */
#define BURST_REPEAT 32

struct burst_clock {
	__u64 reads_ns; /* that many reads of the clock */
	__u64 calls_ns; /* that many calls of a function that does nothing, and one read */
	__u64 step_ns;	/* the least that the clock advanced between two reads; all ones: never */
	__u64 still;	/* how often it did not advance */
};

#endif
