// SPDX-License-Identifier: GPL-2.0-or-later
#include "gaps.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pipewatch/util.h"
#include "text.h"

/* Sentences in the order in which they were added. */
struct gaps {
	char **sentences;
	size_t n;
	bool failed;
};

/* What is missing for one and the same reason. */
struct missing {
	char names[512];
	const char *reason;
};

__attribute__((format(printf, 2, 3))) static void add(struct gaps *g, const char *format, ...)
{
	char *sentence = NULL, **grown;
	va_list arguments;
	int r;

	va_start(arguments, format);
	r = vasprintf(&sentence, format, arguments);
	va_end(arguments);
	if (r < 0) {
		g->failed = true;
		return;
	}
	grown = reallocarray(g->sentences, g->n + 1, sizeof(*grown));
	if (!grown) {
		free(sentence);
		g->failed = true;
		return;
	}
	g->sentences = grown;
	g->sentences[g->n++] = sentence;
}

static void note(struct missing *list, size_t *n, size_t max, const char *reason, const char *name)
{
	size_t i;

	for (i = 0; i < *n; i++)
		if (!strcmp(list[i].reason, reason))
			break;
	if (i == max)
		return;
	if (i == *n)
		list[(*n)++] = (struct missing){ .reason = reason };
	snprintf(list[i].names + strlen(list[i].names),
		 sizeof(list[i].names) - strlen(list[i].names), "%s%s", *list[i].names ? ", " : "",
		 name);
}

static const char *reason_or(const char *reason)
{
	return *reason ? reason : "pipewatchd does not say why.";
}

/* Why a figure of that pipe and kind is missing; NULL: it is not. */
typedef const char *(*gap_fn)(const struct model *m, int pipe, int kind);

static const char *verdict_gap(const struct model *m, int pipe, int kind)
{
	return strcmp(m->paths[pipe][kind].state, "unknown") ? NULL : m->paths[pipe][kind].reason;
}

static const char *cost_gap(const struct model *m, int pipe, int kind)
{
	if (m->costs[pipe][kind].seconds.known || !strcmp(m->paths[pipe][kind].state, "removed"))
		return NULL;
	return m->costs[pipe][kind].reason;
}

/* A sentence for each reason, with all that it holds for. */
static void add_by_reason(struct gaps *g, const struct model *m, const char *what, gap_fn gap)
{
	struct missing unknown[MODEL_PIPES * MODEL_KINDS] = {};
	char name[64];
	size_t n = 0;

	for (int p = 0; p < MODEL_PIPES; p++)
		for (int k = 0; k < MODEL_KINDS; k++) {
			const char *reason = gap(m, p, k);

			if (!reason)
				continue;
			snprintf(name, sizeof(name), "%s %s", model_pipe_names[p],
				 model_kind_names[k]);
			note(unknown, &n, ARRAY_SIZE(unknown), reason, name);
		}
	for (size_t i = 0; i < n; i++)
		add(g, "%s (%s): %s", what, unknown[i].names, reason_or(unknown[i].reason));
}

static void add_programs(struct gaps *g, const struct model *m)
{
	for (size_t i = 0; i < m->n_missing; i++)
		add(g, "%s (%s): %s", m->missing[i].program, m->missing[i].hook,
		    reason_or(m->missing[i].reason));
}

static void add_losses(struct gaps *g, const struct model *m)
{
	char number[TEXT_NUMBER_MAX];

	if (m->lost.known && m->lost.value > 0)
		add(g, "%s operations are in no figure: the kernel could not run the program.",
		    text_count(m->lost.value, number));
	if (m->unattributed.known && m->unattributed.value > 0)
		add(g,
		    "Whose %s operations were: there was no room for more threads (MaxThreads=).",
		    text_count(m->unattributed.value, number));
}

static void add_rest(struct gaps *g, const struct model *m)
{
	if (!m->sampling)
		add(g, "CPU time in pipe operations by sampling: %s",
		    reason_or(m->sampling_reason));
	if (*m->watchers_reason)
		add(g, "Who watches pipes: %s", m->watchers_reason);
	if (!m->own_known)
		add(g,
		    "What watching costs, in parts: pipewatchd %s does not tell; pipewatchctl %s "
		    "would show it of a newer one.",
		    m->version, PIPEWATCH_VERSION);
}

struct gaps *gaps_new(const struct model *m)
{
	struct gaps *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	if (!m->counting)
		add(g, "Pipe operations: %s", reason_or(m->counting_reason));
	else if (*m->coverage_reason)
		add(g, "All operations: %s", m->coverage_reason);
	add_programs(g, m);
	add_losses(g, m);
	add_by_reason(g, m, "Whether this kernel pays", verdict_gap);
	add_by_reason(g, m, "What an update costs", cost_gap);
	add_rest(g, m);
	return g->failed ? gaps_free(g) : g;
}

struct gaps *gaps_free(struct gaps *g)
{
	if (!g)
		return NULL;
	for (size_t i = 0; i < g->n; i++)
		free(g->sentences[i]);
	free(g->sentences);
	free(g);
	return NULL;
}

size_t gaps_count(const struct gaps *g)
{
	return g->n;
}

const char *gaps_get(const struct gaps *g, size_t i)
{
	return g->sentences[i];
}
