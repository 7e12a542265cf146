/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The BPF programs: opened, loaded, attached, each phase a call, since each fails for other
 * reasons. The only module that knows the skeleton.
 */
#ifndef PIPEWATCH_TRACER_H
#define PIPEWATCH_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot.h"

struct tracer;
struct wire_slot;
struct wire_shared;

struct tracer_program {
	const char *program;
	const char *hook; /* the kernel function or tracepoint */
	bool attached;
	char reason[160]; /* a clause, when not attached */
};

/* What the programs write; valid while the tracer lives. The collector's input. */
struct tracer_memory {
	struct wire_slot *slots; /* WIRE_SLOTS of them */
	struct wire_shared *shared;
	uint32_t max_threads; /* of claims */
	int claims_fd;
	int wake_fd;	     /* of a ring buffer that gets an entry when exited slots pile up */
	int cgroup_paths_fd; /* cgroup id to path, of those made since the start */
};

/*
 * Opens the object for at most @max_threads threads and chooses the functions that this kernel has.
 * Returns 0; -ENOENT where there is no BTF of the kernel; -ENOMEM or another -errno.
 */
int tracer_open(uint32_t max_threads, struct tracer **ret_tracer);
struct tracer *tracer_free(struct tracer *t); /* detaches everything; takes NULL, returns NULL */

static inline void tracer_freep(struct tracer **t)
{
	tracer_free(*t);
}

/* Loads what was chosen. Returns 0 or -errno (-EPERM: ask permission.h why). */
int tracer_load(struct tracer *t);

/*
 * Attaches, and moves a byte through an own pipe to see that the programs run. A program that
 * cannot be attached costs what it measures only. Returns 0 when reads or writes are counted, else
 * the -errno of the first that failed.
 */
int tracer_attach(struct tracer *t);

/*
 * Stops the counting, to the operation, and detaches the programs that do it, in a thread, since
 * that waits for every task of the host; the others, which tell who is who, stay.
 */
void tracer_pause(struct tracer *t);

/* Attaches them again and counts. Waits for a pause that has not ended yet. Returns 0 or -errno,
 * and then nothing is counted. */
int tracer_resume(struct tracer *t);

/* Is what was paused still being detached? */
bool tracer_detaching(const struct tracer *t);

/*
 * For how long operations have been counted so far, and for how long the programs that count have
 * been attached, which attaching and detaching make longer. Microseconds.
 */
uint64_t tracer_counted_usec(const struct tracer *t);
uint64_t tracer_attached_usec(const struct tracer *t);

/* The file descriptors of the programs that count, -1 for one that is missing. */
void tracer_counting_fds(const struct tracer *t, int ret_fds[2]);

const struct tracer_program *tracer_programs(const struct tracer *t, size_t *ret_n);
void tracer_memory(const struct tracer *t, struct tracer_memory *ret);

/*
 * Appends the programs to @s, those that count with how long they run (reads, writes; 0: not
 * known), and the runs that the kernel skipped of those that count, as lost updates; says whether
 * reads or writes are missing. Returns 0 or -errno.
 */
int tracer_fill(const struct tracer *t, const double run_seconds[2], struct snapshot *s);

#endif
