// SPDX-License-Identifier: GPL-2.0-or-later
/* A snapshot of the input's making as JSON: json-c reads it back, with the same names and numbers.
 */
#include "describe.h"

#include <json-c/json.h>

#include "fuzz.h"
#include "fuzz-snapshot.h"

static struct json_object *get(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	FUZZ_CHECK(json_object_object_get_ex(object, key, &value));
	return value;
}

static void check_string(struct json_object *object, const char *key, const char *wanted)
{
	struct json_object *value = get(object, key);

	FUZZ_CHECK(json_object_is_type(value, json_type_string));
	FUZZ_CHECK(strcmp(json_object_get_string(value), wanted) == 0);
	FUZZ_CHECK((size_t)json_object_get_string_len(value) == strlen(wanted));
}

static void check_u64(struct json_object *object, const char *key, uint64_t wanted)
{
	struct json_object *value = get(object, key);

	FUZZ_CHECK(json_object_is_type(value, json_type_int));
	FUZZ_CHECK(json_object_get_uint64(value) == wanted);
}

/* A kind of pipe without operations is left out. */
static void check_counts(const struct snapshot *s, struct json_object *object,
			 const struct pipe_counts counts[PIPE_KINDS])
{
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		const struct pipe_counts *c = &counts[pipe];
		struct json_object *there = NULL;

		if (c->reads + c->writes == 0) {
			FUZZ_CHECK(!json_object_object_get_ex(object, pipe_kind_name(pipe), NULL));
			continue;
		}
		there = get(object, pipe_kind_name(pipe));
		FUZZ_CHECK(json_object_object_get_ex(there, "reads", NULL) == !s->reads_missing);
		FUZZ_CHECK(json_object_object_get_ex(there, "writes", NULL) == !s->writes_missing);
		if (!s->reads_missing) {
			check_u64(there, "reads", c->reads);
			check_u64(there, "read_bytes", c->read_bytes);
			check_u64(there, "noatime_reads", c->noatime_reads);
		}
		if (!s->writes_missing) {
			check_u64(there, "writes", c->writes);
			check_u64(there, "written_bytes", c->written_bytes);
		}
	}
}

static void check_counted(const struct snapshot *s, struct json_object *root)
{
	struct json_object *list = get(root, "groups");

	FUZZ_CHECK(json_object_array_length(list) == s->n_groups);
	for (size_t i = 0; i < s->n_groups; i++) {
		struct json_object *group = json_object_array_get_idx(list, i);

		check_string(group, "unit", s->groups[i].unit);
		check_string(group, "comm", s->groups[i].comm);
		check_counts(s, group, s->groups[i].counts);
	}
	list = get(root, "processes");
	FUZZ_CHECK(json_object_array_length(list) == s->n_processes);
	for (size_t i = 0; i < s->n_processes; i++) {
		struct json_object *process = json_object_array_get_idx(list, i);

		check_u64(process, "pid", s->processes[i].pid);
		check_u64(process, "start_time_usec", s->processes[i].start_time_usec);
		check_string(process, "comm", s->processes[i].comm);
		check_string(process, "unit", s->processes[i].unit);
		check_counts(s, process, s->processes[i].counts);
	}
	list = get(root, "losses");
	FUZZ_CHECK(json_object_array_length(list) == s->n_losses);
	for (size_t i = 0; i < s->n_losses; i++) {
		check_string(json_object_array_get_idx(list, i), "reason", s->losses[i].reason);
		check_u64(json_object_array_get_idx(list, i), "updates", s->losses[i].updates);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	_cleanup_(snapshot_unrefp) struct snapshot *s = fuzz_snapshot(&in);
	_cleanup_(freep) char *text = NULL;
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *root;

	FUZZ_CHECK(tokener && describe_json(s, &text) == 0);
	FUZZ_CHECK(fuzz_is_utf8(text));
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	root = json_tokener_parse_ex(tokener, text, strlen(text) + 1);
	FUZZ_CHECK(root && json_tokener_get_error(tokener) == json_tokener_success);
	json_tokener_free(tokener);

	check_string(root, "version", s->version);
	check_string(root, "state_reason", s->state_reason);
	check_u64(root, "start_time_usec", s->start_time_usec);
	check_string(get(root, "kernel"), "release", s->kernel_release);
	FUZZ_CHECK(json_object_get_boolean(get(root, "counting")) == s->counting);
	FUZZ_CHECK(json_object_get_boolean(get(root, "sampling")) == s->sampling);
	FUZZ_CHECK(json_object_object_get_ex(root, "losses", NULL) == s->counting);
	FUZZ_CHECK(json_object_object_get_ex(root, "groups", NULL) == (s->counting || s->sampling));
	if (s->counting)
		check_counted(s, root);
	else
		check_string(root, "counting_reason", s->counting_reason);
	if (!s->sampling)
		check_string(root, "sampling_reason", s->sampling_reason);
	json_object_put(root);
	return 0;
}
