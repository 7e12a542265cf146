// SPDX-License-Identifier: GPL-2.0-or-later
#include "accounts-books.h"

#include <errno.h>
#include <string.h>

#include <utlist.h>

/* More closed accounts than this are forgotten early, the oldest first. */
#define CLOSED_MAX 1024

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

static void account_free(struct accounts *a, struct account *p)
{
	accounts_unit_unref(a, p->unit);
	if (p->identified && !p->group)
		free((char *)p->comm);
	sparse_sizes_clear(&p->anonymous.sizes);
	if (p->fifo)
		sparse_sizes_clear(&p->fifo->sizes);
	free(p->fifo);
	free(p->before);
	free(p->errors);
	free(p->sampled);
	free(p);
}

static void group_free(struct accounts *a, struct group *g)
{
	accounts_unit_unref(a, g->key.unit);
	free(g);
}

struct accounts *accounts_free(struct accounts *a)
{
	struct account *p, *next_account;
	struct group *g, *next_group;

	if (!a)
		return NULL;
	HASH_ITER (hh, a->by_key, p, next_account) {
		HASH_DEL(a->by_key, p);
		account_free(a, p);
	}
	HASH_ITER (hh, a->groups, g, next_group) {
		HASH_DEL(a->groups, g);
		group_free(a, g);
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

static void unheld_add(struct accounts *a, struct account *p)
{
	DL_APPEND(a->unheld, p);
	a->n_unheld++;
}

static void unheld_remove(struct accounts *a, struct account *p)
{
	DL_DELETE(a->unheld, p);
	a->n_unheld--;
}

struct account *accounts_open(struct accounts *a, uint32_t tgid, uint64_t start_boottime_ns)
{
	struct account_key key = { .start_boottime_ns = start_boottime_ns, .tgid = tgid };
	struct account *p;
	unsigned int hash;

	HASH_VALUE(&key, sizeof(key), hash);
	HASH_FIND_BYHASHVALUE(hh, a->by_key, &key, sizeof(key), hash, p);
	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->key = key;
	p->comm = "";
	HASH_ADD_BYHASHVALUE(hh, a->by_key, key, sizeof(p->key), hash, p);
	if (!p->hh.tbl) {
		free(p);
		return NULL;
	}
	unheld_add(a, p);
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

uint64_t account_looked_usec(const struct account *p)
{
	return p->looked_usec;
}

void account_set_looked(struct account *p, uint64_t now_usec)
{
	p->looked_usec = now_usec;
}

/* The group of a name, made if there is room. *ret_group is NULL where there is none. */
static int group_find(struct accounts *a, const char *comm, struct unit *unit,
		      struct group **ret_group)
{
	struct group_key key = { .unit = unit };
	size_t length = offsetof(struct group_key, comm) + strnlen(comm, sizeof(key.comm) - 1);
	struct group *g;
	unsigned int hash;

	memcpy(key.comm, comm, length - offsetof(struct group_key, comm));
	HASH_VALUE(&key, length, hash);
	HASH_FIND_BYHASHVALUE(hh, a->groups, &key, length, hash, g);
	if (!g && HASH_COUNT(a->groups) < a->max_groups) {
		g = calloc(1, sizeof(*g));
		if (!g)
			return -ENOMEM;
		g->key = key;
		HASH_ADD_KEYPTR_BYHASHVALUE(hh, a->groups, &g->key, length, hash, g);
		if (!g->hh.tbl) {
			free(g);
			return -ENOMEM;
		}
		if (unit)
			unit->refs++;
	}
	*ret_group = g;
	return 0;
}

static struct group *group_of(struct accounts *a, const struct account *p)
{
	return p->group ? p->group : &a->other;
}

/* A name for an account, owned by it unless it is the group's; NULL when out of memory. */
static const char *comm_copy(const struct group *group, const char *comm)
{
	size_t length = strnlen(comm, SNAPSHOT_COMM_MAX - 1);
	char *copy;

	if (group)
		return group->key.comm;
	copy = calloc(1, length + 1);
	if (copy)
		memcpy(copy, comm, length);
	return copy;
}

/* What it has done so far stays with the group that it is about to leave. */
static int account_part(struct account *p)
{
	struct pipe_counts counts[PIPE_KINDS];

	account_counts(p, counts);
	if (!p->before && !counts_operations(counts))
		return 0;
	if (!p->before)
		p->before = calloc(PIPE_KINDS, sizeof(*p->before));
	if (!p->before)
		return -ENOMEM;
	memcpy(p->before, counts, sizeof(counts));
	return 0;
}

int account_identify(struct accounts *a, struct account *p, const char *comm, const char *unit)
{
	struct group *group;
	struct unit *known;
	const char *name;
	int r;

	if (p->identified && !strcmp(p->comm, comm) && !strcmp(unit_name(p->unit), unit))
		return 0;
	r = accounts_unit_ref(a, unit, &known);
	if (r < 0)
		return r;
	r = group_find(a, comm, known, &group);
	if (r < 0)
		goto unref;
	name = comm_copy(group, comm);
	if (!name) {
		r = -ENOMEM;
		goto unref;
	}
	r = account_part(p);
	if (r < 0)
		goto release;
	if (p->identified && !p->group)
		free((char *)p->comm);
	if (p->identified && !p->closed)
		group_of(a, p)->processes--;
	accounts_unit_unref(a, p->unit);
	p->comm = name;
	p->unit = known;
	p->group = group;
	p->identified = true;
	if (!p->closed)
		group_of(a, p)->processes++;
	return 0;

release:
	if (!group)
		free((char *)name);
unref:
	accounts_unit_unref(a, known);
	return r;
}

bool account_identified(const struct account *p)
{
	return p->identified;
}

const char *account_unit(const struct account *p)
{
	return unit_name(p->unit);
}

/* Where to book what was sampled of a process: *ret_sampled is NULL where that is (other). */
static struct group *sampled_find(struct accounts *a, uint32_t tgid, uint64_t start_boottime_ns,
				  struct sampled **ret_sampled)
{
	struct account *p = account_find(a, tgid, start_boottime_ns);

	if (p && !p->sampled)
		p->sampled = calloc(1, sizeof(*p->sampled));
	*ret_sampled = p ? p->sampled : NULL;
	return *ret_sampled ? group_of(a, p) : &a->other;
}

void accounts_book_cpu(struct accounts *a, uint32_t tgid, uint64_t start_boottime_ns,
		       double seconds)
{
	struct sampled *sampled;
	struct group *g;

	if (seconds == 0)
		return;
	g = sampled_find(a, tgid, start_boottime_ns, &sampled);
	if (sampled)
		sampled->pipe_cpu_seconds += seconds;
	g->amounts.pipe_cpu_seconds += seconds;
	a->pipe_cpu_seconds += seconds;
}

void accounts_book_updates(struct accounts *a, uint32_t tgid, uint64_t start_boottime_ns,
			   const double seconds[UPDATE_KINDS])
{
	for (int kind = 0; kind < UPDATE_KINDS; kind++) {
		struct sampled *sampled;
		struct group *g;

		if (seconds[kind] == 0)
			continue;
		g = sampled_find(a, tgid, start_boottime_ns, &sampled);
		if (sampled)
			sampled->update_seconds[kind] += seconds[kind];
		g->amounts.sampled_seconds[kind] += seconds[kind];
	}
}

void accounts_book_fsnotify(struct accounts *a, uint32_t tgid, uint64_t start_boottime_ns,
			    enum pipe_kind pipe, double seconds)
{
	struct sampled *sampled;
	struct group *g;

	if (seconds == 0)
		return;
	g = sampled_find(a, tgid, start_boottime_ns, &sampled);
	if (sampled)
		sampled->fsnotify_seconds[pipe] += seconds;
	g->amounts.costs[pipe].seconds[UPDATE_FSNOTIFY] += seconds;
	a->fsnotify_seconds += seconds;
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

	if (kind == UPDATE_FSNOTIFY || !(seconds > 0))
		return;
	a->unit_costs[pipe][kind] = seconds;
	if (!first)
		return;
	for (struct account *p = a->by_key; p; p = p->hh.next) {
		struct account_pipe *of = account_pipe(p, pipe);

		if (of)
			costs_begin(a, pipe, kind, &of->counts, &of->costs);
	}
	for (struct group *g = a->groups; g; g = g->hh.next)
		costs_begin(a, pipe, kind, &g->amounts.counts[pipe], &g->amounts.costs[pipe]);
	costs_begin(a, pipe, kind, &a->other.amounts.counts[pipe], &a->other.amounts.costs[pipe]);
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

void accounts_set_factor(struct accounts *a, const struct extrapolation_factor *factor)
{
	a->factor = *factor;
	a->estimated |= factor->factor > 1;
}

void accounts_window_end(struct accounts *a)
{
	for (struct account *p = a->by_key; p; p = p->hh.next)
		if (p->errors)
			errors_end(p->errors, &a->factor);
	for (struct group *g = a->groups; g; g = g->hh.next)
		errors_end(&g->amounts.errors, &a->factor);
	errors_end(&a->other.amounts.errors, &a->factor);
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

static void amounts_book(struct amounts *amounts, enum pipe_kind pipe,
			 const struct pipe_counts *counted, const struct booking *booking)
{
	pipe_counts_add(&amounts->counts[pipe], &booking->counts);
	pipe_costs_add(&amounts->costs[pipe], &booking->costs);
	amounts->batch_seconds += booking->batch_seconds;
	errors_add(&amounts->errors, pipe, counted);
}

/* Room for a booking on a process. What is counted before anything is extrapolated is in no error.
 */
static int account_reserve(const struct accounts *a, struct account *p, enum pipe_kind pipe,
			   const struct pipe_sizes *sizes)
{
	if (pipe == PIPE_FIFO && !p->fifo)
		p->fifo = calloc(1, sizeof(*p->fifo));
	if (a->factor.factor > 1 && !p->errors)
		p->errors = calloc(1, sizeof(*p->errors));
	if (!account_pipe(p, pipe) || (a->factor.factor > 1 && !p->errors))
		return -ENOMEM;
	return sparse_sizes_reserve(&account_pipe(p, pipe)->sizes, sizes);
}

int account_book(struct accounts *a, struct account *p, enum pipe_kind pipe,
		 const struct pipe_counts *counts, const struct pipe_sizes *sizes)
{
	struct account_pipe *of;
	struct booking booking;
	int r;

	r = account_reserve(a, p, pipe, sizes);
	if (r < 0) {
		accounts_book_other(a, pipe, counts, sizes);
		return r;
	}
	booking_make(a, pipe, counts, sizes, &booking);
	amounts_book(&group_of(a, p)->amounts, pipe, counts, &booking);
	of = account_pipe(p, pipe);
	pipe_counts_add(&of->counts, &booking.counts);
	pipe_costs_add(&of->costs, &booking.costs);
	sparse_sizes_add(&of->sizes, &booking.sizes);
	p->batch_seconds += booking.batch_seconds;
	if (p->errors)
		errors_add(p->errors, pipe, counts);
	return 0;
}

void accounts_book_other(struct accounts *a, enum pipe_kind pipe, const struct pipe_counts *counts,
			 const struct pipe_sizes *sizes)
{
	struct booking booking;

	booking_make(a, pipe, counts, sizes, &booking);
	amounts_book(&a->other.amounts, pipe, counts, &booking);
	pipe_counts_add(&a->unattributed[pipe], &booking.counts);
}

double accounts_pipe_cpu(const struct accounts *a)
{
	return a->pipe_cpu_seconds;
}

double accounts_fsnotify(const struct accounts *a)
{
	return a->fsnotify_seconds;
}

void account_hold(struct accounts *a, struct account *p)
{
	if (p->holds++ == 0 && !p->closed)
		unheld_remove(a, p);
}

void account_release(struct accounts *a, struct account *p)
{
	if (--p->holds == 0 && !p->closed)
		unheld_add(a, p);
}

void account_close(struct accounts *a, struct account *p, uint64_t now_usec)
{
	if (p->closed)
		return;
	if (p->identified)
		group_of(a, p)->processes--;
	if (!p->holds)
		unheld_remove(a, p);
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
		    p->closed_usec + SNAPSHOT_EXITED_SEC * UINT64_C(1000000) > now_usec)
			break;
		if (p->holds)
			continue;
		DL_DELETE(a->closed, p);
		a->n_closed--;
		HASH_DEL(a->by_key, p);
		account_free(a, p);
	}
}

size_t accounts_unheld(const struct accounts *a)
{
	return a->n_unheld;
}

void accounts_each_unheld(struct accounts *a, size_t max,
			  void (*each)(struct account *p, void *userdata), void *userdata)
{
	size_t n = max < a->n_unheld ? max : a->n_unheld;

	for (size_t i = 0; i < n; i++) {
		struct account *p = a->unheld;

		DL_DELETE(a->unheld, p);
		DL_APPEND(a->unheld, p);
		each(p, userdata);
	}
}
