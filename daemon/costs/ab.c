// SPDX-License-Identifier: GPL-2.0-or-later
#include "ab.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipewatch/util.h"

/*
 * The wrapper of a FIFO's write is taken to cost the same as that of a read, although the latter
 * also checks for O_NOATIME, which is a few of its instructions.
 */
#define WRAPPER_DOUBT 0.25

/*
 * Where code and data happen to lie in caches changes the time of each operation a little, in the
 * same way in all rounds: by this share of it, which is the spread between processes.
 */
#define PLACEMENT_DOUBT 0.006

struct data {
	const struct round *rounds;
	size_t n;
	double clock_ns; /* of one reading */
	const char *const (*missing)[2];
	double *samples; /* room for 2 * n */
};

/* Nanoseconds of one operation. */
static double operation_ns(const struct data *d, const struct round_part *p)
{
	return (p->ns - d->clock_ns) / ROUND_OPERATIONS;
}

/* The reads, or the writes, of a variant in a round; NULL when they are not to be used. */
static const struct round_part *good_read(const struct data *d, size_t round, enum pipe_kind kind,
					  bool noatime)
{
	const struct round_part *p = &d->rounds[round].variants[kind][noatime].reads;

	return !d->missing[kind][noatime] && p->usual ? p : NULL;
}

static const struct round_part *good_write(const struct data *d, size_t round, enum pipe_kind kind,
					   bool noatime)
{
	const struct round_part *p = &d->rounds[round].variants[kind][noatime].writes;

	return !d->missing[kind][noatime] && p->usual ? p : NULL;
}

/* On average over both variants: writes do not know of O_NOATIME. */
static bool write_ns(const struct data *d, size_t round, enum pipe_kind kind, double *ret_ns)
{
	double sum = 0;
	int n = 0;

	for (int noatime = 0; noatime < 2; noatime++) {
		const struct round_part *p = good_write(d, round, kind, noatime);

		if (p) {
			sum += operation_ns(d, p);
			n++;
		}
	}
	if (n > 0)
		*ret_ns = sum / n;
	return n > 0;
}

static void figure_from_ns(const struct data *d, size_t n, struct cost_figure *ret)
{
	if (d->n == 0) {
		cost_figure_unknown(ret, "Not one round came about: other work kept the CPU busy.");
		return;
	}
	if (cost_figure_average(d->samples, n, ret) < 0) {
		cost_figure_unknown(
			ret, "Only %zu of %zu rounds could be used: other work kept the CPU busy.",
			n, d->n);
		return;
	}
	ret->seconds *= 1e-9;
	ret->error_seconds *= 1e-9;
}

/* A figure that is the difference of @n_terms operations like @whole. */
static void doubt_placement(struct cost_figure *figure, const struct cost_figure *whole,
			    int n_terms)
{
	if (figure->known)
		figure->error_seconds = hypot(figure->error_seconds,
					      PLACEMENT_DOUBT * whole->seconds * sqrt(n_terms));
}

static void conclude_reads(const struct data *d, enum pipe_kind kind, struct cost_figure *ret)
{
	size_t n = 0;

	if (d->missing[kind][false]) {
		cost_figure_unknown(ret, "Not measured: %s.", d->missing[kind][false]);
		return;
	}
	for (size_t i = 0; i < d->n; i++) {
		const struct round_part *p = good_read(d, i, kind, false);

		if (p)
			d->samples[n++] = operation_ns(d, p);
	}
	figure_from_ns(d, n, ret);
	doubt_placement(ret, ret, 1);
}

static void conclude_writes(const struct data *d, enum pipe_kind kind, struct cost_figure *ret)
{
	size_t n = 0;

	if (d->missing[kind][false] && d->missing[kind][true]) {
		cost_figure_unknown(ret, "Not measured: %s.", d->missing[kind][true]);
		return;
	}
	for (size_t i = 0; i < d->n; i++)
		n += write_ns(d, i, kind, &d->samples[n]);
	figure_from_ns(d, n, ret);
	doubt_placement(ret, ret, 1);
}

static void conclude_atime(const struct data *d, enum pipe_kind kind,
			   const struct cost_figure *read, struct cost_figure *ret)
{
	const char *missing = d->missing[kind][false] ?: d->missing[kind][true];
	size_t n = 0;

	if (missing) {
		cost_figure_unknown(ret, "Not measured: %s.", missing);
		return;
	}
	for (size_t i = 0; i < d->n; i++) {
		const struct round_part *with = good_read(d, i, kind, false);
		const struct round_part *without = good_read(d, i, kind, true);

		if (with && without)
			d->samples[n++] = operation_ns(d, with) - operation_ns(d, without);
	}
	figure_from_ns(d, n, ret);
	doubt_placement(ret, read, 2);
}

/* Where anonymous pipes are not updated. */
static void conclude_fifo_cmtime(const struct data *d, const struct cost_figure *write,
				 struct cost_figure *ret)
{
	const char *missing = d->missing[PIPE_FIFO][true] ?: d->missing[PIPE_ANONYMOUS][true];
	struct cost_figure wrapper;
	size_t n = 0;

	if (missing) {
		cost_figure_unknown(ret, "Not measured: %s.", missing);
		return;
	}
	for (size_t i = 0; i < d->n; i++) {
		const struct round_part *fifo_read = good_read(d, i, PIPE_FIFO, true);
		const struct round_part *read = good_read(d, i, PIPE_ANONYMOUS, true);
		double fifo_write_ns, anonymous_write_ns, wrapper_ns;

		if (!fifo_read || !read || !write_ns(d, i, PIPE_FIFO, &fifo_write_ns) ||
		    !write_ns(d, i, PIPE_ANONYMOUS, &anonymous_write_ns))
			continue;
		wrapper_ns = operation_ns(d, fifo_read) - operation_ns(d, read);
		/* The differences grow from the front, the wrappers behind them. */
		d->samples[n] = fifo_write_ns - anonymous_write_ns - wrapper_ns;
		d->samples[d->n + n] = wrapper_ns;
		n++;
	}
	figure_from_ns(d, n, ret);
	if (ret->known && cost_figure_average(d->samples + d->n, n, &wrapper) == 0)
		ret->error_seconds = hypot(ret->error_seconds,
					   WRAPPER_DOUBT * wrapper.seconds * 1e-9);
	doubt_placement(ret, write, 4);
}

static void conclude_update(const struct data *d, const enum path_state paths[][UPDATE_KINDS],
			    enum pipe_kind kind, enum update_kind update, struct ab *ab)
{
	struct cost_figure *ret = &ab->updates[kind][update];

	if (paths[kind][update] == PATH_REMOVED)
		cost_figure_unknown(ret, "This kernel makes none: there is nothing to measure.");
	else if (paths[kind][update] == PATH_UNKNOWN)
		cost_figure_unknown(ret, "It is not known whether this kernel makes them.");
	else if (update == UPDATE_FSNOTIFY)
		cost_figure_unknown(
			ret,
			"A/B cannot tell: a watch of our own would make every pipe of the host pay.");
	else if (update == UPDATE_ATIME)
		conclude_atime(d, kind, &ab->reads[kind], ret);
	else if (kind == PIPE_FIFO && paths[PIPE_ANONYMOUS][UPDATE_CMTIME] == PATH_REMOVED)
		conclude_fifo_cmtime(d, &ab->writes[kind], ret);
	else
		cost_figure_unknown(
			ret,
			"Nothing switches it off on this kernel: there is no write without it to compare with.");
}

static void conclude(const struct data *d, const enum path_state paths[PIPE_KINDS][UPDATE_KINDS],
		     struct ab *ret)
{
	for (int kind = 0; kind < PIPE_KINDS; kind++) {
		conclude_reads(d, kind, &ret->reads[kind]);
		conclude_writes(d, kind, &ret->writes[kind]);
		for (int update = 0; update < UPDATE_KINDS; update++)
			conclude_update(d, paths, kind, update, ret);
	}
}

int ab_conclude(const struct round *rounds, size_t n, double clock_read_seconds,
		const char *const missing[PIPE_KINDS][2],
		const enum path_state paths[PIPE_KINDS][UPDATE_KINDS], struct ab *ret)
{
	_cleanup_(freep) double *samples = calloc(2 * n + 1, sizeof(*samples));

	if (!samples)
		return -ENOMEM;
	conclude(
		&(struct data){
			.rounds = rounds,
			.n = n,
			.clock_ns = clock_read_seconds * 1e9,
			.missing = missing,
			.samples = samples,
		},
		paths, ret);
	ret->clock_read_seconds = clock_read_seconds;
	return 0;
}

int ab_measure(const char *const *directories, unsigned int duration_usec,
	       const enum path_state paths[PIPE_KINDS][UPDATE_KINDS], struct ab *ret)
{
	_cleanup_(rounds_freep) struct rounds *r = NULL;
	const char *missing[PIPE_KINDS][2] = { 0 };
	const struct round *list;
	size_t n;
	int error;

	error = rounds_run(directories, duration_usec, &r);
	if (error == -EBUSY)
		return ab_conclude(NULL, 0, 0, missing, paths, ret);
	if (error < 0)
		return error;
	for (int kind = 0; kind < PIPE_KINDS; kind++)
		for (int noatime = 0; noatime < 2; noatime++)
			missing[kind][noatime] = rounds_missing(r, kind, noatime);
	list = rounds_list(r, &n);
	return ab_conclude(list, n, rounds_clock_seconds(r), missing, paths, ret);
}

void ab_operation(const struct ab *ab, struct cost_figure *ret)
{
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		const struct cost_figure *read = &ab->reads[pipe], *write = &ab->writes[pipe];

		*ret = *read;
		if (!read->known || !write->known)
			continue;
		ret->seconds = (read->seconds + write->seconds) / 2;
		ret->error_seconds = hypot(read->error_seconds, write->error_seconds) / 2;
		return;
	}
	if (ret->known)
		cost_figure_unknown(ret, "Writes could not be measured.");
}
