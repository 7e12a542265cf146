// SPDX-License-Identifier: GPL-2.0-or-later
#include "bus-states.h"

#include <errno.h>
#include <string.h>

#include "pipewatch/util.h"
#include "text.h"

struct property {
	const char *name;
	bool state; /* told of when it changes */
	void (*write)(FILE *f, const struct snapshot *s);
};

struct bus_states {
	char *texts[BUS_STATES_MAX]; /* in the order of the table's states */
};

static void write_version(FILE *f, const struct snapshot *s)
{
	fputs(s->version, f);
}

static void write_kernel_release(FILE *f, const struct snapshot *s)
{
	fputs(s->kernel_release, f);
}

/* Anonymous pipes as a whole: what atime and cmtime agree on. */
static void write_timestamps(FILE *f, const struct snapshot *s)
{
	const struct snapshot_path *paths = s->paths[PIPE_ANONYMOUS];
	enum path_state state = PATH_UNKNOWN;

	if (paths[UPDATE_ATIME].state == paths[UPDATE_CMTIME].state)
		state = paths[UPDATE_ATIME].state;
	fputs(path_state_name(state), f);
}

static void write_timestamps_reason(FILE *f, const struct snapshot *s)
{
	const struct snapshot_path *atime = &s->paths[PIPE_ANONYMOUS][UPDATE_ATIME];
	const struct snapshot_path *cmtime = &s->paths[PIPE_ANONYMOUS][UPDATE_CMTIME];

	if (atime->state == cmtime->state && !strcmp(atime->reason, cmtime->reason))
		fputs(atime->reason, f);
	else
		fprintf(f, "atime is %s: %s cmtime is %s: %s", path_state_name(atime->state),
			atime->reason, path_state_name(cmtime->state), cmtime->reason);
}

static void write_state(FILE *f, const struct snapshot *s)
{
	fputs(snapshot_state_name(s->state), f);
}

static void write_state_reason(FILE *f, const struct snapshot *s)
{
	fputs(s->state_reason, f);
}

static void write_mode(FILE *f, const struct snapshot *s)
{
	fputs(snapshot_mode_name(s->mode), f);
}

static void write_mode_reason(FILE *f, const struct snapshot *s)
{
	fputs(s->mode_reason, f);
}

static void write_configured_mode(FILE *f, const struct snapshot *s)
{
	fputs(snapshot_mode_name(s->configured_mode), f);
}

static void write_counting(FILE *f, const struct snapshot *s)
{
	fputs(s->counting ? "yes" : "no", f);
}

static void write_counting_reason(FILE *f, const struct snapshot *s)
{
	if (!s->counting)
		fputs(s->counting_reason, f);
}

static void write_coverage_reason(FILE *f, const struct snapshot *s)
{
	fputs(snapshot_coverage_reason(s), f);
}

static void write_estimated(FILE *f, const struct snapshot *s)
{
	fputs(s->estimated ? "yes" : "no", f);
}

static void write_overhead_reason(FILE *f, const struct snapshot *s)
{
	if (!s->observer.overhead.known)
		fputs(s->observer.overhead.reason, f);
}

static void write_watchers_reason(FILE *f, const struct snapshot *s)
{
	fputs(s->watchers_reason, f);
}

/* These two stand for arrays: not what is sent, only something that differs when they do. */

static void write_paths(FILE *f, const struct snapshot *s)
{
	for (enum pipe_kind pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (enum update_kind kind = 0; kind < UPDATE_KINDS; kind++)
			fprintf(f, "%d %s\n", s->paths[pipe][kind].state,
				s->paths[pipe][kind].reason);
}

static void write_programs(FILE *f, const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_programs; i++)
		fprintf(f, "%s %s %d %s\n", s->programs[i].program, s->programs[i].hook,
			s->programs[i].attached, s->programs[i].reason);
}

static const struct property properties[] = {
	{ "Version", false, write_version },
	{ "KernelRelease", false, write_kernel_release },
	{ "AnonymousTimestamps", true, write_timestamps },
	{ "AnonymousTimestampsReason", true, write_timestamps_reason },
	{ "State", true, write_state },
	{ "StateReason", true, write_state_reason },
	{ "Mode", true, write_mode },
	{ "ModeReason", true, write_mode_reason },
	{ "ConfiguredMode", true, write_configured_mode },
	{ "Counting", true, write_counting },
	{ "CountingReason", true, write_counting_reason },
	{ "CoverageReason", true, write_coverage_reason },
	{ "Estimated", true, write_estimated },
	{ "ObserverOverheadReason", true, write_overhead_reason },
	{ "WatchersReason", true, write_watchers_reason },
	{ "Paths", true, write_paths },
	{ "Programs", true, write_programs },
};

_Static_assert(ARRAY_SIZE(properties) == BUS_STATES_MAX + 2, "all but two are states");

static char *render(const struct property *property, const struct snapshot *s)
{
	struct text text;
	char *whole;

	if (text_open(&text) < 0)
		return NULL;
	property->write(text.stream, s);
	return text_close(&text, &whole, NULL) < 0 ? NULL : whole;
}

char *bus_states_text(const struct snapshot *s, const char *property)
{
	for (size_t i = 0; i < ARRAY_SIZE(properties); i++)
		if (!strcmp(properties[i].name, property))
			return render(&properties[i], s);
	return NULL;
}

int bus_states_new(const struct snapshot *s, struct bus_states **ret_states)
{
	_cleanup_(bus_states_freep) struct bus_states *states = NULL;
	size_t n = 0;

	states = calloc(1, sizeof(*states));
	if (!states)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(properties); i++) {
		if (!properties[i].state)
			continue;
		states->texts[n] = render(&properties[i], s);
		if (!states->texts[n++])
			return -ENOMEM;
	}

	*ret_states = states;
	states = NULL;
	return 0;
}

struct bus_states *bus_states_free(struct bus_states *states)
{
	if (!states)
		return NULL;
	for (size_t i = 0; i < BUS_STATES_MAX; i++)
		free(states->texts[i]);
	free(states);
	return NULL;
}

size_t bus_states_diff(const struct bus_states *a, const struct bus_states *b,
		       const char *ret_names[static BUS_STATES_MAX + 1])
{
	size_t n_differing = 0, n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(properties); i++) {
		if (!properties[i].state)
			continue;
		if (strcmp(a->texts[n], b->texts[n]))
			ret_names[n_differing++] = properties[i].name;
		n++;
	}
	ret_names[n_differing] = NULL;
	return n_differing;
}
