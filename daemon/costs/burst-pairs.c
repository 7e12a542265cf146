// SPDX-License-Identifier: GPL-2.0-or-later
#include "burst-pairs.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "burst.skel.h"
#include "kernel.h"
#include "pipewatch/util.h"

#define LOG_BYTES 4096

/* Programs NAME_entry and NAME_exit, and the function that they are attached to. */
static const struct {
	const char *name;
	enum kernel_function function;
} programs[PAIRS] = {
	[PAIR_MOUNT] = { "mount", KERNEL_MOUNT_WRITE_ACCESS },
	[PAIR_MOUNT_FILE] = { "mount_file", KERNEL_MOUNT_WRITE_ACCESS_FILE },
	[PAIR_INODE] = { "inode", KERNEL_INODE_UPDATE_TIME },
	[PAIR_GENERIC] = { "generic", KERNEL_GENERIC_UPDATE_TIME },
	[PAIR_ATIME] = { "atime", KERNEL_TOUCH_ATIME },
	[PAIR_CMTIME] = { "cmtime", KERNEL_FILE_UPDATE_TIME },
	[PAIR_FSNOTIFY] = { "fsnotify", KERNEL_FSNOTIFY },
	[PAIR_EMPTY] = { "empty", KERNEL_EMPTY },
	[PAIR_INNER] = { "inner", KERNEL_EMPTY_INNER },
	[PAIR_OUTER] = { "outer", KERNEL_EMPTY_OUTER },
};

struct pair {
	const char *function;
	char *reason; /* a sentence when it cannot be used, else empty */
	struct bpf_program *entry, *exit;
	struct bpf_link *entry_link, *exit_link;
	bool used;					/* has been attached since it was loaded */
	char entry_log[LOG_BYTES], exit_log[LOG_BYTES]; /* the verifier's */
};

#define REASON_BYTES 128

struct burst_pairs {
	struct burst_bpf *skeleton;
	struct pair pairs[PAIRS];
	char (*reasons)[REASON_BYTES]; /* one for each pair, shared memory; NULL: not yet */
	uint32_t own_tgid;
	bool attached_once; /* this kernel's programs can be attached only once */
	int n_cpus;
	struct burst_cpu cpu; /* room to read one */
};

const char *burst_pairs_reason(const struct burst_pairs *p, enum burst_pair pair)
{
	return p->pairs[pair].reason;
}

const char *burst_pairs_function(const struct burst_pairs *p, enum burst_pair pair)
{
	return p->pairs[pair].function;
}

void burst_pairs_exclude(struct burst_pairs *p, enum burst_pair pair, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(p->pairs[pair].reason, REASON_BYTES, format, arguments);
	va_end(arguments);
}

static bool pair_usable(const struct pair *pair)
{
	return !pair->reason[0];
}

static int functions_choose(struct burst_pairs *p)
{
	struct btf *btf = btf__load_vmlinux_btf();

	if (!btf)
		return -errno;
	for (int i = 0; i < PAIRS; i++) {
		const char *function = kernel_function_find(btf, programs[i].function);

		p->pairs[i].function = function ?: kernel_function_names(programs[i].function)[0];
		if (!function)
			burst_pairs_exclude(p, i, "This kernel's BTF has no %s.",
					    p->pairs[i].function);
	}
	btf__free(btf);
	return 0;
}

static int program_prepare(struct burst_pairs *p, enum burst_pair i, const char *end, char *log,
			   struct bpf_program **ret_program)
{
	struct bpf_program *program;
	char name[32];
	int r;

	snprintf(name, sizeof(name), "%s_%s", programs[i].name, end);
	program = bpf_object__find_program_by_name(p->skeleton->obj, name);
	if (!program)
		return -ENOENT;
	r = bpf_program__set_autoload(program, pair_usable(&p->pairs[i]));
	if (r >= 0 && pair_usable(&p->pairs[i]))
		r = bpf_program__set_attach_target(program, 0, p->pairs[i].function);
	if (r >= 0)
		r = bpf_program__set_log_buf(program, log, LOG_BYTES);
	if (r < 0)
		return r;
	*ret_program = program;
	return 0;
}

/* Opens another object that shares the old one's maps: an object that was loaded, or failed to
 * load, cannot be loaded again. */
static int skeleton_open(struct burst_pairs *p)
{
	struct burst_bpf *old = p->skeleton;
	int r = 0;

	p->skeleton = burst_bpf__open();
	if (!p->skeleton) {
		p->skeleton = old;
		return -errno;
	}
	if (old && bpf_map__fd(old->maps.cpus) >= 0) {
		r = bpf_map__reuse_fd(p->skeleton->maps.cpus, bpf_map__fd(old->maps.cpus));
		if (r >= 0)
			r = bpf_map__reuse_fd(p->skeleton->maps.bss, bpf_map__fd(old->maps.bss));
	} else {
		r = bpf_map__set_max_entries(p->skeleton->maps.cpus, (uint32_t)p->n_cpus);
	}
	burst_bpf__destroy(old);
	p->skeleton->rodata->own_tgid = p->own_tgid;
	for (int i = 0; i < PAIRS && r >= 0; i++) {
		struct pair *pair = &p->pairs[i];

		pair->used = false;
		r = program_prepare(p, i, "entry", pair->entry_log, &pair->entry);
		if (r >= 0)
			r = program_prepare(p, i, "exit", pair->exit_log, &pair->exit);
	}
	return r;
}

/* The pair that the verifier refused: the one that it wrote a log for. */
static int pair_refused(const struct burst_pairs *p)
{
	for (int i = 0; i < PAIRS; i++)
		if (pair_usable(&p->pairs[i]) &&
		    (p->pairs[i].entry_log[0] || p->pairs[i].exit_log[0]))
			return i;
	return -1;
}

/* A pair that does not load costs its figure only. */
static int skeleton_load(struct burst_pairs *p)
{
	int refused, r;

	for (;;) {
		r = skeleton_open(p);
		if (r < 0)
			return r;
		r = burst_bpf__load(p->skeleton);
		if (r >= 0)
			return 0;
		refused = pair_refused(p);
		if (refused < 0 || r == -EPERM || r == -EACCES || r == -ENOMEM)
			return r;
		burst_pairs_exclude(p, refused,
				    "The kernel refused to load the program for %s (%s).",
				    p->pairs[refused].function, strerror(-r));
	}
}

int burst_pairs_new(struct burst_pairs **ret_pairs)
{
	_cleanup_(burst_pairs_freep) struct burst_pairs *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->reasons = mmap(NULL, PAIRS * sizeof(*p->reasons), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p->reasons == MAP_FAILED) {
		p->reasons = NULL;
		return -errno;
	}
	for (int i = 0; i < PAIRS; i++)
		p->pairs[i].reason = p->reasons[i];
	p->own_tgid = (uint32_t)getpid();
	p->n_cpus = libbpf_num_possible_cpus();
	if (p->n_cpus < 0)
		return p->n_cpus;
	r = functions_choose(p);
	if (r >= 0)
		r = skeleton_load(p);
	if (r < 0)
		return r;
	*ret_pairs = p;
	p = NULL;
	return 0;
}

struct burst_pairs *burst_pairs_free(struct burst_pairs *p)
{
	if (!p)
		return NULL;
	burst_pairs_detach_all(p);
	burst_bpf__destroy(p->skeleton);
	if (p->reasons)
		munmap(p->reasons, PAIRS * sizeof(*p->reasons));
	free(p);
	return NULL;
}

static void pair_detach(struct pair *pair)
{
	bpf_link__destroy(pair->entry_link);
	bpf_link__destroy(pair->exit_link);
	pair->entry_link = pair->exit_link = NULL;
}

static int link_attach(const struct bpf_program *program, struct bpf_link **ret_link)
{
	struct bpf_link *link = bpf_program__attach(program);

	if (!link)
		return -errno;
	*ret_link = link;
	return 0;
}

/* The exit first: without the entry it does nothing. */
static int pair_attach(struct pair *pair)
{
	int r;

	r = link_attach(pair->exit, &pair->exit_link);
	if (r >= 0)
		r = link_attach(pair->entry, &pair->entry_link);
	if (r < 0)
		pair_detach(pair);
	return r;
}

int burst_pairs_attach(struct burst_pairs *p, enum burst_pair i)
{
	struct pair *pair = &p->pairs[i];
	int r = -ENOENT;

	if (!pair->used || !p->attached_once)
		r = pair_attach(pair);
	if (pair->used && kernel_attaches_once(r)) {
		p->attached_once = true;
		r = skeleton_load(p);
		if (r >= 0)
			r = pair_attach(pair);
	}
	pair->used = true;
	if (r >= 0)
		return 0;
	if (kernel_lacks_arguments(r))
		burst_pairs_exclude(p, i, "%s has more arguments than this kernel can trace.",
				    pair->function);
	else
		burst_pairs_exclude(p, i, "Attaching to %s failed (%s).", pair->function,
				    strerror(-r));
	return r;
}

int burst_pairs_renew(struct burst_pairs *p)
{
	return p->attached_once ? skeleton_load(p) : 0;
}

void burst_pairs_detach_all(struct burst_pairs *p)
{
	for (int i = PAIRS - 1; i >= 0; i--)
		pair_detach(&p->pairs[i]);
}

void burst_pairs_set_open(struct burst_pairs *p, bool open)
{
	__atomic_store_n(&p->skeleton->bss->window_open, open, __ATOMIC_SEQ_CST);
}

bool burst_pairs_is_open(const struct burst_pairs *p)
{
	return __atomic_load_n(&p->skeleton->bss->window_open, __ATOMIC_SEQ_CST);
}

static void fd_consider(int fd, int first, int *next)
{
	if (fd >= first && fd < *next)
		*next = fd;
}

void burst_pairs_close_others(const struct burst_pairs *p)
{
	struct bpf_program *program;
	int first = STDERR_FILENO + 1;
	struct bpf_map *map;

	for (;;) {
		int next = INT_MAX;

		fd_consider(bpf_object__btf_fd(p->skeleton->obj), first, &next);
		bpf_object__for_each_map(map, p->skeleton->obj)
			fd_consider(bpf_map__fd(map), first, &next);
		bpf_object__for_each_program(program, p->skeleton->obj)
			fd_consider(bpf_program__fd(program), first, &next);
		if (next > first)
			close_range((unsigned int)first, (unsigned int)next - 1, 0);
		if (next == INT_MAX)
			return;
		first = next + 1;
	}
}

int burst_pairs_clear(struct burst_pairs *p)
{
	int r = 0;

	memset(&p->cpu, 0, sizeof(p->cpu));
	for (uint32_t cpu = 0; cpu < (uint32_t)p->n_cpus && r >= 0; cpu++)
		r = bpf_map_update_elem(bpf_map__fd(p->skeleton->maps.cpus), &cpu, &p->cpu,
					BPF_ANY);
	return r;
}

static void times_add(struct burst_times *t, const struct burst_cpu *cpu)
{
	const struct burst_histogram *from = &cpu->histograms[0][0][0][0];
	struct histogram *to = &t->histograms[0][0][0][0];

	_Static_assert(HISTOGRAM_BUCKETS == BURST_BUCKETS, "added bucket by bucket");
	t->switched += cpu->switched;
	for (int i = 0; i < BURST_CALLS * BURST_HOOKS; i++)
		(&t->hits[0][0])[i] += (&cpu->hits[0][0])[i];
	for (int i = 0; i < BURST_OWNERS * BURST_PIPES * BURST_CALLS * BURST_SPANS; i++) {
		for (int bucket = 0; bucket < BURST_BUCKETS; bucket++) {
			to[i].buckets[bucket].count += from[i].buckets[bucket].count;
			to[i].buckets[bucket].sum_ns += from[i].buckets[bucket].sum_ns;
		}
	}
}

int burst_pairs_read(struct burst_pairs *p, struct burst_times *ret)
{
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	for (uint32_t cpu = 0; cpu < (uint32_t)p->n_cpus && r >= 0; cpu++) {
		r = bpf_map_lookup_elem(bpf_map__fd(p->skeleton->maps.cpus), &cpu, &p->cpu);
		if (r >= 0)
			times_add(ret, &p->cpu);
	}
	return r;
}

static int program_missed(const struct bpf_program *program, uint64_t *sum)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) < 0)
		return -errno;
	*sum += info.recursion_misses;
	return 0;
}

int burst_pairs_missed(const struct burst_pairs *p, uint64_t *ret_missed)
{
	uint64_t missed = 0;
	int r = 0;

	for (int i = 0; i < PAIRS && r >= 0; i++) {
		if (bpf_program__fd(p->pairs[i].entry) < 0)
			continue;
		r = program_missed(p->pairs[i].entry, &missed);
		if (r >= 0)
			r = program_missed(p->pairs[i].exit, &missed);
	}
	if (r < 0)
		return r;
	*ret_missed = missed;
	return 0;
}

int burst_pairs_run_empty(const struct burst_pairs *p, int n)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	int r = 0;

	for (int i = 0; i < n && r >= 0; i++)
		r = bpf_prog_test_run_opts(bpf_program__fd(p->pairs[PAIR_EMPTY].entry), &options);
	return r;
}

int burst_pairs_run_clock(const struct burst_pairs *p, struct burst_clock *ret)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	int r = bpf_prog_test_run_opts(bpf_program__fd(p->skeleton->progs.clock), &options);

	if (r < 0)
		return r;
	*ret = p->skeleton->bss->clock_times;
	return 0;
}
