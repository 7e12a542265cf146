// SPDX-License-Identifier: GPL-2.0-or-later
#include "accounts-books.h"

#include <errno.h>
#include <string.h>

#include "pipewatch/util.h"

static void errors_fill(const struct errors *e, struct pipe_errors ret[PIPE_KINDS])
{
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		ret[pipe].reads = extrapolation_error(&e->reads[pipe]);
		ret[pipe].writes = extrapolation_error(&e->writes[pipe]);
	}
}

static int group_fill(const struct group *g, const char *unit, const char *comm, struct snapshot *s)
{
	struct snapshot_group *out = snapshot_add_group(s);

	if (!out)
		return -ENOMEM;
	out->unit = snapshot_string(s, unit);
	out->comm = snapshot_string(s, comm);
	if (!out->unit || !out->comm)
		return -ENOMEM;
	out->processes = g->processes;
	memcpy(out->counts, g->amounts.counts, sizeof(out->counts));
	memcpy(out->costs, g->amounts.costs, sizeof(out->costs));
	out->batch_seconds = g->amounts.batch_seconds;
	errors_fill(&g->amounts.errors, out->errors);
	out->pipe_cpu_seconds = g->amounts.pipe_cpu_seconds;
	memcpy(out->sampled_seconds, g->amounts.sampled_seconds, sizeof(out->sampled_seconds));
	memcpy(out->rest, g->amounts.counts, sizeof(out->rest));
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		pipe_counts_subtract(&out->rest[pipe], &g->listed[pipe]);
	return 0;
}

static void account_fill_pipe(const struct account *p, enum pipe_kind pipe,
			      struct snapshot_process *out)
{
	const struct account_pipe *of = account_pipe(p, pipe);

	if (p->sampled)
		out->costs[pipe].seconds[UPDATE_FSNOTIFY] = p->sampled->fsnotify_seconds[pipe];
	if (!of)
		return;
	out->counts[pipe] = of->counts;
	pipe_costs_add(&out->costs[pipe], &of->costs);
	sparse_sizes_get(&of->sizes, &out->sizes[pipe]);
}

/* Of what a process did, what is booked on the group that it is in. */
static void account_in_group(const struct account *p, struct pipe_counts ret[PIPE_KINDS])
{
	account_counts(p, ret);
	for (int pipe = 0; p->before && pipe < PIPE_KINDS; pipe++)
		pipe_counts_subtract(&ret[pipe], &p->before[pipe]);
}

static int account_fill(const struct account *p, uint64_t boot_usec, struct snapshot *s)
{
	struct snapshot_process *out = snapshot_add_process(s);

	if (!out)
		return -ENOMEM;
	out->unit = snapshot_string(s, unit_name(p->unit));
	if (!out->unit)
		return -ENOMEM;
	out->pid = p->key.tgid;
	out->start_time_usec = boot_usec + p->key.start_boottime_ns / 1000;
	snprintf(out->comm, sizeof(out->comm), "%s", p->comm);
	out->exited = p->closed;
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		account_fill_pipe(p, pipe, out);
	out->batch_seconds = p->batch_seconds;
	if (p->errors)
		errors_fill(p->errors, out->errors);
	if (p->sampled) {
		out->pipe_cpu_seconds = p->sampled->pipe_cpu_seconds;
		memcpy(out->sampled_seconds, p->sampled->update_seconds,
		       sizeof(out->sampled_seconds));
	}
	out->has_series = s->pid_label && p->listed;
	if (out->has_series)
		account_in_group(p, out->series);
	return 0;
}

static int compare_pids(const void *left, const void *right)
{
	const struct account *a = *(struct account *const *)left,
			     *b = *(struct account *const *)right;

	if (a->key.tgid != b->key.tgid)
		return a->key.tgid < b->key.tgid ? -1 : 1;
	return a->key.start_boottime_ns > b->key.start_boottime_ns ? -1 : 1;
}

/*
 * Chooses the processes that get series of their own: open ones in a group with series, and of two
 * with the same pid, of which one must have ended unnoticed, the younger. A name must not appear
 * twice.
 */
static int list_pids(struct accounts *a)
{
	_cleanup_(freep) struct account **open = NULL;
	struct pipe_counts counts[PIPE_KINDS];
	struct account *p;
	struct group *g;
	size_t n = 0;

	open = calloc(HASH_COUNT(a->by_key) + 1, sizeof(*open));
	if (!open)
		return -ENOMEM;
	for (g = a->groups; g; g = g->hh.next)
		memset(g->listed, 0, sizeof(g->listed));
	for (p = a->by_key; p; p = p->hh.next) {
		p->listed = false;
		if (!p->closed && p->group)
			open[n++] = p;
	}
	qsort(open, n, sizeof(*open), compare_pids);
	for (size_t i = 0; i < n; i++) {
		p = open[i];
		if (i > 0 && open[i - 1]->key.tgid == p->key.tgid)
			continue;
		p->listed = true;
		account_in_group(p, counts);
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
			pipe_counts_add(&p->group->listed[pipe], &counts[pipe]);
	}
	return 0;
}

/* All rows, or those that are wished for; what has none is counted. */
static int processes_fill(struct accounts *a, uint64_t boot_usec, const struct snapshot_wish *wish,
			  struct snapshot *s)
{
	_cleanup_(freep) const struct account **ranked = NULL;
	const struct account *p;
	size_t n = 0, n_live = 0;
	int r = 0;

	if (!s->pid_label && wish->n_processes < HASH_COUNT(a->by_key)) {
		r = accounts_rank(a, s, wish->n_processes, &ranked, &n);
		if (r < 0)
			return r;
		for (size_t i = 0; i < n && r >= 0; i++)
			r = account_fill(ranked[i], boot_usec, s);
	}
	for (p = a->by_key; p && r >= 0; p = p->hh.next) {
		n_live += !p->closed;
		if (!ranked ||
		    (wish->pid && p->key.tgid == wish->pid && !accounts_ranked(ranked, n, p)))
			r = account_fill(p, boot_usec, s);
	}
	if (r < 0)
		return r;
	s->n_unlisted = HASH_COUNT(a->by_key) - s->n_processes;
	for (size_t i = 0; i < s->n_processes; i++)
		n_live -= !s->processes[i].exited;
	s->unlisted_live = n_live;
	return 0;
}

int accounts_fill(struct accounts *a, uint64_t boot_usec, bool pid_label,
		  const struct snapshot_wish *wish, struct snapshot *s)
{
	const struct group *g;
	int r;

	s->pid_label = pid_label;
	if (pid_label) {
		r = list_pids(a);
		if (r < 0)
			return r;
	}
	r = processes_fill(a, boot_usec, wish, s);
	if (r < 0)
		return r;
	for (g = a->groups; g; g = g->hh.next) {
		r = group_fill(g, unit_name(g->key.unit), g->key.comm, s);
		if (r < 0)
			return r;
	}
	if (counts_operations(a->other.amounts.counts) || a->other.amounts.pipe_cpu_seconds > 0) {
		r = group_fill(&a->other, SNAPSHOT_OTHER, SNAPSHOT_OTHER, s);
		if (r < 0)
			return r;
	}
	memcpy(s->sizes, a->sizes, sizeof(s->sizes));
	s->unattributed_operations = counts_operations(a->unattributed);
	s->estimated = a->estimated;
	errors_fill(&a->errors, s->total_errors);
	s->unseen_operations_max = extrapolation_unseen_max(&a->factor);
	return 0;
}
