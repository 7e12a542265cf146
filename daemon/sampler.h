/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sampling: a clock interrupt on every CPU, a few dozen times a second, asks whether the kernel is inside a pipe operation, and
 * in which metadata function of it. Costs next to nothing, gives CPU time by process, and is right on average only.
 */
#ifndef PIPEWATCH_SAMPLER_H
#define PIPEWATCH_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "pipe.h"

struct sampler;

/* CPU time of one process since the sampler began, seconds per sample times samples. */
struct sampler_process {
	uint32_t tgid;
	uint64_t start_boottime_ns;
	uint64_t pipe_samples;			/* in pipe operations as a whole, their metadata included */
	uint64_t update_samples[UPDATE_KINDS]; /* in the metadata functions of pipe operations */
};

/*
 * Opens a sampler at @frequency_hz on all CPUs. Returns 0 or -errno, with the cause and the remedy in @ret_reason (perf_event_paranoid and
 * CAP_SYS_ADMIN, CAP_SYSLOG for the addresses of functions, …).
 */
int sampler_new(unsigned int frequency_hz, char *ret_reason, size_t size,
		struct sampler **ret_sampler);
struct sampler *sampler_free(struct sampler *s);

static inline void sampler_freep(struct sampler **s)
{
	sampler_free(*s);
}

/* Opens CPUs that came online, closes those that went; to be called now and then. Jitters the period. */
int sampler_refresh(struct sampler *s);

/* Calls @each for each process with its sums; those of exited processes are removed after this. Returns 0 or -errno. */
int sampler_read(struct sampler *s, void (*each)(const struct sampler_process *p, void *userdata),
		 void *userdata);

/* Seconds of CPU time that one sample stands for; samples taken; samples lost for want of room. */
double sampler_seconds(const struct sampler *s);
uint64_t sampler_taken(const struct sampler *s);
uint64_t sampler_lost(const struct sampler *s);

#endif
