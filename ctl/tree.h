/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Building JSON. Each function adds a member to an object, or an element to an array where @key is
 * NULL; what there is no memory for makes the whole NULL in the end (tree_done()).
 */
#ifndef PIPEWATCH_CTL_TREE_H
#define PIPEWATCH_CTL_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "model.h"

struct json_object;

struct tree {
	struct json_object *root;
	bool failed;
};

struct tree tree_begin(void);
struct json_object *tree_object(struct tree *j, struct json_object *to, const char *key);
struct json_object *tree_array(struct tree *j, struct json_object *to, const char *key);

/* Takes @value over; NULL stands for a lack of memory. */
void tree_add(struct tree *j, struct json_object *to, const char *key, struct json_object *value);

/* The same, of what belongs to somebody else. */
void tree_share(struct tree *j, struct json_object *to, const char *key, struct json_object *value);

/* The member @key of @from, if it has one. */
void tree_member(struct tree *j, struct json_object *to, const char *key, struct json_object *from);

void tree_string(struct tree *j, struct json_object *to, const char *key, const char *value);
void tree_bool(struct tree *j, struct json_object *to, const char *key, bool value);
void tree_count(struct tree *j, struct json_object *to, const char *key, uint64_t value);
/* As the shortest text that reads back as the same number; nothing where it is none. */
void tree_double(struct tree *j, struct json_object *to, const char *key, double value);
/* Nothing where it is not known. */
void tree_amount(struct tree *j, struct json_object *to, const char *key, struct amount value);

/* The whole, which the caller owns; NULL when memory was lacking. */
struct json_object *tree_done(struct tree *j);

#endif
