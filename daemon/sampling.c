// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Out of memory is an answer, not an exit. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "estimate.h"
#include "sampler.h"

/* The sampler's sums of one process as of the last round. */
struct seen {
	struct {
		uint64_t start_boottime_ns;
		uint64_t tgid;
	} key;
	uint64_t pipe_ns;
	uint64_t update_ns[UPDATE_KINDS];
	uint64_t update_samples[UPDATE_KINDS];
	uint64_t round;
	UT_hash_handle hh;
};

/* Since the sampler began, of all processes. */
struct sum {
	double seconds;
	uint64_t samples;
};

struct sampling {
	struct sampler *sampler;
	struct accounts *accounts;
	struct seen *seen;
	uint64_t round;
	struct sum updates[UPDATE_KINDS];
	int error; /* of the round */
};

int sampling_new(unsigned int frequency_hz, uint32_t max_processes, struct accounts *accounts,
		 char *ret_reason, size_t size, struct sampling **ret_sampling)
{
	struct sampling *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->accounts = accounts;
	r = sampler_new(frequency_hz, max_processes, ret_reason, size, &s->sampler);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret_sampling = s;
	return 0;
}

struct sampling *sampling_free(struct sampling *s)
{
	struct seen *p, *next;

	if (!s)
		return NULL;
	HASH_ITER (hh, s->seen, p, next) {
		HASH_DEL(s->seen, p);
		free(p);
	}
	sampler_free(s->sampler);
	free(s);
	return NULL;
}

static struct seen *seen_find(struct sampling *s, const struct sampler_process *now)
{
	struct seen *p, key = {};

	key.key.tgid = now->tgid;
	key.key.start_boottime_ns = now->start_boottime_ns;
	HASH_FIND(hh, s->seen, &key.key, sizeof(key.key), p);
	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->key = key.key;
	HASH_ADD(hh, s->seen, key, sizeof(p->key), p);
	if (!p->hh.tbl) {
		free(p);
		return NULL;
	}
	return p;
}

static void process_book(const struct sampler_process *now, void *userdata)
{
	struct sampling *s = userdata;
	struct seen *p = seen_find(s, now);

	/* Nothing is lost: the sums go on, and the next round finds the whole difference. */
	if (!p) {
		s->error = -ENOMEM;
		return;
	}
	accounts_book_cpu(s->accounts, now->tgid, now->start_boottime_ns,
			  (now->pipe_ns - p->pipe_ns) / 1e9);
	for (int kind = 0; kind < UPDATE_KINDS; kind++) {
		s->updates[kind].seconds += (now->update_ns[kind] - p->update_ns[kind]) / 1e9;
		s->updates[kind].samples += now->update_samples[kind] - p->update_samples[kind];
	}
	p->pipe_ns = now->pipe_ns;
	memcpy(p->update_ns, now->update_ns, sizeof(p->update_ns));
	memcpy(p->update_samples, now->update_samples, sizeof(p->update_samples));
	p->round = s->round;
}

int sampling_collect(struct sampling *s)
{
	struct seen *p, *next;
	int r;

	s->round++;
	s->error = 0;
	r = sampler_read(s->sampler, process_book, s);
	if (r < 0)
		return r;
	/* The sampler has forgotten them, and so do we. */
	HASH_ITER (hh, s->seen, p, next) {
		if (p->round == s->round)
			continue;
		HASH_DEL(s->seen, p);
		free(p);
	}
	return s->error;
}

int sampling_refresh(struct sampling *s)
{
	return sampler_refresh(s->sampler);
}

/* The kind of pipe that nearly all updates of @kind are of; PIPE_KINDS: none. */
static enum pipe_kind dominant_pipe(const struct snapshot *s, enum update_kind kind,
				    uint64_t *ret_updates)
{
	uint64_t sum = 0, updates[PIPE_KINDS] = {};

	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		if (snapshot_updates(s, pipe, kind, &s->totals[pipe], &updates[pipe]))
			sum += updates[pipe];
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		if (sum > 0 && updates[pipe] >= sum - sum / 50) {
			*ret_updates = updates[pipe];
			return pipe;
		}
	return PIPE_KINDS;
}

void sampling_check_costs(const struct sampling *s, struct snapshot *out)
{
	for (int kind = 0; kind < UPDATE_FSNOTIFY; kind++) {
		const struct sum *sum = &s->updates[kind];
		uint64_t updates;
		enum pipe_kind pipe = dominant_pipe(out, kind, &updates);

		if (pipe < PIPE_KINDS)
			estimate_check_samples(&out->unit_costs[pipe][kind], sum->seconds, updates,
					       sum->samples);
	}
}
