/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What accounts.c and accounts-fill.c share: nobody else includes it. */
#ifndef PIPEWATCH_ACCOUNTS_BOOKS_H
#define PIPEWATCH_ACCOUNTS_BOOKS_H

#include "accounts.h"
#include "sparse-sizes.h"

/* Out of memory is an answer, not an exit. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct errors {
	struct extrapolation_error reads[PIPE_KINDS], writes[PIPE_KINDS];
};

/* A unit is the name of many processes and groups, and is freed with the last of them. */
struct unit {
	UT_hash_handle hh;
	unsigned int refs;
	char name[];
};

struct group_key {
	struct unit *unit; /* a reference; NULL: not known */
	char comm[SNAPSHOT_COMM_MAX];
};

/* CPU time of somebody as it was sampled. */
struct sampled {
	double pipe_cpu_seconds;
	double update_seconds[UPDATE_KINDS];
	double fsnotify_seconds[PIPE_KINDS]; /* charged; of groups it is in their costs */
};

/* What a group did, and what it cost. */
struct amounts {
	struct pipe_counts counts[PIPE_KINDS];
	struct pipe_costs costs[PIPE_KINDS];
	double batch_seconds;
	struct errors errors;
	double pipe_cpu_seconds;
	double sampled_seconds[UPDATE_KINDS];
};

struct group {
	struct group_key key; /* for hashing without what is behind the comm */
	uint32_t processes;   /* open ones */
	struct amounts amounts;
	struct pipe_counts
		listed[PIPE_KINDS]; /* scratch of accounts_fill(): what processes have series for */
	UT_hash_handle hh;
};

struct account_key {
	uint64_t start_boottime_ns;
	uint64_t tgid;
};

/* What a process did on one kind of pipe. */
struct account_pipe {
	struct pipe_counts counts;
	struct pipe_costs costs;
	struct sparse_sizes sizes;
};

/* There are thousands of them: what few processes need is elsewhere, and NULL without it. */
struct account {
	struct account_key key;
	struct group *group; /* NULL: not identified, or beyond the limit of groups */
	const char *comm;    /* of the group, else owned */
	struct unit *unit;   /* a reference; NULL: not known */
	unsigned int holds;
	bool identified;
	bool closed;
	bool listed; /* scratch of accounts_fill() */
	uint64_t closed_usec, looked_usec;
	double batch_seconds;
	struct account_pipe anonymous, *fifo;
	struct pipe_counts *before; /* [PIPE_KINDS]: booked on groups that it was in before */
	struct errors *errors;	    /* once extrapolated */
	struct sampled *sampled;
	UT_hash_handle hh;
	/* Among the closed, oldest first; or among the open ones that nobody holds. */
	struct account *prev, *next;
};

/* What a process did on @pipe; NULL: nothing. */
static inline struct account_pipe *account_pipe(const struct account *p, enum pipe_kind pipe)
{
	return pipe == PIPE_FIFO ? p->fifo : (struct account_pipe *)&p->anonymous;
}

static inline void account_counts(const struct account *p, struct pipe_counts ret[PIPE_KINDS])
{
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		const struct account_pipe *of = account_pipe(p, pipe);

		ret[pipe] = of ? of->counts : (struct pipe_counts){};
	}
}

static inline uint64_t counts_operations(const struct pipe_counts counts[PIPE_KINDS])
{
	uint64_t sum = 0;

	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		sum += counts[pipe].reads + counts[pipe].writes;
	return sum;
}

static inline const char *unit_name(const struct unit *u)
{
	return u ? u->name : "";
}

struct accounts {
	unsigned int max_groups;
	struct account *by_key;
	struct account *closed;
	struct account *unheld;
	unsigned int n_closed, n_unheld;
	struct unit *units;
	struct group *groups;
	struct group other;
	struct pipe_counts unattributed[PIPE_KINDS];
	struct extrapolation_factor factor;
	bool estimated;	      /* a factor was ever above 1 */
	struct errors errors; /* of the whole host */
	uint64_t counted, operations;
	double pipe_cpu_seconds, fsnotify_seconds;
	double operation_seconds;		     /* 0: not known */
	double unit_costs[PIPE_KINDS][UPDATE_KINDS]; /* seconds; 0: not known yet */
	struct pipe_sizes sizes[PIPE_KINDS];
};

/*
 * The unit of a name, with one reference more, in *ret_unit; NULL for "". Returns 0 or -ENOMEM.
 */
int accounts_unit_ref(struct accounts *a, const char *name, struct unit **ret_unit);
void accounts_unit_unref(struct accounts *a, struct unit *u); /* takes NULL */

/*
 * The @n costliest processes and @n costliest live ones, by how snapshots are ordered, as an array
 * sorted by address. Returns 0 or -ENOMEM.
 */
int accounts_rank(const struct accounts *a, const struct snapshot *s, size_t n,
		  const struct account ***ret_ranked, size_t *ret_n);
bool accounts_ranked(const struct account *const *ranked, size_t n, const struct account *p);

#endif
