// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipewatch/util.h"

/* Beyond any machine, but far from where products of such numbers overflow. */
#define FACT_MAX 1e15

/* So many choices in a row must find windows too costly, unless they are so by far. */
#define LEAVE_CHOICES 2

#define NEVER (-1.0)

struct governor {
	enum snapshot_mode mode; /* the last choice; MODE_AUTO: the next one knows no past */
	unsigned int n_over;   /* choices in a row that found a mode other than exact too costly */
	double credit_seconds; /* CPU time that counting everything may take beyond its room */
	double chosen_seconds; /* when it was last looked at; NEVER */
	/* Since when these modes would have had ample room. */
	double exact_since, burst_since;
};

/* What follows from the facts. Costs are CPU seconds per second. */
struct prospect {
	const struct governor_facts *facts; /* with sane figures */
	double pipe_seconds;		    /* that the host spends in operations, per second */
	bool at_floor;			    /* the budget is a share of the CPUs' time instead */
	double allowed;
	double room; /* for counting */
	bool known;  /* what counting costs */
	double counting;
	double window;				/* CPU seconds of one window */
	double longest_seconds, period_seconds; /* from window to window: the most, what fits */
	double burst;				/* with windows as far apart as can be */
	double costs[SNAPSHOT_MODES];		/* in all; negative: not known, or not possible */
};

static double sane(double x)
{
	if (isnan(x) || x < 0)
		return 0;
	return fmin(x, FACT_MAX);
}

static void facts_sanitize(struct governor_facts *f)
{
	double *const figures[] = {
		&f->now_seconds,      &f->operations_per_second, &f->operation_seconds,
		&f->counting_seconds, &f->other_seconds,	 &f->window_seconds,
		&f->attached_seconds, &f->window_cpu_seconds,	 &f->budget_ratio,
	};

	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		*figures[i] = sane(*figures[i]);
	f->attached_seconds = fmax(f->attached_seconds, f->window_seconds);
	if (f->cpus == 0)
		f->cpus = 1;
}

static double period_fitting(const struct prospect *p)
{
	double shortest = fmax(GOVERNOR_SHORTEST_SEC, 4 * p->facts->attached_seconds);

	if (p->burst > p->room)
		return p->longest_seconds;
	/* Without room, all that fits is windows that cost nothing. */
	return p->room > 0 ? fmax(shortest, p->window / p->room) : shortest;
}

static void prospect_init(struct prospect *p, const struct governor_facts *f)
{
	double floor_seconds = GOVERNOR_FLOOR * f->cpus;

	*p = (struct prospect){ .facts = f };
	p->pipe_seconds = f->operations_per_second * f->operation_seconds;
	p->at_floor = p->pipe_seconds < floor_seconds;
	p->allowed = f->budget_ratio * fmax(p->pipe_seconds, floor_seconds);
	p->room = fmax(p->allowed - f->other_seconds, GOVERNOR_RESERVE * p->allowed);

	p->known = f->can_count && f->counting_seconds > 0;
	p->counting = f->operations_per_second * f->counting_seconds;
	p->window = p->counting * f->attached_seconds + f->window_cpu_seconds;
	p->longest_seconds = fmax(GOVERNOR_LONGEST_SEC, 4 * f->attached_seconds);
	p->burst = p->window / p->longest_seconds;
	p->period_seconds = period_fitting(p);

	for (int mode = 0; mode < SNAPSHOT_MODES; mode++)
		p->costs[mode] = -1;
	if (p->known) {
		p->costs[MODE_EXACT] = p->counting + f->other_seconds;
		p->costs[MODE_BURST] = p->window / p->period_seconds + f->other_seconds;
	}
	if (f->can_sample)
		p->costs[MODE_PROFILE] = f->other_seconds;
	p->costs[MODE_OFF] = 0;
}

/* With @digits significant digits and without an exponent. */
static void number_print(char *ret, size_t size, double x, int digits)
{
	char rounded[32];
	int decimals;

	if (x > 0 && x < 1e-4) {
		snprintf(ret, size, "under 0.0001");
		return;
	}
	if (x > 9999) {
		snprintf(ret, size, "over 9999");
		return;
	}
	snprintf(rounded, sizeof(rounded), "%.*e", digits - 1, x);
	x = strtod(rounded, NULL);
	decimals = x > 0 ? digits - 1 - (int)floor(log10(x) + 1e-9) : 0;
	snprintf(ret, size, "%.*f", decimals > 0 ? decimals : 0, x);
	if (strchr(ret, '.')) {
		size_t n = strlen(ret);

		while (ret[n - 1] == '0')
			n--;
		ret[ret[n - 1] == '.' ? n - 1 : n] = '\0';
	}
}

struct words {
	char text[96];
};

__attribute__((format(printf, 2, 3))) static void say(struct governor_choice *c, const char *format,
						      ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(c->reason, sizeof(c->reason), format, ap);
	va_end(ap);
}

static double base_seconds(const struct prospect *p)
{
	return p->at_floor ? p->facts->cpus : p->pipe_seconds;
}

/* In percent, with more than two digits where these would make it look equal to what is allowed. */
static struct words words_percent(const struct prospect *p, double cost)
{
	double percent = cost / base_seconds(p) * 100;
	double limit = p->allowed / base_seconds(p) * 100;
	struct words w;
	int digits = 2;

	do
		number_print(w.text, sizeof(w.text), percent, digits);
	while (percent != limit && fabs(strtod(w.text, NULL) - limit) < 1e-9 && ++digits <= 6);
	return w;
}

static struct words words_cost(const struct prospect *p, double cost)
{
	struct words w;

	snprintf(w.text, sizeof(w.text), "%.24s %% of the %s", words_percent(p, cost).text,
		 p->at_floor ? "CPU time" : "time spent in pipe operations");
	return w;
}

static struct words words_limit(const struct prospect *p)
{
	double percent = p->facts->budget_ratio * 100;
	char budget[24], least[24];
	struct words w;

	number_print(budget, sizeof(budget), percent, 6);
	number_print(least, sizeof(least), percent * GOVERNOR_FLOOR, 6);
	if (p->at_floor)
		snprintf(w.text, sizeof(w.text), "the %s %% that the budget of %s %% allows", least,
			 budget);
	else
		snprintf(w.text, sizeof(w.text), "the budget of %s %%", budget);
	return w;
}

static struct words words_windows(const struct prospect *p)
{
	char window[24], period[24];
	struct words w;

	number_print(window, sizeof(window), p->facts->window_seconds, 2);
	number_print(period, sizeof(period), p->period_seconds, 2);
	snprintf(w.text, sizeof(w.text), "counted in windows, %s s of every %s s", window, period);
	return w;
}

static const char *compared(const struct prospect *p, double cost)
{
	return cost > p->allowed ? "more than" : "within";
}

/* Why every operation is counted. */
static void explain_exact(const struct prospect *p, const struct governor *g, const char *prefix,
			  struct governor_choice *ret)
{
	double whole = p->costs[MODE_EXACT];
	bool by_reserve = p->counting <= p->room && whole > p->allowed;

	if (!p->known)
		say(ret,
		    "%sWhat counting adds to an operation is not measured yet: every operation is "
		    "counted.",
		    prefix);
	else if (by_reserve)
		say(ret,
		    "%sCounting every operation costs only %s; with the rest of the daemon it is "
		    "%s %%, more than %s.",
		    prefix, words_cost(p, p->counting).text, words_percent(p, whole).text,
		    words_limit(p).text);
	else
		say(ret, "%sCounting every operation costs %s, %s %s%s.", prefix,
		    words_cost(p, whole).text, compared(p, whole), words_limit(p).text,
		    p->counting > p->room && g->mode == MODE_EXACT ? ", for a moment at least"
								   : "");
}

/* Why @subject, a mode that shows more and costs @cost, is not in force. */
static void explain_less(const struct prospect *p, const char *subject, double cost,
			 bool too_costly, enum snapshot_mode mode, struct governor_choice *ret)
{
	struct words instead = { "CPU time is sampled instead" }, all_the_same = { "" };

	if (mode == MODE_BURST)
		instead = words_windows(p);
	if (p->costs[mode] > p->allowed)
		snprintf(all_the_same.text, sizeof(all_the_same.text), ", even so at %.24s %%",
			 words_percent(p, p->costs[mode]).text);
	if (too_costly)
		say(ret, "%s would cost %s, more than %s: %s%s.", subject, words_cost(p, cost).text,
		    words_limit(p).text, instead.text, all_the_same.text);
	else
		say(ret, "%s would cost %s, and must stay well within %s for %.0f s first: %s%s.",
		    subject, words_cost(p, cost).text, words_limit(p).text, GOVERNOR_RETURN_SEC,
		    instead.text, all_the_same.text);
}

static void explain_auto(const struct prospect *p, const struct governor *g,
			 struct governor_choice *ret)
{
	if (g->mode == MODE_EXACT)
		explain_exact(p, g, "", ret);
	else if (g->mode == MODE_BURST)
		explain_less(p, "Counting every operation", p->costs[MODE_EXACT],
			     p->counting > p->room, MODE_BURST, ret);
	else
		explain_less(p, "Counting in windows as rare as can be",
			     p->burst + p->facts->other_seconds, p->burst > p->room, MODE_PROFILE,
			     ret);
}

/* For a mode that was asked for and is possible. */
static void explain_asked(const struct prospect *p, const struct governor *g,
			  struct governor_choice *ret)
{
	double cost = p->costs[ret->mode];

	switch (ret->mode) {
	case MODE_EXACT: explain_exact(p, g, "Mode exact was asked for. ", ret); break;
	case MODE_BURST:
		if (p->known)
			say(ret, "Mode burst was asked for: %s, at %s, %s %s.",
			    words_windows(p).text, words_cost(p, cost).text, compared(p, cost),
			    words_limit(p).text);
		else
			say(ret,
			    "Mode burst was asked for: %s. What counting adds to an operation "
			    "is not measured yet.",
			    words_windows(p).text);
		break;
	case MODE_PROFILE:
		say(ret,
		    "Mode profile was asked for: CPU time is sampled, at %s, %s %s, and "
		    "operations are not counted.",
		    words_cost(p, cost).text, compared(p, cost), words_limit(p).text);
		break;
	default: say(ret, "Mode off was asked for: nothing is counted or sampled.");
	}
}

static void past_forget(struct governor *g)
{
	*g = (struct governor){
		.mode = MODE_AUTO,
		.chosen_seconds = NEVER,
		.exact_since = NEVER,
		.burst_since = NEVER,
	};
}

struct governor *governor_new(void)
{
	struct governor *g = malloc(sizeof(*g));

	if (g)
		past_forget(g);
	return g;
}

struct governor *governor_free(struct governor *g)
{
	free(g);
	return NULL;
}

/* Has a mode that takes @cost had ample room for long enough? */
static bool room_lasts(const struct prospect *p, double cost, double *since)
{
	if (cost > GOVERNOR_RETURN_RATIO * p->room) {
		*since = NEVER;
		return false;
	}
	if (*since == NEVER)
		*since = p->facts->now_seconds;
	return p->facts->now_seconds - *since >= GOVERNOR_RETURN_SEC;
}

/* Is a mode that takes @cost to be left? */
static bool too_much(struct governor *g, const struct prospect *p, double cost)
{
	if (cost <= p->room) {
		g->n_over = 0;
		return false;
	}
	/* In all more than twice what is allowed. */
	return ++g->n_over >= LEAVE_CHOICES || cost > p->room + p->allowed;
}

/* Room that was not used is saved up, for a spurt that does not last. */
static void credit_update(struct governor *g, const struct prospect *p)
{
	double now = p->facts->now_seconds, most = GOVERNOR_CREDIT_SEC * p->allowed;
	double used = 0;

	if (g->mode == MODE_EXACT)
		used = p->counting;
	else if (g->mode == MODE_BURST)
		used = p->window / p->period_seconds;

	if (g->chosen_seconds == NEVER)
		g->credit_seconds = most;
	else
		g->credit_seconds += (now - g->chosen_seconds) * (p->room - used);
	g->credit_seconds = fmin(g->credit_seconds, most);
	g->chosen_seconds = now;
}

static enum snapshot_mode less_than_exact(const struct prospect *p)
{
	return p->burst > p->room && p->facts->can_sample ? MODE_PROFILE : MODE_BURST;
}

/* Goes from the mode that was in force to the one that is to be. */
static void choose_auto(struct governor *g, const struct prospect *p)
{
	enum snapshot_mode mode = g->mode;
	bool exact_lasts, burst_lasts;

	if (!p->known) {
		past_forget(g);
		g->mode = MODE_EXACT;
		return;
	}
	credit_update(g, p);
	exact_lasts = room_lasts(p, p->counting, &g->exact_since);
	burst_lasts = room_lasts(p, p->burst, &g->burst_since);

	if (mode == MODE_AUTO)
		mode = p->counting <= p->room ? MODE_EXACT : less_than_exact(p);
	else if (mode == MODE_EXACT)
		mode = p->counting > p->room && g->credit_seconds <= 0 ? less_than_exact(p)
								       : MODE_EXACT;
	else if (exact_lasts)
		mode = MODE_EXACT;
	else if (mode == MODE_BURST)
		mode = too_much(g, p, p->burst) ? less_than_exact(p) : MODE_BURST;
	else if (burst_lasts)
		mode = MODE_BURST;

	if (mode != g->mode)
		g->n_over = 0;
	g->mode = mode;
}

/* The choice where the mode that was asked for, or any mode that counts, is impossible. */
static void choose_without(struct governor *g, const struct prospect *p,
			   struct governor_choice *ret)
{
	enum snapshot_mode asked = p->facts->configured;
	const char *cannot = asked == MODE_PROFILE ? "CPU time cannot be sampled"
						   : "operations cannot be counted";
	char prefix[64] = "";

	past_forget(g);
	/* Who asks for profile wants no counting. */
	ret->mode = asked != MODE_PROFILE && p->facts->can_sample ? MODE_PROFILE : MODE_OFF;
	if (asked != MODE_AUTO)
		snprintf(prefix, sizeof(prefix), "Mode %s was asked for. ",
			 snapshot_mode_name(asked));
	say(ret, "%s%c%s%s: %s.", prefix, cannot[0] == 'o' ? 'O' : 'C', cannot + 1,
	    ret->mode == MODE_OFF && asked != MODE_PROFILE ? ", nor can CPU time be sampled" : "",
	    ret->mode == MODE_OFF ? "nothing is counted or sampled"
				  : "CPU time is sampled instead");
}

void governor_choose(struct governor *g, const struct governor_facts *facts,
		     struct governor_choice *ret)
{
	struct governor_facts f = *facts;
	struct prospect p;
	bool counts = f.configured == MODE_AUTO || f.configured == MODE_EXACT ||
		      f.configured == MODE_BURST;

	facts_sanitize(&f);
	prospect_init(&p, &f);
	*ret = (struct governor_choice){ .mode = f.configured, .allowed = p.allowed };
	memcpy(ret->predicted, p.costs, sizeof(ret->predicted));

	if ((counts && !f.can_count) || (f.configured == MODE_PROFILE && !f.can_sample)) {
		choose_without(g, &p, ret);
		return;
	}
	if (f.configured != MODE_AUTO || (g->mode == MODE_PROFILE && !f.can_sample))
		past_forget(g);
	if (f.configured == MODE_AUTO) {
		choose_auto(g, &p);
		ret->mode = g->mode;
		explain_auto(&p, g, ret);
	} else {
		explain_asked(&p, g, ret);
	}
	if (ret->mode == MODE_BURST)
		ret->period_seconds = p.period_seconds;
}
