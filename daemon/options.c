// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "options.h"
#include "pipewatch/api.h"
#include "pipewatch/util.h"

enum {
	KEY_CONFIG = 0x100,
	KEY_CHECK_CONFIG,
	KEY_CHECK,
	KEY_LISTEN,
	KEY_BUS,
	KEY_MODE,
	KEY_BUDGET,
	KEY_VERSION,
	KEY_HELP,
	KEY_USAGE,
};

/*
 * argp's own --help comes with a hidden --HANG, which sleeps, and --program-name: so its standard
 * options are off, and help is an option like any other.
 */
static const struct argp_option option_list[] = {
	{ "config", KEY_CONFIG, "FILE", 0,
	  "Read FILE and FILE.d/*.conf instead of " PIPEWATCH_CONFIG_FILE, 0 },
	{ "check-config", KEY_CHECK_CONFIG, NULL, 0,
	  "Read the configuration, print what is in force, and exit", 0 },
	{ "check", KEY_CHECK, NULL, 0,
	  "Print what this kernel pays for and what can be measured here, and exit", 0 },
	{ "listen", KEY_LISTEN, "ADDR:PORT|unix:PATH", 0,
	  "Serve HTTP here instead of where the configuration says (may be repeated)", 0 },
	{ "bus", KEY_BUS, "system|session|ADDRESS|none", 0, "Which D-Bus to use", 0 },
	{ "mode", KEY_MODE, "auto|exact|burst|profile|off", 0, "How to measure", 0 },
	{ "budget", KEY_BUDGET, "PERCENT", 0,
	  "What measuring may cost, in percent of the time spent in pipe operations, or of a tenth "
	  "of the CPUs' time if that is more",
	  0 },
	{ "version", KEY_VERSION, NULL, 0, "Print the version and exit", -1 },
	{ "help", KEY_HELP, NULL, 0, "Print this help and exit", -1 },
	{ "usage", KEY_USAGE, NULL, 0, "Print a short usage message and exit", -1 },
	{ 0 },
};

struct parse {
	struct options *options;
	/* Takes every value once, so that options_apply() cannot be refused one. */
	struct config *scratch;
};

static error_t set(struct argp_state *state, const char *option, const char *key, const char *value,
		   const char **ret_value)
{
	struct parse *parse = state->input;
	const char *allowed;
	char rendered[100];
	int r = config_set(parse->scratch, key, value, &allowed);

	if (r == -EINVAL)
		argp_error(state, "--%s=%s is not allowed; allowed is %s", option,
			   config_render(value, rendered, sizeof(rendered)), allowed);
	if (r < 0)
		return -r;
	*ret_value = value;
	return 0;
}

static error_t add_listen(struct argp_state *state, const char *value)
{
	struct parse *parse = state->input;
	struct options *o = parse->options;
	const char **grown;
	char rendered[100];

	if (!config_listen_valid(value)) {
		argp_error(state,
			   "--listen=%s is not allowed; allowed is ADDR:PORT, [ADDR6]:PORT or "
			   "unix:/PATH with a numeric address",
			   config_render(value, rendered, sizeof(rendered)));
		return EINVAL;
	}
	grown = reallocarray(o->listen, o->n_listen + 2, sizeof(*grown));
	if (!grown)
		return ENOMEM;
	o->listen = grown;
	grown[o->n_listen++] = value;
	grown[o->n_listen] = NULL;
	return 0;
}

/* For options that end the program at once: the rest of the command line no longer matters. */
static error_t done(struct argp_state *state)
{
	struct parse *parse = state->input;

	parse->options->action = OPTIONS_DONE;
	state->next = state->argc;
	return 0;
}

static error_t set_action(struct argp_state *state, enum options_action action)
{
	struct options *o = ((struct parse *)state->input)->options;

	if (o->action != OPTIONS_RUN && o->action != action) {
		argp_error(state, "--check and --check-config exclude each other");
		return EINVAL;
	}
	o->action = action;
	return 0;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct options *o = ((struct parse *)state->input)->options;
	char rendered[100];

	switch (key) {
	case KEY_CONFIG:
		if (!*argument) {
			argp_error(state, "--config needs the name of a file");
			return EINVAL;
		}
		o->config_file = argument;
		return 0;
	case KEY_CHECK_CONFIG: return set_action(state, OPTIONS_CHECK_CONFIG);
	case KEY_CHECK: return set_action(state, OPTIONS_CHECK);
	case KEY_LISTEN: return add_listen(state, argument);
	case KEY_BUS: return set(state, "bus", "Bus", argument, &o->bus);
	case KEY_MODE: return set(state, "mode", "Mode", argument, &o->mode);
	case KEY_BUDGET: return set(state, "budget", "Budget", argument, &o->budget);
	case KEY_VERSION:
		printf("pipewatchd %s\nlibbpf %d.%d\n", PIPEWATCH_VERSION,
		       (int)libbpf_major_version(), (int)libbpf_minor_version());
		return done(state);
	case KEY_HELP: argp_state_help(state, stdout, ARGP_HELP_STD_HELP); return done(state);
	case KEY_USAGE: argp_state_help(state, stdout, ARGP_HELP_USAGE); return done(state);
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument \"%s\"",
			   config_render(argument, rendered, sizeof(rendered)));
		return EINVAL;
	default: return ARGP_ERR_UNKNOWN;
	}
}

int options_parse(int argc, char **argv, struct options **ret_options)
{
	static const struct argp argp = {
		.options = option_list,
		.parser = parse_option,
		.doc = "Counts pipe operations by process and measures what their metadata updates "
		       "cost.\vExit status: 0 success, 64 wrong usage, 69 not possible on this kernel, "
		       "70 internal error, 71 system error, 77 not permitted, 78 wrong configuration.",
	};
	_cleanup_(options_freep) struct options *o = calloc(1, sizeof(*o));
	_cleanup_(config_freep) struct config *scratch = config_new();
	struct parse parse = { .options = o, .scratch = scratch };
	error_t r;

	if (!o || !scratch)
		return -ENOMEM;
	r = argp_parse(&argp, (unsigned int)argc, argv, ARGP_NO_HELP | ARGP_NO_EXIT | ARGP_IN_ORDER,
		       NULL, &parse);
	if (r != 0)
		return r == ENOMEM ? -ENOMEM : -EINVAL;
	*ret_options = o;
	o = NULL;
	return 0;
}

struct options *options_free(struct options *o)
{
	if (!o)
		return NULL;
	free(o->listen);
	free(o);
	return NULL;
}

int options_apply(const struct options *o, struct config *c)
{
	const struct {
		const char *key;
		const char *value;
	} overrides[] = {
		{ "Mode", o->mode },
		{ "Budget", o->budget },
		{ "Bus", o->bus },
		{ "Listen", o->n_listen > 0 ? "" : NULL },
	};
	const char *allowed;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(overrides); i++) {
		if (!overrides[i].value)
			continue;
		r = config_set(c, overrides[i].key, overrides[i].value, &allowed);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < o->n_listen; i++) {
		r = config_set(c, "Listen", o->listen[i], &allowed);
		if (r < 0)
			return r;
	}
	return 0;
}
