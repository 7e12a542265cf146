// SPDX-License-Identifier: GPL-2.0-or-later
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

/* uthash would exit(3) without memory. */
#define HASH_NONFATAL_OOM	  1
#define uthash_nonfatal_oom(item) ((item)->lost = true)
#include <uthash.h>

#include "pipewatch/clock.h"
#include "pipewatch/util.h"

/* The arena is the set of all strings, so that a name shared by thousands of processes is stored
 * once. */
struct interned {
	UT_hash_handle hh;
	bool lost; /* did not make it into the set */
	char text[];
};

static const char *const state_names[SNAPSHOT_STATES] = {
	[STATE_STARTING] = "starting",
	[STATE_RUNNING] = "running",
	[STATE_DEGRADED] = "degraded",
};

static const char *const mode_names[SNAPSHOT_MODES] = {
	[MODE_AUTO] = "auto",	    [MODE_EXACT] = "exact", [MODE_BURST] = "burst",
	[MODE_PROFILE] = "profile", [MODE_OFF] = "off",
};

static const char *const observer_part_names[OBSERVER_PARTS] = {
	[OBSERVER_PROGRAMS] = "programs",
	[OBSERVER_BURSTS] = "bursts",
	[OBSERVER_SAMPLING] = "sampling",
	[OBSERVER_DAEMON] = "daemon",
};

const char *snapshot_state_name(enum snapshot_state state)
{
	return state_names[state];
}

const char *snapshot_mode_name(enum snapshot_mode mode)
{
	return mode_names[mode];
}

const char *observer_part_name(enum observer_part part)
{
	return observer_part_names[part];
}

struct snapshot *snapshot_new(void)
{
	struct snapshot *s;

	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;

	s->n_refs = 1;
	s->time_usec = clock_usec(CLOCK_REALTIME);
	s->version = "";
	s->libbpf_version = "";
	s->state_reason = "";
	s->mode_reason = "";
	s->kernel_release = "";
	s->machine = "";
	s->clocksource = "";
	s->counting_reason = "";
	s->sampling_reason = "";
	s->watchers_reason = "";
	for (size_t p = 0; p < PIPE_KINDS; p++)
		for (size_t u = 0; u < UPDATE_KINDS; u++)
			s->paths[p][u].reason = "";
	s->observer.allowed = -1;
	for (size_t mode = 0; mode < SNAPSHOT_MODES; mode++)
		s->observer.predicted[mode] = -1;

	return s;
}

struct snapshot *snapshot_ref(struct snapshot *s)
{
	s->n_refs++;
	return s;
}

struct snapshot *snapshot_unref(struct snapshot *s)
{
	struct interned *strings, *item, *next;

	if (!s || --s->n_refs > 0)
		return NULL;

	strings = s->arena;
	HASH_ITER (hh, strings, item, next) {
		HASH_DEL(strings, item);
		free(item);
	}
	free(s->processes);
	free(s->groups);
	free(s->programs);
	free(s->maps);
	free(s->losses);
	free(s->watchers);
	free(s);
	return NULL;
}

const char *snapshot_string(struct snapshot *s, const char *string)
{
	struct interned *strings = s->arena, *item;
	size_t length = strlen(string);

	HASH_FIND(hh, strings, string, length, item);
	if (item)
		return item->text;

	item = calloc(1, sizeof(*item) + length + 1);
	if (!item)
		return NULL;
	memcpy(item->text, string, length);
	HASH_ADD_KEYPTR(hh, strings, item->text, length, item);
	s->arena = strings;
	if (item->lost) {
		free(item);
		return NULL;
	}
	return item->text;
}

/*
 * Room for one more element, zeroed. An array is reallocated when its length is zero or a power of
 * two from 8 on, so its capacity follows from its length.
 */
static void *append(void **array, size_t *n, size_t size)
{
	void *element;

	if (*n == 0 || (*n >= 8 && (*n & (*n - 1)) == 0)) {
		void *grown;

		grown = reallocarray(*array, *n ? *n * 2 : 8, size);
		if (!grown)
			return NULL;
		*array = grown;
	}

	element = (char *)*array + *n * size;
	memset(element, 0, size);
	(*n)++;
	return element;
}

struct snapshot_process *snapshot_add_process(struct snapshot *s)
{
	struct snapshot_process *p;

	p = append((void **)&s->processes, &s->n_processes, sizeof(*p));
	if (p)
		p->unit = "";
	return p;
}

struct snapshot_group *snapshot_add_group(struct snapshot *s)
{
	struct snapshot_group *g;

	g = append((void **)&s->groups, &s->n_groups, sizeof(*g));
	if (g)
		g->unit = g->comm = "";
	return g;
}

struct snapshot_program *snapshot_add_program(struct snapshot *s)
{
	struct snapshot_program *p;

	p = append((void **)&s->programs, &s->n_programs, sizeof(*p));
	if (p)
		p->program = p->hook = p->reason = "";
	return p;
}

struct snapshot_map *snapshot_add_map(struct snapshot *s)
{
	struct snapshot_map *m;

	m = append((void **)&s->maps, &s->n_maps, sizeof(*m));
	if (m)
		m->map = "";
	return m;
}

struct snapshot_loss *snapshot_add_loss(struct snapshot *s)
{
	struct snapshot_loss *l;

	l = append((void **)&s->losses, &s->n_losses, sizeof(*l));
	if (l)
		l->reason = "";
	return l;
}

struct snapshot_watcher *snapshot_add_watcher(struct snapshot *s)
{
	return append((void **)&s->watchers, &s->n_watchers, sizeof(struct snapshot_watcher));
}

static uint64_t operations(const struct pipe_counts counts[PIPE_KINDS])
{
	uint64_t sum = 0;

	for (size_t i = 0; i < PIPE_KINDS; i++)
		sum += counts[i].reads + counts[i].writes;
	return sum;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Every order below is total, so that equal input gives equal output. */

static int compare_processes(const void *left, const void *right)
{
	const struct snapshot_process *a = left, *b = right;
	int c;

	c = COMPARE(b->cost_seconds, a->cost_seconds);
	if (c == 0)
		c = COMPARE(b->pipe_cpu_seconds, a->pipe_cpu_seconds);
	if (c == 0)
		c = COMPARE(operations(b->counts), operations(a->counts));
	if (c == 0)
		c = COMPARE(a->pid, b->pid);
	if (c == 0)
		c = COMPARE(a->start_time_usec, b->start_time_usec);
	return c;
}

static bool group_is_other(const struct snapshot_group *g)
{
	return strcmp(g->unit, SNAPSHOT_OTHER) == 0 && strcmp(g->comm, SNAPSHOT_OTHER) == 0;
}

static int compare_groups(const void *left, const void *right)
{
	const struct snapshot_group *a = left, *b = right;
	int c;

	c = COMPARE(group_is_other(a), group_is_other(b));
	if (c == 0)
		c = COMPARE(b->cost_seconds, a->cost_seconds);
	if (c == 0)
		c = COMPARE(b->pipe_cpu_seconds, a->pipe_cpu_seconds);
	if (c == 0)
		c = COMPARE(operations(b->counts), operations(a->counts));
	if (c == 0)
		c = strcmp(a->unit, b->unit);
	if (c == 0)
		c = strcmp(a->comm, b->comm);
	return c;
}

static double costs_sum(const struct snapshot *s, const struct pipe_costs costs[PIPE_KINDS])
{
	double sum = 0;

	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++)
			if (snapshot_cost_known(s, pipe, kind))
				sum += costs[pipe].seconds[kind];
	return sum;
}

void snapshot_finish(struct snapshot *s)
{
	for (size_t i = 0; i < s->n_processes; i++)
		s->processes[i].cost_seconds = costs_sum(s, s->processes[i].costs);
	for (size_t i = 0; i < s->n_groups; i++)
		s->groups[i].cost_seconds = costs_sum(s, s->groups[i].costs);
	if (s->n_processes > 0)
		qsort(s->processes, s->n_processes, sizeof(*s->processes), compare_processes);
	if (s->n_groups > 0)
		qsort(s->groups, s->n_groups, sizeof(*s->groups), compare_groups);

	memset(s->totals, 0, sizeof(s->totals));
	memset(s->total_costs, 0, sizeof(s->total_costs));
	s->total_batch_seconds = 0;
	for (size_t i = 0; i < s->n_groups; i++) {
		for (size_t p = 0; p < PIPE_KINDS; p++) {
			pipe_counts_add(&s->totals[p], &s->groups[i].counts[p]);
			pipe_costs_add(&s->total_costs[p], &s->groups[i].costs[p]);
		}
		s->total_batch_seconds += s->groups[i].batch_seconds;
	}

	s->tracked_processes = s->unlisted_live;
	for (size_t i = 0; i < s->n_processes; i++)
		s->tracked_processes += !s->processes[i].exited;
}

bool snapshot_updates(const struct snapshot *s, enum pipe_kind pipe, enum update_kind kind,
		      const struct pipe_counts *counts, uint64_t *ret_updates)
{
	if (kind == UPDATE_FSNOTIFY || s->paths[pipe][kind].state != PATH_PAID)
		return false;
	if (kind == UPDATE_ATIME ? s->reads_missing : s->writes_missing)
		return false;

	*ret_updates = pipe_counts_updates(counts, kind);
	return true;
}

bool snapshot_cost_known(const struct snapshot *s, enum pipe_kind pipe, enum update_kind kind)
{
	const struct pipe_counts none = {};
	uint64_t updates;

	/* Which operations notify somebody does not follow from counts: their time is sampled. */
	if (kind == UPDATE_FSNOTIFY)
		return s->sampling && s->sampling_sees[kind] &&
		       s->paths[pipe][kind].state == PATH_PAID;
	return s->counting && s->unit_costs[pipe][kind].whole.known &&
	       snapshot_updates(s, pipe, kind, &none, &updates);
}

bool snapshot_pipe_used(const struct snapshot *s, enum pipe_kind pipe,
			const struct pipe_counts *counts, const struct pipe_costs *costs)
{
	if (s->counting && (counts->reads || counts->writes))
		return true;
	for (int kind = 0; kind < UPDATE_KINDS; kind++)
		if (snapshot_cost_known(s, pipe, kind) && costs->seconds[kind] > 0)
			return true;
	return false;
}

const char *snapshot_coverage_reason(const struct snapshot *s)
{
	if (!s->counting)
		return s->counting_reason;
	if (s->coverage_ratio >= 1)
		return "";
	if (s->coverage_ratio > 0)
		return "Operations are counted in short windows, and the counts are extrapolated.";
	return "Operations are not counted in this mode: the counts stand still.";
}

uint64_t snapshot_lost(const struct snapshot *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n_losses; i++)
		sum += s->losses[i].updates;
	return sum;
}

double snapshot_measured_seconds(const struct snapshot *s)
{
	if (s->time_usec <= s->start_time_usec)
		return 0;
	return (double)(s->time_usec - s->start_time_usec) / 1e6;
}

bool snapshot_watches(const struct snapshot *s, size_t i, uint64_t *ret_watches)
{
	const char *comm = s->watchers[i].comm;
	uint64_t sum = 0;

	for (size_t j = 0; j < s->n_watchers; j++) {
		if (strcmp(s->watchers[j].comm, comm) != 0)
			continue;
		if (j < i)
			return false;
		sum += s->watchers[j].watches;
	}
	*ret_watches = sum;
	return true;
}

static bool saving_of(const struct snapshot *s, enum pipe_kind pipe, enum update_kind kind,
		      const struct pipe_costs costs[PIPE_KINDS], double *sum)
{
	if (!snapshot_cost_known(s, pipe, kind))
		return false;
	*sum += costs[pipe].seconds[kind];
	return true;
}

bool snapshot_saving(const struct snapshot *s, enum remedy remedy,
		     const struct pipe_costs costs[PIPE_KINDS], double batch_seconds,
		     double *ret_seconds)
{
	double sum = 0;
	bool known = false;

	switch (remedy) {
	case REMEDY_KERNEL:
		known |= saving_of(s, PIPE_ANONYMOUS, UPDATE_ATIME, costs, &sum);
		known |= saving_of(s, PIPE_ANONYMOUS, UPDATE_CMTIME, costs, &sum);
		break;
	case REMEDY_NOATIME:
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
			known |= saving_of(s, pipe, UPDATE_ATIME, costs, &sum);
		break;
	case REMEDY_UNWATCH:
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
			known |= saving_of(s, pipe, UPDATE_FSNOTIFY, costs, &sum);
		break;
	default: known = s->counting && s->observer.operation.known; sum = batch_seconds;
	}
	if (known)
		*ret_seconds = sum;
	return known;
}

const struct snapshot_process *snapshot_find_process(const struct snapshot *s, uint32_t pid)
{
	const struct snapshot_process *found = NULL;

	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snapshot_process *p = &s->processes[i];

		if (p->pid != pid)
			continue;
		if (!p->exited)
			return p;
		if (!found || p->start_time_usec > found->start_time_usec)
			found = p;
	}
	return found;
}
