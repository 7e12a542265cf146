/* SPDX-License-Identifier: (GPL-2.0-or-later OR BSD-2-Clause) */
/*
 * What the sampling program and the sampler share. Both sides include this file, nobody else.
 */
#ifndef PIPEWATCH_SAMPLER_WIRE_H
#define PIPEWATCH_SAMPLER_WIRE_H

#include <linux/types.h>

/* As many as there are bits in a mask; the innermost ones of a deeper stack. */
#define SAMPLER_FRAMES 64

/* The most address ranges of one class of functions, including parts that a compiler split off. */
#define SAMPLER_RANGES 16

/* Addresses [begin, end) of kernel code, all above 2^63. */
struct sampler_range {
	__u64 begin;
	__u64 end;
};

struct sampler_ranges {
	__u64 n;
	struct sampler_range ranges[SAMPLER_RANGES];
};

enum sampler_class {
	SAMPLER_PIPE,  /* read and write of pipes */
	SAMPLER_ATIME, /* their updates */
	SAMPLER_CMTIME,
	SAMPLER_FSNOTIFY,
	SAMPLER_SOFTIRQ, /* work that merely interrupted the task */
	SAMPLER_CLASSES,
};

/* For fsnotify, unlike the others, the kind of pipe is known. */
enum sampler_update {
	SAMPLER_UPDATE_ATIME,
	SAMPLER_UPDATE_CMTIME,
	SAMPLER_UPDATE_FSNOTIFY_ANONYMOUS,
	SAMPLER_UPDATE_FSNOTIFY_FIFO,
	SAMPLER_UPDATES,
};

#define SAMPLER_COMM_LEN 16

struct sampler_key {
	__u64 start_boottime; /* of the process, ns since boot */
	__u32 tgid;	      /* in the initial PID namespace */
	__u32 padding;
};

/* Written by all CPUs, atomically. */
struct sampler_sums {
	__u64 pipe_ns;
	__u64 pipe_samples;
	__u64 update_ns[SAMPLER_UPDATES];
	__u64 update_samples[SAMPLER_UPDATES];
};

/* A process, with the name of its main thread and its cgroup (of v2) as of the last sample. */
struct sampler_entry {
	struct sampler_sums sums;
	__u64 cgroup_id;
	char comm[SAMPLER_COMM_LEN];
};

/* Belongs to one CPU, which alone writes it, except that user space clears last_ns before it starts
 * sampling there. */
struct sampler_cpu {
	__u64 last_ns; /* CLOCK_MONOTONIC at the last sample; 0: there was none */
	__u64 samples; /* all, also those outside of the kernel or in no process */
	__u64 ns;      /* the time that they stand for */
	__u64 lost;    /* those in pipe operations of processes that the map had no room for */
	struct sampler_sums unattributed; /* the sums of these */
	__u64 padding[2];
};

_Static_assert(sizeof(struct sampler_cpu) == 128, "two cache lines");

#endif
