/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The BPF programs that time functions: a pair for each function, at its entry and at its exit. The
 * only module that knows their skeleton.
 */
#ifndef PIPEWATCH_BURST_PAIRS_H
#define PIPEWATCH_BURST_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "histogram.h"
#include "pipewatch/burst-wire.h"

/* In the order of attaching: what is within a call has to be seen from its first timing on. */
enum burst_pair {
	PAIR_MOUNT,
	PAIR_MOUNT_FILE,
	PAIR_INODE,
	PAIR_GENERIC,
	PAIR_ATIME,
	PAIR_CMTIME,
	PAIR_FSNOTIFY,
	PAIR_EMPTY,
	PAIRS_OF_WINDOW,
	PAIR_INNER = PAIRS_OF_WINDOW, /* for calibration only */
	PAIR_OUTER,
	PAIRS,
};

struct burst_times {
	uint64_t switched;			 /* calls not taken: a context switch inside */
	uint64_t hits[BURST_CALLS][BURST_HOOKS]; /* which parts were called in which calls */
	struct histogram histograms[BURST_OWNERS][BURST_PIPES][BURST_CALLS][BURST_SPANS];
};

struct burst_pairs;

/* Chooses the functions that this kernel has, and loads. Returns 0; -ENOENT without BTF of the
 * kernel; or -errno. */
int burst_pairs_new(struct burst_pairs **ret_pairs);
struct burst_pairs *burst_pairs_free(struct burst_pairs *p); /* detaches */

static inline void burst_pairs_freep(struct burst_pairs **p)
{
	burst_pairs_free(*p);
}

/* Why a pair cannot be used, a sentence; "": it can. One that failed, or was excluded, stays so. */
const char *burst_pairs_reason(const struct burst_pairs *p, enum burst_pair pair);
const char *burst_pairs_function(const struct burst_pairs *p, enum burst_pair pair);
__attribute__((format(printf, 3, 4))) void
burst_pairs_exclude(struct burst_pairs *p, enum burst_pair pair, const char *format, ...);

/* Attaches a pair that can be used. Returns 0; or -errno, and the reason is noted. Takes a few 10
 * ms. */
int burst_pairs_attach(struct burst_pairs *p, enum burst_pair pair);
void burst_pairs_detach_all(struct burst_pairs *p);

/* Nothing is timed but in an open window. This and the reasons are shared with processes forked
 * after burst_pairs_new(). */
void burst_pairs_set_open(struct burst_pairs *p, bool open);
bool burst_pairs_is_open(const struct burst_pairs *p);

/*
 * For a process forked after burst_pairs_new(). The first closes all file descriptors but the
 * standard ones and those that attaching needs. The second loads the programs again, with the same
 * memory, where the kernel lets them be attached only once: whether they were, another process may
 * know.
 */
void burst_pairs_close_others(const struct burst_pairs *p);
int burst_pairs_renew(struct burst_pairs *p);

/* What was timed since the last clearing, of all CPUs together. To be called while nothing is
 * attached. */
int burst_pairs_clear(struct burst_pairs *p);
int burst_pairs_read(struct burst_pairs *p, struct burst_times *ret);

/* Runs that the kernel skipped since loading, of all programs. */
int burst_pairs_missed(const struct burst_pairs *p, uint64_t *ret_missed);

/* Has the kernel call the empty functions, @n times. */
int burst_pairs_run_empty(const struct burst_pairs *p, int n);

/* Times the clock, and calls of an empty function. */
int burst_pairs_run_clock(const struct burst_pairs *p, struct burst_clock *ret);

#endif
