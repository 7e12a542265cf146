/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The BPF programs that count. Opening, loading and attaching are calls of their own, since each
 * fails for other reasons. The only module that knows the skeleton.
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
	int wake_fd;	     /* a ring buffer that gets an entry when exited slots pile up */
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
 * Attaches the programs, and moves a byte through our own pipe to see that they run. Where one
 * cannot be attached only what it measures is missing. Returns 0 when reads or writes are counted,
 * else the -errno of the first program that failed.
 */
int tracer_attach(struct tracer *t);

/*
 * Stops counting at once, and detaches the programs that count in a thread, since that waits for
 * every task of the host. The others, which keep track of processes, stay attached.
 */
void tracer_pause(struct tracer *t);

/* Attaches them again and counts, having waited until they are detached. Returns 0; or -errno, and
 * then nothing is counted. */
int tracer_resume(struct tracer *t);

/* Are the programs still being detached after tracer_pause()? */
bool tracer_detaching(const struct tracer *t);

/*
 * For how long operations have been counted so far, and for how long the programs that count have
 * been attached, which is longer by what attaching and detaching take. In microseconds.
 */
uint64_t tracer_counted_usec(const struct tracer *t);
uint64_t tracer_attached_usec(const struct tracer *t);

/* The file descriptors of the programs that count, -1 for one that is missing. */
void tracer_counting_fds(const struct tracer *t, int ret_fds[2]);

const struct tracer_program *tracer_programs(const struct tracer *t, size_t *ret_n);
void tracer_memory(const struct tracer *t, struct tracer_memory *ret);

/* Runs that the kernel skipped so far, by program; those of earlier tracers are added, so that they
 * never fall. */
#define TRACER_PROGRAMS 8
void tracer_missed(const struct tracer *t, uint64_t ret_runs[TRACER_PROGRAMS]);
void tracer_set_missed(struct tracer *t, const uint64_t runs[TRACER_PROGRAMS]);

/*
 * Appends the programs to @s, with how long those that count run (reads, writes; 0: not known), and
 * the skipped runs of those that count as lost updates. Says whether reads or writes are missing.
 * Returns 0 or -errno.
 */
int tracer_fill(const struct tracer *t, const double run_seconds[2], struct snapshot *s);

#endif
