// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "delta.h"
#include "name.h"
#include "pipewatch/util.h"
#include "pipewatch/wire.h"
#include "process.h"

_Static_assert((int)WIRE_PIPES == (int)PIPE_KINDS, "the kinds of pipe");
_Static_assert((int)WIRE_ANONYMOUS == (int)PIPE_ANONYMOUS, "the kinds of pipe");

#define KEY_TID_MASK (~(WIRE_KEY_FIFO | WIRE_KEY_EXITED))

/* Processes that are looked up in /proc in a round at most: each takes a hundred thousand
 * instructions, the kernel's included. */
#define LOOKS_MAX 32

/* A name that is another each time it is read is one that somebody changes without end. */
#define COMM_READS_MAX 8

/* What of a slot has been booked. */
struct booked {
	struct account *account; /* held; NULL: nothing yet */
	struct wire_counts counts[WIRE_DIRECTIONS];
	uint32_t noatime_reads;
	bool settled;	     /* nothing was new at the last look */
	bool identity_known; /* the two below have been looked up */
	char comm[WIRE_COMM_LEN];
	uint64_t cgroup_id;
};

struct collector {
	struct tracer_memory memory;
	struct accounts *accounts;
	struct cgroups *cgroups;
	struct booked *booked;			   /* WIRE_SLOTS */
	struct wire_overflow overflow[WIRE_PIPES]; /* booked */
	uint32_t *freed; /* indices of this round whose claims are to be deleted */
	uint32_t n_freed;
	uint32_t *used; /* indices of slots in use, as far as claimed_seen tells */
	uint32_t n_used;
	uint32_t *active; /* of these, the ones with anything new in this round */
	uint32_t n_active;
	uint64_t claimed_seen; /* of wire_shared.claimed */
	/* Of this round, and the slot from which on it is whose turn, in this and the next one. */
	uint32_t n_looks, looks_from, looks_next;
	struct ring_buffer *wake;
	uint32_t own_tgid;
	uint64_t now_usec;
};

/* Its content says nothing; that there is some has already woken us. */
static int wake_consume(void *context, void *data, size_t size)
{
	(void)context;
	(void)data;
	(void)size;
	return 0;
}

/* A cgroups_path_fn; @userdata is the collector. */
static int cgroup_path(void *userdata, uint64_t id, char *ret, size_t size)
{
	const struct collector *c = userdata;
	char path[WIRE_CGROUP_PATH_MAX];

	if (bpf_map_lookup_elem(c->memory.cgroup_paths_fd, &id, path) < 0)
		return -errno;
	snprintf(ret, size, "%.*s", (int)sizeof(path), path);
	return 0;
}

int collector_new(const struct tracer_memory *memory, struct accounts *accounts,
		  struct cgroups *cgroups, struct collector **ret_collector)
{
	_cleanup_(collector_freep) struct collector *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->memory = *memory;
	c->accounts = accounts;
	c->cgroups = cgroups;
	c->own_tgid = getpid();
	c->booked = calloc(WIRE_SLOTS, sizeof(*c->booked));
	c->freed = calloc(WIRE_SLOTS, sizeof(*c->freed));
	c->used = calloc(WIRE_SLOTS, sizeof(*c->used));
	c->active = calloc(WIRE_SLOTS, sizeof(*c->active));
	if (!c->booked || !c->freed || !c->used || !c->active)
		return -ENOMEM;
	if (memory->wake_fd >= 0) {
		c->wake = ring_buffer__new(memory->wake_fd, wake_consume, NULL, NULL);
		if (!c->wake)
			return -errno;
	}
	cgroups_set_paths(cgroups, cgroup_path, c);
	*ret_collector = c;
	c = NULL;
	return 0;
}

struct collector *collector_free(struct collector *c)
{
	if (!c)
		return NULL;
	if (c->cgroups)
		cgroups_set_paths(c->cgroups, NULL, NULL);
	ring_buffer__free(c->wake);
	for (size_t i = 0; c->booked && i < WIRE_SLOTS; i++)
		if (c->booked[i].account)
			account_release(c->accounts, c->booked[i].account);
	free(c->booked);
	free(c->freed);
	free(c->used);
	free(c->active);
	free(c);
	return NULL;
}

int collector_wake_fd(const struct collector *c)
{
	return c->wake ? ring_buffer__epoll_fd(c->wake) : -1;
}

static struct wire_slot *slot_find(const struct collector *c, uint32_t key)
{
	uint32_t home = key & WIRE_KEY_FIFO ? key + WIRE_SLOTS / 2 : key;

	for (int probe = 0; probe < WIRE_PROBES; probe++) {
		uint32_t index = (home + probe * WIRE_STRIDE) % WIRE_SLOTS;
		struct wire_slot *slot = &c->memory.slots[index];

		if (slot->key == key)
			return slot;
	}
	return NULL;
}

static bool is_main_thread(const struct wire_slot *slot, uint32_t key)
{
	return (key & KEY_TID_MASK) == slot->tgid;
}

/* The slots of the main thread are kept up to date with the name and cgroup of the process; those
 * of others are not. */
static bool slot_of_main_thread(const struct collector *c, const struct wire_slot *slot)
{
	return is_main_thread(slot, slot->key) || slot_find(c, slot->tgid) ||
	       slot_find(c, slot->tgid | WIRE_KEY_FIFO);
}

/* The unit of a process. Of one that is gone it can be unknown though it was known before. */
static const char *slot_unit(struct collector *c, const struct wire_slot *slot,
			     const struct booked *b, uint64_t cgroup_id)
{
	const char *unit = cgroups_unit(c->cgroups, cgroup_id, slot->tgid, slot->start_boottime,
					c->now_usec);

	if (!cgroups_known(c->cgroups) && (!b->cgroup_id || b->cgroup_id == cgroup_id))
		return account_unit(b->account);
	return unit;
}

/* Not while the program writes it: half of one name and half of another would be a series for ever.
 */
static void slot_comm(const struct wire_slot *slot, char ret[static WIRE_COMM_LEN])
{
	char before[WIRE_COMM_LEN];

	memcpy(ret, slot->comm, WIRE_COMM_LEN);
	for (int i = 0; i < COMM_READS_MAX; i++) {
		memcpy(before, ret, sizeof(before));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		memcpy(ret, slot->comm, WIRE_COMM_LEN);
		if (!memcmp(before, ret, sizeof(before)))
			return;
	}
}

static int slot_identify(struct collector *c, const struct wire_slot *slot, struct booked *b)
{
	char comm[SNAPSHOT_COMM_MAX], raw[WIRE_COMM_LEN];
	uint64_t cgroup_id = slot->cgroup_id;
	int r;

	slot_comm(slot, raw);
	if (b->identity_known && b->cgroup_id == cgroup_id && !memcmp(b->comm, raw, sizeof(raw)))
		return 0;
	name_render(raw, sizeof(raw), comm, sizeof(comm));
	r = account_identify(c->accounts, b->account, comm, slot_unit(c, slot, b, cgroup_id));
	if (r < 0)
		return r;
	memcpy(b->comm, raw, sizeof(raw));
	b->cgroup_id = cgroup_id;
	/* A unit that is not known may be a matter of time. */
	b->identity_known = cgroups_known(c->cgroups);
	return 0;
}

/*
 * Is it time to look the process of a slot up? Once in a round, for all its threads, and of
 * thousands of processes only those whose turn it is: a new name is noticed some rounds later.
 */
static bool look_take(struct collector *c, const struct wire_slot *slot, struct account *account)
{
	uint32_t index = slot - c->memory.slots;

	if (account_looked_usec(account) == c->now_usec || index < c->looks_from)
		return false;
	if (c->n_looks == LOOKS_MAX) {
		if (!c->looks_next)
			c->looks_next = index;
		return false;
	}
	c->n_looks++;
	account_set_looked(account, c->now_usec);
	return true;
}

/* For a process whose main thread uses no pipes. Its start, read last, vouches for the cgroup. */
static void slot_identify_by_process(struct collector *c, const struct wire_slot *slot,
				     struct booked *b)
{
	uint64_t cgroup_id;
	struct process process;
	char comm[SNAPSHOT_COMM_MAX];

	if (!look_take(c, slot, b->account))
		return;
	cgroup_id = cgroups_id(c->cgroups, slot->tgid, slot->cgroup_id);
	if (process_read("/proc", slot->tgid, &process) < 0 ||
	    process.start_ticks != process_ticks(slot->start_boottime))
		return;
	name_render(process.comm, sizeof(process.comm), comm, sizeof(comm));
	if (account_identify(c->accounts, b->account, comm, slot_unit(c, slot, b, cgroup_id)) >= 0)
		b->cgroup_id = cgroup_id;
}

/* Anything counted changes a number, so this misses nothing, whatever is written meanwhile. */
static bool slot_changed(const struct wire_slot *slot, const struct booked *b)
{
	return slot->noatime_reads != b->noatime_reads ||
	       memcmp(slot->counts, b->counts, sizeof(b->counts)) != 0;
}

/* Likewise at one glance. Bytes are counted before the operation that they are of, so after they
 * have changed it takes a closer look. */
static bool slot_counts_rest(const struct wire_slot *slot, const struct booked *b)
{
	return b->settled && slot->counts[WIRE_READ].bytes == b->counts[WIRE_READ].bytes &&
	       slot->counts[WIRE_WRITE].bytes == b->counts[WIRE_WRITE].bytes;
}

/* Its claim follows in one batch with the others. */
static void slot_free(struct collector *c, struct wire_slot *slot, struct booked *b)
{
	if (b->account)
		account_release(c->accounts, b->account);
	memset(b, 0, sizeof(*b));
	memset((char *)slot + sizeof(slot->key), 0, sizeof(*slot) - sizeof(slot->key));
	__atomic_store_n(&slot->key, 0, __ATOMIC_RELEASE);
	c->freed[c->n_freed++] = slot - c->memory.slots;
}

/* The account of a slot's process, opened and held when the slot is seen first. */
static int slot_open(struct collector *c, const struct wire_slot *slot, struct booked *b)
{
	if (b->account)
		return 0;
	b->account = accounts_open(c->accounts, slot->tgid, slot->start_boottime);
	if (!b->account)
		return -ENOMEM;
	account_hold(c->accounts, b->account);
	return 0;
}

/*
 * Our own operations are not accounted. Those of this thread are over for now, and of others the
 * slots are freed when they end.
 */
static bool slot_own(struct collector *c, struct wire_slot *slot, uint32_t key)
{
	if (slot->tgid != c->own_tgid)
		return false;
	if (!(key & WIRE_KEY_EXITED)) {
		if ((key & KEY_TID_MASK) != (uint32_t)gettid())
			return true;
		/* It is freed as if it had. */
		__atomic_add_fetch(&c->memory.shared->exited, 1, __ATOMIC_RELAXED);
	}
	slot_free(c, slot, &c->booked[slot - c->memory.slots]);
	return true;
}

/* What the slots of the main thread say of the process is to be said again. */
static void main_thread_forget(struct collector *c, const struct wire_slot *slot)
{
	static const uint32_t bits[] = { 0, WIRE_KEY_FIFO, WIRE_KEY_EXITED,
					 WIRE_KEY_FIFO | WIRE_KEY_EXITED };

	for (size_t i = 0; i < ARRAY_SIZE(bits); i++) {
		const struct wire_slot *of_main = slot_find(c, slot->tgid | bits[i]);

		if (of_main && of_main->start_boottime == slot->start_boottime)
			c->booked[of_main - c->memory.slots].identity_known = false;
	}
}

/* Books what is new in a slot, whose process has been identified. */
static int slot_book(struct collector *c, const struct wire_slot *slot, uint32_t key,
		     struct booked *b)
{
	struct pipe_counts counts;
	struct pipe_sizes sizes;

	if (!delta_take(slot->counts, &slot->noatime_reads, b->counts, &b->noatime_reads, &counts,
			&sizes))
		return 0;
	if (!(key & WIRE_KEY_EXITED) && !slot_of_main_thread(c, slot))
		slot_identify_by_process(c, slot, b);
	return account_book(c->accounts, b->account,
			    key & WIRE_KEY_FIFO ? PIPE_FIFO : PIPE_ANONYMOUS, &counts, &sizes);
}

/* Its thread has ended, and everything has been booked. */
static void slot_end(struct collector *c, struct wire_slot *slot, struct booked *b)
{
	if (slot->flags & WIRE_SLOT_PROCESS_EXITED)
		account_close(c->accounts, b->account, c->now_usec);
	slot_free(c, slot, b);
}

/*
 * First threads that have ended, other than main threads: what the process was called then may not
 * be what it is called now.
 */
static int slot_collect_ended(struct collector *c, struct wire_slot *slot, uint32_t key)
{
	struct booked *b = &c->booked[slot - c->memory.slots];
	int r;

	if (is_main_thread(slot, key) || slot_own(c, slot, key))
		return 0;
	r = slot_open(c, slot, b);
	if (r < 0)
		return r;
	if (slot_changed(slot, b) || slot->flags & WIRE_SLOT_PROCESS_EXITED ||
	    !account_identified(b->account)) {
		r = slot_identify(c, slot, b);
		if (r < 0)
			return r;
		main_thread_forget(c, slot);
	}
	r = slot_book(c, slot, key, b);
	slot_end(c, slot, b);
	return r;
}

/* Then who main threads say that the processes are, before anything else is booked. */
static int slot_introduce(struct collector *c, struct wire_slot *slot, uint32_t key)
{
	struct booked *b = &c->booked[slot - c->memory.slots];
	int r;

	if (!is_main_thread(slot, key) || slot->tgid == c->own_tgid)
		return 0;
	r = slot_open(c, slot, b);
	return r < 0 ? r : slot_identify(c, slot, b);
}

/* Another thread that has ended meanwhile is freed in the next round. */
static int slot_collect(struct collector *c, struct wire_slot *slot, uint32_t key)
{
	struct booked *b = &c->booked[slot - c->memory.slots];
	bool ended = key & WIRE_KEY_EXITED && is_main_thread(slot, key);
	int r;

	if (slot_own(c, slot, key))
		return 0;
	b->settled = !ended && b->account && account_identified(b->account) &&
		     !slot_changed(slot, b);
	if (b->settled)
		return 0;
	r = slot_open(c, slot, b);
	if (r >= 0 && (ended || !account_identified(b->account)))
		r = slot_identify(c, slot, b);
	if (r < 0)
		return r;
	r = slot_book(c, slot, key, b);
	if (ended)
		slot_end(c, slot, b);
	return r;
}

/* Is there nothing to do for a slot? As for nearly all of many, round after round. */
static bool slot_rests(const struct wire_slot *slot, uint32_t key, const struct booked *b)
{
	if (key & WIRE_KEY_EXITED || !slot_counts_rest(slot, b))
		return false;
	return !is_main_thread(slot, key) ||
	       (b->identity_known && b->cgroup_id == slot->cgroup_id &&
		!memcmp(b->comm, slot->comm, sizeof(b->comm)));
}

typedef int (*slot_fn)(struct collector *c, struct wire_slot *slot, uint32_t key);

/* Looks at every slot only where some have been claimed since. */
static void used_find(struct collector *c)
{
	uint64_t claimed = __atomic_load_n(&c->memory.shared->claimed, __ATOMIC_ACQUIRE);

	if (claimed == c->claimed_seen)
		return;
	c->claimed_seen = claimed;
	c->n_used = 0;
	for (uint32_t i = 0; i < WIRE_SLOTS; i++)
		if (__atomic_load_n(&c->memory.slots[i].key, __ATOMIC_ACQUIRE))
			c->used[c->n_used++] = i;
}

/* Drops those that have been freed. */
static void used_prune(struct collector *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n_used; i++)
		if (__atomic_load_n(&c->memory.slots[c->used[i]].key, __ATOMIC_RELAXED))
			c->used[n++] = c->used[i];
	c->n_used = n;
}

/* Those slots in use that do not rest. */
static void active_find(struct collector *c)
{
	c->n_active = 0;
	for (uint32_t i = 0; i < c->n_used; i++) {
		uint32_t index = c->used[i];
		const struct wire_slot *slot = &c->memory.slots[index];
		uint32_t key = __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE);

		if (key && !slot_rests(slot, key, &c->booked[index]))
			c->active[c->n_active++] = index;
	}
}

/* Calls @each for the @n slots with that bit in their key, if any. Sets *error to the first one
 * unless it is set, having gone on with the others. */
static void slots_each(struct collector *c, const uint32_t *indices, uint32_t n, uint32_t bit,
		       slot_fn each, int *error)
{
	for (uint32_t i = 0; i < n; i++) {
		struct wire_slot *slot = &c->memory.slots[indices[i]];
		uint32_t key = __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE);
		int r = key && (key & bit) == bit ? each(c, slot, key) : 0;

		if (r < 0 && *error == 0)
			*error = r;
	}
}

static void overflow_collect(struct collector *c)
{
	for (int pipe = 0; pipe < WIRE_PIPES; pipe++) {
		const struct wire_overflow *now = &c->memory.shared->overflow[pipe];
		struct wire_overflow *booked = &c->overflow[pipe];
		struct pipe_counts counts;
		struct pipe_sizes sizes;

		if (delta_take(now->counts, &now->noatime_reads, booked->counts,
			       &booked->noatime_reads, &counts, &sizes))
			accounts_book_other(c->accounts, pipe, &counts, &sizes);
	}
}

static int claims_delete(struct collector *c)
{
	uint32_t n = c->n_freed;
	int r;

	if (n == 0)
		return 0;
	r = bpf_map_delete_batch(c->memory.claims_fd, c->freed, &n, NULL);
	/* Refused as a whole, it leaves the number as it was. */
	if (r < 0 && n == c->n_freed)
		n = 0;
	/* What was not deleted, if anything, is tried again in the next round. */
	c->n_freed -= n;
	memmove(c->freed, c->freed + n, c->n_freed * sizeof(*c->freed));
	__atomic_add_fetch(&c->memory.shared->reaped, n, __ATOMIC_RELAXED);
	return r;
}

int collector_collect(struct collector *c, uint64_t now_usec)
{
	int r, error = 0;

	c->now_usec = now_usec;
	c->n_looks = 0;
	c->looks_next = 0;
	/* Before looking: what exits from now on may wake us again. */
	if (c->wake)
		ring_buffer__consume(c->wake);
	__atomic_store_n(&c->memory.shared->wake_pending, 0, __ATOMIC_SEQ_CST);

	used_find(c);
	slots_each(c, c->used, c->n_used, WIRE_KEY_EXITED, slot_collect_ended, &error);
	active_find(c);
	slots_each(c, c->active, c->n_active, 0, slot_introduce, &error);
	slots_each(c, c->active, c->n_active, 0, slot_collect, &error);
	overflow_collect(c);
	r = claims_delete(c);
	if (r < 0 && error == 0)
		error = r;

	used_prune(c);
	c->looks_from = c->looks_next;
	return error;
}

uint64_t collector_pending(struct collector *c)
{
	uint64_t sum = 0;

	used_find(c);
	for (uint32_t i = 0; i < c->n_used; i++) {
		const struct wire_slot *slot = &c->memory.slots[c->used[i]];

		if (__atomic_load_n(&slot->key, __ATOMIC_ACQUIRE) && slot->tgid != c->own_tgid)
			sum += delta_pending(slot->counts, c->booked[c->used[i]].counts);
	}
	for (int pipe = 0; pipe < WIRE_PIPES; pipe++)
		sum += delta_pending(c->memory.shared->overflow[pipe].counts,
				     c->overflow[pipe].counts);
	return sum;
}

bool collector_permitted(const struct collector *c)
{
	uint32_t key = 0, value;

	return bpf_map_lookup_elem(c->memory.claims_fd, &key, &value) == 0 || errno == ENOENT;
}

int collector_fill(const struct collector *c, struct snapshot *s)
{
	struct snapshot_map *map = snapshot_add_map(s);

	if (!map)
		return -ENOMEM;
	map->map = "claims";
	/* A slot that is free but still claimed is in use for the map. */
	map->entries = c->n_used + c->n_freed;
	map->max_entries = c->memory.max_threads;
	return 0;
}
