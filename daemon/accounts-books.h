/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What accounts.c and accounts-fill.c share: nobody else includes it. */
#ifndef PIPEWATCH_ACCOUNTS_BOOKS_H
#define PIPEWATCH_ACCOUNTS_BOOKS_H

#include "accounts.h"

/* Out of memory is an answer, not an exit. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct errors {
	struct extrapolation_error reads[PIPE_KINDS], writes[PIPE_KINDS];
};

struct group_key {
	char unit[256];
	char comm[SNAPSHOT_COMM_MAX];
};

/* What somebody did, and what it cost. */
struct amounts {
	struct pipe_counts counts[PIPE_KINDS];
	struct pipe_costs costs[PIPE_KINDS];
	double batch_seconds;
	struct errors errors;
	double pipe_cpu_seconds;
	double sampled_seconds[UPDATE_KINDS];
};

struct group {
	struct group_key key; /* zero-padded */
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

struct account {
	struct account_key key;
	struct group *group; /* NULL: not identified, or beyond the limit of groups */
	bool identified;
	bool closed;
	unsigned int holds;
	uint64_t closed_usec;
	char comm[SNAPSHOT_COMM_MAX];
	const char *unit; /* interned */
	struct amounts amounts;
	struct pipe_counts in_group[PIPE_KINDS]; /* of these, booked on the present group */
	bool listed;				 /* scratch of accounts_fill() */
	struct pipe_sizes sizes[PIPE_KINDS];
	UT_hash_handle hh;
	struct account *prev, *next; /* among the closed, oldest first */
};

/* A unit is the name of many processes. Never freed before the end: there are as many as units were
 * seen. */
struct unit {
	UT_hash_handle hh;
	char name[];
};

struct accounts {
	unsigned int max_groups;
	struct account *by_key;
	struct account *closed;
	unsigned int n_closed;
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

#endif
