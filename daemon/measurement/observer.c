// SPDX-License-Identifier: GPL-2.0-or-later
#include "observer.h"

#include <math.h>
#include <string.h>

#include "cpu-seconds.h"
#include "pipewatch/util.h"

#define USEC_PER_SEC UINT64_C(1000000)

/* Two more than fit into the time that is looked back on, so that one of them is always old enough,
 * however often a look is taken. */
#define NOTES 12

struct note {
	uint64_t usec;
	double parts[OBSERVER_PARTS];
	double pipe_seconds, window_seconds;
};

/* Notes that are at least apart_usec apart; the oldest are overwritten. */
struct notes {
	uint64_t apart_usec;
	unsigned int n; /* taken so far */
	struct note ring[NOTES];
};

struct observer {
	struct note sums; /* as of now, except for the daemon's own, which is of the last look */
	struct note last; /* the last look */
	struct notes recent, lasting;
	double programs_ratio, pipe_time_ratio; /* standard errors */
};

static const struct note *notes_newest(const struct notes *notes)
{
	return notes->n > 0 ? &notes->ring[(notes->n - 1) % NOTES] : NULL;
}

static void notes_take(struct notes *notes, const struct note *now)
{
	const struct note *newest = notes_newest(notes);

	if (newest && now->usec < newest->usec + notes->apart_usec)
		return;
	notes->ring[notes->n % NOTES] = *now;
	notes->n++;
}

/* The newest that is older than @now by @age_usec at least; NULL if there is none. */
static const struct note *notes_find(const struct notes *notes, const struct note *now,
				     uint64_t age_usec)
{
	for (unsigned int back = 1; back <= notes->n && back <= NOTES; back++) {
		const struct note *note = &notes->ring[(notes->n - back) % NOTES];

		if (now->usec >= note->usec + age_usec)
			return note;
	}
	return NULL;
}

static void add(double *sum, double seconds)
{
	if (isfinite(seconds) && seconds > 0)
		*sum += seconds;
}

static double own_seconds(int who)
{
	struct rusage usage;

	return getrusage(who, &usage) < 0 ? 0 : cpu_seconds(&usage);
}

struct observer *observer_new(void)
{
	struct observer *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->recent.apart_usec = USEC_PER_SEC * OBSERVER_SEC / (NOTES - 2);
	o->lasting.apart_usec = USEC_PER_SEC * OBSERVER_OTHER_SEC / (NOTES - 2);
	return o;
}

struct observer *observer_free(struct observer *o)
{
	free(o);
	return NULL;
}

void observer_charge(struct observer *o, enum observer_part part, double seconds)
{
	add(&o->sums.parts[part], seconds);
}

void observer_pipe_time(struct observer *o, double seconds)
{
	add(&o->sums.pipe_seconds, seconds);
}

void observer_window(struct observer *o, double seconds)
{
	add(&o->sums.window_seconds, seconds);
}

void observer_set_errors(struct observer *o, double programs_ratio, double pipe_time_ratio)
{
	o->programs_ratio = programs_ratio;
	o->pipe_time_ratio = pipe_time_ratio;
}

void observer_look(struct observer *o, uint64_t now_usec)
{
	double daemon = own_seconds(RUSAGE_SELF) + own_seconds(RUSAGE_CHILDREN);

	o->sums.parts[OBSERVER_DAEMON] = fmax(o->sums.parts[OBSERVER_DAEMON], daemon);
	o->sums.usec = now_usec;
	o->last = o->sums;
	notes_take(&o->recent, &o->last);
	notes_take(&o->lasting, &o->last);
}

void observer_mode_changed(struct observer *o, uint64_t now_usec)
{
	o->recent.n = 0;
	observer_look(o, now_usec);
}

static void overhead_fill(const struct observer *o, struct cost_figure *ret)
{
	const struct note *now = &o->last,
			  *then = notes_find(&o->recent, now, OBSERVER_SEC * USEC_PER_SEC);
	double pipe_seconds, programs, all = 0;

	if (!then) {
		cost_figure_unknown(ret, "Measured for less than %d s.", OBSERVER_SEC);
		return;
	}
	pipe_seconds = now->pipe_seconds - then->pipe_seconds;
	if (pipe_seconds <= 0) {
		cost_figure_unknown(ret, "No pipe operations in the last %d s.", OBSERVER_SEC);
		return;
	}
	for (int part = 0; part < OBSERVER_PARTS; part++)
		all += now->parts[part] - then->parts[part];
	programs = now->parts[OBSERVER_PROGRAMS] - then->parts[OBSERVER_PROGRAMS];

	*ret = (struct cost_figure){ .known = true, .seconds = all / pipe_seconds };
	/* Compared with these, CPU times are exact. */
	ret->error_seconds = hypot(programs / pipe_seconds * o->programs_ratio,
				   ret->seconds * o->pipe_time_ratio);
}

void observer_fill(const struct observer *o, struct snapshot_observer *ret)
{
	memcpy(ret->cpu_seconds, o->last.parts, sizeof(ret->cpu_seconds));
	overhead_fill(o, &ret->overhead);
}

double observer_other(const struct observer *o)
{
	const struct note *now = &o->last, *then;
	double other = 0;

	then = notes_find(&o->lasting, now, OBSERVER_OTHER_SEC * USEC_PER_SEC);
	/* Else the first, since none has been overwritten yet. */
	if (!then)
		then = &o->lasting.ring[0];
	if (now->usec <= then->usec)
		return 0;
	for (int part = 0; part < OBSERVER_PARTS; part++)
		if (part != OBSERVER_PROGRAMS)
			other += now->parts[part] - then->parts[part];
	other -= now->window_seconds - then->window_seconds;
	return fmax(other, 0) / ((now->usec - then->usec) / 1e6);
}
