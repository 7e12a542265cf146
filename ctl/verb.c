// SPDX-License-Identifier: GPL-2.0-or-later
#include "verb.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "pipewatch/util.h"
#include "row.h"
#include "text.h"

int verb_describe(struct client *c, const struct output *o, struct model **ret_model,
		  struct failure *f)
{
	_cleanup_(freep) char *json = NULL;
	int r;

	r = client_call(c, "Describe", &json, f);
	if (r != 0)
		return r;
	r = model_parse(json, o->utf8, ret_model);
	if (r == -EBADMSG)
		return failure_set(f, PIPEWATCH_EXIT_INTERNAL,
				   "What answers to %s is not a pipewatchd that pipewatchctl %s "
				   "understands: its description is not JSON, or names no version.",
				   PIPEWATCH_BUS_NAME, PIPEWATCH_VERSION);
	return r < 0 ? failure_os(f, "Reading the description failed", r) : 0;
}

int verb_describe_once(const struct options *options, const struct output *o,
		       struct model **ret_model, struct failure *f)
{
	_cleanup_(client_freep) struct client *c = NULL;
	int r;

	r = client_new(options->bus, -1, true, &c, f);
	return r != 0 ? r : verb_describe(c, o, ret_model, f);
}

int verb_need_rows(const struct model *m, struct failure *f)
{
	if (m->listed)
		return 0;
	if (!*m->counting_reason)
		return failure_set(f, PIPEWATCH_EXIT_UNAVAILABLE,
				   "pipewatchd %s lists no processes and does not say why.",
				   m->version);
	return failure_set(f, PIPEWATCH_EXIT_UNAVAILABLE,
			   "Pipe operations are not counted here: %s \"pipewatchctl status\" shows "
			   "what is known nevertheless.",
			   m->counting_reason);
}

int verb_describe_rows(const struct options *options, const struct output *o,
		       struct model **ret_model, struct failure *f)
{
	_cleanup_(model_freep) struct model *m = NULL;
	int r;

	r = verb_describe_once(options, o, &m, f);
	if (r == 0)
		r = verb_need_rows(m, f);
	if (r != 0)
		return r;
	*ret_model = m;
	m = NULL;
	return 0;
}

size_t verb_limit(const struct options *options, size_t n, size_t usual)
{
	size_t limit = options->limit;

	if (options->limit == OPTIONS_LIMIT_UNSET)
		limit = options->json ? 0 : usual;
	return limit == 0 || limit > n ? n : limit;
}

void verb_add_cost(struct tree *j, struct json_object *object, const struct model_row *row)
{
	struct json_object *excluded = NULL;

	tree_amount(j, object, "metadata_cpu_seconds", row_cost(row));
	for (int k = 0; k < MODEL_KINDS; k++) {
		if (!row_kind_uncharged(row, k))
			continue;
		if (!excluded)
			excluded = tree_array(j, object, "metadata_cpu_excludes");
		tree_string(j, excluded, NULL, model_kind_names[k]);
	}
}

void verb_print_rest(const struct output *o, size_t shown, size_t n, uint64_t omitted)
{
	char number[TEXT_NUMBER_MAX];

	if (shown < n)
		output_say(o, "", "", "And %s more; --limit 0 shows all.",
			   text_count(n - shown, number));
	if (omitted > 0)
		output_say(o, "", "", "And %s more that pipewatchd counts but does not list.",
			   text_count(omitted, number));
}

void verb_print_caveats(const struct output *o, const struct model *m, const struct model_row *row)
{
	char coverage[TEXT_NUMBER_MAX], kinds[ROW_KINDS_MAX];

	if (row_uncharged(row, kinds))
		output_say(o, "", "",
			   "The cost of %s is not known and not included: see \"pipewatchctl "
			   "status\".",
			   kinds);
	if (!m->estimated)
		return;
	if (m->coverage.known && m->coverage.value > 0 && m->coverage.value < 1)
		output_say(o, "", "",
			   "Counts are estimates: operations are currently counted %s of the time.",
			   text_ratio(m->coverage.value, coverage));
	else
		output_say(o, "", "", "Counts are estimates: not all operations were counted.");
}

void verb_print_nobody(const struct output *o, const struct model *m)
{
	output_say(o, "", "",
		   m->counting ? "No process has used a pipe since pipewatchd started."
			       : "Operations are not counted, and sampling has not found a process "
				 "in one since pipewatchd started.");
}

const char *verb_name(const struct model_row *row, char ret[VERB_NAME_MAX])
{
	const char *comm = *row->comm ? row->comm : "(no name)", *unit = row->unit;
	const int of_comm = text_fit(comm, 200), of_unit = text_fit(unit, 200);

	if (row->pid == 0 && *unit)
		snprintf(ret, VERB_NAME_MAX, "%.*s (%.*s)", of_comm, comm, of_unit, unit);
	else if (row->pid == 0)
		snprintf(ret, VERB_NAME_MAX, "%.*s", of_comm, comm);
	else if (*unit)
		snprintf(ret, VERB_NAME_MAX, "%.*s (pid %" PRIu32 ", %.*s)", of_comm, comm,
			 row->pid, of_unit, unit);
	else
		snprintf(ret, VERB_NAME_MAX, "%.*s (pid %" PRIu32 ")", of_comm, comm, row->pid);
	return ret;
}
