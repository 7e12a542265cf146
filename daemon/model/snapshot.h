/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A consistent view of everything that is published: immutable once finished, reference-counted,
 * and the same for HTTP and D-Bus. A pure model: no I/O, no library but libc.
 *
 * All strings are valid UTF-8 without NUL (see name.h), but may hold control characters: each
 * publisher escapes for its own format. Strings are owned by the snapshot. Times are CLOCK_REALTIME
 * or durations, as named.
 */
#ifndef PIPEWATCH_SNAPSHOT_H
#define PIPEWATCH_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cost.h"
#include "pipe.h"

/* The time over which the overhead is measured. */
#define OBSERVER_SEC 10

/* 15 bytes of comm, each rendered as at most four characters, and a NUL. */
#define SNAPSHOT_COMM_MAX 64

/* The label of everything that has no group of its own: groups beyond the limit, and operations of
 * unidentified threads. */
#define SNAPSHOT_OTHER "(other)"

struct snapshot_process {
	uint32_t pid;		      /* tgid in the initial PID namespace */
	uint64_t start_time_usec;     /* since the epoch; with pid it names one process for ever */
	char comm[SNAPSHOT_COMM_MAX]; /* of the process (its main thread), as it is now or was at
					 exit */
	const char *unit;	      /* systemd unit or container; "" when not known */
	bool exited;		      /* still listed for SNAPSHOT_EXITED_SEC seconds */
	struct pipe_counts counts[PIPE_KINDS];
	struct pipe_costs costs[PIPE_KINDS]; /* where snapshot_cost_known() */
	double cost_seconds;		     /* the sum of what is known of them */
	struct pipe_errors errors[PIPE_KINDS];
	double batch_seconds;		      /* what operations of 4096 bytes would have saved; see
						 snapshot_saving() */
	double pipe_cpu_seconds;	      /* where sampling */
	double sampled_seconds[UPDATE_KINDS]; /* where sampling, of the kinds that it sees */
	/* Of its own CPU time since it has been watched; read for the costliest live processes
	 * only. */
	bool cpu_known;
	double cpu_seconds;
	double cpu_share; /* cost_seconds of the same time over it, 0 to 1 */
	struct pipe_sizes sizes[PIPE_KINDS];

	/* With pid_label: it has series of its own, of what it did in its present group. */
	bool has_series;
	struct pipe_counts series[PIPE_KINDS];
};

/* How long an exited process stays in the list. Its group's counters never go. */
#define SNAPSHOT_EXITED_SEC 60

struct snapshot_group {
	const char *unit; /* "" when not known */
	const char *comm;
	uint32_t processes; /* live ones */
	struct pipe_counts counts[PIPE_KINDS];
	struct pipe_costs costs[PIPE_KINDS]; /* where snapshot_cost_known() */
	double cost_seconds;		     /* the sum of what is known of them */
	struct pipe_errors errors[PIPE_KINDS];
	double batch_seconds;		      /* what operations of 4096 bytes would have saved; see
						 snapshot_saving() */
	double pipe_cpu_seconds;	      /* where sampling */
	double sampled_seconds[UPDATE_KINDS]; /* where sampling, of the kinds that it sees */
	struct pipe_counts rest[PIPE_KINDS];  /* counts less what processes have series for */
};

/* The values of the metrics pipewatch_state and pipewatch_mode. */
enum snapshot_state { STATE_STARTING, STATE_RUNNING, STATE_DEGRADED, SNAPSHOT_STATES };
enum snapshot_mode { MODE_AUTO, MODE_EXACT, MODE_BURST, MODE_PROFILE, MODE_OFF, SNAPSHOT_MODES };

const char *snapshot_state_name(enum snapshot_state state);
const char *snapshot_mode_name(enum snapshot_mode mode);

struct snapshot_path {
	enum path_state state;
	const char *reason; /* a sentence; never NULL */
};

/* A BPF program and the kernel function or tracepoint that it is attached to, or should be. */
struct snapshot_program {
	const char *program;
	const char *hook;
	bool attached;
	const char *reason; /* why it is not attached; "" when it is */
	uint64_t missed;    /* runs that the kernel skipped */
	double run_seconds; /* mean of a run as the kernel timed it at the start; 0: not timed */
};

/* Where the daemon's own cost comes from. */
enum observer_part {
	OBSERVER_PROGRAMS, /* the programs that count, in the processes that they count */
	OBSERVER_BURSTS,   /* timed bursts, likewise */
	OBSERVER_SAMPLING, /* the sampling program, on all CPUs */
	OBSERVER_DAEMON,   /* the daemon's own processes */
	OBSERVER_PARTS,
};

const char *observer_part_name(enum observer_part part);

/* What watching costs. */
struct snapshot_observer {
	struct cost_figure operation;	    /* one pipe operation of our own that is not counted */
	struct cost_figure counting;	    /* what counting adds to it */
	double cpu_seconds[OBSERVER_PARTS]; /* so far; counters */
	/* Own cost over the time that was spent in pipe operations, in the last OBSERVER_SEC or
	 * since the mode changed. */
	struct cost_figure overhead; /* .seconds is a ratio here; unknown with a reason */
	/* What the governor expects of each mode, as CPU seconds per second, and what it allows;
	 * negative: not known. */
	double predicted[SNAPSHOT_MODES];
	double allowed;
};

/* Who watches pipes with inotify or fanotify, so that all pipes pay for fsnotify. */
struct snapshot_watcher {
	uint32_t pid;
	char comm[SNAPSHOT_COMM_MAX];
	uint32_t watches;
};

struct snapshot_map {
	const char *map;
	uint64_t entries;
	uint64_t max_entries;
};

struct snapshot_loss {
	const char *reason;
	uint64_t updates;
};

struct snapshot {
	unsigned int n_refs;

	/* the daemon */
	const char *version;
	const char *libbpf_version;
	uint64_t start_time_usec; /* when the counters began at zero, since the epoch */
	uint64_t time_usec;	  /* when this snapshot was made, likewise */
	enum snapshot_state state;
	const char *state_reason;
	enum snapshot_mode mode;	    /* what is in force */
	enum snapshot_mode configured_mode; /* what was asked for */
	const char *mode_reason;
	double budget_ratio; /* of the time spent in pipe operations */
	struct snapshot_observer observer;

	/* the kernel */
	const char *kernel_release;
	const char *machine;
	const char *clocksource; /* "" when not readable */
	struct snapshot_path paths[PIPE_KINDS][UPDATE_KINDS];
	struct cost_estimate unit_costs[PIPE_KINDS][UPDATE_KINDS];

	/* what is attached; entries live in the snapshot */
	struct snapshot_program *programs;
	size_t n_programs;

	/*
	 * The counts. When counting is false nothing was counted since the start: publishers leave
	 * counts out and give counting_reason instead. When it is true but the coverage is 0, they
	 * stand still.
	 */
	bool counting;
	const char *counting_reason; /* "" when counting */
	/* Share of the time in which operations are counted now: 1 in exact mode, the windows'
	 * share in burst mode, 0 in the others. Below 1 the counts are extrapolated. */
	double coverage_ratio;
	bool estimated; /* some of the counts were extrapolated: see the errors */
	/* In burst mode: a process that was in no window has made fewer operations than this, with
	 * 95 % confidence; 0 in other modes. */
	double unseen_operations_max;
	/* While counting, one of these can be missing, with every figure that follows from it. The
	 * reason is in programs. */
	bool reads_missing;
	bool writes_missing;

	/* CPU time in pipe operations is sampled; when not, why. */
	bool sampling;
	const char *sampling_reason; /* "" when sampling */
	bool sampling_sees[UPDATE_KINDS];
	uint64_t sampling_lost; /* samples in pipe operations that there was no room for */

	/* Who watches pipes, as far as that can be seen; why not all of them, "" when all. */
	struct snapshot_watcher *watchers;
	size_t n_watchers;
	const char *watchers_reason;

	bool pid_label;			    /* processes have series of their own */
	struct snapshot_process *processes; /* by cost, then by operations, descending */
	size_t n_processes;
	size_t n_unlisted;	       /* those without rows, which cost no more */
	uint32_t unlisted_live;	       /* live ones among these */
	uint32_t tracked_processes;    /* all live ones */
	struct snapshot_group *groups; /* likewise; (other), if any, is last */
	size_t n_groups;
	struct pipe_counts totals[PIPE_KINDS]; /* equals the sum over groups */
	struct pipe_errors total_errors[PIPE_KINDS];
	struct pipe_costs total_costs[PIPE_KINDS]; /* likewise */
	double total_batch_seconds;		   /* likewise */
	struct pipe_sizes sizes[PIPE_KINDS];
	uint64_t unattributed_operations; /* those in (other) whose thread found no free slot */

	uint64_t map_bytes; /* what all maps take of the kernel's memory; 0: none, or not known */
	struct snapshot_map *maps;
	size_t n_maps;
	struct snapshot_loss *losses;
	size_t n_losses;

	void *arena; /* private to snapshot.c: what the strings live in */
};

/* Makes an empty snapshot of the present moment with one reference, to be filled and finished.
 * Returns NULL when out of memory. */
struct snapshot *snapshot_new(void);
struct snapshot *snapshot_ref(struct snapshot *s);
struct snapshot *snapshot_unref(struct snapshot *s); /* takes NULL; returns NULL */

static inline void snapshot_unrefp(struct snapshot **s)
{
	snapshot_unref(*s);
}

/* A copy of @string that lives as long as the snapshot; equal strings share one copy. NULL when out
 * of memory. */
const char *snapshot_string(struct snapshot *s, const char *string);

/*
 * Append one element, zeroed (strings set to ""), and return it to be filled; NULL when out of
 * memory. A pointer is valid until the next append to the same array.
 */
struct snapshot_process *snapshot_add_process(struct snapshot *s);
struct snapshot_group *snapshot_add_group(struct snapshot *s);
struct snapshot_program *snapshot_add_program(struct snapshot *s);
struct snapshot_map *snapshot_add_map(struct snapshot *s);
struct snapshot_loss *snapshot_add_loss(struct snapshot *s);
struct snapshot_watcher *snapshot_add_watcher(struct snapshot *s);

/* Sorts, and computes what is derived: sums of costs, totals from groups, tracked_processes. Call
 * once, when filled. */
void snapshot_finish(struct snapshot *s);

/*
 * Metadata updates of @kind for @counts on @pipe. Returns false, leaving *ret_updates alone, where
 * the figure does not exist: the path is removed, unknown, or the kind does not follow from counts.
 */
bool snapshot_updates(const struct snapshot *s, enum pipe_kind pipe, enum update_kind kind,
		      const struct pipe_counts *counts, uint64_t *ret_updates);

/* Are the costs of updates of @kind on @pipe among the costs of processes and groups? */
bool snapshot_cost_known(const struct snapshot *s, enum pipe_kind pipe, enum update_kind kind);

/*
 * Is there any figure of somebody on @pipe: an operation, or a cost without one? What was sampled
 * can have been in no window in which operations are counted.
 */
bool snapshot_pipe_used(const struct snapshot *s, enum pipe_kind pipe,
			const struct pipe_counts *counts, const struct pipe_costs *costs);

/* Why not all operations are counted, as a sentence; "" when they are. */
const char *snapshot_coverage_reason(const struct snapshot *s);

/* Operations that were lost, for whatever reason. */
uint64_t snapshot_lost(const struct snapshot *s);

/* How long the counters have been growing, as far as the clock tells; 0 when it was set back. */
double snapshot_measured_seconds(const struct snapshot *s);

/*
 * The watches of all watchers with the name of number @i, in *ret_watches. Returns false where an
 * earlier one has that name.
 */
bool snapshot_watches(const struct snapshot *s, size_t i, uint64_t *ret_watches);

/*
 * CPU seconds that @remedy would have saved so far somebody with these costs. Returns false,
 * leaving *ret_seconds alone, where that is not known or the remedy has nothing to save on this
 * kernel.
 */
bool snapshot_saving(const struct snapshot *s, enum remedy remedy,
		     const struct pipe_costs costs[PIPE_KINDS], double batch_seconds,
		     double *ret_seconds);

/* The process with @pid; a live one before an exited one. NULL if there is none. */
const struct snapshot_process *snapshot_find_process(const struct snapshot *s, uint32_t pid);

/* Which processes a snapshot must list. Not all of them, since a row takes more memory than
 * everything else that is kept of a process. */
struct snapshot_wish {
	size_t n_processes; /* so many of the costliest; SIZE_MAX: all */
	uint32_t pid;	    /* and those with this id; 0: none */
};

/*
 * How publishers get at the snapshot: the current one, with a reference for the caller. It lists at
 * least the processes that are wished for, and says how many it does not list. Returns 0 or -errno
 * (-ENOMEM, or what reading the maps gave).
 */
typedef int (*snapshot_get_fn)(void *userdata, const struct snapshot_wish *wish,
			       struct snapshot **ret_snapshot);

#endif
