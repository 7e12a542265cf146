// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampling.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Out of memory is an answer, not an exit. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "estimate.h"
#include "name.h"
#include "process.h"
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
	uint64_t fsnotify_ns[PIPE_KINDS];
	uint64_t samples;
	bool identity_known; /* the two below have been looked up */
	char comm[SAMPLER_COMM_MAX];
	uint64_t cgroup_id;
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
	struct cgroups *cgroups; /* may be NULL */
	struct seen *seen;
	uint64_t round;
	uint64_t now_usec;
	struct sum updates[UPDATE_KINDS];
	int error; /* of the round */
};

int sampling_new(unsigned int frequency_hz, uint32_t max_processes, struct accounts *accounts,
		 struct cgroups *cgroups, char *ret_reason, size_t size,
		 struct sampling **ret_sampling)
{
	struct sampling *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->accounts = accounts;
	s->cgroups = cgroups;
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

static struct seen *seen_find(const struct sampling *s, uint32_t tgid, uint64_t start_boottime_ns)
{
	struct seen *p, key = {};

	key.key.tgid = tgid;
	key.key.start_boottime_ns = start_boottime_ns;
	HASH_FIND(hh, s->seen, &key.key, sizeof(key.key), p);
	return p;
}

static struct seen *seen_open(struct sampling *s, const struct sampler_process *now)
{
	struct seen *p = seen_find(s, now->tgid, now->start_boottime_ns);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->key.tgid = now->tgid;
	p->key.start_boottime_ns = now->start_boottime_ns;
	HASH_ADD(hh, s->seen, key, sizeof(p->key), p);
	if (!p->hh.tbl) {
		free(p);
		return NULL;
	}
	return p;
}

/* Only when something has changed: counting names processes, too, and may know better. */
static int process_identify(struct sampling *s, const struct sampler_process *now, struct seen *p,
			    struct account *account)
{
	const char *unit = "";
	char comm[SNAPSHOT_COMM_MAX];
	int r;

	if (p->identity_known && p->cgroup_id == now->cgroup_id &&
	    !memcmp(p->comm, now->comm, sizeof(p->comm)))
		return 0;
	/* Who closed it knew its last name. */
	if (account_closed(account) && account_identified(account))
		return 0;
	name_render(now->comm, sizeof(now->comm), comm, sizeof(comm));
	if (s->cgroups)
		unit = cgroups_unit(s->cgroups, now->cgroup_id, now->tgid, now->start_boottime_ns,
				    s->now_usec);
	/* Of a process that is gone the unit can be unknown though it was known before. */
	if (!unit[0] && (!p->cgroup_id || p->cgroup_id == now->cgroup_id))
		unit = account_unit(account);
	r = account_identify(s->accounts, account, comm, unit);
	if (r < 0)
		return r;
	memcpy(p->comm, now->comm, sizeof(p->comm));
	p->cgroup_id = now->cgroup_id;
	/* A unit that is not known may be a matter of time. */
	p->identity_known = unit[0] || !s->cgroups || cgroups_known(s->cgroups);
	return 0;
}

static void difference_book(struct sampling *s, const struct sampler_process *now, struct seen *p)
{
	double seconds[UPDATE_KINDS];

	accounts_book_cpu(s->accounts, now->tgid, now->start_boottime_ns,
			  (now->pipe_ns - p->pipe_ns) / 1e9);
	for (int kind = 0; kind < UPDATE_KINDS; kind++) {
		seconds[kind] = (now->update_ns[kind] - p->update_ns[kind]) / 1e9;
		s->updates[kind].seconds += seconds[kind];
		s->updates[kind].samples += now->update_samples[kind] - p->update_samples[kind];
	}
	accounts_book_updates(s->accounts, now->tgid, now->start_boottime_ns, seconds);
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		accounts_book_fsnotify(s->accounts, now->tgid, now->start_boottime_ns, pipe,
				       (now->fsnotify_ns[pipe] - p->fsnotify_ns[pipe]) / 1e9);
	p->pipe_ns = now->pipe_ns;
	memcpy(p->update_ns, now->update_ns, sizeof(p->update_ns));
	memcpy(p->update_samples, now->update_samples, sizeof(p->update_samples));
	memcpy(p->fsnotify_ns, now->fsnotify_ns, sizeof(p->fsnotify_ns));
	p->samples = now->pipe_samples + now->update_samples[UPDATE_FSNOTIFY];
}

/* A sampler_known_fn. */
static bool process_known(uint32_t tgid, uint64_t start_boottime_ns, uint64_t samples,
			  void *userdata)
{
	struct sampling *s = userdata;
	struct seen *p = seen_find(s, tgid, start_boottime_ns);

	if (!p || p->samples != samples)
		return false;
	p->round = s->round;
	return true;
}

static void process_book(const struct sampler_process *now, void *userdata)
{
	struct sampling *s = userdata;
	struct seen *p = seen_open(s, now), unseen = {};
	struct account *account = NULL;

	if (!p) {
		s->error = -ENOMEM;
		/* Nothing is lost: the sums go on, and the next round finds the whole difference.
		 */
		if (!now->exited)
			return;
		p = &unseen;
	}
	p->round = s->round;
	if (now->tgid != 0) {
		account = accounts_open(s->accounts, now->tgid, now->start_boottime_ns);
		if (!account || process_identify(s, now, p, account) < 0)
			s->error = -ENOMEM;
	}
	difference_book(s, now, p);
	if (!account || !now->exited)
		return;
	account_close(s->accounts, account, s->now_usec);
	/* Not only at the end: it may be thousands. */
	accounts_expire(s->accounts, s->now_usec);
}

int sampling_collect(struct sampling *s, uint64_t now_usec)
{
	struct seen *p, *next;
	int r;

	s->now_usec = now_usec;
	s->round++;
	s->error = 0;
	r = sampler_read(s->sampler, process_known, process_book, s);
	accounts_expire(s->accounts, now_usec);
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

bool sampling_permitted(const struct sampling *s)
{
	return sampler_permitted(s->sampler);
}

uint64_t sampling_taken(const struct sampling *s)
{
	return sampler_taken(s->sampler);
}

uint64_t sampling_lost(const struct sampling *s)
{
	return sampler_lost(s->sampler);
}

void sampling_fill(const struct sampling *s, struct snapshot *out)
{
	for (int kind = 0; kind < UPDATE_KINDS; kind++)
		out->sampling_sees[kind] = sampler_sees(s->sampler, kind);
	out->map_bytes += sampler_map_bytes(s->sampler);
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
