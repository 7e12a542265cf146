/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What pipewatchctl can do. Each verb prints to @o and returns 0, or an exit code with @f filled
 * (an empty message where everything is said).
 */
#ifndef PIPEWATCH_CTL_VERB_H
#define PIPEWATCH_CTL_VERB_H

#include "client.h"
#include "failure.h"
#include "model.h"
#include "options.h"
#include "output.h"
#include "tree.h"

typedef int (*verb_fn)(const struct options *options, struct output *o, struct failure *f);

int status_run(const struct options *options, struct output *o, struct failure *f);
int top_run(const struct options *options, struct output *o, struct failure *f);
int list_run(const struct options *options, struct output *o, struct failure *f);
int groups_run(const struct options *options, struct output *o, struct failure *f);
int show_run(const struct options *options, struct output *o, struct failure *f);
int remedies_run(const struct options *options, struct output *o, struct failure *f);
int metrics_run(const struct options *options, struct output *o, struct failure *f);
int check_run(const struct options *options, struct output *o, struct failure *f);
int bench_run(const struct options *options, struct output *o, struct failure *f);

/* What the daemon behind @c describes. As client_call(). */
int verb_describe(struct client *c, const struct output *o, struct model **ret_model,
		  struct failure *f);

/* The same, of the daemon that @options name. */
int verb_describe_once(const struct options *options, const struct output *o,
		       struct model **ret_model, struct failure *f);

/* Why there are no processes and groups, where there are none: 0, or an exit code. */
int verb_need_rows(const struct model *m, struct failure *f);

/* Both: what the daemon that @options name describes, with its processes and groups. */
int verb_describe_rows(const struct options *options, const struct output *o,
		       struct model **ret_model, struct failure *f);

/* How many of @n rows to print: what --limit says, else @usual, or all of them as JSON. */
size_t verb_limit(const struct options *options, size_t n, size_t usual);

/* What follows a table of the first @shown of @n: "and 12 more"; nothing when it is whole. */
void verb_print_rest(const struct output *o, size_t shown, size_t n, uint64_t omitted);

/* The cost of @row as members of @object, with the kinds that it does not include. */
void verb_add_cost(struct tree *j, struct json_object *object, const struct model_row *row);

/*
 * Says, where that is so, that counts are estimates, and that a part of what @row, a process or the
 * host, has done has no cost.
 */
void verb_print_caveats(const struct output *o, const struct model *m, const struct model_row *row);

/* Says that there are no rows: nobody has used a pipe, as far as is known. */
void verb_print_nobody(const struct output *o, const struct model *m);

/* "name (pid 1, unit)" in sentences. */
#define VERB_NAME_MAX 512
const char *verb_name(const struct model_row *row, char ret[VERB_NAME_MAX]);

#endif
