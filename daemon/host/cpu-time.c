// SPDX-License-Identifier: GPL-2.0-or-later
#include "cpu-time.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "pipewatch/util.h"
#include "process.h"

/* More than are looked at, so that a process keeps its base while it is not among the costliest. */
#define BASES_MAX (5 * CPU_TIMES_MAX)

/* The figures of an old process when it first was among the costliest. */
struct base {
	uint32_t pid;
	uint64_t start_time_usec;
	double cpu_seconds, cost_seconds;
	bool listed;	 /* in the snapshot at hand */
	uint64_t n_fill; /* the last one in which it was among the costliest */
};

struct cpu_times {
	const char *proc;
	uint64_t boot_usec, watch_usec;
	double tick_seconds;
	uint64_t n_fill;
	struct base bases[BASES_MAX]; /* by pid, then by start time */
	size_t n_bases;
};

int cpu_times_new(const char *proc, uint64_t boot_usec, uint64_t watch_usec,
		  struct cpu_times **ret_times)
{
	struct cpu_times *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->proc = proc;
	c->boot_usec = boot_usec;
	c->watch_usec = watch_usec;
	c->tick_seconds = 1.0 / sysconf(_SC_CLK_TCK);
	*ret_times = c;
	return 0;
}

struct cpu_times *cpu_times_free(struct cpu_times *c)
{
	free(c);
	return NULL;
}

static int base_compare(const struct base *base, const struct snapshot_process *p)
{
	if (base->pid != p->pid)
		return base->pid < p->pid ? -1 : 1;
	if (base->start_time_usec != p->start_time_usec)
		return base->start_time_usec < p->start_time_usec ? -1 : 1;
	return 0;
}

/* The index of the first base that does not come before @p. */
static size_t base_index(const struct cpu_times *c, const struct snapshot_process *p)
{
	size_t low = 0, high = c->n_bases;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (base_compare(&c->bases[middle], p) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct base *base_find(struct cpu_times *c, const struct snapshot_process *p)
{
	size_t i = base_index(c, p);

	return i < c->n_bases && base_compare(&c->bases[i], p) == 0 ? &c->bases[i] : NULL;
}

static void base_remove(struct cpu_times *c, size_t i)
{
	c->n_bases--;
	memmove(&c->bases[i], &c->bases[i + 1], (c->n_bases - i) * sizeof(c->bases[0]));
}

static struct base *base_add(struct cpu_times *c, const struct snapshot_process *p,
			     double cpu_seconds)
{
	size_t i, oldest = 0;

	if (c->n_bases == BASES_MAX) {
		for (i = 1; i < c->n_bases; i++)
			if (c->bases[i].n_fill < c->bases[oldest].n_fill)
				oldest = i;
		base_remove(c, oldest);
	}
	i = base_index(c, p);
	memmove(&c->bases[i + 1], &c->bases[i], (c->n_bases - i) * sizeof(c->bases[0]));
	c->n_bases++;
	c->bases[i] = (struct base){
		.pid = p->pid,
		.start_time_usec = p->start_time_usec,
		.cpu_seconds = cpu_seconds,
		.cost_seconds = p->cost_seconds,
		.n_fill = c->n_fill,
	};
	return &c->bases[i];
}

static bool is_old(const struct cpu_times *c, const struct snapshot_process *p)
{
	return p->start_time_usec < c->watch_usec;
}

/* Notes which processes are among the costliest, and, if all processes are listed, forgets the
 * bases of those that are not. */
static void bases_review(struct cpu_times *c, const struct snapshot *s)
{
	size_t n_live = 0, kept = 0;

	for (size_t i = 0; i < c->n_bases; i++)
		c->bases[i].listed = false;
	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snapshot_process *p = &s->processes[i];
		struct base *base;

		if (p->exited)
			continue;
		n_live++;
		base = is_old(c, p) ? base_find(c, p) : NULL;
		if (!base)
			continue;
		base->listed = true;
		if (n_live <= CPU_TIMES_MAX)
			base->n_fill = c->n_fill;
	}
	for (size_t i = 0; i < c->n_bases; i++)
		if (c->bases[i].listed || s->n_unlisted > 0)
			c->bases[kept++] = c->bases[i];
	c->n_bases = kept;
}

static int cpu_seconds_read(const struct cpu_times *c, const struct snapshot_process *p,
			    double *ret_seconds)
{
	struct process process;
	int r;

	r = process_read(c->proc, p->pid, &process);
	if (r < 0)
		return r;
	/* Another process by now? */
	if (p->start_time_usec < c->boot_usec ||
	    process.start_ticks != process_ticks((p->start_time_usec - c->boot_usec) * 1000))
		return -ESRCH;
	*ret_seconds = process.cpu_ticks * c->tick_seconds;
	return 0;
}

static void process_fill(struct cpu_times *c, struct snapshot_process *p)
{
	double cpu_seconds, cost_seconds = p->cost_seconds;

	if (cpu_seconds_read(c, p, &cpu_seconds) < 0)
		return;
	if (is_old(c, p)) {
		const struct base *base = base_find(c, p);

		if (!base)
			base = base_add(c, p, cpu_seconds);
		cpu_seconds -= base->cpu_seconds;
		cost_seconds -= base->cost_seconds;
	}
	/* Differences of sums of ticks are not quite whole ticks. */
	if (cpu_seconds < CPU_TIMES_MIN_SEC - c->tick_seconds / 2)
		return;
	p->cpu_known = true;
	p->cpu_seconds = cpu_seconds;
	p->cpu_share = fmin(fmax(cost_seconds / cpu_seconds, 0), 1);
}

void cpu_times_fill(struct cpu_times *c, struct snapshot *s)
{
	size_t n_live = 0;

	c->n_fill++;
	bases_review(c, s);
	for (size_t i = 0; i < s->n_processes && n_live < CPU_TIMES_MAX; i++) {
		if (s->processes[i].exited)
			continue;
		n_live++;
		process_fill(c, &s->processes[i]);
	}
}
