// SPDX-License-Identifier: GPL-2.0-or-later
#include "model.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "pipewatch/clock.h"
#include "pipewatch/util.h"
#include "row.h"
#include "text.h"

const char *const model_pipe_names[MODEL_PIPES] = { "anonymous", "fifo" };
const char *const model_kind_names[MODEL_KINDS] = { "atime", "cmtime", "fsnotify" };
const char *const model_remedy_names[MODEL_REMEDIES] = { "kernel", "noatime", "unwatch", "batch" };
const char *const model_part_names[MODEL_PARTS] = { "programs", "bursts", "sampling", "daemon" };
const char *const model_mode_names[MODEL_MODES] = { "exact", "burst", "profile" };

/* Keeps a safe string for as long as the model. */
struct model_string {
	struct model_string *next;
	char text[];
};

struct reader {
	struct model *m;
	bool utf8;
	bool no_memory;
};

static struct json_object *get(struct json_object *object, const char *key, enum json_type type)
{
	struct json_object *value;

	if (!json_object_is_type(object, json_type_object) ||
	    !json_object_object_get_ex(object, key, &value) || !json_object_is_type(value, type))
		return NULL;
	return value;
}

static const char *keep(struct reader *r, const char *bytes, size_t length)
{
	struct model_string *string;
	size_t size = length * TEXT_SAFE_FACTOR + 1;

	string = malloc(sizeof(*string) + size);
	if (!string) {
		r->no_memory = true;
		return "";
	}
	text_safe(bytes, r->utf8, string->text, size);
	string->next = r->m->strings;
	r->m->strings = string;
	return string->text;
}

/* "" where there is none. A NUL inside ends it. */
static const char *get_string(struct reader *r, struct json_object *object, const char *key)
{
	struct json_object *value = get(object, key, json_type_string);
	const char *bytes;

	if (!value)
		return "";
	bytes = json_object_get_string(value);
	return *bytes ? keep(r, bytes, strlen(bytes)) : "";
}

static bool get_bool(struct json_object *object, const char *key)
{
	return json_object_get_boolean(get(object, key, json_type_boolean));
}

static struct count get_count(struct json_object *object, const char *key)
{
	struct json_object *value = get(object, key, json_type_int);

	/* One below zero counts nothing that there is. */
	if (!value || (json_object_get_int64(value) < 0))
		return (struct count){};
	return (struct count){ true, json_object_get_uint64(value) };
}

/* 0 where there is none, or none that can be. */
static uint32_t get_pid(struct json_object *object)
{
	uint64_t pid = get_count(object, "pid").value;

	return pid <= UINT32_MAX ? (uint32_t)pid : 0;
}

static struct amount get_amount(struct json_object *object, const char *key)
{
	struct json_object *value = get(object, key, json_type_double);
	double number;

	if (!value)
		value = get(object, key, json_type_int);
	if (!value)
		return (struct amount){};
	number = json_object_get_double(value);
	if (!isfinite(number) || number < 0)
		return (struct amount){};
	return (struct amount){ true, number };
}

static void read_pipe(struct json_object *object, struct model_pipe *p)
{
	p->reads = get_count(object, "reads");
	p->writes = get_count(object, "writes");
	p->read_bytes = get_count(object, "read_bytes");
	p->written_bytes = get_count(object, "written_bytes");
	p->noatime_reads = get_count(object, "noatime_reads");
	p->updates[MODEL_ATIME] = get_count(object, "atime_updates");
	p->updates[MODEL_CMTIME] = get_count(object, "cmtime_updates");
	p->cost[MODEL_ATIME] = get_amount(object, "atime_cpu_seconds");
	p->cost[MODEL_CMTIME] = get_amount(object, "cmtime_cpu_seconds");
	p->cost[MODEL_FSNOTIFY] = get_amount(object, "fsnotify_cpu_seconds");
	p->reads_error = get_amount(object, "reads_standard_error");
	p->writes_error = get_amount(object, "writes_standard_error");
}

static void read_savings(struct json_object *object, struct amount savings[MODEL_REMEDIES])
{
	struct json_object *remedies = get(object, "remedies", json_type_object);

	for (int i = 0; i < MODEL_REMEDIES; i++)
		savings[i] = get_amount(remedies, model_remedy_names[i]);
}

static void read_row(struct reader *r, struct json_object *object, struct model_row *row)
{
	struct json_object *sampled = get(object, "sampled_cpu_seconds", json_type_object);

	row->json = object;
	row->pid = get_pid(object);
	row->start_time_usec = get_count(object, "start_time_usec").value;
	row->processes = get_count(object, "processes").value;
	row->comm = get_string(r, object, "comm");
	row->unit = get_string(r, object, "unit");
	row->exited = get_bool(object, "exited");
	row->pipe_cpu_seconds = get_amount(object, "pipe_cpu_seconds");
	row->cpu_seconds = get_amount(object, "cpu_seconds");
	row->cpu_share = get_amount(object, "metadata_cpu_share");
	for (int p = 0; p < MODEL_PIPES; p++)
		read_pipe(get(object, model_pipe_names[p], json_type_object), &row->pipes[p]);
	for (int k = 0; k < MODEL_KINDS; k++)
		row->sampled[k] = get_amount(sampled, model_kind_names[k]);
	read_savings(object, row->savings);
}

static struct model_row *read_rows(struct reader *r, const char *key, size_t *ret_n)
{
	struct json_object *array = get(r->m->json, key, json_type_array);
	size_t n = array ? json_object_array_length(array) : 0;
	struct model_row *rows;

	rows = calloc(n + 1, sizeof(*rows));
	if (!rows) {
		r->no_memory = true;
		return NULL;
	}
	/* What is not an object is no row. */
	for (size_t i = 0; i < n; i++) {
		struct json_object *row = json_object_array_get_idx(array, i);

		if (json_object_is_type(row, json_type_object))
			read_row(r, row, &rows[(*ret_n)++]);
	}
	return rows;
}

static void read_verdict(struct reader *r)
{
	struct model *m = r->m;
	struct json_object *paths = get(m->json, "paths", json_type_object);
	struct json_object *costs = get(m->json, "unit_costs", json_type_object);

	for (int p = 0; p < MODEL_PIPES; p++) {
		struct json_object *of_paths = get(paths, model_pipe_names[p], json_type_object);
		struct json_object *of_costs = get(costs, model_pipe_names[p], json_type_object);

		for (int k = 0; k < MODEL_KINDS; k++) {
			struct json_object *path = get(of_paths, model_kind_names[k],
						       json_type_object);
			struct json_object *cost = get(of_costs, model_kind_names[k],
						       json_type_object);
			struct json_object *whole = get(cost, "whole", json_type_object);

			m->paths[p][k].state = path ? get_string(r, path, "state") : "unknown";
			m->paths[p][k].reason = get_string(r, path, "reason");
			m->costs[p][k].seconds = get_amount(whole, "seconds");
			m->costs[p][k].error_seconds = get_amount(whole, "error_seconds").value;
			m->costs[p][k].reason = get_string(r, whole, "reason");
			m->costs[p][k].agreement = get_string(r, cost, "agreement");
		}
	}
}

static void read_own_cost(struct reader *r)
{
	struct model *m = r->m;
	struct json_object *own = get(m->json, "own_cost", json_type_object);
	struct json_object *parts = get(own, "cpu_seconds", json_type_object);
	struct json_object *predicted = get(m->json, "predicted_cpu_ratio", json_type_object);

	m->own_known = own != NULL;
	for (int i = 0; i < MODEL_PARTS; i++)
		m->own[i] = get_amount(parts, model_part_names[i]);
	m->overhead = get_amount(own, "overhead_ratio");
	m->overhead_reason = get_string(r, own, "overhead_reason");
	if (!own)
		m->overhead_reason = get_string(r, m->json, "observer_overhead_reason");
	m->budget = get_amount(m->json, "budget_ratio");
	m->allowed = get_amount(m->json, "allowed_cpu_ratio");
	for (int i = 0; i < MODEL_MODES; i++)
		m->predicted[i] = get_amount(predicted, model_mode_names[i]);
	m->coverage = get_amount(m->json, "coverage_ratio");
	m->coverage_reason = get_string(r, m->json, "coverage_reason");
	m->estimated = get_bool(m->json, "estimated");
	m->unseen = get_amount(m->json, "unseen_operations_max");
}

static void read_daemon(struct reader *r)
{
	struct model *m = r->m;
	struct json_object *kernel = get(m->json, "kernel", json_type_object);

	m->version = get_string(r, m->json, "version");
	m->release = get_string(r, kernel, "release");
	m->machine = get_string(r, kernel, "machine");
	m->state = get_string(r, m->json, "state");
	m->state_reason = get_string(r, m->json, "state_reason");
	m->mode = get_string(r, m->json, "mode");
	m->configured_mode = get_string(r, m->json, "configured_mode");
	m->mode_reason = get_string(r, m->json, "mode_reason");
	m->sampling = get_bool(m->json, "sampling");
	m->sampling_reason = get_string(r, m->json, "sampling_reason");
	m->counting = get_bool(m->json, "counting");
	m->counting_reason = get_string(r, m->json, "counting_reason");
	m->listed = get(m->json, "groups", json_type_array) != NULL;
	m->tracked = get_count(m->json, "tracked_processes");
	m->lost = get_count(m->json, "lost_updates");
	m->unattributed = get_count(m->json, "unattributed_operations");
	m->omitted = get_count(m->json, "processes_omitted").value;
}

/* The daemon's clock where it tells it; an older one is asked about now. */
static void read_time(struct reader *r)
{
	struct model *m = r->m;
	struct count now = get_count(m->json, "now_usec");
	struct amount measured = get_amount(m->json, "measured_seconds");

	m->start_time_usec = get_count(m->json, "start_time_usec").value;
	m->now_usec = now.known ? now.value : clock_usec(CLOCK_REALTIME);
	if (measured.known)
		m->seconds = measured.value;
	else if (m->start_time_usec > 0 && m->now_usec > m->start_time_usec)
		m->seconds = (double)(m->now_usec - m->start_time_usec) / 1e6;
}

static void read_missing(struct reader *r)
{
	struct model *m = r->m;
	struct json_object *array = get(m->json, "programs", json_type_array);
	size_t n = array ? json_object_array_length(array) : 0;

	m->missing = calloc(n + 1, sizeof(*m->missing));
	if (!m->missing) {
		r->no_memory = true;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct json_object *program = json_object_array_get_idx(array, i);

		if (!get(program, "attached", json_type_boolean) || get_bool(program, "attached"))
			continue;
		m->missing[m->n_missing++] = (struct model_program){
			.program = get_string(r, program, "program"),
			.hook = get_string(r, program, "hook"),
			.reason = get_string(r, program, "reason"),
		};
	}
}

static void read_watchers(struct reader *r)
{
	struct model *m = r->m;
	struct json_object *array = get(m->json, "watchers", json_type_array);
	size_t n = array ? json_object_array_length(array) : 0;

	m->watchers_reason = get_string(r, m->json, "watchers_reason");
	m->watchers = calloc(n + 1, sizeof(*m->watchers));
	if (!m->watchers) {
		r->no_memory = true;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct json_object *watcher = json_object_array_get_idx(array, i);

		if (!json_object_is_type(watcher, json_type_object))
			continue;
		m->watchers[m->n_watchers++] = (struct model_watcher){
			.pid = get_pid(watcher),
			.comm = get_string(r, watcher, "comm"),
			.watches = get_count(watcher, "watches").value,
		};
	}
}

/* Everybody's: what the totals do not say, the groups sum up to. */
static void read_host(struct reader *r)
{
	struct model *m = r->m;
	struct json_object *totals = get(m->json, "totals", json_type_object);
	struct model_row sum = {};

	for (size_t i = 0; i < m->n_groups; i++)
		row_add(&sum, &m->groups[i]);
	m->host.comm = m->host.unit = "";
	for (int p = 0; p < MODEL_PIPES; p++) {
		read_pipe(get(totals, model_pipe_names[p], json_type_object), &m->host.pipes[p]);
		for (int k = 0; k < MODEL_KINDS; k++)
			if (!m->host.pipes[p].cost[k].known)
				m->host.pipes[p].cost[k] = sum.pipes[p].cost[k];
	}
	m->host.pipe_cpu_seconds = sum.pipe_cpu_seconds;
	memcpy(m->host.sampled, sum.sampled, sizeof(sum.sampled));
	read_savings(m->json, m->host.savings);
	m->remedies_known = get(m->json, "remedies", json_type_object) != NULL;
}

static int parse(const char *text, struct json_object **ret_json)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *json;
	size_t length = strlen(text), end;
	int r = 0;

	if (!tokener)
		return -ENOMEM;
	json = length < INT32_MAX ? json_tokener_parse_ex(tokener, text, (int)length + 1) : NULL;
	/* Nothing but blanks follows, and every pipewatchd names its version. */
	end = json_tokener_get_parse_end(tokener);
	if (!json || text[end + strspn(text + end, " \n")] ||
	    !get(json, "version", json_type_string))
		r = -EBADMSG;
	json_tokener_free(tokener);
	if (r < 0)
		json_object_put(json);
	else
		*ret_json = json;
	return r;
}

int model_parse(const char *text, bool utf8, struct model **ret_model)
{
	_cleanup_(model_freep) struct model *m = calloc(1, sizeof(*m));
	struct reader r = { .m = m, .utf8 = utf8 };
	int error;

	if (!m)
		return -ENOMEM;
	error = parse(text, &m->json);
	if (error < 0)
		return error;

	read_daemon(&r);
	read_time(&r);
	read_verdict(&r);
	read_own_cost(&r);
	read_missing(&r);
	read_watchers(&r);
	m->groups = read_rows(&r, "groups", &m->n_groups);
	m->processes = read_rows(&r, "processes", &m->n_processes);
	read_host(&r);
	if (r.no_memory)
		return -ENOMEM;

	*ret_model = m;
	m = NULL;
	return 0;
}

struct model *model_free(struct model *m)
{
	if (!m)
		return NULL;
	while (m->strings) {
		struct model_string *next = m->strings->next;

		free(m->strings);
		m->strings = next;
	}
	free(m->missing);
	free(m->watchers);
	free(m->groups);
	free(m->processes);
	json_object_put(m->json);
	free(m);
	return NULL;
}
