// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The Prometheus text: as it is into a file or a pipe, made harmless on a terminal, or as JSON:
 *   {"metrics": [{name, type, help, samples: [{name, labels: {}, value}]}]}
 */
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <string.h>

#include "pipewatch/util.h"
#include "tree.h"
#include "text.h"
#include "verb.h"

struct reader {
	struct tree json;
	struct json_object *families; /* array */
	struct json_object *samples;  /* of the last family */
};

static void open_family(struct reader *r, const char *name, const char *help)
{
	struct json_object *family = tree_object(&r->json, r->families, NULL);

	tree_string(&r->json, family, "name", name);
	if (help)
		tree_string(&r->json, family, "help", help);
	r->samples = tree_array(&r->json, family, "samples");
}

/* "# HELP NAME TEXT" begins a family, "# TYPE NAME WORD" is about the last one. */
static void read_comment(struct reader *r, char *line)
{
	struct json_object *last;
	size_t n = json_object_array_length(r->families);
	char *name, *rest;

	if (strncmp(line, "# HELP ", 7) != 0 && strncmp(line, "# TYPE ", 7) != 0)
		return;
	name = line + 7;
	rest = strchr(name, ' ');
	if (!rest)
		return;
	*rest++ = 0;
	if (line[2] == 'H') {
		open_family(r, name, rest);
		return;
	}
	last = n > 0 ? json_object_array_get_idx(r->families, n - 1) : NULL;
	if (!last || strcmp(json_object_get_string(json_object_object_get(last, "name")), name)) {
		open_family(r, name, NULL);
		last = json_object_array_get_idx(r->families,
						 json_object_array_length(r->families) - 1);
	}
	tree_string(&r->json, last, "type", rest);
}

/*
 * Reads name="value",... up to the closing brace, and returns what follows it; NULL when it is
 * broken. Takes the escapes out in place.
 */
static char *read_labels(struct reader *r, char *at, struct json_object *labels)
{
	while (*at != '}') {
		char *name = at, *value, *to;

		at = strchr(at, '=');
		if (!at || at[1] != '"')
			return NULL;
		*at = 0;
		value = to = at + 2;
		for (at = value; *at && *at != '"'; at++) {
			if (*at == '\\' && at[1])
				*to++ = *++at == 'n' ? '\n' : *at;
			else
				*to++ = *at;
		}
		if (!*at)
			return NULL;
		*to = 0;
		tree_string(&r->json, labels, name, value);
		at++;
		if (*at == ',')
			at++;
		else if (*at != '}')
			return NULL;
	}
	return at + 1;
}

static int read_sample(struct reader *r, char *line)
{
	struct json_object *sample, *labels;
	size_t length = strcspn(line, "{ ");
	char *at = line + length, *end;
	char after = *at;
	double value;

	if (length == 0 || !after)
		return -EBADMSG;
	if (!r->samples)
		open_family(r, strndupa(line, length < 200 ? length : 200), NULL);
	sample = tree_object(&r->json, r->samples, NULL);
	*at++ = 0;
	tree_string(&r->json, sample, "name", line);
	labels = tree_object(&r->json, sample, "labels");
	if (after == '{') {
		at = read_labels(r, at, labels);
		if (!at || *at++ != ' ')
			return -EBADMSG;
	}
	value = strtod(at, &end);
	if (end == at || (*end && *end != ' '))
		return -EBADMSG;
	*end = 0;
	/* JSON has no infinities; a word stands for them. */
	if (isfinite(value))
		tree_add(&r->json, sample, "value", json_object_new_double_s(value, at));
	else
		tree_string(&r->json, sample, "value", at);
	return 0;
}

static int print_json(char *text, const struct output *o, struct failure *f)
{
	struct reader r = { .json = tree_begin() };
	char *rest = NULL;
	int error = 0;

	r.families = tree_array(&r.json, r.json.root, "metrics");
	for (char *line = strtok_r(text, "\n", &rest); line && error == 0 && !r.json.failed;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (*line == '#')
			read_comment(&r, line);
		else
			error = read_sample(&r, line);
	}
	if (error < 0) {
		json_object_put(r.json.root);
		return failure_set(f, PIPEWATCH_EXIT_INTERNAL,
				   "pipewatchd's metrics are not in the text format of Prometheus. "
				   "Without --json they are printed as they are.");
	}
	return output_json(o, tree_done(&r.json), false, f);
}

int metrics_run(const struct options *options, struct output *o, struct failure *f)
{
	_cleanup_(client_freep) struct client *c = NULL;
	_cleanup_(freep) char *text = NULL;
	int r;

	r = client_new(options->bus, -1, true, &c, f);
	if (r == 0)
		r = client_call(c, "GetMetrics", &text, f);
	if (r != 0)
		return r;
	if (options->json)
		return print_json(text, o, f);
	if (o->terminal)
		text_write_lines(text, o->utf8, o->f);
	else
		fputs(text, o->f);
	return output_flush(o, f);
}
