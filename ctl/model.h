/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What Describe() tells, taken apart. Nothing in it is taken for granted: a key that an older
 * daemon does not have, or of another type than it should be, is a figure that is not known.
 *
 * All strings are safe to print (text.h) and never NULL; the JSON beside them has the originals.
 */
#ifndef PIPEWATCH_CTL_MODEL_H
#define PIPEWATCH_CTL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;

enum { MODEL_ANONYMOUS, MODEL_FIFO, MODEL_PIPES };
enum { MODEL_ATIME, MODEL_CMTIME, MODEL_FSNOTIFY, MODEL_KINDS };
enum { MODEL_KERNEL, MODEL_NOATIME, MODEL_UNWATCH, MODEL_BATCH, MODEL_REMEDIES };
enum { MODEL_PROGRAMS, MODEL_BURSTS, MODEL_SAMPLING, MODEL_DAEMON, MODEL_PARTS };
enum { MODEL_EXACT, MODEL_BURST, MODEL_PROFILE, MODEL_MODES };

extern const char *const model_pipe_names[MODEL_PIPES];
extern const char *const model_kind_names[MODEL_KINDS];
extern const char *const model_remedy_names[MODEL_REMEDIES];
extern const char *const model_part_names[MODEL_PARTS];
extern const char *const model_mode_names[MODEL_MODES];

struct count {
	bool known;
	uint64_t value;
};

struct amount {
	bool known;
	double value;
};

/* What somebody did on one kind of pipe. Counters. */
struct model_pipe {
	struct count reads;
	struct count writes;
	struct count read_bytes;
	struct count written_bytes;
	struct count noatime_reads;
	struct count updates[MODEL_KINDS];
	struct amount cost[MODEL_KINDS]; /* CPU seconds */
	struct amount reads_error;	 /* standard errors, where counts are estimates */
	struct amount writes_error;
};

/* A process, a group, or the host. */
struct model_row {
	struct json_object *json; /* borrowed; NULL for the host and differences */
	uint32_t pid;
	uint64_t start_time_usec;
	uint64_t processes; /* of a group */
	const char *comm;
	const char *unit;
	bool exited;
	struct model_pipe pipes[MODEL_PIPES];
	struct amount pipe_cpu_seconds;
	struct amount cpu_seconds;
	struct amount cpu_share; /* metadata's of its own CPU time */
	struct amount sampled[MODEL_KINDS];
	struct amount savings[MODEL_REMEDIES]; /* CPU seconds so far */
};

struct model_path {
	const char *state; /* paid, removed, unknown */
	const char *reason;
};

struct model_cost {
	struct amount seconds;
	double error_seconds;
	const char *agreement;
	const char *reason;
};

struct model_program {
	const char *program;
	const char *hook;
	const char *reason;
};

struct model_watcher {
	uint32_t pid;
	const char *comm;
	uint64_t watches;
};

struct model {
	struct json_object *json;

	const char *version;
	const char *release;
	const char *machine;
	const char *state;
	const char *state_reason;
	const char *mode;
	const char *configured_mode;
	const char *mode_reason;
	uint64_t start_time_usec;
	uint64_t now_usec; /* when this was told; of the realtime clock, as the start */
	double seconds;	   /* that the counters are of; 0: not known */

	struct model_path paths[MODEL_PIPES][MODEL_KINDS];
	struct model_cost costs[MODEL_PIPES][MODEL_KINDS];

	struct amount budget;
	struct amount allowed;
	struct amount predicted[MODEL_MODES];
	bool own_known; /* the daemon tells its own cost at all */
	struct amount own[MODEL_PARTS];
	struct amount overhead;
	const char *overhead_reason;
	struct amount coverage;
	const char *coverage_reason;
	bool estimated;
	struct amount unseen;

	bool sampling;
	const char *sampling_reason;
	bool counting;
	const char *counting_reason;
	bool listed; /* there are groups and processes: something is counted or sampled */
	struct count tracked;
	struct count lost;
	struct count unattributed;

	struct model_program *missing; /* programs that are not attached */
	size_t n_missing;

	bool remedies_known; /* the daemon tells what remedies save at all */
	struct model_watcher *watchers;
	size_t n_watchers;
	const char *watchers_reason;

	struct model_row host;
	struct model_row *groups;
	size_t n_groups;
	struct model_row *processes;
	size_t n_processes;
	uint64_t omitted;

	struct model_string *strings; /* private */
};

/*
 * Takes @text apart. Returns 0; -EBADMSG when it is no JSON object, or none that a pipewatchd
 * makes; -ENOMEM.
 */
int model_parse(const char *text, bool utf8, struct model **ret_model);
struct model *model_free(struct model *m); /* takes NULL; returns NULL */

static inline void model_freep(struct model **m)
{
	model_free(*m);
}

#endif
