/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A snapshot with everything in it, and the exact text that is made of it: tests/unit/golden.
 * UPDATE_GOLDEN=1 rewrites the files: read the difference before it is committed.
 */
#ifndef PIPEWATCH_TESTS_PUBLISHED_H
#define PIPEWATCH_TESTS_PUBLISHED_H

#include <libgen.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "name.h"
#include "pipewatch/util.h"
#include "snapshot.h"

static inline void add_group(struct snapshot *s, const char *unit, const char *comm,
			     size_t comm_size, struct pipe_counts anonymous,
			     struct pipe_counts fifo)
{
	struct snapshot_group *g = snapshot_add_group(s);
	char name[SNAPSHOT_COMM_MAX];

	assert_non_null(g);
	name_render(comm, comm_size, name, sizeof(name));
	g->unit = snapshot_string(s, unit);
	g->comm = snapshot_string(s, name);
	g->processes = 1;
	g->counts[PIPE_ANONYMOUS] = anonymous;
	g->counts[PIPE_FIFO] = fifo;
}

#define GROUP(s, unit, comm, ...) add_group(s, unit, comm, sizeof(comm) - 1, __VA_ARGS__)
#define NONE			  ((struct pipe_counts){ 0 })
#define COUNTS(...)		  ((struct pipe_counts){ __VA_ARGS__ })

static inline void add_watcher(struct snapshot *s, uint32_t pid, const char *comm, uint32_t watches)
{
	struct snapshot_watcher *watcher = snapshot_add_watcher(s);

	assert_non_null(watcher);
	watcher->pid = pid;
	watcher->watches = watches;
	snprintf(watcher->comm, sizeof(watcher->comm), "%s", comm);
}

static inline struct cost_figure figure(double seconds, double error_seconds)
{
	return (struct cost_figure){ .known = true,
				     .seconds = seconds,
				     .error_seconds = error_seconds };
}

static inline void add_observer(struct snapshot *s, bool known)
{
	struct snapshot_observer *o = &s->observer;

	o->cpu_seconds[OBSERVER_DAEMON] = 1.5;
	if (!known) {
		cost_figure_unknown(&o->operation, "It is <not> timed.");
		cost_figure_unknown(&o->counting, "Nothing is & nothing will be counted.");
		cost_figure_unknown(&o->overhead, "Nothing is <attached>.");
		return;
	}
	o->cpu_seconds[OBSERVER_PROGRAMS] = 4.25;
	o->cpu_seconds[OBSERVER_BURSTS] = 0.5;
	o->operation = figure(5e-7, 2e-9);
	o->counting = figure(9e-8, 1e-9);
	o->overhead = figure(0.0085, 0.0005);
	o->predicted[MODE_EXACT] = 0.0625;
	o->predicted[MODE_BURST] = 0.00875;
	o->allowed = 0.01;
}

/* Everything that can be published, with every hostile name. Fields of counts: reads, writes,
 * bytes, bytes, noatime. */
static inline struct snapshot *make_snapshot(bool counting)
{
	struct snapshot *s = snapshot_new();
	struct snapshot_program *program;
	struct snapshot_map *map;
	struct snapshot_loss *loss;

	assert_non_null(s);
	s->version = "0.1.0";
	s->libbpf_version = "1.1.2";
	s->start_time_usec = 1700000000123456;
	s->time_usec = s->start_time_usec + 5400000000;
	s->state = counting ? STATE_RUNNING : STATE_DEGRADED;
	s->state_reason = counting ? "" : "BPF is not permitted here.";
	s->mode = counting ? MODE_BURST : MODE_OFF;
	s->configured_mode = MODE_AUTO;
	s->mode_reason = "It is the <default> & \"only\" one.";
	s->budget_ratio = 0.01;
	s->kernel_release = "6.1.0-57-cloud-amd64";
	s->machine = "x86_64";
	s->clocksource = counting ? "tsc" : "";
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++)
			s->paths[pipe][kind] = (struct snapshot_path){
				PATH_PAID, "The kernel has <touch_atime>."
			};
	s->paths[PIPE_ANONYMOUS][UPDATE_FSNOTIFY].state = PATH_UNKNOWN;
	s->paths[PIPE_FIFO][UPDATE_ATIME].state = PATH_REMOVED;

	program = snapshot_add_program(s);
	program->program = "count_read";
	program->hook = "pipe_read";
	program->attached = counting;
	program->reason = counting ? "" : "bpf(2) is not permitted.";
	program->missed = 2;
	program->run_seconds = counting ? 1.5e-7 : 0;
	program = snapshot_add_program(s);
	program->program = "follow_exec";
	program->hook = "sched_process_exec";
	program->reason = "There is no \"such\" tracepoint.";

	s->counting = counting;
	s->counting_reason = counting ? "" : "bpf(2) needs CAP_BPF & CAP_PERFMON.";
	s->coverage_ratio = counting ? 0.25 : 0;
	s->estimated = counting;
	s->unseen_operations_max = counting ? 47.5 : 0;
	s->sampling = counting;
	s->sampling_reason = counting ? "" : "It is <not> permitted.";
	s->sampling_sees[UPDATE_ATIME] = s->sampling_sees[UPDATE_FSNOTIFY] = true;
	s->sampling_lost = 3;
	add_observer(s, counting);

	/* All the same, to see that they are left out unless counted. */
	GROUP(s, "(other)", "(other)", COUNTS(70, 80, 700, 800, 1), NONE);
	GROUP(s, "cron.service", "sh", COUNTS(1000, 2000, 5000, 6000, 100), COUNTS(3, 0, 12, 0, 0));
	GROUP(s, "", "a\nb\"c\\d{e}\tf\x01", NONE, COUNTS(0, 42, 0, 4200, 0));
	GROUP(s, "user@0.service/a.service", "", COUNTS(1, 0, 1, 0, 1), NONE);
	GROUP(s, "docker/0123456789ab", "\xff\xfe bad \xc0\xaf", COUNTS(0, 7, 0, 7, 0), NONE);
	GROUP(s, "ma\\x2dchine.scope", "\xc5\xbc\xc3\xb3\xc5\x82w", COUNTS(5, 5, 5, 5, 0), NONE);
	/* one more than a double can tell from its neighbour */
	GROUP(s, "big.service", "big", COUNTS(9007199254740993, 0, 18446744073709000000u, 0, 0),
	      NONE);
	GROUP(s, "idle.service", "never", NONE, NONE);
	/* Seen by samples and in no window of counting. */
	GROUP(s, "sampled.service", "unseen", NONE, NONE);
	s->groups[8].pipe_cpu_seconds = 0.5;
	s->groups[8].sampled_seconds[UPDATE_FSNOTIFY] = 0.25;
	s->groups[8].costs[PIPE_FIFO].seconds[UPDATE_FSNOTIFY] = 0.25;
	/* The shell. */
	s->groups[1].errors[PIPE_ANONYMOUS] = (struct pipe_errors){ 12.5f, 0.75f };
	s->groups[1].errors[PIPE_FIFO] = (struct pipe_errors){ 1, 0 };
	s->groups[1].pipe_cpu_seconds = 1.25;
	s->groups[1].sampled_seconds[UPDATE_ATIME] = 0.125;
	s->groups[1].sampled_seconds[UPDATE_CMTIME] = 77; /* which samples do not show */
	s->groups[1].costs[PIPE_ANONYMOUS].seconds[UPDATE_ATIME] = 0.75; /* not known */
	s->groups[1].batch_seconds = 1.0625;

	s->sizes[PIPE_ANONYMOUS].reads[0] = 1;
	s->sizes[PIPE_ANONYMOUS].reads[3] = 1075;
	s->sizes[PIPE_ANONYMOUS].reads[12] = 9007199254739000;
	s->sizes[PIPE_ANONYMOUS].reads[15] = 993;
	s->sizes[PIPE_ANONYMOUS].writes[0] = 12;
	s->sizes[PIPE_ANONYMOUS].writes[1] = 2080;
	s->sizes[PIPE_FIFO].reads[2] = 3;
	/* A moment ahead of the count of 42. */
	s->sizes[PIPE_FIFO].writes[6] = 40;
	s->sizes[PIPE_FIFO].writes[7] = 3;

	s->unattributed_operations = 150;
	map = snapshot_add_map(s);
	map->map = "processes";
	map->entries = 7;
	map->max_entries = 16384;
	map = snapshot_add_map(s);
	map->map = "threads";
	map->max_entries = 8;
	loss = snapshot_add_loss(s);
	loss->reason = "map_full";
	loss = snapshot_add_loss(s);
	loss->reason = "no \"slot\"";
	loss->updates = 18446744073709551615u;
	add_watcher(s, 77, "in\"spect", 2);
	add_watcher(s, 78, "tail <-f>", 1);
	add_watcher(s, 79, "in\"spect", 3);
	s->watchers_reason = counting ? "" : "Reading <fdinfo> needs CAP_SYS_PTRACE.";
	snapshot_finish(s);
	return s;
}

static inline char *golden_path(const char *name)
{
	_cleanup_(freep) char *file = strdup(__FILE__);
	char *path;

	assert_true(asprintf(&path, "%s/golden/%s", dirname(file), name) > 0);
	return path;
}

static inline void assert_golden(const char *name, const char *text)
{
	_cleanup_(freep) char *path = golden_path(name);
	_cleanup_(freep) char *expected = NULL;
	_cleanup_(fclosep) FILE *f = NULL;
	size_t size = 0;

	if (getenv("UPDATE_GOLDEN")) {
		f = fopen(path, "w");
		assert_non_null(f);
		fputs(text, f);
		return;
	}
	f = fopen(path, "r");
	assert_non_null(f);
	assert_true(getdelim(&expected, &size, '\0', f) > 0);
	assert_string_equal(text, expected);
}

#endif
