// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "pipewatch/clock.h"
#include "cpus.h"
#include "jitter.h"
#include "kallsyms.h"
#include "map-memory.h"
#include "perf-event.h"
#include "pipewatch/sampler-wire.h"
#include "pipewatch/util.h"
#include "process.h"
#include "sampler-denial.h"
#include "sampler.skel.h"

#define NSEC_PER_SEC UINT64_C(1000000000)
#define ONLINE_PATH  "/sys/devices/system/cpu/online"

/* A CPU whose timer is this late has been offline in the meantime, which ends its event for good.
 */
#define DEAD_PERIODS 10
#define DEAD_NS	     NSEC_PER_SEC

/* Above twice the longest jittered period: a refresh begins a new period, and the one that it cuts
 * short is added to it. */
#define LONGEST_PERIODS 3

_Static_assert(SAMPLER_COMM_LEN == SAMPLER_COMM_MAX, "the names of processes");

/* The updates of the program, as the rest of the daemon has them. */
static const enum update_kind update_kinds[SAMPLER_UPDATES] = {
	[SAMPLER_UPDATE_ATIME] = UPDATE_ATIME,
	[SAMPLER_UPDATE_CMTIME] = UPDATE_CMTIME,
	[SAMPLER_UPDATE_FSNOTIFY_ANONYMOUS] = UPDATE_FSNOTIFY,
	[SAMPLER_UPDATE_FSNOTIFY_FIFO] = UPDATE_FSNOTIFY,
};

static const enum sampler_class update_classes[UPDATE_KINDS] = {
	[UPDATE_ATIME] = SAMPLER_ATIME,
	[UPDATE_CMTIME] = SAMPLER_CMTIME,
	[UPDATE_FSNOTIFY] = SAMPLER_FSNOTIFY,
};

/* More would not fit into the memory that the service may take. */
#define PROCESSES_MAX 16384

/* Entries of the map that are read at a time: whole buckets, none of which has this many. */
#define BATCH 256

/* So many processes without new samples are looked at in a round. */
#define TURNS 64

struct cpu {
	int event_fd;		/* -1: not sampled */
	uint64_t enabled_ns;	/* CLOCK_MONOTONIC */
	uint64_t jittered_last; /* its last sample when the period was last changed */
};

struct sampler {
	struct sampler_bpf *skeleton;
	uint64_t period_ns;
	size_t n_cpus; /* possible ones */
	struct cpu *cpus;
	bool *online;		    /* scratch */
	struct sampler_cpu *memory; /* what BPF writes, for each possible CPU */
	size_t memory_size;
	uint64_t map_bytes;
	bool sees[UPDATE_KINDS];

	struct sampler_key keys[BATCH];
	struct sampler_entry entries[BATCH];
	size_t turn, n_unchanged;
};

/* Including the parts that compilers split off. Where file_update_time_flags exists,
 * file_update_time ends in a jump to it and leaves no frame of its own. */
static const struct {
	const char *function;
	enum sampler_class class;
} functions[] = {
	{ "pipe_read", SAMPLER_PIPE },
	{ "pipe_write", SAMPLER_PIPE },
	{ "anon_pipe_read", SAMPLER_PIPE },
	{ "anon_pipe_write", SAMPLER_PIPE },
	{ "fifo_pipe_read", SAMPLER_PIPE },
	{ "fifo_pipe_write", SAMPLER_PIPE },
	{ "touch_atime", SAMPLER_ATIME },
	{ "file_update_time", SAMPLER_CMTIME },
	{ "file_update_time_flags", SAMPLER_CMTIME },
	{ "fsnotify", SAMPLER_FSNOTIFY },
	{ "__fsnotify_parent", SAMPLER_FSNOTIFY }, /* FIFOs have one */
	{ "__do_softirq", SAMPLER_SOFTIRQ },
	{ "handle_softirqs", SAMPLER_SOFTIRQ },
};

static int find_functions(struct sampler_ranges classes[static SAMPLER_CLASSES])
{
	struct kallsyms_range ranges[SAMPLER_CLASSES * SAMPLER_RANGES];
	const char *names[ARRAY_SIZE(functions) + 1] = {};
	size_t n;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		names[i] = functions[i].function;
	/* A systemd unit can pass the file as standard input, where we cannot open it ourselves or
	 * would not see the addresses. */
	r = kallsyms_find_passed(STDIN_FILENO, names, ranges, ARRAY_SIZE(ranges), &n);
	if (r < 0)
		r = kallsyms_find("/proc/kallsyms", names, ranges, ARRAY_SIZE(ranges), &n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		struct sampler_ranges *c = &classes[functions[ranges[i].function].class];

		if (c->n == SAMPLER_RANGES)
			return -ENOSPC;
		c->ranges[c->n++] = (struct sampler_range){ .begin = ranges[i].begin,
							    .end = ranges[i].end };
	}
	return classes[SAMPLER_PIPE].n > 0 ? 0 : -ESRCH;
}

static int load(struct sampler *s, uint32_t max_processes, const struct sampler_ranges *classes)
{
	int r;

	s->skeleton = sampler_bpf__open();
	if (!s->skeleton)
		return -errno;
	s->skeleton->rodata->own_tgid = getpid();
	s->skeleton->rodata->period_ns = s->period_ns;
	s->skeleton->rodata->longest_ns = LONGEST_PERIODS * s->period_ns;
	memcpy((void *)s->skeleton->rodata->classes, classes, sizeof(s->skeleton->rodata->classes));
	r = bpf_map__set_max_entries(s->skeleton->maps.cpus, s->n_cpus);
	if (r >= 0)
		r = bpf_map__set_max_entries(s->skeleton->maps.processes,
					     max_processes < PROCESSES_MAX ? max_processes
									   : PROCESSES_MAX);
	if (r >= 0)
		r = sampler_bpf__load(s->skeleton);
	if (r < 0)
		return r;

	s->map_bytes = map_memory_bytes(s->skeleton->obj);
	s->memory_size = s->n_cpus * sizeof(*s->memory);
	s->memory = mmap(NULL, s->memory_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			 bpf_map__fd(s->skeleton->maps.cpus), 0);
	if (s->memory == MAP_FAILED) {
		s->memory = NULL;
		return -errno;
	}
	return 0;
}

static int cpu_open(struct sampler *s, size_t cpu)
{
	_cleanup_(closep) int fd = perf_event_open_timer(cpu, jitter(s->period_ns));

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(s->skeleton->progs.sample)) < 0)
		return -errno;
	__atomic_store_n(&s->memory[cpu].last_ns, 0, __ATOMIC_RELAXED);
	s->cpus[cpu].jittered_last = 0;
	s->cpus[cpu].enabled_ns = clock_ns(CLOCK_MONOTONIC);
	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	s->cpus[cpu].event_fd = fd;
	fd = -1;
	return 0;
}

static void cpu_close(struct cpu *cpu)
{
	closep(&cpu->event_fd);
	cpu->event_fd = -1;
}

static bool cpu_is_dead(const struct sampler *s, size_t cpu)
{
	uint64_t last = __atomic_load_n(&s->memory[cpu].last_ns, __ATOMIC_RELAXED);
	uint64_t since = last > s->cpus[cpu].enabled_ns ? last : s->cpus[cpu].enabled_ns;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	return now > since && now - since > DEAD_NS + DEAD_PERIODS * s->period_ns;
}

static int cpu_jitter(struct sampler *s, size_t cpu)
{
	uint64_t last = __atomic_load_n(&s->memory[cpu].last_ns, __ATOMIC_RELAXED);
	uint64_t period = jitter(s->period_ns);

	/* Each change begins a new period: if they came faster than it, none would ever end. */
	if (last == s->cpus[cpu].jittered_last)
		return 0;
	s->cpus[cpu].jittered_last = last;
	return ioctl(s->cpus[cpu].event_fd, PERF_EVENT_IOC_PERIOD, &period) < 0 ? -errno : 0;
}

int sampler_refresh(struct sampler *s)
{
	int first = 0, r;

	r = cpus_read(ONLINE_PATH, s->online, s->n_cpus);
	if (r < 0)
		return r;
	for (size_t i = 0; i < s->n_cpus; i++) {
		struct cpu *cpu = &s->cpus[i];

		if (cpu->event_fd >= 0 && (!s->online[i] || cpu_is_dead(s, i)))
			cpu_close(cpu);
		if (!s->online[i])
			continue;
		r = cpu->event_fd < 0 ? cpu_open(s, i) : cpu_jitter(s, i);
		/* It went offline just now. */
		if (r == -ENODEV)
			continue;
		if (r < 0 && first == 0)
			first = r;
	}
	return first;
}

static int sampler_allocate(unsigned int frequency_hz, size_t n_cpus, struct sampler **ret_sampler)
{
	_cleanup_(sampler_freep) struct sampler *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->period_ns = NSEC_PER_SEC / frequency_hz;
	s->cpus = calloc(n_cpus, sizeof(*s->cpus));
	s->online = calloc(n_cpus, sizeof(*s->online));
	if (!s->cpus || !s->online)
		return -ENOMEM;
	s->n_cpus = n_cpus;
	for (size_t i = 0; i < s->n_cpus; i++)
		s->cpus[i].event_fd = -1;
	*ret_sampler = s;
	s = NULL;
	return 0;
}

/* Finds the functions, loads the program and starts the timers. *ret_step is the one that failed.
 */
static int sampler_start(struct sampler *s, uint32_t max_processes, enum sampler_step *ret_step)
{
	struct sampler_ranges classes[SAMPLER_CLASSES] = {};
	bool killed;
	int r;

	*ret_step = SAMPLER_STEP_ADDRESSES;
	r = find_functions(classes);
	if (r < 0)
		return r;
	for (int kind = 0; kind < UPDATE_KINDS; kind++)
		s->sees[kind] = classes[update_classes[kind]].n > 0;
#if !defined(__x86_64__)
	s->sees[UPDATE_FSNOTIFY] = false;
#endif

	*ret_step = SAMPLER_STEP_PROGRAM;
	r = load(s, max_processes, classes);
	if (r < 0)
		return r;

	*ret_step = SAMPLER_STEP_EVENTS;
	r = perf_event_try(&killed);
	return r < 0 ? r : sampler_refresh(s);
}

int sampler_new(unsigned int frequency_hz, uint32_t max_processes, char *ret_reason, size_t size,
		struct sampler **ret_sampler)
{
	_cleanup_(sampler_freep) struct sampler *s = NULL;
	int n_cpus = libbpf_num_possible_cpus();
	enum sampler_step step;
	int r;

	if (frequency_hz < 1 || frequency_hz > 10000 || max_processes < 1) {
		snprintf(ret_reason, size, "The sampling frequency must be 1 to 10000 Hz.");
		return -EINVAL;
	}
	if (n_cpus < 0) {
		snprintf(ret_reason, size,
			 "The CPUs that are possible here cannot be found out: %s.",
			 strerror(-n_cpus));
		return n_cpus;
	}
	r = sampler_allocate(frequency_hz, n_cpus, &s);
	if (r < 0) {
		snprintf(ret_reason, size, "Out of memory.");
		return r;
	}
	r = sampler_start(s, max_processes, &step);
	if (r < 0) {
		sampler_denial_explain(step, r, ret_reason, size);
		return r;
	}
	*ret_sampler = s;
	s = NULL;
	return 0;
}

struct sampler *sampler_free(struct sampler *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->n_cpus; i++)
		cpu_close(&s->cpus[i]);
	if (s->memory)
		munmap(s->memory, s->memory_size);
	sampler_bpf__destroy(s->skeleton);
	free(s->online);
	free(s->cpus);
	free(s);
	return NULL;
}

/* Has the process ended for certain? The sums of one that may still run must be kept. Sets its
 * present name if it has not. */
static bool process_look(const struct sampler_key *key, char comm[static SAMPLER_COMM_MAX])
{
	struct process p;
	int r;

	if (kill(key->tgid, 0) < 0 && errno == ESRCH)
		return true;
	r = process_read("/proc", key->tgid, &p);
	if (r < 0)
		return false;
	if (p.ended || p.start_ticks != process_ticks(key->start_boottime))
		return true;
	snprintf(comm, SAMPLER_COMM_MAX, "%.*s", SAMPLER_COMM_MAX - 1, p.comm);
	return false;
}

/* Copies what the program knows of a process. */
static void fill(const struct sampler_sums *sums, struct sampler_process *p)
{
	p->pipe_ns = sums->pipe_ns;
	p->pipe_samples = sums->pipe_samples;
	for (int update = 0; update < SAMPLER_UPDATES; update++) {
		p->update_ns[update_kinds[update]] += sums->update_ns[update];
		p->update_samples[update_kinds[update]] += sums->update_samples[update];
	}
	p->fsnotify_ns[PIPE_ANONYMOUS] = sums->update_ns[SAMPLER_UPDATE_FSNOTIFY_ANONYMOUS];
	p->fsnotify_ns[PIPE_FIFO] = sums->update_ns[SAMPLER_UPDATE_FSNOTIFY_FIFO];
}

static void sums_add(struct sampler_sums *sum, const struct sampler_sums *add)
{
	sum->pipe_ns += add->pipe_ns;
	sum->pipe_samples += add->pipe_samples;
	for (int update = 0; update < SAMPLER_UPDATES; update++) {
		sum->update_ns[update] += add->update_ns[update];
		sum->update_samples[update] += add->update_samples[update];
	}
}

static uint64_t samples_of(const struct sampler_sums *sums)
{
	return sums->pipe_samples + sums->update_samples[SAMPLER_UPDATE_FSNOTIFY_ANONYMOUS] +
	       sums->update_samples[SAMPLER_UPDATE_FSNOTIFY_FIFO];
}

/* Is it the turn of this process, which has no new samples? */
static bool turn_take(struct sampler *s)
{
	size_t i = s->n_unchanged++;

	return i >= s->turn && i < s->turn + TURNS;
}

static void turns_end(struct sampler *s)
{
	s->turn = s->turn + TURNS < s->n_unchanged ? s->turn + TURNS : 0;
	s->n_unchanged = 0;
}

/* Reads entry @i of the batch. Returns 1 when its process has ended and it is to be deleted, 0 or
 * -errno. */
static int entry_read(struct sampler *s, size_t i, sampler_known_fn known, sampler_each_fn each,
		      void *userdata)
{
	const struct sampler_key *key = &s->keys[i];
	struct sampler_entry *entry = &s->entries[i];
	struct sampler_process process = {
		.tgid = key->tgid,
		.start_boottime_ns = key->start_boottime,
	};
	char comm[SAMPLER_COMM_MAX] = "";

	process.exited = kill(key->tgid, 0) < 0 && errno == ESRCH;
	if (!process.exited) {
		if (known &&
		    known(key->tgid, key->start_boottime, samples_of(&entry->sums), userdata) &&
		    !turn_take(s))
			return 0;
		process.exited = process_look(key, comm);
	}
	/* Read again: only now is it certain that nothing will be added. */
	if (process.exited &&
	    bpf_map_lookup_elem(bpf_map__fd(s->skeleton->maps.processes), key, entry) < 0)
		return -errno;
	fill(&entry->sums, &process);
	process.cgroup_id = entry->cgroup_id;
	memcpy(process.comm, comm[0] ? comm : entry->comm, sizeof(process.comm));
	each(&process, userdata);
	return process.exited;
}

static int batch_read(struct sampler *s, size_t n, sampler_known_fn known, sampler_each_fn each,
		      void *userdata)
{
	int fd = bpf_map__fd(s->skeleton->maps.processes);

	for (size_t i = 0; i < n; i++) {
		int r = entry_read(s, i, known, each, userdata);

		if (r > 0 && bpf_map_delete_elem(fd, &s->keys[i]) < 0)
			r = -errno;
		if (r < 0)
			return r;
	}
	return 0;
}

int sampler_read(struct sampler *s, sampler_known_fn known, sampler_each_fn each, void *userdata)
{
	int fd = bpf_map__fd(s->skeleton->maps.processes);
	struct sampler_sums unattributed = {};
	struct sampler_process process = {};
	uint32_t position;
	bool more = true;

	for (void *from = NULL; more; from = &position) {
		uint32_t n = BATCH;
		int r;

		if (bpf_map_lookup_batch(fd, from, &position, s->keys, s->entries, &n, NULL) < 0) {
			if (errno != ENOENT)
				return -errno;
			more = false;
		}
		r = batch_read(s, n, known, each, userdata);
		if (r < 0)
			return r;
	}
	turns_end(s);

	for (size_t i = 0; i < s->n_cpus; i++)
		sums_add(&unattributed, &s->memory[i].unattributed);
	fill(&unattributed, &process);
	if (process.pipe_samples > 0)
		each(&process, userdata);
	return 0;
}

bool sampler_permitted(const struct sampler *s)
{
	const struct sampler_key nobody = {};
	struct sampler_entry entry;

	return bpf_map_lookup_elem(bpf_map__fd(s->skeleton->maps.processes), &nobody, &entry) ==
		       0 ||
	       errno == ENOENT;
}

uint64_t sampler_map_bytes(const struct sampler *s)
{
	return s->map_bytes;
}

bool sampler_sees(const struct sampler *s, enum update_kind kind)
{
	return s->sees[kind];
}

unsigned int sampler_cpus(const struct sampler *s)
{
	unsigned int n = 0;

	for (size_t i = 0; i < s->n_cpus; i++)
		n += s->cpus[i].event_fd >= 0;
	return n;
}

uint64_t sampler_taken(const struct sampler *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n_cpus; i++)
		n += s->memory[i].samples;
	return n;
}

double sampler_seconds(const struct sampler *s)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < s->n_cpus; i++)
		ns += s->memory[i].ns;
	return (double)ns / NSEC_PER_SEC;
}

uint64_t sampler_lost(const struct sampler *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n_cpus; i++)
		n += s->memory[i].lost;
	return n;
}
