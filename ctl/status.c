// SPDX-License-Identifier: GPL-2.0-or-later
/* The verdict, whether it matters, and how it is measured: one screen, in sentences. */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "gaps.h"
#include "pipewatch/util.h"
#include "tree.h"
#include "row.h"
#include "text.h"
#include "verb.h"

/* Shares of one CPU from which on it is a little, or a lot. */
#define A_LITTLE 0.001
#define A_LOT	 0.01

/* Bytes of a state, of which none has so many. */
#define STATE_MAX 100

struct view {
	const struct model *m;
	const struct output *o;
	unsigned int lines; /* so far */
};

#define say(v, ...) ((v)->lines += output_say((v)->o, "  ", "  ", __VA_ARGS__))

static void head(struct view *v, const char *text)
{
	v->lines += output_say(v->o, output_paint(v->o, PAINT_HEAD), "", "%s%s", text,
			       output_paint(v->o, PAINT_NONE));
}

static bool is_state(const struct model *m, int pipe, int kind, const char *state)
{
	return !strcmp(m->paths[pipe][kind].state, state);
}

/* Are all updates of times in @state? */
static bool all_times(const struct model *m, const char *state)
{
	for (int p = 0; p < MODEL_PIPES; p++)
		if (!is_state(m, p, MODEL_ATIME, state) || !is_state(m, p, MODEL_CMTIME, state))
			return false;
	return true;
}

static void append(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void append(char *text, size_t size, const char *format, ...)
{
	size_t length = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + length, size - length, format, arguments);
	va_end(arguments);
}

static void say_verdict_of(struct view *v, int pipe)
{
	const struct model *m = v->m;
	char text[1024] = "", number[TEXT_NUMBER_MAX];

	for (int k = 0; k < MODEL_KINDS; k++) {
		const struct model_cost *cost = &m->costs[pipe][k];
		const char *state = m->paths[pipe][k].state;

		append(text, sizeof(text), "%s%s is %s%.*s%s", k > 0 ? ", " : "",
		       model_kind_names[k], output_paint(v->o, output_state_paint(state)),
		       text_fit(state, STATE_MAX), state, output_paint(v->o, PAINT_NONE));
		if (is_state(m, pipe, k, "paid") && cost->seconds.known)
			append(text, sizeof(text), " (%s each)",
			       text_seconds(cost->seconds.value, number));
	}
	say(v, "On %s: %s.", pipe == MODEL_ANONYMOUS ? "anonymous pipes" : "FIFOs", text);
}

static void say_verdict(struct view *v)
{
	const struct model *m = v->m;

	head(v, "Does this kernel pay for metadata updates of pipes?");
	if (all_times(m, "removed"))
		say(v, "No: it does not update the timestamps of pipes.");
	else if (all_times(m, "paid"))
		say(v, "Yes: each read and write updates timestamps that nobody looks at.");
	else if (is_state(m, MODEL_ANONYMOUS, MODEL_ATIME, "removed") &&
		 is_state(m, MODEL_ANONYMOUS, MODEL_CMTIME, "removed"))
		say(v, "Not for anonymous pipes, and nearly all pipes are anonymous.");
	else
		say(v, "In part:");
	for (int p = 0; p < MODEL_PIPES; p++)
		say_verdict_of(v, p);
}

/* Who has paid most: a process if it is most of its group, which has those that are gone, too. */
static const struct model_row *find_payer(const struct model *m)
{
	const struct model_row *process = m->n_processes > 0 ? &m->processes[0] : NULL;
	const struct model_row *group = m->n_groups > 0 ? &m->groups[0] : NULL;

	if (!process || !group)
		return process ? process : group;
	return 2 * row_cost(process).value >= row_cost(group).value ? process : group;
}

static void say_payer(struct view *v, double cost)
{
	const struct model_row *payer = find_payer(v->m);
	struct amount paid = payer ? row_cost(payer) : (struct amount){};
	char name[VERB_NAME_MAX], seconds[TEXT_NUMBER_MAX], of[TEXT_NUMBER_MAX],
		share[TEXT_NUMBER_MAX], own[64] = "";

	if (!paid.known || paid.value <= 0)
		return;
	if (payer->cpu_share.known)
		snprintf(own, sizeof(own), ", and %s of its own CPU time",
			 text_ratio(payer->cpu_share.value, share));
	say(v, "%s has paid most: %s, %s of the total%s.", verb_name(payer, name),
	    text_seconds(paid.value, seconds),
	    text_ratio(paid.value < cost ? paid.value / cost : 1, of), own);
}

static void say_remedy(struct view *v)
{
	const struct model *m = v->m;
	int best = row_best_remedy(&m->host);
	char seconds[TEXT_NUMBER_MAX], ratio[TEXT_NUMBER_MAX];

	if (!m->remedies_known)
		say(v, "pipewatchd %s does not report what remedies would save.", m->version);
	else if (best < 0)
		say(v, "No remedy is known to save anything.");
	else if (m->seconds > 0)
		say(v, "Most would be saved by %s: %s, %s of one CPU.", row_remedy_text(best),
		    text_seconds(m->host.savings[best].value, seconds),
		    text_ratio(m->host.savings[best].value / m->seconds, ratio));
	else
		say(v, "Most would be saved by %s: %s.", row_remedy_text(best),
		    text_seconds(m->host.savings[best].value, seconds));
}

static void say_worth(struct view *v)
{
	const struct model *m = v->m;
	const struct amount cost = row_cost(&m->host), pipes = m->host.pipe_cpu_seconds;
	char seconds[TEXT_NUMBER_MAX], ratio[TEXT_NUMBER_MAX], time[TEXT_NUMBER_MAX],
		share[TEXT_NUMBER_MAX], of_pipes[128] = "", kinds[ROW_KINDS_MAX];
	double rate;

	head(v, "Does it matter?");
	if (!m->listed || (!cost.known && !m->counting)) {
		say(v, "That is not known: what processes do is not counted.");
		return;
	}
	if (!cost.known || m->seconds <= 0) {
		say(v, "That is not known yet: what an update costs has still to be measured.");
		return;
	}
	rate = cost.value / m->seconds;
	if (pipes.known && pipes.value > 0 && pipes.value >= cost.value)
		snprintf(of_pipes, sizeof(of_pipes),
			 ", and %s of the time spent in pipe operations",
			 text_ratio(cost.value / pipes.value, share));
	say(v, "%s: these updates took %s of CPU time in %s, %s of one CPU%s.",
	    rate >= A_LOT      ? "Yes"
	    : rate >= A_LITTLE ? "A little"
			       : "Hardly",
	    text_seconds(cost.value, seconds), text_duration(m->seconds, time),
	    text_ratio(rate, ratio), of_pipes);
	if (row_uncharged(&m->host, kinds))
		say(v, "That excludes %s, the cost of which is not known.", kinds);
	if (cost.value > 0) {
		say_payer(v, cost.value);
		say_remedy(v);
	}
}

static void say_own_cost(struct view *v)
{
	const struct model *m = v->m;
	char text[512] = "", number[TEXT_NUMBER_MAX], allowed[TEXT_NUMBER_MAX];
	const char *comma = "";
	double sum = 0;

	if (m->overhead.known && m->budget.known)
		say(v,
		    "Watching costs %s of the time in pipe operations or, if more, of a tenth of "
		    "all CPU time; the budget is %s.",
		    text_ratio(m->overhead.value, number), text_ratio(m->budget.value, allowed));
	else if (m->overhead.known)
		say(v, "Watching costs %s; pipewatchd does not report its budget.",
		    text_ratio(m->overhead.value, number));
	else
		say(v, "What watching costs is not known: %s",
		    *m->overhead_reason ? m->overhead_reason : "pipewatchd does not say why.");
	for (int i = 0; i < MODEL_PARTS; i++) {
		static const char *const names[MODEL_PARTS] = { "counting", "bursts", "sampling",
								"daemon" };

		if (!m->own[i].known)
			continue;
		append(text, sizeof(text), "%s%s %s", comma, names[i],
		       text_seconds(m->own[i].value, number));
		sum += m->own[i].value;
		comma = ", ";
	}
	if (*text)
		say(v, "So far it has taken %s of CPU time: %s.", text_seconds(sum, number), text);
}

/* Is @reason part of why the daemon is not well, which has been told? */
static bool said(const struct model *m, const char *reason)
{
	return strcmp(m->state, "running") && *reason && strstr(m->state_reason, reason);
}

static void say_mode(struct view *v)
{
	const struct model *m = v->m;
	const bool known = *m->mode_reason && !said(m, m->mode_reason);
	char coverage[TEXT_NUMBER_MAX], number[TEXT_NUMBER_MAX], unseen[128] = "";

	head(v, "How is it measured?");
	if (strcmp(m->state, "running"))
		say(v, "pipewatchd is %s: %s", *m->state ? m->state : "in no known state",
		    m->state_reason);
	say(v, "The mode is %s (configured: %s)%s%s", *m->mode ? m->mode : "not reported",
	    *m->configured_mode ? m->configured_mode : "not reported", known ? ": " : ".",
	    known ? m->mode_reason : "");
	if (m->unseen.known && m->unseen.value > 0)
		snprintf(unseen, sizeof(unseen),
			 "; a process that was never seen made fewer than %s operations",
			 text_rate(m->unseen.value, number));
	if (m->estimated && m->coverage.known)
		say(v, "Counts are estimates from %s of the time%s.",
		    text_ratio(m->coverage.value, coverage), unseen);
	say_own_cost(v);
}

/* A reason that stands above already does not take the room of others. */
static unsigned int say_gap(const struct model *m, const char *gap, const struct output *o)
{
	const char *reason = said(m, m->counting_reason) ? strstr(gap, m->counting_reason) : NULL;

	return output_say(o, "  ", "    ", "%.*s%s", reason ? (int)(reason - gap) : INT_MAX, gap,
			  reason ? "as above." : "");
}

/* On a terminal as many as there is room for. */
static int say_gaps(struct view *v, struct failure *f)
{
	_cleanup_(gaps_freep) struct gaps *gaps = gaps_new(v->m);
	/* Besides the heading and the prompt that comes next. */
	unsigned int taken = v->lines + 2;
	unsigned int height = v->o->terminal ? v->o->height : UINT_MAX;
	unsigned int room = height > taken ? height - taken : 0;
	unsigned int used = 0;
	size_t i, n;

	if (!gaps)
		return failure_os(f, "Listing what is not measured failed", ENOMEM);
	n = gaps_count(gaps);
	if (n == 0)
		return 0;
	head(v, "What is not measured, and why?");
	for (i = 0; i < n; i++) {
		_cleanup_(freep) char *lines = NULL;
		_cleanup_(fclosep) FILE *memory = NULL;
		struct output to = *v->o;
		unsigned int needs;
		size_t size;

		to.f = memory = open_memstream(&lines, &size);
		if (!memory)
			return failure_os(f, "Listing what is not measured failed", ENOMEM);
		needs = say_gap(v->m, gaps_get(gaps, i), &to);
		if (fflush(memory) != 0)
			return failure_os(f, "Listing what is not measured failed", ENOMEM);
		/* Each but the last leaves a line for how many there are besides. */
		if (used + needs + (i + 1 < n) > room)
			break;
		fputs(lines, v->o->f);
		used += needs;
	}
	if (i < n)
		fprintf(v->o->f,
			i > 0 ? "  And %zu more: see pipewatchctl status --json.\n"
			      : "  %zu figures: see pipewatchctl status --json.\n",
			n - i);
	return 0;
}

static int print_json(const struct model *m, const struct output *o, struct failure *f)
{
	static const char *const rows[] = { "groups", "processes", "processes_omitted" };
	_cleanup_(gaps_freep) struct gaps *gaps = gaps_new(m);
	struct tree j = { .root = json_object_get(m->json), .failed = !gaps };
	const struct amount cost = row_cost(&m->host);
	const struct model_row *payer = find_payer(m);
	struct json_object *array;
	int best = row_best_remedy(&m->host);

	verb_add_cost(&j, j.root, &m->host);
	if (cost.known && m->seconds > 0)
		tree_double(&j, j.root, "metadata_cpu_ratio", cost.value / m->seconds);
	tree_amount(&j, j.root, "pipe_cpu_seconds", m->host.pipe_cpu_seconds);
	if (payer && row_cost(payer).value > 0)
		tree_share(&j, j.root, "top_payer", payer->json);
	if (best >= 0)
		tree_string(&j, j.root, "best_remedy", model_remedy_names[best]);
	array = tree_array(&j, j.root, "not_measured");
	for (size_t i = 0; gaps && i < gaps_count(gaps); i++)
		tree_string(&j, array, NULL, gaps_get(gaps, i));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		json_object_object_del(j.root, rows[i]);
	return output_json(o, tree_done(&j), false, f);
}

int status_run(const struct options *options, struct output *o, struct failure *f)
{
	_cleanup_(model_freep) struct model *m = NULL;
	struct view v = { .o = o };
	int r;

	r = verb_describe_once(options, o, &m, f);
	if (r != 0)
		return r;
	if (options->json)
		return print_json(m, o, f);
	v.m = m;
	v.lines += output_say(o, "", "", "pipewatchd %s on Linux %s (%s)", m->version,
			      *m->release ? m->release : "of an unknown release",
			      *m->machine ? m->machine : "unknown machine");
	say_verdict(&v);
	say_worth(&v);
	say_mode(&v);
	r = say_gaps(&v, f);
	return r != 0 ? r : output_flush(o, f);
}
