/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory that a collector reads, written as the BPF programs write it, and the system calls
 * that it makes: the paths of cgroups are /unit-ID.service, and processes are those of a table.
 */
#ifndef PIPEWATCH_TESTS_SLOTS_H
#define PIPEWATCH_TESTS_SLOTS_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <cmocka.h>

#include "accounts.h"
#include "books.h"
#include "cgroups.h"
#include "collector.h"
#include "pipewatch/util.h"
#include "pipewatch/wire.h"
#include "process.h"

#define CLAIMS_FD 1000
#define PATHS_FD  1001

/* Process ids from here on are not that of the test itself. */
#define NOBODY 5000000

/* What /proc has of a process: its name. */
struct named {
	uint32_t pid;
	uint64_t start_ns;
	char comm[WIRE_COMM_LEN];
};

static struct {
	struct wire_slot slots[WIRE_SLOTS];
	bool claimed[WIRE_SLOTS];
	bool refuses; /* to delete claims */
	struct wire_shared shared;
	uint64_t now_usec;
	struct named named[WIRE_SLOTS];
	size_t n_named, n_looks; /* processes that were looked up */
} kernel;

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	const uint64_t *id = key;

	assert_int_equal(fd, PATHS_FD);
	snprintf(value, WIRE_CGROUP_PATH_MAX, "/unit-%d.service", (int)*id);
	return 0;
}

int bpf_map_delete_batch(int fd, const void *keys, __u32 *count, const struct bpf_map_batch_opts *o)
{
	const uint32_t *indices = keys;

	(void)o;
	assert_int_equal(fd, CLAIMS_FD);
	if (kernel.refuses)
		return -EPERM;
	for (uint32_t i = 0; i < *count; i++) {
		assert_int_equal(kernel.slots[indices[i]].key, 0);
		assert_true(kernel.claimed[indices[i]]);
		kernel.claimed[indices[i]] = false;
	}
	return 0;
}

uint64_t process_ticks(uint64_t start_boottime_ns)
{
	return start_boottime_ns;
}

int process_read(const char *proc, uint32_t pid, struct process *ret)
{
	assert_string_equal(proc, "/proc");
	kernel.n_looks++;
	for (size_t i = 0; i < kernel.n_named; i++) {
		if (kernel.named[i].pid != pid)
			continue;
		*ret = (struct process){ .start_ticks = kernel.named[i].start_ns };
		memcpy(ret->comm, kernel.named[i].comm, sizeof(kernel.named[i].comm));
		return 0;
	}
	return -ESRCH;
}

static inline void kernel_reset(void)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.now_usec = 1000000;
}

static inline void name_set(struct wire_slot *slot, const char *comm)
{
	memset(slot->comm, 0, sizeof(slot->comm));
	snprintf(slot->comm, sizeof(slot->comm), "%s", comm);
}

/* A thread's first operation on a kind of pipe; NULL: it finds no slot. */
static inline struct wire_slot *slot_claim(uint32_t key, uint32_t tgid, uint64_t start_ns,
					   const char *comm, uint64_t cgroup_id)
{
	uint32_t home = key & WIRE_KEY_FIFO ? key + WIRE_SLOTS / 2 : key;

	for (int probe = 0; probe < WIRE_PROBES; probe++) {
		uint32_t index = (home + probe * WIRE_STRIDE) % WIRE_SLOTS;
		struct wire_slot *slot = &kernel.slots[index];

		if (slot->key || kernel.claimed[index])
			continue;
		kernel.claimed[index] = true;
		slot->tgid = tgid;
		slot->start_boottime = start_ns;
		name_set(slot, comm);
		slot->cgroup_id = cgroup_id;
		slot->key = key;
		kernel.shared.claimed++;
		return slot;
	}
	return NULL;
}

/* @n writes of one byte. */
static inline void slot_write(struct wire_slot *slot, uint32_t n)
{
	slot->counts[WIRE_WRITE].bytes += n;
	slot->counts[WIRE_WRITE].sizes[0] += n;
}

static inline void overflow_write(enum wire_pipe pipe, uint32_t n)
{
	kernel.shared.overflow[pipe].counts[WIRE_WRITE].bytes += n;
	kernel.shared.overflow[pipe].counts[WIRE_WRITE].sizes[0] += n;
}

/* The thread ends, and as it does so says what its process is called. */
static inline void slot_retire(struct wire_slot *slot, const char *comm, uint32_t flags)
{
	name_set(slot, comm);
	slot->flags = flags;
	slot->key |= WIRE_KEY_EXITED;
	kernel.shared.exited++;
}

static inline struct collector *slots_collector(struct accounts *a, struct cgroups *cgroups)
{
	const struct tracer_memory memory = {
		.slots = kernel.slots,
		.shared = &kernel.shared,
		.max_threads = WIRE_SLOTS,
		.claims_fd = CLAIMS_FD,
		.wake_fd = -1,
		.cgroup_paths_fd = PATHS_FD,
	};
	struct collector *c = NULL;

	assert_int_equal(collector_new(&memory, a, cgroups, &c), 0);
	return c;
}

/* A second later. */
static inline void collect(struct collector *c)
{
	kernel.now_usec += 1000000;
	assert_int_equal(collector_collect(c, kernel.now_usec), 0);
}

struct fixture {
	struct accounts *accounts;
	struct cgroups *cgroups;
	struct collector *collector;
};

/* With a hierarchy of cgroups, of which nothing can be seen. */
static inline struct cgroups *cgroups_hidden(void)
{
	char proc[] = "/tmp/pipewatch-collector-XXXXXX", self[64], mountinfo[80];
	struct cgroups *c = NULL;
	FILE *f;

	assert_non_null(mkdtemp(proc));
	snprintf(self, sizeof(self), "%s/self", proc);
	snprintf(mountinfo, sizeof(mountinfo), "%s/mountinfo", self);
	assert_int_equal(mkdir(self, 0700), 0);
	f = fopen(mountinfo, "we");
	assert_non_null(f);
	fprintf(f, "30 23 0:26 / %s rw - cgroup2 cgroup2 rw\n", proc);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(cgroups_new(proc, &c), 0);
	unlink(mountinfo);
	rmdir(self);
	rmdir(proc);
	return c;
}

static inline struct fixture fixture_new(unsigned int max_groups)
{
	struct fixture f = {};

	kernel_reset();
	f.accounts = books(max_groups);
	f.cgroups = cgroups_hidden();
	f.collector = slots_collector(f.accounts, f.cgroups);
	return f;
}

static inline void fixture_free(struct fixture *f)
{
	collector_free(f->collector);
	cgroups_free(f->cgroups);
	accounts_free(f->accounts);
}

static inline struct snapshot *collected(struct fixture *f)
{
	collect(f->collector);
	return view(f->accounts);
}

static inline uint64_t writes(const struct snapshot *s, const char *unit, const char *comm)
{
	for (size_t i = 0; i < s->n_groups; i++)
		if (!strcmp(s->groups[i].unit, unit) && !strcmp(s->groups[i].comm, comm))
			return s->groups[i].counts[PIPE_ANONYMOUS].writes +
			       s->groups[i].counts[PIPE_FIFO].writes;
	return 0;
}

static inline uint64_t total(const struct snapshot *s)
{
	return s->totals[PIPE_ANONYMOUS].writes + s->totals[PIPE_FIFO].writes;
}

static inline size_t claims(const struct fixture *f)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();

	assert_int_equal(collector_fill(f->collector, s), 0);
	return s->maps[0].entries;
}

#endif
