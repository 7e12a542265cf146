/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A finished snapshot out of the input: some groups and processes with any names and counts, any
 * states of the kernel's paths, any words.
 */
#ifndef PIPEWATCH_TESTS_FUZZ_SNAPSHOT_H
#define PIPEWATCH_TESTS_FUZZ_SNAPSHOT_H

#include "fuzz.h"
#include "name.h"
#include "snapshot.h"

#define FUZZ_NAME_BYTES 15

/* As every name comes to a snapshot: rendered. */
static inline const char *fuzz_name(struct fuzz_input *in, struct snapshot *s)
{
	char bytes[FUZZ_NAME_BYTES + 1], rendered[SNAPSHOT_COMM_MAX];
	const char *name;

	fuzz_string(in, bytes, sizeof(bytes));
	name_render(bytes, sizeof(bytes), rendered, sizeof(rendered));
	name = snapshot_string(s, rendered);
	FUZZ_CHECK(name);
	return name;
}

static inline void fuzz_counts(struct fuzz_input *in, struct pipe_counts *ret)
{
	*ret = (struct pipe_counts){
		.reads = fuzz_u64(in) >> 8,
		.writes = fuzz_u64(in) >> 8,
		.read_bytes = fuzz_u64(in),
		.written_bytes = fuzz_u64(in),
	};
	ret->noatime_reads = ret->reads ? fuzz_u64(in) % ret->reads : 0;
}

static inline bool fuzz_has_group(const struct snapshot *s, const char *unit, const char *comm)
{
	/* The last one is the one being made. */
	for (size_t i = 0; i + 1 < s->n_groups; i++)
		if (!strcmp(s->groups[i].unit, unit) && !strcmp(s->groups[i].comm, comm))
			return true;
	return false;
}

static inline struct snapshot *fuzz_snapshot(struct fuzz_input *in)
{
	struct snapshot *s = snapshot_new();
	uint8_t flags = fuzz_u8(in), n;

	FUZZ_CHECK(s);
	s->version = fuzz_name(in, s);
	s->libbpf_version = fuzz_name(in, s);
	s->kernel_release = fuzz_name(in, s);
	s->machine = fuzz_name(in, s);
	s->clocksource = fuzz_name(in, s);
	s->state_reason = fuzz_name(in, s);
	s->mode_reason = fuzz_name(in, s);
	s->start_time_usec = fuzz_u64(in);
	s->state = fuzz_u8(in) % SNAPSHOT_STATES;
	s->mode = fuzz_u8(in) % SNAPSHOT_MODES;
	s->counting = !(flags & 1);
	s->counting_reason = s->counting ? "" : "It is not counted.";
	s->coverage_ratio = 1;
	s->reads_missing = flags & 2;
	s->writes_missing = flags & 4;
	s->sampling = flags & 8;
	s->sampling_reason = s->sampling ? "" : "It is not sampled.";
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++) {
			s->paths[pipe][kind].state = fuzz_u8(in) % PATH_STATES;
			s->paths[pipe][kind].reason = fuzz_name(in, s);
		}

	n = fuzz_u8(in) % 4;
	for (uint8_t i = 0; i < n; i++) {
		struct snapshot_process *p = snapshot_add_process(s);

		FUZZ_CHECK(p);
		p->pid = i + 1;
		p->start_time_usec = fuzz_u64(in);
		p->unit = fuzz_name(in, s);
		snprintf(p->comm, sizeof(p->comm), "%s", fuzz_name(in, s));
		p->exited = fuzz_u8(in) & 1;
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
			fuzz_counts(in, &p->counts[pipe]);
	}

	n = fuzz_u8(in) % 5;
	for (uint8_t i = 0; i < n; i++) {
		struct snapshot_group *g = snapshot_add_group(s);

		FUZZ_CHECK(g);
		g->unit = fuzz_name(in, s);
		g->comm = fuzz_name(in, s);
		/* A snapshot has each group once. */
		if (fuzz_has_group(s, g->unit, g->comm)) {
			s->n_groups--;
			break;
		}
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
			fuzz_counts(in, &g->counts[pipe]);
	}

	n = fuzz_u8(in) % 2;
	for (uint8_t i = 0; i < n; i++) {
		struct snapshot_loss *loss = snapshot_add_loss(s);

		FUZZ_CHECK(loss);
		loss->reason = fuzz_name(in, s);
		loss->updates = fuzz_u64(in);
	}
	snapshot_finish(s);
	return s;
}

#endif
