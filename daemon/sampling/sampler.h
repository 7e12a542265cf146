/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sampling: a timer on every CPU looks a few dozen times a second whether the kernel is inside a
 * pipe operation, and in which of its metadata functions. It costs next to nothing, gives CPU time
 * by process, and is right only on average.
 *
 * Sampled is what runs inside the pipe's own read and write functions, without system call entry
 * and the like, and without the BPF programs that observe these functions. Of the cmtime update the
 * write access to the superblock is missing, which is inline in the writer. fsnotify runs after the
 * pipe's function has returned: it is seen only on x86, and only where the system call is read,
 * write, readv or writev (not io_uring, not splice). The code that calls it is inline in the system
 * call and missing: about 25 instructions each time, which is a twentieth of what the watched pipe
 * itself pays and a quarter to a third of what the others pay.
 */
#ifndef PIPEWATCH_SAMPLER_H
#define PIPEWATCH_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipe.h"

struct sampler;

/* 15 bytes and a NUL. */
#define SAMPLER_COMM_MAX 16

/* Of one process since the sampler began. The relative error of the times is 1/sqrt(samples). */
struct sampler_process {
	uint32_t tgid; /* 0: all those that there was no room for */
	uint64_t start_boottime_ns;
	uint64_t pipe_ns; /* in pipe operations as a whole, their metadata included */
	uint64_t pipe_samples;
	uint64_t update_ns[UPDATE_KINDS]; /* in the metadata functions of pipe operations */
	uint64_t update_samples[UPDATE_KINDS];
	uint64_t fsnotify_ns[PIPE_KINDS]; /* by kind of pipe, which is known of no other update */
	char comm[SAMPLER_COMM_MAX];	  /* raw, as it is now or was at the last sample */
	uint64_t cgroup_id;		  /* of cgroup v2, at the last sample */
	bool exited;			  /* for certain: nothing will be added any more */
};

/*
 * Opens a sampler at @frequency_hz (1 to 10000) on all CPUs, with room for @max_processes that use
 * pipes. Returns 0 or -errno, with cause and remedy in @ret_reason (perf_event_paranoid and
 * CAP_SYS_ADMIN, CAP_SYSLOG for the addresses of functions, …).
 */
int sampler_new(unsigned int frequency_hz, uint32_t max_processes, char *ret_reason, size_t size,
		struct sampler **ret_sampler);
struct sampler *sampler_free(struct sampler *s);

static inline void sampler_freep(struct sampler **s)
{
	sampler_free(*s);
}

/*
 * Starts sampling CPUs that came online, stops it on those that went offline, and jitters the
 * period so that no load keeps step with it. To be called every few seconds. Returns 0, or the
 * -errno of the first CPU that failed (which takes the same privileges as sampler_new()); the
 * others go on.
 */
int sampler_refresh(struct sampler *s);

typedef void (*sampler_each_fn)(const struct sampler_process *p, void *userdata);

/* Does the caller know the sums of the process already, with so many @samples? The number changes
 * whenever the sums do. */
typedef bool (*sampler_known_fn)(uint32_t tgid, uint64_t start_boottime_ns, uint64_t samples,
				 void *userdata);

/*
 * Calls @each for each process with its sums, and once for tgid 0 if anything was lost. The sums of
 * exited processes, and no others, are removed afterwards. Of live processes that are @known (NULL:
 * none is) only some are looked at each time, in turn. Returns 0 or -errno.
 */
int sampler_read(struct sampler *s, sampler_known_fn known, sampler_each_fn each, void *userdata);

/* Are we permitted to read the maps? */
bool sampler_permitted(const struct sampler *s);

/* The kernel memory that the maps take. */
uint64_t sampler_map_bytes(const struct sampler *s);

/* Can updates of this kind be seen? Where they cannot, their zeros mean nothing. */
bool sampler_sees(const struct sampler *s, enum update_kind kind);

/* CPUs that are sampled now; all samples taken there, idle or not, and the seconds that they stand
 * for; samples that there was no room for. */
unsigned int sampler_cpus(const struct sampler *s);
uint64_t sampler_taken(const struct sampler *s);
double sampler_seconds(const struct sampler *s);
uint64_t sampler_lost(const struct sampler *s);

#endif
