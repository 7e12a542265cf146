// SPDX-License-Identifier: GPL-2.0-or-later
#include "tree.h"
#include "pipewatch/number.h"

#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct tree tree_begin(void)
{
	struct tree j = { .root = json_object_new_object() };

	j.failed = !j.root;
	return j;
}

void tree_add(struct tree *j, struct json_object *to, const char *key, struct json_object *value)
{
	int r;

	if (!value || !to) {
		json_object_put(value);
		j->failed = true;
		return;
	}
	r = key ? json_object_object_add(to, key, value) : json_object_array_add(to, value);
	if (r < 0) {
		json_object_put(value);
		j->failed = true;
	}
}

void tree_share(struct tree *j, struct json_object *to, const char *key, struct json_object *value)
{
	tree_add(j, to, key, json_object_get(value));
}

void tree_member(struct tree *j, struct json_object *to, const char *key, struct json_object *from)
{
	struct json_object *value;

	if (json_object_object_get_ex(from, key, &value) && value)
		tree_share(j, to, key, value);
}

/* Borrowed from @to; NULL when there was no memory, as every function here takes it. */
static struct json_object *add_new(struct tree *j, struct json_object *to, const char *key,
				   struct json_object *value)
{
	bool failed = j->failed;

	j->failed = false;
	tree_add(j, to, key, value);
	if (j->failed)
		return NULL;
	j->failed = failed;
	return value;
}

struct json_object *tree_object(struct tree *j, struct json_object *to, const char *key)
{
	return add_new(j, to, key, json_object_new_object());
}

struct json_object *tree_array(struct tree *j, struct json_object *to, const char *key)
{
	return add_new(j, to, key, json_object_new_array());
}

void tree_string(struct tree *j, struct json_object *to, const char *key, const char *value)
{
	tree_add(j, to, key, json_object_new_string(value));
}

void tree_bool(struct tree *j, struct json_object *to, const char *key, bool value)
{
	tree_add(j, to, key, json_object_new_boolean(value));
}

void tree_count(struct tree *j, struct json_object *to, const char *key, uint64_t value)
{
	tree_add(j, to, key, json_object_new_uint64(value));
}

void tree_double(struct tree *j, struct json_object *to, const char *key, double value)
{
	char text[NUMBER_MAX];

	if (!isfinite(value))
		return;
	number_format(value, text);
	tree_add(j, to, key, json_object_new_double_s(value, text));
}

void tree_amount(struct tree *j, struct json_object *to, const char *key, struct amount value)
{
	if (value.known)
		tree_double(j, to, key, value.value);
}

struct json_object *tree_done(struct tree *j)
{
	struct json_object *root = j->root;

	j->root = NULL;
	if (!j->failed)
		return root;
	json_object_put(root);
	return NULL;
}
