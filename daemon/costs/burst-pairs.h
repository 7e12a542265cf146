/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The BPF programs that time functions: a pair for each function, one at its entry and one at its
 * exit. The only module that knows their skeleton.
 */
#ifndef PIPEWATCH_BURST_PAIRS_H
#define PIPEWATCH_BURST_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "histogram.h"
#include "pipewatch/burst-wire.h"

/* In the order of attaching: the parts of a call must be seen from the first call that is timed. */
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
	uint64_t switched; /* calls left out because of a context switch inside */
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

/* Why a pair cannot be used, as a sentence; "" when it can. A pair that failed or was excluded
 * stays unusable. */
const char *burst_pairs_reason(const struct burst_pairs *p, enum burst_pair pair);
const char *burst_pairs_function(const struct burst_pairs *p, enum burst_pair pair);
__attribute__((format(printf, 3, 4))) void
burst_pairs_exclude(struct burst_pairs *p, enum burst_pair pair, const char *format, ...);

/* Attaches a usable pair, which takes some tens of milliseconds. Returns 0, or -errno having noted
 * the reason. */
int burst_pairs_attach(struct burst_pairs *p, enum burst_pair pair);
void burst_pairs_detach_all(struct burst_pairs *p);

/* Calls are timed only while the window is open. This and the reasons are shared with processes
 * forked after burst_pairs_new(). */
void burst_pairs_set_open(struct burst_pairs *p, bool open);
bool burst_pairs_is_open(const struct burst_pairs *p);

/*
 * For a process forked after burst_pairs_new(). The first closes all file descriptors except the
 * standard ones and those needed for attaching. The second loads the programs again, sharing their
 * memory, where the kernel lets a program be attached only once: the parent may have attached them.
 */
void burst_pairs_close_others(const struct burst_pairs *p);
int burst_pairs_renew(struct burst_pairs *p);

/* What was timed on all CPUs since it was last cleared. To be called while the window is closed. */
int burst_pairs_clear(struct burst_pairs *p);
int burst_pairs_read(struct burst_pairs *p, struct burst_times *ret);

/* Runs that the kernel skipped since loading, of all programs. */
int burst_pairs_missed(const struct burst_pairs *p, uint64_t *ret_missed);

/* Has the kernel call the empty functions, @n times. */
int burst_pairs_run_empty(const struct burst_pairs *p, int n);

/* Times the clock, and calls of an empty function. */
int burst_pairs_run_clock(const struct burst_pairs *p, struct burst_clock *ret);

#endif
