// SPDX-License-Identifier: GPL-2.0-or-later
#include "accounts-books.h"

#include <errno.h>
#include <stdlib.h>

#include "pipewatch/util.h"

/* What snapshots order processes by; see there. */
struct rank {
	double cost_seconds;
	double pipe_cpu_seconds;
	uint64_t operations;
	const struct account *account;
};

/* The best @max of those that were offered, the worst of them on top. */
struct heap {
	struct rank *ranks;
	size_t n, max;
};

/* Is @a listed before @b? */
static bool rank_better(const struct rank *a, const struct rank *b)
{
	if (a->cost_seconds != b->cost_seconds)
		return a->cost_seconds > b->cost_seconds;
	if (a->pipe_cpu_seconds != b->pipe_cpu_seconds)
		return a->pipe_cpu_seconds > b->pipe_cpu_seconds;
	if (a->operations != b->operations)
		return a->operations > b->operations;
	if (a->account->key.tgid != b->account->key.tgid)
		return a->account->key.tgid < b->account->key.tgid;
	return a->account->key.start_boottime_ns < b->account->key.start_boottime_ns;
}

static void swap(struct rank *a, struct rank *b)
{
	struct rank kept = *a;

	*a = *b;
	*b = kept;
}

static void heap_sift_up(struct heap *h, size_t i)
{
	for (; i > 0 && rank_better(&h->ranks[(i - 1) / 2], &h->ranks[i]); i = (i - 1) / 2)
		swap(&h->ranks[(i - 1) / 2], &h->ranks[i]);
}

static void heap_sift_down(struct heap *h)
{
	for (size_t i = 0, worst = 0;; i = worst) {
		for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < h->n; child++)
			if (rank_better(&h->ranks[worst], &h->ranks[child]))
				worst = child;
		if (worst == i)
			return;
		swap(&h->ranks[i], &h->ranks[worst]);
	}
}

static void heap_offer(struct heap *h, const struct rank *rank)
{
	if (h->n < h->max) {
		h->ranks[h->n] = *rank;
		heap_sift_up(h, h->n++);
	} else if (h->max > 0 && rank_better(rank, &h->ranks[0])) {
		h->ranks[0] = *rank;
		heap_sift_down(h);
	}
}

static double cost_of(const struct account *p, const bool known[PIPE_KINDS][UPDATE_KINDS])
{
	double sum = 0;

	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		const struct account_pipe *of = account_pipe(p, pipe);

		for (int kind = 0; kind < UPDATE_KINDS; kind++)
			if (of && known[pipe][kind])
				sum += of->costs.seconds[kind];
		if (p->sampled && known[pipe][UPDATE_FSNOTIFY])
			sum += p->sampled->fsnotify_seconds[pipe];
	}
	return sum;
}

static int compare_addresses(const void *left, const void *right)
{
	const struct account *a = *(const struct account *const *)left,
			     *b = *(const struct account *const *)right;

	return (a > b) - (a < b);
}

int accounts_rank(const struct accounts *a, const struct snapshot *s, size_t n,
		  const struct account ***ret_ranked, size_t *ret_n)
{
	_cleanup_(freep) struct rank *ranks = calloc(2 * n + 1, sizeof(*ranks));
	struct heap live = { .max = n }, closed = { .max = n };
	bool known[PIPE_KINDS][UPDATE_KINDS];
	const struct account **ranked;
	size_t n_ranked = 0;

	ranked = calloc(2 * n + 1, sizeof(*ranked));
	if (!ranks || !ranked) {
		free(ranked);
		return -ENOMEM;
	}
	live.ranks = ranks;
	closed.ranks = ranks + n;
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++)
			known[pipe][kind] = snapshot_cost_known(s, pipe, kind);
	for (const struct account *p = a->by_key; p; p = p->hh.next) {
		struct pipe_counts counts[PIPE_KINDS];

		account_counts(p, counts);
		heap_offer(
			p->closed ? &closed : &live,
			&(struct rank){
				.cost_seconds = cost_of(p, known),
				.pipe_cpu_seconds = p->sampled ? p->sampled->pipe_cpu_seconds : 0,
				.operations = counts_operations(counts),
				.account = p,
			});
	}
	for (size_t i = 0; i < live.n; i++)
		ranked[n_ranked++] = live.ranks[i].account;
	for (size_t i = 0; i < closed.n; i++)
		ranked[n_ranked++] = closed.ranks[i].account;
	qsort(ranked, n_ranked, sizeof(*ranked), compare_addresses);
	*ret_ranked = ranked;
	*ret_n = n_ranked;
	return 0;
}

bool accounts_ranked(const struct account *const *ranked, size_t n, const struct account *p)
{
	return n > 0 && bsearch(&p, ranked, n, sizeof(*ranked), compare_addresses);
}
