// SPDX-License-Identifier: GPL-2.0-or-later
#include "accounts.h"

#include <errno.h>
#include <string.h>

/* Out of memory is an answer, not an exit. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#include "util.h"

/* More closed accounts than this are forgotten early, the oldest first. */
#define CLOSED_MAX 1024

struct errors {
	struct extrapolation_error reads[PIPE_KINDS], writes[PIPE_KINDS];
};

struct group_key {
	char unit[256];
	char comm[SNAPSHOT_COMM_MAX];
};

struct group {
	struct group_key key; /* zero-padded */
	uint32_t processes;   /* open ones */
	struct pipe_counts counts[PIPE_KINDS];
	struct pipe_costs costs[PIPE_KINDS];
	double batch_seconds;
	struct errors errors;
	double pipe_cpu_seconds;
	struct pipe_counts
		listed[PIPE_KINDS]; /* scratch of accounts_fill(): what processes have series for */
	UT_hash_handle hh;
};

struct account_key {
	uint64_t start_boottime_ns;
	uint64_t tgid;
};

struct account {
	struct account_key key;
	struct group *group; /* NULL: not identified, or beyond the limit of groups */
	bool identified;
	bool closed;
	unsigned int holds;
	uint64_t closed_usec;
	char comm[SNAPSHOT_COMM_MAX];
	const char *unit; /* interned */
	struct pipe_counts counts[PIPE_KINDS];
	struct pipe_costs costs[PIPE_KINDS];
	double batch_seconds;
	struct errors errors;
	double pipe_cpu_seconds;
	struct pipe_counts in_group[PIPE_KINDS]; /* of these, booked on the present group */
	bool listed;				 /* scratch of accounts_fill() */
	struct pipe_sizes sizes[PIPE_KINDS];
	UT_hash_handle hh;
	struct account *prev, *next; /* among the closed, oldest first */
};

/* A unit is the name of many processes. Never freed before the end: there are as many as units were
 * seen. */
struct unit {
	UT_hash_handle hh;
	char name[];
};

struct accounts {
	unsigned int max_groups;
	struct account *by_key;
	struct account *closed;
	unsigned int n_closed;
	struct unit *units;
	struct group *groups;
	struct group other;
	struct pipe_counts unattributed[PIPE_KINDS];
	struct extrapolation_factor factor;
	bool estimated;	      /* a factor was ever above 1 */
	struct errors errors; /* of the whole host */
	uint64_t counted, operations;
	double operation_seconds;		     /* 0: not known */
	double unit_costs[PIPE_KINDS][UPDATE_KINDS]; /* seconds; 0: not known yet */
	struct pipe_sizes sizes[PIPE_KINDS];
};

int accounts_new(unsigned int max_groups, struct accounts **ret_accounts)
{
	struct accounts *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->max_groups = max_groups;
	a->factor.factor = 1;
	*ret_accounts = a;
	return 0;
}

struct accounts *accounts_free(struct accounts *a)
{
	struct account *p, *next_account;
	struct group *g, *next_group;
	struct unit *u, *next_unit;

	if (!a)
		return NULL;
	HASH_ITER (hh, a->by_key, p, next_account) {
		HASH_DEL(a->by_key, p);
		free(p);
	}
	HASH_ITER (hh, a->groups, g, next_group) {
		HASH_DEL(a->groups, g);
		free(g);
	}
	HASH_ITER (hh, a->units, u, next_unit) {
		HASH_DEL(a->units, u);
		free(u);
	}
	free(a);
	return NULL;
}

static struct account *account_find(const struct accounts *a, uint32_t tgid,
				    uint64_t start_boottime_ns)
{
	struct account_key key = { .start_boottime_ns = start_boottime_ns, .tgid = tgid };
	struct account *p;

	HASH_FIND(hh, a->by_key, &key, sizeof(key), p);
	return p;
}

struct account *accounts_open(struct accounts *a, uint32_t tgid, uint64_t start_boottime_ns)
{
	struct account *p = account_find(a, tgid, start_boottime_ns);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->key = (struct account_key){ .start_boottime_ns = start_boottime_ns, .tgid = tgid };
	p->unit = "";
	HASH_ADD(hh, a->by_key, key, sizeof(p->key), p);
	if (!p->hh.tbl) {
		free(p);
		return NULL;
	}
	return p;
}

uint32_t account_tgid(const struct account *p)
{
	return p->key.tgid;
}

uint64_t account_start_boottime_ns(const struct account *p)
{
	return p->key.start_boottime_ns;
}

static const char *unit_intern(struct accounts *a, const char *name)
{
	size_t length = strlen(name);
	struct unit *u;

	if (length == 0)
		return "";
	HASH_FIND(hh, a->units, name, length, u);
	if (u)
		return u->name;
	u = calloc(1, sizeof(*u) + length + 1);
	if (!u)
		return NULL;
	memcpy(u->name, name, length);
	HASH_ADD_KEYPTR(hh, a->units, u->name, length, u);
	if (!u->hh.tbl) {
		free(u);
		return NULL;
	}
	return u->name;
}

/* The group of a name, made if there is room. *ret_group is NULL where there is none. */
static int group_find(struct accounts *a, const char *comm, const char *unit,
		      struct group **ret_group)
{
	struct group_key key = {};
	struct group *g;

	strncpy(key.comm, comm, sizeof(key.comm) - 1);
	strncpy(key.unit, unit, sizeof(key.unit) - 1);
	HASH_FIND(hh, a->groups, &key, sizeof(key), g);
	if (!g && HASH_COUNT(a->groups) < a->max_groups) {
		g = calloc(1, sizeof(*g));
		if (!g)
			return -ENOMEM;
		g->key = key;
		HASH_ADD(hh, a->groups, key, sizeof(key), g);
		if (!g->hh.tbl) {
			free(g);
			return -ENOMEM;
		}
	}
	*ret_group = g;
	return 0;
}

static struct group *group_of(struct accounts *a, const struct account *p)
{
	return p->group ? p->group : &a->other;
}

int account_identify(struct accounts *a, struct account *p, const char *comm, const char *unit)
{
	struct group *group;
	const char *interned;
	int r;

	if (p->identified && !strcmp(p->comm, comm) && !strcmp(p->unit, unit))
		return 0;
	interned = unit_intern(a, unit);
	if (!interned)
		return -ENOMEM;
	r = group_find(a, comm, interned, &group);
	if (r < 0)
		return r;
	if (p->identified && !p->closed)
		group_of(a, p)->processes--;
	memset(p->comm, 0, sizeof(p->comm));
	strncpy(p->comm, comm, sizeof(p->comm) - 1);
	p->unit = interned;
	p->group = group;
	memset(p->in_group, 0, sizeof(p->in_group));
	p->identified = true;
	if (!p->closed)
		group_of(a, p)->processes++;
	return 0;
}

bool account_identified(const struct account *p)
{
	return p->identified;
}

const char *account_unit(const struct account *p)
{
	return p->unit;
}

void accounts_book_cpu(struct accounts *a, uint32_t tgid, uint64_t start_boottime_ns,
		       double seconds)
{
	struct account *p = account_find(a, tgid, start_boottime_ns);

	if (p)
		p->pipe_cpu_seconds += seconds;
	(p ? group_of(a, p) : &a->other)->pipe_cpu_seconds += seconds;
}

/* What updates cost that follow from @counts. */
static void costs_of(const struct accounts *a, enum pipe_kind pipe,
		     const struct pipe_counts *counts, struct pipe_costs *ret)
{
	for (int kind = 0; kind < UPDATE_KINDS; kind++)
		ret->seconds[kind] = pipe_counts_updates(counts, kind) * a->unit_costs[pipe][kind];
}

static void costs_begin(const struct accounts *a, enum pipe_kind pipe, enum update_kind kind,
			const struct pipe_counts *counts, struct pipe_costs *costs)
{
	costs->seconds[kind] = pipe_counts_updates(counts, kind) * a->unit_costs[pipe][kind];
}

void accounts_set_operation_cost(struct accounts *a, double seconds)
{
	a->operation_seconds = seconds;
}

void accounts_set_unit_cost(struct accounts *a, enum pipe_kind pipe, enum update_kind kind,
			    double seconds)
{
	bool first = a->unit_costs[pipe][kind] == 0;

	if (!(seconds > 0))
		return;
	a->unit_costs[pipe][kind] = seconds;
	if (!first)
		return;
	for (struct account *p = a->by_key; p; p = p->hh.next)
		costs_begin(a, pipe, kind, &p->counts[pipe], &p->costs[pipe]);
	for (struct group *g = a->groups; g; g = g->hh.next)
		costs_begin(a, pipe, kind, &g->counts[pipe], &g->costs[pipe]);
	costs_begin(a, pipe, kind, &a->other.counts[pipe], &a->other.costs[pipe]);
}

static void errors_add(struct errors *e, enum pipe_kind pipe, const struct pipe_counts *counts)
{
	e->reads[pipe].window += counts->reads;
	e->writes[pipe].window += counts->writes;
}

static void errors_end(struct errors *e, const struct extrapolation_factor *factor)
{
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		extrapolation_error_end(&e->reads[pipe], factor);
		extrapolation_error_end(&e->writes[pipe], factor);
	}
}

static void errors_fill(const struct errors *e, struct pipe_errors ret[PIPE_KINDS])
{
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		ret[pipe].reads = extrapolation_error(&e->reads[pipe]);
		ret[pipe].writes = extrapolation_error(&e->writes[pipe]);
	}
}

void accounts_set_factor(struct accounts *a, const struct extrapolation_factor *factor)
{
	a->factor = *factor;
	a->estimated |= factor->factor > 1;
}

void accounts_window_end(struct accounts *a)
{
	for (struct account *p = a->by_key; p; p = p->hh.next)
		errors_end(&p->errors, &a->factor);
	for (struct group *g = a->groups; g; g = g->hh.next)
		errors_end(&g->errors, &a->factor);
	errors_end(&a->other.errors, &a->factor);
	errors_end(&a->errors, &a->factor);
}

uint64_t accounts_counted(const struct accounts *a)
{
	return a->counted;
}

uint64_t accounts_operations(const struct accounts *a)
{
	return a->operations;
}

/* What is to be booked for what was counted. */
struct booking {
	struct pipe_counts counts;
	struct pipe_sizes sizes;
	struct pipe_costs costs;
	double batch_seconds;
};

static void booking_make(struct accounts *a, enum pipe_kind pipe, const struct pipe_counts *counted,
			 const struct pipe_sizes *sizes, struct booking *ret)
{
	ret->counts = *counted;
	ret->sizes = *sizes;
	extrapolation_scale(&a->factor, &ret->counts, &ret->sizes);
	costs_of(a, pipe, &ret->counts, &ret->costs);
	ret->batch_seconds = pipe_sizes_batchable(&ret->sizes) * a->operation_seconds;
	a->counted += counted->reads + counted->writes;
	a->operations += ret->counts.reads + ret->counts.writes;
	errors_add(&a->errors, pipe, counted);
	pipe_sizes_add(&a->sizes[pipe], &ret->sizes);
}

static void group_book(struct group *g, enum pipe_kind pipe, const struct pipe_counts *counted,
		       const struct booking *booking)
{
	pipe_counts_add(&g->counts[pipe], &booking->counts);
	pipe_costs_add(&g->costs[pipe], &booking->costs);
	g->batch_seconds += booking->batch_seconds;
	errors_add(&g->errors, pipe, counted);
}

void account_book(struct accounts *a, struct account *p, enum pipe_kind pipe,
		  const struct pipe_counts *counts, const struct pipe_sizes *sizes)
{
	struct booking booking;

	booking_make(a, pipe, counts, sizes, &booking);
	pipe_counts_add(&p->counts[pipe], &booking.counts);
	pipe_costs_add(&p->costs[pipe], &booking.costs);
	p->batch_seconds += booking.batch_seconds;
	pipe_counts_add(&p->in_group[pipe], &booking.counts);
	pipe_sizes_add(&p->sizes[pipe], &booking.sizes);
	errors_add(&p->errors, pipe, counts);
	group_book(group_of(a, p), pipe, counts, &booking);
}

void accounts_book_other(struct accounts *a, enum pipe_kind pipe, const struct pipe_counts *counts,
			 const struct pipe_sizes *sizes)
{
	struct booking booking;

	booking_make(a, pipe, counts, sizes, &booking);
	group_book(&a->other, pipe, counts, &booking);
	pipe_counts_add(&a->unattributed[pipe], &booking.counts);
}

void account_hold(struct account *p)
{
	p->holds++;
}

void account_release(struct account *p)
{
	p->holds--;
}

void account_close(struct accounts *a, struct account *p, uint64_t now_usec)
{
	if (p->closed)
		return;
	if (p->identified)
		group_of(a, p)->processes--;
	p->closed = true;
	p->closed_usec = now_usec;
	DL_APPEND(a->closed, p);
	a->n_closed++;
}

bool account_closed(const struct account *p)
{
	return p->closed;
}

void accounts_expire(struct accounts *a, uint64_t now_usec)
{
	struct account *p, *next;

	DL_FOREACH_SAFE(a->closed, p, next)
	{
		if (a->n_closed <= CLOSED_MAX &&
		    now_usec - p->closed_usec < SNAPSHOT_EXITED_SEC * UINT64_C(1000000))
			break;
		if (p->holds)
			continue;
		DL_DELETE(a->closed, p);
		a->n_closed--;
		HASH_DEL(a->by_key, p);
		free(p);
	}
}

void accounts_each_unheld(struct accounts *a, void (*each)(struct account *p, void *userdata),
			  void *userdata)
{
	struct account *p, *next;

	HASH_ITER (hh, a->by_key, p, next)
		if (!p->closed && !p->holds)
			each(p, userdata);
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
	memcpy(out->counts, g->counts, sizeof(out->counts));
	memcpy(out->costs, g->costs, sizeof(out->costs));
	out->batch_seconds = g->batch_seconds;
	errors_fill(&g->errors, out->errors);
	out->pipe_cpu_seconds = g->pipe_cpu_seconds;
	memcpy(out->rest, g->counts, sizeof(out->rest));
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
	memcpy(out->counts, p->counts, sizeof(out->counts));
	memcpy(out->costs, p->costs, sizeof(out->costs));
	out->batch_seconds = p->batch_seconds;
	errors_fill(&p->errors, out->errors);
	out->pipe_cpu_seconds = p->pipe_cpu_seconds;
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
	if (counts_operations(a->other.counts) || a->other.pipe_cpu_seconds > 0) {
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
