// SPDX-License-Identifier: GPL-2.0-or-later
/* One process: what it did, what that cost, what would help it, and who is at the other ends. */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#include "holders.h"
#include "pipewatch/util.h"
#include "tree.h"
#include "row.h"
#include "table.h"
#include "text.h"
#include "verb.h"

/* Lines about pipe ends, unless --limit says otherwise. */
#define USUAL_ROWS 20

struct view {
	const struct options *options;
	const struct output *o;
	const struct model *m;
	const struct model_row *row;
	struct holders holders;
	int holders_error;
};

static int find(const struct model *m, uint32_t pid, const struct model_row **ret_row,
		struct failure *f)
{
	const struct model_row *found = NULL;
	char path[32];

	/* A live one before one that has ended. */
	for (size_t i = 0; i < m->n_processes; i++)
		if (m->processes[i].pid == pid && (!found || found->exited))
			found = &m->processes[i];
	if (found) {
		*ret_row = found;
		return 0;
	}
	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	if (access(path, F_OK) < 0)
		return failure_set(f, PIPEWATCH_EXIT_UNAVAILABLE,
				   "There is no process %" PRIu32
				   ". One that has ended is listed for another minute; what it did "
				   "stays in its group (\"pipewatchctl groups\").",
				   pid);
	if (!m->counting)
		return failure_set(f, PIPEWATCH_EXIT_UNAVAILABLE,
				   "Nothing is known of process %" PRIu32
				   ": operations are not counted, and sampling has not found it in "
				   "one since pipewatchd started.",
				   pid);
	if (m->omitted > 0)
		return failure_set(f, PIPEWATCH_EXIT_UNAVAILABLE,
				   "Process %" PRIu32 " is not among the %zu processes that "
				   "pipewatchd lists, or has not used a pipe since pipewatchd "
				   "started.",
				   pid, m->n_processes);
	return failure_set(f, PIPEWATCH_EXIT_UNAVAILABLE,
			   "Process %" PRIu32 " has not used a pipe since pipewatchd started.",
			   pid);
}

static void add_side(struct table *t, const char *pipe, const char *side, struct count operations,
		     struct count bytes, const char *kind, struct count updates, struct amount cost)
{
	char text[TEXT_NUMBER_MAX];

	table_line(t);
	table_cell(t, pipe);
	table_cell(t, side);
	table_cell(t, operations.known ? text_count(operations.value, text) : "");
	table_cell(t, bytes.known ? text_count(bytes.value, text) : "");
	table_cell(t, operations.known && operations.value > 0 && bytes.known
			      ? text_rate((double)bytes.value / (double)operations.value, text)
			      : "");
	table_cell(t, kind);
	table_cell(t, updates.known ? text_count(updates.value, text) : "");
	table_cell(t, cost.known ? text_seconds(cost.value, text) : "");
}

static int print_sides(const struct view *v, struct failure *f)
{
	static const struct table_column columns[] = {
		{ "PIPES", TABLE_FIXED },   { "SIDE", TABLE_FIXED }, { "OPERATIONS", TABLE_RIGHT },
		{ "BYTES", TABLE_RIGHT },   { "B/OP", TABLE_RIGHT }, { "KIND", TABLE_FIXED },
		{ "UPDATES", TABLE_RIGHT }, { "CPU", TABLE_RIGHT },
	};
	_cleanup_(table_freep) struct table *t = table_new(v->o, columns, ARRAY_SIZE(columns));

	if (!t)
		return failure_os(f, "Making the table failed", ENOMEM);
	for (int p = 0; p < MODEL_PIPES; p++) {
		const struct model_pipe *pipe = &v->row->pipes[p];

		if (!pipe->reads.known && !pipe->writes.known && !pipe->cost[MODEL_ATIME].known &&
		    !pipe->cost[MODEL_CMTIME].known)
			continue;
		add_side(t, model_pipe_names[p], "reads", pipe->reads, pipe->read_bytes, "atime",
			 pipe->updates[MODEL_ATIME], pipe->cost[MODEL_ATIME]);
		add_side(t, model_pipe_names[p], "writes", pipe->writes, pipe->written_bytes,
			 "cmtime", pipe->updates[MODEL_CMTIME], pipe->cost[MODEL_CMTIME]);
		if (pipe->cost[MODEL_FSNOTIFY].known)
			add_side(t, model_pipe_names[p], "both", (struct count){}, (struct count){},
				 "fsnotify", pipe->updates[MODEL_FSNOTIFY],
				 pipe->cost[MODEL_FSNOTIFY]);
	}
	return table_print(t, f);
}

static void print_cost(const struct view *v)
{
	const struct model_row *row = v->row;
	const struct amount cost = row_cost(row);
	const struct output *o = v->o;
	char a[TEXT_NUMBER_MAX], b[TEXT_NUMBER_MAX], c[TEXT_NUMBER_MAX];

	if (!cost.known)
		output_say(o, "", "", "What its updates cost is not known.");
	else if (row->cpu_share.known && row->cpu_seconds.known)
		output_say(o, "", "",
			   "Its updates took %s of CPU time: %s of the %s that it used while it "
			   "was watched.",
			   text_seconds(cost.value, a), text_ratio(row->cpu_share.value, b),
			   text_seconds(row->cpu_seconds.value, c));
	else
		output_say(o, "", "", "Its updates took %s of CPU time.",
			   text_seconds(cost.value, a));
	if (row->pipe_cpu_seconds.known)
		output_say(o, "", "", "All its pipe operations took %s, by sampling.",
			   text_seconds(row->pipe_cpu_seconds.value, a));
}

static void print_remedy(const struct view *v)
{
	const struct amount *savings = v->row->savings;
	int best = row_best_remedy(v->row);
	char text[TEXT_NUMBER_MAX];

	if (!v->m->remedies_known) {
		output_say(v->o, "", "", "pipewatchd %s does not report what remedies would save.",
			   v->m->version);
		return;
	}
	if (best < 0) {
		output_say(v->o, "", "", "No remedy is known to save it anything.");
		return;
	}
	output_say(v->o, "", "", "Most would be saved by %s: %s.", row_remedy_text(best),
		   text_seconds(savings[best].value, text));
	for (int i = 0; i < MODEL_REMEDIES; i++)
		if (i != best && savings[i].known && savings[i].value > 0)
			output_say(v->o, "  ", "    ", "%s: %s.", row_remedy_text(i),
				   text_seconds(savings[i].value, text));
}

static const char *ends(const struct holder *h)
{
	if (h->reads && h->writes)
		return "reads, writes";
	return h->reads ? (h->noatime ? "reads (O_NOATIME)" : "reads") : h->writes ? "writes" : "";
}

static int print_holder_table(const struct view *v, struct failure *f)
{
	static const struct table_column columns[] = {
		{ "PIPE", TABLE_FIXED },
		{ "PID", TABLE_RIGHT },
		{ "PROGRAM", TABLE_LEFT },
		{ "END", TABLE_FIXED },
	};
	_cleanup_(table_freep) struct table *t = table_new(v->o, columns, ARRAY_SIZE(columns));
	const struct holders *h = &v->holders;
	size_t limit = verb_limit(v->options, h->n, USUAL_ROWS);
	char text[64];
	int r;

	if (!t)
		return failure_os(f, "Making the table failed", ENOMEM);
	for (size_t i = 0; i < limit; i++) {
		const struct holder *holder = &h->list[i];

		table_line(t);
		snprintf(text, sizeof(text), "%s:[%" PRIu64 "]", holder->fifo ? "fifo" : "pipe",
			 holder->inode);
		table_cell(t, i > 0 && h->list[i - 1].inode == holder->inode &&
					      h->list[i - 1].device == holder->device
				      ? " "
				      : text);
		snprintf(text, sizeof(text), "%" PRIu32, holder->pid);
		table_cell(t, text);
		table_cell(t, holder->comm);
		table_cell(t, ends(holder));
	}
	r = table_print(t, f);
	if (r == 0)
		verb_print_rest(v->o, limit, h->n, 0);
	return r;
}

static int print_holders(const struct view *v, struct failure *f)
{
	const struct holders *h = &v->holders;
	const struct output *o = v->o;
	int r = 0;

	if (v->row->exited) {
		output_say(o, "", "", "It has ended and holds no pipes.");
		return 0;
	}
	switch (-v->holders_error) {
	case 0: break;
	case ENOENT:
	case ESRCH: output_say(o, "", "", "It has just ended and holds no pipes."); return 0;
	case EACCES:
	case EPERM:
		output_say(o, "", "",
			   "Its open files cannot be seen by this user: use sudo to see who is at "
			   "the other ends of its pipes.");
		return 0;
	default:
		output_say(o, "", "", "Its open files cannot be read: %s.",
			   strerror(-v->holders_error));
		return 0;
	}
	if (h->n == 0)
		output_say(o, "", "", "It has no pipe open now.");
	else
		r = print_holder_table(v, f);
	if (h->n > 0 && h->unreadable > 0)
		output_say(o, "", "",
			   "The open files of %zu other processes cannot be seen by this user: use "
			   "sudo to see them.",
			   h->unreadable);
	if (h->cut)
		output_say(o, "", "",
			   "Not all processes were looked at: there are too many of them.");
	return r;
}

static int print_text(const struct view *v, struct failure *f)
{
	char name[VERB_NAME_MAX];
	FILE *out = v->o->f;
	int r;

	fprintf(out, "%s%s%s%s\n", output_paint(v->o, PAINT_HEAD), verb_name(v->row, name),
		output_paint(v->o, PAINT_NONE), v->row->exited ? " has ended" : "");
	r = print_sides(v, f);
	if (r != 0)
		return r;
	print_cost(v);
	print_remedy(v);
	verb_print_caveats(v->o, v->m, v->row);
	fputc('\n', out);
	r = print_holders(v, f);
	return r != 0 ? r : output_flush(v->o, f);
}

static int print_json(const struct view *v, struct failure *f)
{
	struct tree j = { .root = json_object_get(v->row->json) };
	int best = row_best_remedy(v->row);
	struct json_object *array;

	verb_add_cost(&j, j.root, v->row);
	if (best >= 0)
		tree_string(&j, j.root, "best_remedy", model_remedy_names[best]);
	tree_bool(&j, j.root, "estimated", v->m->estimated);
	if (v->row->exited || v->holders_error < 0) {
		tree_string(&j, j.root, "pipe_ends_reason",
			    v->row->exited ? "The process has ended."
					   : strerror(-v->holders_error));
		return output_json(v->o, tree_done(&j), false, f);
	}
	array = tree_array(&j, j.root, "pipe_ends");
	for (size_t i = 0; i < v->holders.n; i++) {
		const struct holder *h = &v->holders.list[i];
		struct json_object *end = tree_object(&j, array, NULL);

		tree_string(&j, end, "pipe",
			    model_pipe_names[h->fifo ? MODEL_FIFO : MODEL_ANONYMOUS]);
		tree_count(&j, end, "device", h->device);
		tree_count(&j, end, "inode", h->inode);
		tree_count(&j, end, "pid", h->pid);
		tree_string(&j, end, "comm", h->comm);
		tree_bool(&j, end, "reads", h->reads);
		tree_bool(&j, end, "writes", h->writes);
		tree_bool(&j, end, "noatime", h->noatime);
	}
	tree_count(&j, j.root, "processes_not_seen", v->holders.unreadable);
	return output_json(v->o, tree_done(&j), false, f);
}

int show_run(const struct options *options, struct output *o, struct failure *f)
{
	_cleanup_(model_freep) struct model *m = NULL;
	struct view v = { .options = options, .o = o };
	int r;

	r = verb_describe_rows(options, o, &m, f);
	if (r == 0)
		r = find(m, options->pid, &v.row, f);
	if (r != 0)
		return r;
	v.m = m;
	if (!v.row->exited) {
		v.holders_error = holders_find("/proc", options->pid, o->utf8, &v.holders);
		if (v.holders_error == -ENOMEM)
			return failure_os(f, "Looking at open files failed", ENOMEM);
	}
	r = options->json ? print_json(&v, f) : print_text(&v, f);
	holders_clear(&v.holders);
	return r;
}
