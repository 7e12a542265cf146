/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The vocabulary of the project: kinds of pipe, kinds of metadata update, and what a kernel does
 * about them. The names are those of the metric labels, D-Bus and JSON.
 */
#ifndef PIPEWATCH_PIPE_H
#define PIPEWATCH_PIPE_H

#include <stdint.h>

enum pipe_kind {
	PIPE_ANONYMOUS, /* pipe2(2), on pipefs */
	PIPE_FIFO,	/* mkfifo(3), on any other file system */
	PIPE_KINDS,
};

enum update_kind {
	UPDATE_ATIME,	 /* a successful read without O_NOATIME */
	UPDATE_CMTIME,	 /* a successful write: mtime and ctime together */
	UPDATE_FSNOTIFY, /* inotify and fanotify events of either */
	UPDATE_KINDS,
};

/* Does this kernel pay for an update? PATH_UNKNOWN always comes with a reason. */
enum path_state {
	PATH_UNKNOWN,
	PATH_PAID,
	PATH_REMOVED,
	PATH_STATES,
};

/* log2 size classes of an operation: class c holds 2^c .. 2^(c+1)-1 bytes, the last all above. */
#define SIZE_CLASSES 16

/* Successful operations of a process, a group or the host on one kind of pipe. These only grow. */
struct pipe_counts {
	uint64_t reads;
	uint64_t writes;
	uint64_t read_bytes;
	uint64_t written_bytes;
	uint64_t noatime_reads; /* those of reads that came through O_NOATIME */
};

/* CPU time spent on updates, by kind. It only grows. */
struct pipe_costs {
	double seconds[UPDATE_KINDS];
};

/* Standard errors of counts that were extrapolated; 0 where every operation was counted. */
struct pipe_errors {
	float reads;
	float writes;
};

/* What would save CPU time. */
enum remedy {
	REMEDY_KERNEL,	/* Linux 6.15 or newer: no times on anonymous pipes */
	REMEDY_NOATIME, /* O_NOATIME on the read end */
	REMEDY_UNWATCH, /* nobody watches a pipe with inotify or fanotify */
	REMEDY_BATCH,	/* operations of 4096 bytes instead of smaller ones */
	REMEDIES,
};

struct pipe_sizes {
	uint64_t reads[SIZE_CLASSES];
	uint64_t writes[SIZE_CLASSES];
};

const char *pipe_kind_name(enum pipe_kind kind);
const char *update_kind_name(enum update_kind kind);
const char *path_state_name(enum path_state state);
const char *remedy_name(enum remedy remedy);

/* *sum += *add, field by field. */
void pipe_counts_add(struct pipe_counts *sum, const struct pipe_counts *add);
void pipe_costs_add(struct pipe_costs *sum, const struct pipe_costs *add);
/* *sum -= *subtract, which must be part of it. */
void pipe_counts_subtract(struct pipe_counts *sum, const struct pipe_counts *subtract);
void pipe_sizes_add(struct pipe_sizes *sum, const struct pipe_sizes *add);

/*
 * How many of these operations would not be needed if all below 4096 bytes were made with 4096
 * bytes. The sizes in a class are taken to be in its middle, which is good to a few per cent.
 */
double pipe_sizes_batchable(const struct pipe_sizes *sizes);

/*
 * How many updates of @kind the kernel was asked to make for these operations: one per read without
 * O_NOATIME (atime), one per write (cmtime). Meaningful only where the path is paid; fsnotify does
 * not follow from counts and gives 0.
 */
uint64_t pipe_counts_updates(const struct pipe_counts *counts, enum update_kind kind);

#endif
