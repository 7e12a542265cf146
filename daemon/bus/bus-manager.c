// SPDX-License-Identifier: GPL-2.0-or-later
#include "bus-manager.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pipewatch/api.h>
#include <string.h>

#include "bus-remedies.h"
#include "bus-row.h"
#include "bus-states.h"
#include "describe.h"
#include "exposition.h"
#include "pipewatch/util.h"
#include "text.h"

/*
 * A message bus disconnects who sends a larger message than it allows, 32 MiB by default, and a
 * caller that does not read makes replies wait in our memory: hence what one reply and all waiting
 * ones may take.
 */
#define REPLY_MAX_BYTES	  ((size_t)16 << 20)
#define REPLIES_MAX_BYTES ((size_t)16 << 20)

struct bus_manager {
	snapshot_get_fn get;
	void *userdata;
	struct snapshot *current;	 /* of the message being handled; NULL until asked for */
	const struct snapshot *telling;	 /* of the signal being sent, else NULL */
	struct bus_states *known_states; /* as told last or read first; NULL: neither yet */
	size_t waiting_bytes;		 /* of replies since the write queue was last seen empty */
};

static const struct snapshot_wish wish_none, wish_all = { .n_processes = SIZE_MAX };

/* The current snapshot, borrowed until the next message, to which all wishes are the same. 0, or
 * -errno with @error filled. */
static int current_snapshot(struct bus_manager *m, const struct snapshot_wish *wish,
			    const struct snapshot **ret_snapshot, sd_bus_error *error)
{
	int r;

	if (!m->current) {
		r = m->get(m->userdata, wish, &m->current);
		if (r < 0)
			return sd_bus_error_setf(error, PIPEWATCH_ERROR_FAILED,
						 "The figures cannot be read: %s.", strerror(-r));
	}
	if (!m->known_states) {
		r = bus_states_new(m->current, &m->known_states);
		if (r < 0)
			return r;
	}
	*ret_snapshot = m->current;
	return 0;
}

/* The current snapshot, as above, where it has figures of somebody. */
static int figures_snapshot(struct bus_manager *m, const struct snapshot_wish *wish,
			    const struct snapshot **ret_snapshot, sd_bus_error *error)
{
	const struct snapshot *s = NULL;
	int r;

	r = current_snapshot(m, wish, &s, error);
	if (r < 0)
		return r;
	if (!s->counting && !s->sampling)
		return sd_bus_error_set(error, PIPEWATCH_ERROR_NOT_MEASURED, s->counting_reason);
	*ret_snapshot = s;
	return 0;
}

/* Properties. One cannot be absent: a figure that was not measured is NaN or the highest number. */

static int append_paths(sd_bus_message *reply, const struct snapshot *s)
{
	int r;

	r = sd_bus_message_open_container(reply, 'a', "(ssss)");
	for (enum pipe_kind pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (enum update_kind kind = 0; kind < UPDATE_KINDS && r >= 0; kind++)
			r = sd_bus_message_append(reply, "(ssss)", pipe_kind_name(pipe),
						  update_kind_name(kind),
						  path_state_name(s->paths[pipe][kind].state),
						  s->paths[pipe][kind].reason);
	if (r < 0)
		return r;
	return sd_bus_message_close_container(reply);
}

static int append_programs(sd_bus_message *reply, const struct snapshot *s)
{
	int r;

	r = sd_bus_message_open_container(reply, 'a', "(ssbs)");
	for (size_t i = 0; i < s->n_programs && r >= 0; i++)
		r = sd_bus_message_append(reply, "(ssbs)", s->programs[i].program,
					  s->programs[i].hook, s->programs[i].attached,
					  s->programs[i].reason);
	if (r < 0)
		return r;
	return sd_bus_message_close_container(reply);
}

/* What is not known has no row: see Describe() for the reason. */
static int append_unit_cost(sd_bus_message *reply, enum pipe_kind pipe, enum update_kind kind,
			    const char *stage, const struct cost_figure *figure,
			    enum cost_agreement agreement)
{
	if (!figure->known)
		return 0;
	return sd_bus_message_append(reply, "(sssdds)", pipe_kind_name(pipe),
				     update_kind_name(kind), stage, figure->seconds,
				     figure->error_seconds, cost_agreement_name(agreement));
}

static int append_unit_costs(sd_bus_message *reply, const struct snapshot *s)
{
	int r;

	r = sd_bus_message_open_container(reply, 'a', "(sssdds)");
	for (enum pipe_kind pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (enum update_kind kind = 0; kind < UPDATE_KINDS && r >= 0; kind++) {
			const struct cost_estimate *e = &s->unit_costs[pipe][kind];

			r = append_unit_cost(reply, pipe, kind, "whole", &e->whole, e->agreement);
			if (!e->whole.known || e->undivided)
				continue;
			for (enum cost_stage stage = 0; stage < COST_STAGES && r >= 0; stage++)
				r = append_unit_cost(reply, pipe, kind, cost_stage_name(stage),
						     &e->stages[stage], e->agreement);
		}
	if (r < 0)
		return r;
	return sd_bus_message_close_container(reply);
}

static int append_watchers(sd_bus_message *reply, const struct snapshot *s)
{
	int r;

	r = sd_bus_message_open_container(reply, 'a', "(usu)");
	for (size_t i = 0; i < s->n_watchers && r >= 0; i++)
		r = sd_bus_message_append(reply, "(usu)", s->watchers[i].pid, s->watchers[i].comm,
					  s->watchers[i].watches);
	if (r < 0)
		return r;
	return sd_bus_message_close_container(reply);
}

static int append_text(sd_bus_message *reply, const struct snapshot *s, const char *property)
{
	_cleanup_(freep) char *text = NULL;

	text = bus_states_text(s, property);
	if (!text)
		return -ENOMEM;
	return sd_bus_message_append(reply, "s", text);
}

static int property_get(sd_bus *bus, const char *path, const char *interface, const char *property,
			sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	struct bus_manager *m = userdata;
	const struct snapshot *s = m->telling;
	int r;

	(void)bus, (void)path, (void)interface;
	if (!s) {
		r = current_snapshot(m, &wish_none, &s, error);
		if (r < 0)
			return r;
	}

	if (!strcmp(property, "Paths"))
		return append_paths(reply, s);
	if (!strcmp(property, "Programs"))
		return append_programs(reply, s);
	if (!strcmp(property, "LostUpdates"))
		return sd_bus_message_append(reply, "t",
					     s->counting ? snapshot_lost(s) : UINT64_MAX);
	if (!strcmp(property, "TrackedProcesses"))
		return sd_bus_message_append(reply, "u",
					     s->counting ? s->tracked_processes : UINT32_MAX);
	if (!strcmp(property, "StartTime"))
		return sd_bus_message_append(reply, "t", s->start_time_usec);
	if (!strcmp(property, "Counting"))
		return sd_bus_message_append(reply, "b", s->counting);
	if (!strcmp(property, "Budget"))
		return sd_bus_message_append(reply, "d", s->budget_ratio);
	if (!strcmp(property, "Coverage"))
		return sd_bus_message_append(reply, "d",
					     s->counting ? s->coverage_ratio : (double)NAN);
	if (!strcmp(property, "Estimated"))
		return sd_bus_message_append(reply, "b", s->estimated);
	if (!strcmp(property, "ObserverOverhead"))
		return sd_bus_message_append(
			reply, "d",
			s->observer.overhead.known ? s->observer.overhead.seconds : (double)NAN);
	if (!strcmp(property, "UnitCosts"))
		return append_unit_costs(reply, s);
	if (!strcmp(property, "Watchers"))
		return append_watchers(reply, s);
	return append_text(reply, s, property);
}

/* Methods */

/* Begins the reply to @call, of @bytes at most, if there is room for it. Returns 0, or -errno with
 * @error filled. */
static int reply_begin(struct bus_manager *m, sd_bus_message *call, size_t bytes,
		       sd_bus_message **ret_reply, sd_bus_error *error)
{
	uint64_t n_queued;
	int r;

	if (bytes > REPLY_MAX_BYTES)
		return sd_bus_error_setf(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
					 "The reply would take %zu bytes, and %zu are allowed.",
					 bytes, REPLY_MAX_BYTES);
	r = sd_bus_get_n_queued_write(sd_bus_message_get_bus(call), &n_queued);
	if (r < 0)
		return r;
	if (!n_queued)
		m->waiting_bytes = 0;
	if (bytes > REPLIES_MAX_BYTES - m->waiting_bytes)
		return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
					"Too many earlier replies still wait for their receivers.");
	r = sd_bus_message_new_method_return(call, ret_reply);
	if (r < 0)
		return r;
	m->waiting_bytes += bytes;
	return 0;
}

/* How many rows @call asks for at most. */
static int call_read_limit(sd_bus_message *call, size_t *ret_limit)
{
	uint32_t limit;
	int r;

	r = sd_bus_message_read(call, "u", &limit);
	if (r >= 0)
		*ret_limit = limit ?: SIZE_MAX;
	return r;
}

/*
 * Begins the reply with a list of the first @limit of @n_rows rows: their number is *ret_n. A list
 * that does not fit is an error that names what does: a list cut short would look whole.
 */
static int reply_begin_list(struct bus_manager *m, sd_bus_message *call, const struct snapshot *s,
			    size_t limit, size_t n_rows,
			    size_t (*row_bytes)(const struct snapshot *s, size_t i),
			    sd_bus_message **ret_reply, size_t *ret_n, sd_bus_error *error)
{
	size_t bytes = 0;
	int r;

	if (limit < n_rows)
		n_rows = limit;
	for (size_t i = 0; i < n_rows; i++) {
		bytes += row_bytes(s, i);
		if (bytes > REPLY_MAX_BYTES)
			return sd_bus_error_setf(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
						 "%zu entries do not fit into a message; "
						 "ask for at most %zu.",
						 n_rows, i);
	}
	r = reply_begin(m, call, bytes, ret_reply, error);
	if (r < 0)
		return r;
	*ret_n = n_rows;
	return 0;
}

static int method_list_processes(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	struct bus_manager *m = userdata;
	const struct snapshot *s = NULL;
	struct snapshot_wish wish = {};
	size_t n = 0;
	int r;

	r = call_read_limit(call, &wish.n_processes);
	if (r >= 0)
		r = figures_snapshot(m, &wish, &s, error);
	if (r >= 0)
		r = reply_begin_list(m, call, s, wish.n_processes, s->n_processes,
				     bus_row_process_bytes, &reply, &n, error);
	if (r >= 0)
		r = sd_bus_message_open_container(reply, 'a', BUS_ROW_PROCESS);
	for (size_t i = 0; i < n && r >= 0; i++)
		r = bus_row_append_process(reply, s, &s->processes[i], false);
	if (r >= 0)
		r = sd_bus_message_close_container(reply);
	if (r < 0)
		return r;
	return sd_bus_message_send(reply);
}

static int method_list_groups(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	struct bus_manager *m = userdata;
	const struct snapshot *s = NULL;
	size_t limit = 0, n = 0;
	int r;

	r = call_read_limit(call, &limit);
	if (r >= 0)
		r = figures_snapshot(m, &wish_none, &s, error);
	if (r >= 0)
		r = reply_begin_list(m, call, s, limit, s->n_groups, bus_row_group_bytes, &reply,
				     &n, error);
	if (r >= 0)
		r = sd_bus_message_open_container(reply, 'a', BUS_ROW_GROUP);
	for (size_t i = 0; i < n && r >= 0; i++)
		r = bus_row_append_group(reply, s, &s->groups[i]);
	if (r >= 0)
		r = sd_bus_message_close_container(reply);
	if (r < 0)
		return r;
	return sd_bus_message_send(reply);
}

static int method_get_process(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	struct bus_manager *m = userdata;
	const struct snapshot_process *process;
	const struct snapshot *s = NULL;
	uint32_t pid;
	size_t bytes;
	int r;

	r = sd_bus_message_read(call, "u", &pid);
	if (r >= 0)
		r = figures_snapshot(m, &(struct snapshot_wish){ .pid = pid }, &s, error);
	if (r < 0)
		return r;
	process = snapshot_find_process(s, pid);
	if (!process)
		return sd_bus_error_setf(error, PIPEWATCH_ERROR_NO_SUCH_PROCESS,
					 "Process %" PRIu32 " is not known: it has not used a pipe "
					 "since counting began, or it ended more than %d seconds "
					 "ago, or it never was.",
					 pid, SNAPSHOT_EXITED_SEC);

	bytes = bus_row_process_bytes(s, (size_t)(process - s->processes)) + bus_row_sizes_bytes();
	r = reply_begin(m, call, bytes, &reply, error);
	if (r >= 0)
		r = bus_row_append_process(reply, s, process, true);
	if (r < 0)
		return r;
	return sd_bus_message_send(reply);
}

static int method_get_remedies(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	_cleanup_(freep) struct bus_remedy *remedies = NULL;
	struct bus_manager *m = userdata;
	const struct snapshot *s = NULL;
	size_t bytes = 0, n = 0;
	int r;

	r = figures_snapshot(m, &wish_all, &s, error);
	if (r >= 0)
		r = bus_remedies_new(s, &remedies, &n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		bytes += bus_remedy_bytes(&remedies[i]);
	r = reply_begin(m, call, bytes, &reply, error);
	if (r >= 0)
		r = bus_remedies_append(reply, s, remedies, n);
	if (r < 0)
		return r;
	return sd_bus_message_send(reply);
}

static int reply_text(struct bus_manager *m, sd_bus_message *call, const char *text,
		      sd_bus_error *error)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	int r;

	r = reply_begin(m, call, strlen(text), &reply, error);
	if (r >= 0)
		r = sd_bus_message_append(reply, "s", text);
	if (r < 0)
		return r;
	return sd_bus_message_send(reply);
}

static int write_metrics(const struct snapshot *s, char **ret_text)
{
	struct exposition_self self;
	struct text text;
	int r;

	r = text_open(&text);
	if (r < 0)
		return r;
	exposition_self_read(&self);
	/* That it failed shows at the end, too. */
	exposition_write(s, &self, EXPOSITION_TEXT, text.stream);
	return text_close(&text, ret_text, NULL);
}

static int method_get_metrics(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	_cleanup_(freep) char *text = NULL;
	struct bus_manager *m = userdata;
	const struct snapshot *s = NULL;
	int r;

	r = current_snapshot(m, &wish_none, &s, error);
	if (r >= 0)
		r = write_metrics(s, &text);
	if (r < 0)
		return r;
	return reply_text(m, call, text, error);
}

static int method_describe(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	_cleanup_(freep) char *json = NULL;
	struct bus_manager *m = userdata;
	const struct snapshot *s = NULL;
	int r;

	r = current_snapshot(m, &wish_all, &s, error);
	if (r >= 0)
		r = describe_json(s, &json);
	if (r < 0)
		return r;
	return reply_text(m, call, json, error);
}

#define CONSTANT(name, type) \
	SD_BUS_PROPERTY(name, type, property_get, 0, SD_BUS_VTABLE_PROPERTY_CONST)
#define STATE(name, type) \
	SD_BUS_PROPERTY(name, type, property_get, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE)
#define FIGURE(name, type) SD_BUS_PROPERTY(name, type, property_get, 0, 0)

static const sd_bus_vtable vtable[] = {
	SD_BUS_VTABLE_START(0),

	CONSTANT("Version", "s"),
	CONSTANT("KernelRelease", "s"),
	CONSTANT("StartTime", "t"),
	STATE("State", "s"),
	STATE("StateReason", "s"),
	STATE("AnonymousTimestamps", "s"),
	STATE("AnonymousTimestampsReason", "s"),
	STATE("Paths", "a(ssss)"),
	STATE("Programs", "a(ssbs)"),
	STATE("Mode", "s"),
	STATE("ModeReason", "s"),
	STATE("ConfiguredMode", "s"),
	STATE("Counting", "b"),
	STATE("CountingReason", "s"),
	FIGURE("Coverage", "d"),
	STATE("CoverageReason", "s"),
	STATE("Estimated", "b"),
	FIGURE("Budget", "d"),
	FIGURE("ObserverOverhead", "d"),
	STATE("ObserverOverheadReason", "s"),
	FIGURE("UnitCosts", "a(sssdds)"),
	FIGURE("Watchers", "a(usu)"),
	STATE("WatchersReason", "s"),
	FIGURE("TrackedProcesses", "u"),
	FIGURE("LostUpdates", "t"),

	SD_BUS_METHOD_WITH_ARGS("ListProcesses", SD_BUS_ARGS("u", limit),
				SD_BUS_RESULT("a" BUS_ROW_PROCESS, processes),
				method_list_processes, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD_WITH_ARGS("GetProcess", SD_BUS_ARGS("u", pid),
				SD_BUS_RESULT(BUS_ROW_PROCESS, process), method_get_process,
				SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD_WITH_ARGS("ListGroups", SD_BUS_ARGS("u", limit),
				SD_BUS_RESULT("a" BUS_ROW_GROUP, groups), method_list_groups,
				SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD_WITH_ARGS("GetRemedies", SD_BUS_NO_ARGS,
				SD_BUS_RESULT("a" BUS_REMEDY, remedies), method_get_remedies,
				SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD_WITH_ARGS("GetMetrics", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", text),
				method_get_metrics, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD_WITH_ARGS("Describe", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", json),
				method_describe, SD_BUS_VTABLE_UNPRIVILEGED),

	SD_BUS_VTABLE_END,
};

int bus_manager_new(snapshot_get_fn get, void *userdata, struct bus_manager **ret_manager)
{
	struct bus_manager *m;

	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->get = get;
	m->userdata = userdata;
	*ret_manager = m;
	return 0;
}

struct bus_manager *bus_manager_free(struct bus_manager *m)
{
	if (!m)
		return NULL;
	bus_manager_forget(m);
	bus_states_free(m->known_states);
	free(m);
	return NULL;
}

int bus_manager_export(struct bus_manager *m, sd_bus *bus)
{
	m->waiting_bytes = 0;
	m->known_states = bus_states_free(m->known_states);
	return sd_bus_add_object_vtable(bus, NULL, PIPEWATCH_BUS_PATH, PIPEWATCH_BUS_INTERFACE,
					vtable, m);
}

void bus_manager_forget(struct bus_manager *m)
{
	m->current = snapshot_unref(m->current);
}

int bus_manager_tell_states(struct bus_manager *m, sd_bus *bus, const struct snapshot *s)
{
	_cleanup_(bus_states_freep) struct bus_states *states = NULL;
	const char *names[BUS_STATES_MAX + 1];
	size_t n;
	int r;

	r = bus_states_new(s, &states);
	if (r < 0)
		return r;
	if (!m->known_states) {
		/* Nothing has changed for anybody yet; from here on it does, also for who only
		 * listens. */
		m->known_states = states;
		states = NULL;
		return 0;
	}
	n = bus_states_diff(m->known_states, states, names);
	if (!n)
		return 0;

	m->telling = s;
	r = sd_bus_emit_properties_changed_strv(bus, PIPEWATCH_BUS_PATH, PIPEWATCH_BUS_INTERFACE,
						(char **)names);
	m->telling = NULL;
	if (r < 0)
		return r;
	bus_states_free(m->known_states);
	m->known_states = states;
	states = NULL;
	return (int)n;
}
