// SPDX-License-Identifier: GPL-2.0-or-later
#include "row.h"

#include <stdio.h>
#include <string.h>

static void add_count(struct count *sum, struct count add)
{
	sum->known = sum->known || add.known;
	if (__builtin_add_overflow(sum->value, add.value, &sum->value))
		sum->value = UINT64_MAX;
}

static void add_amount(struct amount *sum, struct amount add)
{
	sum->known = sum->known || add.known;
	sum->value += add.value;
}

void row_add(struct model_row *sum, const struct model_row *add)
{
	for (int p = 0; p < MODEL_PIPES; p++) {
		struct model_pipe *to = &sum->pipes[p];
		const struct model_pipe *from = &add->pipes[p];

		add_count(&to->reads, from->reads);
		add_count(&to->writes, from->writes);
		add_count(&to->read_bytes, from->read_bytes);
		add_count(&to->written_bytes, from->written_bytes);
		add_count(&to->noatime_reads, from->noatime_reads);
		for (int k = 0; k < MODEL_KINDS; k++) {
			add_count(&to->updates[k], from->updates[k]);
			add_amount(&to->cost[k], from->cost[k]);
		}
	}
	add_amount(&sum->pipe_cpu_seconds, add->pipe_cpu_seconds);
	for (int k = 0; k < MODEL_KINDS; k++)
		add_amount(&sum->sampled[k], add->sampled[k]);
	for (int i = 0; i < MODEL_REMEDIES; i++)
		add_amount(&sum->savings[i], add->savings[i]);
}

static void subtract_count(struct count *from, struct count what)
{
	from->value = from->value > what.value ? from->value - what.value : 0;
}

static void subtract_amount(struct amount *from, struct amount what)
{
	from->value = from->value > what.value ? from->value - what.value : 0;
}

struct model_row row_difference(const struct model_row *after, const struct model_row *before)
{
	struct model_row d = *after;

	for (int p = 0; p < MODEL_PIPES; p++) {
		const struct model_pipe *b = &before->pipes[p];

		subtract_count(&d.pipes[p].reads, b->reads);
		subtract_count(&d.pipes[p].writes, b->writes);
		subtract_count(&d.pipes[p].read_bytes, b->read_bytes);
		subtract_count(&d.pipes[p].written_bytes, b->written_bytes);
		subtract_count(&d.pipes[p].noatime_reads, b->noatime_reads);
		for (int k = 0; k < MODEL_KINDS; k++) {
			subtract_count(&d.pipes[p].updates[k], b->updates[k]);
			subtract_amount(&d.pipes[p].cost[k], b->cost[k]);
		}
	}
	subtract_amount(&d.pipe_cpu_seconds, before->pipe_cpu_seconds);
	subtract_amount(&d.cpu_seconds, before->cpu_seconds);
	for (int k = 0; k < MODEL_KINDS; k++)
		subtract_amount(&d.sampled[k], before->sampled[k]);
	for (int i = 0; i < MODEL_REMEDIES; i++)
		subtract_amount(&d.savings[i], before->savings[i]);
	return d;
}

struct count row_reads(const struct model_row *row)
{
	struct count sum = {};

	for (int p = 0; p < MODEL_PIPES; p++)
		add_count(&sum, row->pipes[p].reads);
	return sum;
}

struct count row_writes(const struct model_row *row)
{
	struct count sum = {};

	for (int p = 0; p < MODEL_PIPES; p++)
		add_count(&sum, row->pipes[p].writes);
	return sum;
}

struct count row_operations(const struct model_row *row)
{
	struct count sum = row_reads(row);

	add_count(&sum, row_writes(row));
	return sum;
}

struct count row_updates(const struct model_row *row)
{
	struct count sum = {};

	for (int p = 0; p < MODEL_PIPES; p++)
		for (int k = 0; k < MODEL_KINDS; k++)
			add_count(&sum, row->pipes[p].updates[k]);
	return sum;
}

static struct amount quotient(double bytes, struct count operations)
{
	if (!operations.known || operations.value == 0)
		return (struct amount){};
	return (struct amount){ true, bytes / (double)operations.value };
}

static double read_bytes(const struct model_row *row)
{
	return (double)row->pipes[MODEL_ANONYMOUS].read_bytes.value +
	       (double)row->pipes[MODEL_FIFO].read_bytes.value;
}

static double written_bytes(const struct model_row *row)
{
	return (double)row->pipes[MODEL_ANONYMOUS].written_bytes.value +
	       (double)row->pipes[MODEL_FIFO].written_bytes.value;
}

struct amount row_bytes_per_read(const struct model_row *row)
{
	return quotient(read_bytes(row), row_reads(row));
}

struct amount row_bytes_per_write(const struct model_row *row)
{
	return quotient(written_bytes(row), row_writes(row));
}

struct amount row_bytes_per_operation(const struct model_row *row)
{
	return quotient(read_bytes(row) + written_bytes(row), row_operations(row));
}

bool row_kind_uncharged(const struct model_row *row, int kind)
{
	for (int p = 0; p < MODEL_PIPES; p++)
		if (row->pipes[p].updates[kind].value > 0 && !row->pipes[p].cost[kind].known)
			return true;
	return false;
}

struct amount row_cost(const struct model_row *row)
{
	struct amount sum = {};

	for (int p = 0; p < MODEL_PIPES; p++)
		for (int k = 0; k < MODEL_KINDS; k++)
			add_amount(&sum, row->pipes[p].cost[k]);
	for (int k = 0; k < MODEL_KINDS; k++)
		if (sum.value == 0 && row_kind_uncharged(row, k))
			return (struct amount){};
	return sum;
}

const char *row_uncharged(const struct model_row *row, char ret[ROW_KINDS_MAX])
{
	*ret = 0;
	for (int k = 0; k < MODEL_KINDS; k++) {
		size_t n = strlen(ret);

		if (row_kind_uncharged(row, k))
			snprintf(ret + n, ROW_KINDS_MAX - n, "%s%s", n > 0 ? " and " : "",
				 model_kind_names[k]);
	}
	return *ret ? ret : NULL;
}

int row_best_remedy(const struct model_row *row)
{
	int best = -1;

	for (int i = 0; i < MODEL_REMEDIES; i++)
		if (row->savings[i].known && row->savings[i].value > 0 &&
		    (best < 0 || row->savings[i].value > row->savings[best].value))
			best = i;
	return best;
}

const char *row_remedy_text(int remedy)
{
	static const char *const texts[MODEL_REMEDIES] = {
		[MODEL_KERNEL] = "Linux 6.15 or newer",
		[MODEL_NOATIME] = "O_NOATIME on the read ends",
		[MODEL_UNWATCH] = "ending the watches on pipes",
		[MODEL_BATCH] = "reads and writes of 4096 bytes instead of small ones",
	};

	return texts[remedy];
}
