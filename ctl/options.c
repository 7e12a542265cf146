// SPDX-License-Identifier: GPL-2.0-or-later
#include "options.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipewatch/util.h"
#include "text.h"

enum key {
	KEY_JSON = 'j',
	KEY_BUS = 'b',
	KEY_LIMIT = 'l',
	KEY_GROUPS = 'g',
	KEY_COUNT = 'n',
	KEY_DELAY = 'd',
	KEY_SECONDS = 's',
	KEY_HELP = 'h',
	KEY_VERSION = 'V',
	KEY_USAGE = 0x100,
};

static const struct argp_option option_list[] = {
	{ "json", KEY_JSON, NULL, 0, "Print JSON", 0 },
	{ "bus", KEY_BUS, "system|session|ADDRESS", 0,
	  "The bus that pipewatchd is on (default: system)", 0 },
	{ "limit", KEY_LIMIT, "N", 0, "At most N rows; 0: all (default: about 20; all with --json)",
	  0 },
	{ "groups", KEY_GROUPS, NULL, 0, "top: by unit and program, not by process", 0 },
	{ "count", KEY_COUNT, "N", 0, "top: stop after N rounds", 0 },
	{ "delay", KEY_DELAY, "SECONDS", 0, "top: time between rounds (default: 2)", 0 },
	{ "seconds", KEY_SECONDS, "SECONDS", 0, "bench: total time (default: 5)", 0 },
	{ "version", KEY_VERSION, NULL, 0, "Print the version and exit", -1 },
	{ "help", KEY_HELP, NULL, 0, "Print this help and exit", -1 },
	{ "usage", KEY_USAGE, NULL, 0, "Print a short usage message and exit", -1 },
	{ 0 },
};

static const char *const verb_names[VERBS] = {
	[VERB_STATUS] = "status", [VERB_TOP] = "top",	    [VERB_LIST] = "list",
	[VERB_SHOW] = "show",	  [VERB_GROUPS] = "groups", [VERB_REMEDIES] = "remedies",
	[VERB_CHECK] = "check",	  [VERB_BENCH] = "bench",   [VERB_METRICS] = "metrics",
};

/* Options that only one verb heeds; given to another they would be ignored, which is an error. */
struct parse {
	struct options options;
	bool done;
	bool pid_given;
	const char *top_option;
	bool seconds_given;
};

static const char *rendered(const char *argument, char *ret, size_t size)
{
	text_safe(argument, false, ret, size);
	return ret;
}

/* A whole number from @min to UINT32_MAX - 1. */
static int parse_number(const char *text, uint32_t min, uint32_t *ret_number)
{
	unsigned long long number;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno || *end || number < min || number >= UINT32_MAX)
		return -EINVAL;
	*ret_number = (uint32_t)number;
	return 0;
}

static int parse_seconds(const char *text, double min, double max, double *ret_seconds)
{
	double seconds;
	char *end;

	if (*text < '.' || *text > '9')
		return -EINVAL;
	seconds = strtod(text, &end);
	if (end == text || *end || !(seconds >= min && seconds <= max))
		return -EINVAL;
	*ret_seconds = seconds;
	return 0;
}

static error_t refuse(struct argp_state *state, const char *option, const char *value,
		      const char *allowed)
{
	char safe[100];

	argp_error(state, "%s %s is not valid; expected %s", option,
		   rendered(value, safe, sizeof(safe)), allowed);
	return EINVAL;
}

static error_t parse_argument(struct argp_state *state, const char *argument)
{
	struct parse *p = state->input;
	struct options *o = &p->options;
	char safe[100];

	if (o->verb == VERB_NONE) {
		for (enum verb v = VERB_STATUS; v < VERBS; v++)
			if (!strcmp(argument, verb_names[v]))
				o->verb = v;
		if (o->verb != VERB_NONE)
			return 0;
		argp_error(state,
			   "unknown verb \"%s\"; the verbs are status, top, list, show, groups, "
			   "remedies, check, bench and metrics",
			   rendered(argument, safe, sizeof(safe)));
		return EINVAL;
	}
	if (o->verb == VERB_SHOW && !p->pid_given) {
		if (parse_number(argument, 1, &o->pid) < 0)
			return refuse(state, "show", argument, "a PID");
		p->pid_given = true;
		return 0;
	}
	argp_error(state, "unexpected argument \"%s\"", rendered(argument, safe, sizeof(safe)));
	return EINVAL;
}

static error_t parse_end(struct argp_state *state)
{
	struct parse *p = state->input;
	const struct options *o = &p->options;

	if (p->done)
		return 0;
	if (o->verb == VERB_NONE)
		argp_error(state, "a verb is missing; try \"pipewatchctl status\"");
	else if (o->verb == VERB_SHOW && !p->pid_given)
		argp_error(state, "show needs a PID; \"pipewatchctl list\" has them");
	else if (p->top_option && o->verb != VERB_TOP)
		argp_error(state, "%s is for top only", p->top_option);
	else if (p->seconds_given && o->verb != VERB_BENCH)
		argp_error(state, "--seconds is for bench only");
	else
		return 0;
	return EINVAL;
}

/* What ends the program at once: whatever else is on the command line no longer matters. */
static error_t done(struct argp_state *state)
{
	struct parse *p = state->input;

	p->options.verb = VERB_NONE;
	p->done = true;
	state->next = state->argc;
	return 0;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct parse *p = state->input;
	struct options *o = &p->options;

	switch (key) {
	case KEY_JSON: o->json = true; return 0;
	case KEY_BUS:
		if (!*argument)
			return refuse(state, "--bus", "\"\"", "system, session or an address");
		o->bus = argument;
		return 0;
	case KEY_LIMIT:
		return parse_number(argument, 0, &o->limit) < 0
			       ? refuse(state, "--limit", argument,
					"a number of rows, or 0 for all")
			       : 0;
	case KEY_GROUPS:
		p->top_option = "--groups";
		o->groups = true;
		return 0;
	case KEY_COUNT:
		p->top_option = "--count";
		return parse_number(argument, 1, &o->count) < 0
			       ? refuse(state, "--count", argument,
					"a number of rounds, at least 1")
			       : 0;
	case KEY_DELAY:
		p->top_option = "--delay";
		return parse_seconds(argument, 0.1, 3600, &o->delay) < 0
			       ? refuse(state, "--delay", argument, "0.1 to 3600 seconds")
			       : 0;
	case KEY_SECONDS:
		p->seconds_given = true;
		return parse_seconds(argument, 1, 600, &o->seconds) < 0
			       ? refuse(state, "--seconds", argument, "1 to 600 seconds")
			       : 0;
	case KEY_VERSION: printf("pipewatchctl %s\n", PIPEWATCH_VERSION); return done(state);
	case KEY_HELP: argp_state_help(state, stdout, ARGP_HELP_STD_HELP); return done(state);
	case KEY_USAGE: argp_state_help(state, stdout, ARGP_HELP_USAGE); return done(state);
	case ARGP_KEY_ARG: return parse_argument(state, argument);
	case ARGP_KEY_END: return parse_end(state);
	default: return ARGP_ERR_UNKNOWN;
	}
}

int options_parse(int argc, char **argv, struct options *ret_options)
{
	static const struct argp argp = {
		.options = option_list,
		.parser = parse_option,
		.args_doc = "VERB [PID]",
		.doc = "Shows what metadata updates of pipes cost on this machine, who pays, and what "
		       "would help.\n\n"
		       "  status     the verdict, whether it matters, and how it is measured\n"
		       "  top        who pays now, live\n"
		       "  list       processes by cost since pipewatchd started\n"
		       "  groups     the same by unit and program\n"
		       "  show PID   one process, and who is at the other ends of its pipes\n"
		       "  remedies   what each remedy would have saved\n"
		       "  metrics    what pipewatchd serves to Prometheus\n"
		       "  check      what can be measured here; needs no running pipewatchd\n"
		       "  bench      how fast pipes are here; needs no pipewatchd\n"
		       "\vExit status: 0 success, 64 wrong usage, 69 no pipewatchd or not measured, "
		       "70 internal error, 71 system error, 77 not permitted.",
	};
	struct parse p = { .options = { .bus = "system",
					.limit = OPTIONS_LIMIT_UNSET,
					.delay = 2,
					.seconds = 5 } };
	error_t r;

	r = argp_parse(&argp, argc, argv, ARGP_NO_HELP | ARGP_NO_EXIT | ARGP_IN_ORDER, NULL, &p);
	if (r != 0)
		return r == ENOMEM ? -ENOMEM : -EINVAL;
	*ret_options = p.options;
	return 0;
}
