// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the programs would have written, of any content, read in a few rounds: nothing is lost or
 * made up on the way through the accounts into a snapshot. The maps behind the memory are played
 * here: claims can be deleted or not, cgroups have paths or not.
 */
#include "collector.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "fuzz.h"
#include "pipewatch/wire.h"

#define SLOTS_MAX  8
#define PLACES	   16
#define ROUNDS_MAX 4
#define CLAIMS_FD  (-2)
#define PATHS_FD   (-3)

static bool claims_fail;

int bpf_map_delete_batch(int fd, const void *keys, __u32 *count,
			 const struct bpf_map_batch_opts *opts)
{
	(void)keys;
	(void)opts;
	FUZZ_CHECK(fd == CLAIMS_FD && *count <= WIRE_SLOTS);
	if (claims_fail) {
		*count = 0;
		errno = ENOMEM;
		return -errno;
	}
	return 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	uint64_t id;

	FUZZ_CHECK(fd == PATHS_FD);
	memcpy(&id, key, sizeof(id));
	if (id % 3 == 0) {
		errno = ENOENT;
		return -errno;
	}
	/* Without a NUL, as a kernel that is broken could have it. */
	memset(value, (int)(id & 0xff), WIRE_CGROUP_PATH_MAX);
	memcpy(value, "/a.service/", 11);
	return 0;
}

/* What was read of a slot, or of the overflow, in the rounds before. */
struct known {
	struct wire_counts counts[WIRE_DIRECTIONS];
};

struct world {
	struct wire_slot *slots;
	struct wire_shared shared;
	struct known known[WIRE_SLOTS], overflow[WIRE_PIPES];
	struct pipe_counts totals[PIPE_KINDS]; /* without O_NOATIME */
};

/* Few, so that they are met again; some neighbours, some far from each other. */
static size_t place(size_t i)
{
	return i % PLACES / 4 * 4099 % WIRE_SLOTS + i % 4;
}

static void expect_direction(const struct wire_counts *now, const struct wire_counts *known,
			     uint64_t *operations, uint64_t *bytes)
{
	for (int class = 0; class < WIRE_SIZE_CLASSES; class ++)
		*operations += (uint32_t)(now->sizes[class] - known->sizes[class]);
	*bytes += now->bytes - known->bytes;
}

static void expect(struct pipe_counts *total, const struct wire_counts now[WIRE_DIRECTIONS],
		   struct known *known)
{
	expect_direction(&now[WIRE_READ], &known->counts[WIRE_READ], &total->reads,
			 &total->read_bytes);
	expect_direction(&now[WIRE_WRITE], &known->counts[WIRE_WRITE], &total->writes,
			 &total->written_bytes);
	memcpy(known->counts, now, sizeof(known->counts));
}

/* The collector's own operations are not accounted, and only its own thread is sure to have ended
 * them. */
static bool own_is_freed(const struct wire_slot *slot)
{
	return slot->key & WIRE_KEY_EXITED || (slot->key & ~WIRE_KEY_FIFO) == (uint32_t)gettid();
}

static void expect_round(struct world *w)
{
	for (size_t place_index = 0; place_index < PLACES; place_index++) {
		size_t i = place(place_index);
		const struct wire_slot *slot = &w->slots[i];

		if (!slot->key)
			continue;
		if (slot->tgid == (uint32_t)getpid()) {
			if (own_is_freed(slot))
				memset(&w->known[i], 0, sizeof(w->known[i]));
			continue;
		}
		expect(&w->totals[slot->key & WIRE_KEY_FIFO ? PIPE_FIFO : PIPE_ANONYMOUS],
		       slot->counts, &w->known[i]);
		if (slot->key & WIRE_KEY_EXITED)
			memset(&w->known[i], 0, sizeof(w->known[i]));
	}
	for (int pipe = 0; pipe < WIRE_PIPES; pipe++)
		expect(&w->totals[pipe], w->shared.overflow[pipe].counts, &w->overflow[pipe]);
}

/* Bytes come with operations and these with bytes, whatever else is wrong: what has none may be
 * left out as idle. */
static void count_operations(struct wire_counts now[WIRE_DIRECTIONS], const struct known *known)
{
	for (int i = 0; i < WIRE_DIRECTIONS; i++) {
		if (now[i].bytes != known->counts[i].bytes)
			now[i].sizes[0] = known->counts[i].sizes[0] + 1;
		else if (memcmp(&now[i], &known->counts[i], sizeof(now[i])) != 0)
			now[i].bytes++;
	}
}

static void write_round(struct world *w, struct fuzz_input *in)
{
	uint8_t n = fuzz_u8(in) % (SLOTS_MAX + 1);

	w->shared.claimed += n;
	for (uint8_t i = 0; i < n; i++) {
		struct wire_slot *slot = &w->slots[place(fuzz_u8(in))];

		fuzz_take(in, slot, sizeof(*slot));
		/* No input could name it otherwise, but in one process. */
		if (slot->tgid == UINT32_MAX)
			slot->tgid = getpid();
		count_operations(slot->counts, &w->known[slot - w->slots]);
	}
	if (fuzz_u8(in) & 1) {
		fuzz_take(in, w->shared.overflow, sizeof(w->shared.overflow));
		for (int pipe = 0; pipe < WIRE_PIPES; pipe++)
			count_operations(w->shared.overflow[pipe].counts, &w->overflow[pipe]);
	}
	claims_fail = fuzz_u8(in) & 1;
}

static void must_equal(const struct pipe_counts *a, const struct pipe_counts *b)
{
	FUZZ_CHECK(a->reads == b->reads && a->writes == b->writes);
	FUZZ_CHECK(a->read_bytes == b->read_bytes && a->written_bytes == b->written_bytes);
}

static void check_snapshot(const struct world *w, const struct snapshot *s)
{
	struct pipe_counts sum[PIPE_KINDS] = { 0 }, of_processes[PIPE_KINDS] = { 0 };

	for (size_t i = 0; i < s->n_groups; i++) {
		FUZZ_CHECK(fuzz_is_utf8(s->groups[i].unit) && fuzz_is_utf8(s->groups[i].comm));
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
			pipe_counts_add(&sum[pipe], &s->groups[i].counts[pipe]);
	}
	for (size_t i = 0; i < s->n_processes; i++) {
		FUZZ_CHECK(fuzz_is_utf8(s->processes[i].comm));
		FUZZ_CHECK(fuzz_is_utf8(s->processes[i].unit));
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
			pipe_counts_add(&of_processes[pipe], &s->processes[i].counts[pipe]);
	}
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		uint64_t reads = 0, writes = 0;

		must_equal(&sum[pipe], &w->totals[pipe]);
		must_equal(&s->totals[pipe], &w->totals[pipe]);
		FUZZ_CHECK(s->totals[pipe].noatime_reads == sum[pipe].noatime_reads);
		FUZZ_CHECK(s->totals[pipe].noatime_reads <= s->totals[pipe].reads);
		for (int class = 0; class < SIZE_CLASSES; class ++) {
			reads += s->sizes[pipe].reads[class];
			writes += s->sizes[pipe].writes[class];
		}
		FUZZ_CHECK(reads == s->totals[pipe].reads && writes == s->totals[pipe].writes);
		FUZZ_CHECK(of_processes[pipe].reads <= s->totals[pipe].reads);
	}
	/* Who is not among the processes is among the unattributed: few enough to be remembered. */
	FUZZ_CHECK(of_processes[0].reads + of_processes[0].writes + of_processes[1].reads +
			   of_processes[1].writes + s->unattributed_operations ==
		   s->totals[0].reads + s->totals[0].writes + s->totals[1].reads +
			   s->totals[1].writes);
}

static void run(struct world *w, struct accounts *accounts, struct collector *collector,
		struct fuzz_input *in)
{
	for (uint64_t round = 1; round <= ROUNDS_MAX && in->size > 0; round++) {
		_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();

		write_round(w, in);
		expect_round(w);
		collector_collect(collector, round * 100000);
		FUZZ_CHECK(s && accounts_fill(accounts, 1700000000000000, false,
					      &(struct snapshot_wish){ .n_processes = SIZE_MAX },
					      s) == 0);
		FUZZ_CHECK(collector_fill(collector, s) == 0);
		snapshot_finish(s);
		check_snapshot(w, s);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world *w;
	struct fuzz_input in = { data, size };
	_cleanup_(accounts_freep) struct accounts *accounts = NULL;
	_cleanup_(cgroups_freep) struct cgroups *cgroups = NULL;
	_cleanup_(collector_freep) struct collector *collector = NULL;
	struct tracer_memory memory = { .max_threads = WIRE_SLOTS,
					.claims_fd = CLAIMS_FD,
					.wake_fd = -1,
					.cgroup_paths_fd = PATHS_FD };

	if (!w) {
		w = calloc(1, sizeof(*w));
		FUZZ_CHECK(w);
		w->slots = calloc(WIRE_SLOTS, sizeof(*w->slots));
		FUZZ_CHECK(w->slots);
	}
	memory.slots = w->slots;
	memory.shared = &w->shared;
	FUZZ_CHECK(accounts_new(1 + fuzz_u8(&in) % 4, &accounts) == 0);
	FUZZ_CHECK(cgroups_new("/nonexistent", &cgroups) == 0);
	FUZZ_CHECK(collector_new(&memory, accounts, cgroups, &collector) == 0);
	run(w, accounts, collector, &in);

	/* Clears what was used, which is little. */
	for (size_t i = 0; i < PLACES; i++) {
		size_t slot = place(i);

		memset(&w->slots[slot], 0, sizeof(w->slots[slot]));
		memset(&w->known[slot], 0, sizeof(w->known[slot]));
	}
	memset(&w->shared, 0, sizeof(w->shared));
	memset(w->overflow, 0, sizeof(w->overflow));
	memset(w->totals, 0, sizeof(w->totals));
	return 0;
}
