// SPDX-License-Identifier: GPL-2.0-or-later
#include "accounts-books.h"

#include <errno.h>
#include <string.h>

#include "util.h"

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

static int account_fill(const struct account *p, uint64_t boot_usec, struct snapshot *s)
{
	struct snapshot_process *out = snapshot_add_process(s);

	if (!out)
		return -ENOMEM;
	out->unit = snapshot_string(s, p->unit);
	if (!out->unit)
		return -ENOMEM;
	out->pid = p->key.tgid;
	out->start_time_usec = boot_usec + p->key.start_boottime_ns / 1000;
	memcpy(out->comm, p->comm, sizeof(out->comm));
	out->exited = p->closed;
	memcpy(out->counts, p->amounts.counts, sizeof(out->counts));
	memcpy(out->costs, p->amounts.costs, sizeof(out->costs));
	out->batch_seconds = p->amounts.batch_seconds;
	errors_fill(&p->amounts.errors, out->errors);
	out->pipe_cpu_seconds = p->amounts.pipe_cpu_seconds;
	memcpy(out->sampled_seconds, p->amounts.sampled_seconds, sizeof(out->sampled_seconds));
	out->has_series = p->listed;
	memcpy(out->series, p->in_group, sizeof(out->series));
	memcpy(out->sizes, p->sizes, sizeof(out->sizes));
	return 0;
}

static uint64_t counts_operations(const struct pipe_counts counts[static PIPE_KINDS])
{
	uint64_t sum = 0;

	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		sum += counts[pipe].reads + counts[pipe].writes;
	return sum;
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
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
			pipe_counts_add(&p->group->listed[pipe], &p->in_group[pipe]);
	}
	return 0;
}

int accounts_fill(struct accounts *a, uint64_t boot_usec, bool pid_label, struct snapshot *s)
{
	const struct account *p;
	const struct group *g;
	int r;

	s->pid_label = pid_label;
	if (pid_label) {
		r = list_pids(a);
		if (r < 0)
			return r;
	}
	for (p = a->by_key; p; p = p->hh.next) {
		r = account_fill(p, boot_usec, s);
		if (r < 0)
			return r;
	}
	for (g = a->groups; g; g = g->hh.next) {
		r = group_fill(g, g->key.unit, g->key.comm, s);
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
