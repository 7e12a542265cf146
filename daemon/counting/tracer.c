// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "pipewatch/clock.h"
#include "detachment.h"
#include "kernel.h"
#include "map-memory.h"
#include "pipewatch/wire.h"
#include "pipewatch.skel.h"
#include "pipewatch/util.h"
#include "run-time.h"
#include "spell.h"
#include "verifier-log.h"

enum program {
	/* In the order of attaching: processes must be kept track of before anything is counted. */
	PROGRAM_EXIT,
	PROGRAM_FREE,
	PROGRAM_EXEC,
	PROGRAM_RENAME,
	PROGRAM_MOVE,
	PROGRAM_CGROUP,
	PROGRAM_READ,
	PROGRAM_WRITE,
	PROGRAMS,
};

_Static_assert((int)PROGRAMS == TRACER_PROGRAMS, "what others see");

#define LOG_BYTES 16384

struct tracer {
	struct pipewatch_bpf *skeleton;
	uint32_t max_threads;
	uint64_t map_bytes;
	struct tracer_program programs[PROGRAMS];
	bool wanted[PROGRAMS]; /* has a hook on this kernel and has not failed to load */
	char *logs[PROGRAMS];  /* the verifier's, LOG_BYTES each */
	bool paused;
	uint64_t missed_before[PROGRAMS];
	struct spell counted, attached;
	struct detachment detachment;
};

static struct bpf_program *program_of(const struct pipewatch_bpf *skeleton, enum program program)
{
	switch (program) {
	case PROGRAM_EXIT: return skeleton->progs.process_exit;
	case PROGRAM_FREE: return skeleton->progs.process_free;
	case PROGRAM_EXEC: return skeleton->progs.process_exec;
	case PROGRAM_RENAME: return skeleton->progs.process_rename;
	case PROGRAM_MOVE: return skeleton->progs.process_move;
	case PROGRAM_CGROUP: return skeleton->progs.cgroup_made;
	case PROGRAM_READ: return skeleton->progs.pipe_read_exit;
	default: return skeleton->progs.pipe_write_exit;
	}
}

static struct bpf_link **link_of(const struct tracer *t, enum program program)
{
	switch (program) {
	case PROGRAM_EXIT: return &t->skeleton->links.process_exit;
	case PROGRAM_FREE: return &t->skeleton->links.process_free;
	case PROGRAM_EXEC: return &t->skeleton->links.process_exec;
	case PROGRAM_RENAME: return &t->skeleton->links.process_rename;
	case PROGRAM_MOVE: return &t->skeleton->links.process_move;
	case PROGRAM_CGROUP: return &t->skeleton->links.cgroup_made;
	case PROGRAM_READ: return &t->skeleton->links.pipe_read_exit;
	default: return &t->skeleton->links.pipe_write_exit;
	}
}

/* Of the programs that keep track of processes. */
static const char *const tracepoints[PROGRAM_READ] = {
	[PROGRAM_EXIT] = "sched_process_exit", [PROGRAM_FREE] = "sched_process_free",
	[PROGRAM_EXEC] = "sched_process_exec", [PROGRAM_RENAME] = "task_rename",
	[PROGRAM_MOVE] = "cgroup_attach_task", [PROGRAM_CGROUP] = "cgroup_mkdir",
};

static const char *const names[PROGRAMS] = {
	[PROGRAM_EXIT] = "process_exit", [PROGRAM_FREE] = "process_free",
	[PROGRAM_EXEC] = "process_exec", [PROGRAM_RENAME] = "process_rename",
	[PROGRAM_MOVE] = "process_move", [PROGRAM_CGROUP] = "cgroup_made",
	[PROGRAM_READ] = "pipe_read",	 [PROGRAM_WRITE] = "pipe_write",
};

static void __attribute__((format(printf, 3, 4)))
program_fail(struct tracer *t, enum program program, const char *format, ...)
{
	struct tracer_program *p = &t->programs[program];
	va_list arguments;

	p->attached = false;
	va_start(arguments, format);
	vsnprintf(p->reason, sizeof(p->reason), format, arguments);
	va_end(arguments);
}

static bool tracepoint_exists(const struct btf *btf, const char *tracepoint)
{
	char type[64];

	snprintf(type, sizeof(type), "btf_trace_%s", tracepoint);
	return btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) > 0;
}

/* The function or tracepoint for @program; NULL when this kernel has none. *ret_wanted is its name
 * on the newest kernels. */
static const char *hook_find(const struct btf *btf, enum program program, const char **ret_wanted)
{
	if (program == PROGRAM_READ || program == PROGRAM_WRITE) {
		enum kernel_function function = program == PROGRAM_READ ? KERNEL_PIPE_READ
									: KERNEL_PIPE_WRITE;

		*ret_wanted = kernel_function_names(function)[0];
		return kernel_function_find(btf, function);
	}
	*ret_wanted = tracepoints[program];
	return tracepoint_exists(btf, *ret_wanted) ? *ret_wanted : NULL;
}

static void hooks_choose(struct tracer *t, const struct btf *btf)
{
	for (int p = 0; p < PROGRAMS; p++) {
		const char *wanted, *hook = hook_find(btf, p, &wanted);

		t->programs[p].program = names[p];
		t->programs[p].hook = hook ?: wanted;
		t->wanted[p] = hook;
		if (!hook)
			program_fail(t, p, "this kernel's BTF has no %s", wanted);
	}
}

/* Opens a new object with the programs that are still wanted: one that failed to load cannot be
 * loaded again. */
static int skeleton_open(struct tracer *t)
{
	int r;

	pipewatch_bpf__destroy(t->skeleton);
	t->skeleton = pipewatch_bpf__open();
	if (!t->skeleton)
		return -errno;

	t->skeleton->rodata->wake_at_exited = t->max_threads / 16 + 1;
	r = bpf_map__set_max_entries(t->skeleton->maps.claims, t->max_threads);
	if (r < 0)
		return r;

	for (int p = 0; p < PROGRAMS; p++) {
		struct bpf_program *program = program_of(t->skeleton, p);

		r = bpf_program__set_autoload(program, t->wanted[p]);
		if (r >= 0 && t->wanted[p] && p >= PROGRAM_READ)
			r = bpf_program__set_attach_target(program, 0, t->programs[p].hook);
		if (r >= 0)
			r = bpf_program__set_log_buf(program, t->logs[p], LOG_BYTES);
		if (r < 0)
			return r;
	}
	return 0;
}

int tracer_open(uint32_t max_threads, struct tracer **ret_tracer)
{
	_cleanup_(tracer_freep) struct tracer *t = NULL;
	struct btf *btf;
	int r;

	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->max_threads = max_threads < WIRE_SLOTS ? max_threads : WIRE_SLOTS;
	for (int p = 0; p < PROGRAMS; p++) {
		t->logs[p] = calloc(1, LOG_BYTES);
		if (!t->logs[p])
			return -ENOMEM;
	}

	btf = btf__load_vmlinux_btf();
	if (!btf)
		return errno == EPERM || errno == EACCES || errno == ENOMEM ? -errno : -ENOENT;
	hooks_choose(t, btf);
	btf__free(btf);

	r = skeleton_open(t);
	if (r < 0)
		return r;

	*ret_tracer = t;
	t = NULL;
	return 0;
}

struct tracer *tracer_free(struct tracer *t)
{
	if (!t)
		return NULL;
	detachment_join(&t->detachment);
	pipewatch_bpf__destroy(t->skeleton);
	for (int p = 0; p < PROGRAMS; p++)
		free(t->logs[p]);
	free(t);
	return NULL;
}

/* The program that the verifier refused: the last one with a log. */
static int program_refused(const struct tracer *t)
{
	for (int p = PROGRAMS - 1; p >= 0; p--)
		if (t->wanted[p] && t->logs[p][0])
			return p;
	return -1;
}

int tracer_load(struct tracer *t)
{
	char summary[101];
	int refused, r;

	for (;;) {
		r = pipewatch_bpf__load(t->skeleton);
		if (r >= 0) {
			t->map_bytes = map_memory_bytes(t->skeleton->obj);
			return 0;
		}
		refused = program_refused(t);
		if (refused < 0 || r == -EPERM || r == -EACCES || r == -ENOMEM)
			return r;

		/* Without it the others may load. */
		verifier_log_summarize(t->logs[refused], summary, sizeof(summary));
		program_fail(t, refused, "the kernel refused to load it: %s", summary);
		t->wanted[refused] = false;
		t->logs[refused][0] = '\0';
		if (!t->wanted[PROGRAM_READ] && !t->wanted[PROGRAM_WRITE])
			return r;
		r = skeleton_open(t);
		if (r < 0)
			return r;
	}
}

static int program_attach(struct tracer *t, const struct pipewatch_bpf *skeleton,
			  enum program program)
{
	struct bpf_link *link;

	if (!t->wanted[program])
		return -ENOENT;
	link = bpf_program__attach(program_of(skeleton, program));
	if (!link) {
		int error = errno;

		program_fail(t, program, "attaching it failed: %s", strerror(error));
		return -error;
	}
	*link_of(t, program) = link;
	t->programs[program].attached = true;
	return 0;
}

static void program_detach(struct tracer *t, enum program program)
{
	struct bpf_link **link = link_of(t, program);

	bpf_link__destroy(*link);
	*link = NULL;
	t->programs[program].attached = false;
}

/* The operations of this thread on anonymous pipes that have been counted. */
static void own_operations(const struct tracer *t, uint64_t ret[WIRE_DIRECTIONS])
{
	uint32_t tid = gettid();

	memset(ret, 0, WIRE_DIRECTIONS * sizeof(*ret));
	for (int probe = 0; probe < WIRE_PROBES; probe++) {
		uint32_t index = (tid + probe * WIRE_STRIDE) % WIRE_SLOTS;
		const struct wire_slot *slot = &t->skeleton->bss->slots[index];

		if (slot->key != tid)
			continue;
		for (int direction = 0; direction < WIRE_DIRECTIONS; direction++)
			for (int i = 0; i < WIRE_SIZE_CLASSES; i++)
				ret[direction] += slot->counts[direction].sizes[i];
	}
}

static void program_try(struct tracer *t, enum program program, bool ran)
{
	if (!t->programs[program].attached || ran)
		return;
	program_detach(t, program);
	t->wanted[program] = false;
	program_fail(t, program, "%s was attached but did not run", t->programs[program].hook);
}

/* Attached does not mean called: a compiler may have inlined the function into its only caller. */
static void programs_try(struct tracer *t)
{
	uint64_t before[WIRE_DIRECTIONS], after[WIRE_DIRECTIONS];
	int fds[2];
	char byte = 0;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return;
	own_operations(t, before);
	if (write(fds[1], &byte, 1) == 1 && read(fds[0], &byte, 1) == 1) {
		own_operations(t, after);
		program_try(t, PROGRAM_READ, after[WIRE_READ] > before[WIRE_READ]);
		program_try(t, PROGRAM_WRITE, after[WIRE_WRITE] > before[WIRE_WRITE]);
	}
	close(fds[0]);
	close(fds[1]);
}

static bool counts_reads(const struct tracer *t)
{
	return t->programs[PROGRAM_READ].attached;
}

static bool counts_writes(const struct tracer *t)
{
	return t->programs[PROGRAM_WRITE].attached;
}

static void counting_begin(struct tracer *t)
{
	__atomic_store_n(&t->skeleton->bss->shared.counting, 1, __ATOMIC_SEQ_CST);
	spell_begin(&t->counted, monotonic_usec());
}

/*
 * The slow path is closed first, so that it does not learn the mount again. A program that is past
 * that check still may: once all that are running have ended (membarrier(2) waits for an RCU grace
 * period, and programs run under RCU) the mount is forgotten for good.
 */
static void counting_end(struct tracer *t)
{
	struct pipewatch_bpf__bss *bss = t->skeleton->bss;

	__atomic_store_n(&bss->shared.counting, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&bss->pipe_mount, NULL, __ATOMIC_SEQ_CST);
	spell_end(&t->counted, monotonic_usec());
	/* Refused where CPUs run without ticks (nohz_full=): a program runs for far less than that.
	 */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	__atomic_store_n(&bss->pipe_mount, NULL, __ATOMIC_SEQ_CST);
}

/* Takes the link away from libbpf, which would wait until the program is detached. */
static int link_take(struct tracer *t, enum program program)
{
	struct bpf_link **link = link_of(t, program);
	int fd;

	if (!*link)
		return -1;
	fd = bpf_link__fd(*link);
	bpf_link__disconnect(*link);
	bpf_link__destroy(*link);
	*link = NULL;
	return fd;
}

void tracer_pause(struct tracer *t)
{
	int fds[DETACHMENT_FDS];

	if (t->paused)
		return;
	counting_end(t);
	fds[0] = link_take(t, PROGRAM_READ);
	fds[1] = link_take(t, PROGRAM_WRITE);
	detachment_begin(&t->detachment, fds);
	t->paused = true;
}

/* Waits until the programs are detached; they were attached until then. */
static void pause_end(struct tracer *t)
{
	detachment_join(&t->detachment);
	spell_end(&t->attached, detachment_end_usec(&t->detachment));
}

static int maps_share(const struct pipewatch_bpf *from, struct pipewatch_bpf *to)
{
	struct bpf_map *const maps[][2] = {
		{ from->maps.claims, to->maps.claims },
		{ from->maps.wake, to->maps.wake },
		{ from->maps.cgroup_paths, to->maps.cgroup_paths },
		{ from->maps.bss, to->maps.bss },
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(maps) && r >= 0; i++)
		r = bpf_map__reuse_fd(maps[i][1], bpf_map__fd(maps[i][0]));
	return r;
}

/* Where a program can be attached only once, a copy that uses the same maps takes its place. */
static int counting_renew(struct tracer *t)
{
	struct pipewatch_bpf *fresh = pipewatch_bpf__open();
	int r;

	if (!fresh)
		return -errno;
	fresh->rodata->wake_at_exited = t->skeleton->rodata->wake_at_exited;
	r = maps_share(t->skeleton, fresh);
	for (int p = 0; p < PROGRAMS && r >= 0; p++) {
		bool wanted = p >= PROGRAM_READ && t->wanted[p];

		r = bpf_program__set_autoload(program_of(fresh, p), wanted);
		if (r >= 0 && wanted)
			r = bpf_program__set_attach_target(program_of(fresh, p), 0,
							   t->programs[p].hook);
	}
	if (r >= 0)
		r = pipewatch_bpf__load(fresh);
	for (int p = PROGRAM_READ; p < PROGRAMS && r >= 0; p++)
		if (t->wanted[p])
			r = program_attach(t, fresh, p);
	/* The links keep what they need. */
	pipewatch_bpf__destroy(fresh);
	return r;
}

int tracer_resume(struct tracer *t)
{
	int r = 0;

	if (!t->paused)
		return 0;
	pause_end(t);
	spell_begin(&t->attached, monotonic_usec());
	for (int p = PROGRAM_READ; p < PROGRAMS && r >= 0; p++)
		if (t->wanted[p])
			r = program_attach(t, t->skeleton, p);
	if (kernel_attaches_once(r))
		r = counting_renew(t);
	t->paused = false;
	if (r < 0)
		tracer_pause(t);
	else
		counting_begin(t);
	return r;
}

bool tracer_detaching(const struct tracer *t)
{
	return t->paused && !detachment_end_usec(&t->detachment);
}

uint64_t tracer_counted_usec(const struct tracer *t)
{
	return spell_usec(&t->counted, monotonic_usec());
}

uint64_t tracer_attached_usec(const struct tracer *t)
{
	uint64_t end_usec = t->paused ? detachment_end_usec(&t->detachment) : 0;

	return spell_usec(&t->attached, end_usec ?: monotonic_usec());
}

int tracer_attach(struct tracer *t)
{
	int first = 0;

	spell_begin(&t->attached, monotonic_usec());
	for (int p = 0; p < PROGRAMS; p++) {
		int r;

		/* Without it a reused thread id would count for the thread that had it before. */
		if (p >= PROGRAM_READ && !t->programs[PROGRAM_EXIT].attached) {
			program_fail(t, p, "not attached, since process_exit could not be");
			continue;
		}
		r = program_attach(t, t->skeleton, p);
		if (r < 0 && first == 0)
			first = r;
	}
	counting_begin(t);
	programs_try(t);
	if (counts_reads(t) || counts_writes(t))
		return 0;
	return first ? first : -ENOENT;
}

const struct tracer_program *tracer_programs(const struct tracer *t, size_t *ret_n)
{
	*ret_n = PROGRAMS;
	return t->programs;
}

void tracer_counting_fds(const struct tracer *t, int ret_fds[2])
{
	for (int i = 0; i < 2; i++)
		ret_fds[i] = t->programs[PROGRAM_READ + i].attached
				     ? bpf_program__fd(program_of(t->skeleton, PROGRAM_READ + i))
				     : -1;
}

void tracer_memory(const struct tracer *t, struct tracer_memory *ret)
{
	*ret = (struct tracer_memory){
		.slots = t->skeleton->bss->slots,
		.shared = &t->skeleton->bss->shared,
		.max_threads = t->max_threads,
		.claims_fd = bpf_map__fd(t->skeleton->maps.claims),
		.wake_fd = bpf_map__fd(t->skeleton->maps.wake),
		.cgroup_paths_fd = bpf_map__fd(t->skeleton->maps.cgroup_paths),
	};
}

static int program_missed(const struct tracer *t, int p, uint64_t *ret_missed)
{
	return run_time_missed(bpf_program__fd(program_of(t->skeleton, p)), ret_missed);
}

void tracer_missed(const struct tracer *t, uint64_t ret_runs[TRACER_PROGRAMS])
{
	for (int p = 0; p < PROGRAMS; p++) {
		uint64_t missed = 0;

		/* What cannot be read counts as none, as on kernels that skip none. */
		if (t->wanted[p])
			program_missed(t, p, &missed);
		ret_runs[p] = t->missed_before[p] + missed;
	}
}

void tracer_set_missed(struct tracer *t, const uint64_t runs[TRACER_PROGRAMS])
{
	memcpy(t->missed_before, runs, sizeof(t->missed_before));
}

int tracer_fill(const struct tracer *t, const double run_seconds[2], struct snapshot *s)
{
	struct snapshot_loss *loss;
	uint64_t lost = 0;
	int r;

	for (int p = 0; p < PROGRAMS; p++) {
		const struct tracer_program *program = &t->programs[p];
		struct snapshot_program *out = snapshot_add_program(s);

		if (!out)
			return -ENOMEM;
		out->program = program->program;
		out->hook = program->hook;
		out->attached = program->attached;
		out->reason = snapshot_string(s, program->attached ? "" : program->reason);
		if (!out->reason)
			return -ENOMEM;
		r = t->wanted[p] ? program_missed(t, p, &out->missed) : 0;
		if (r < 0 && r != -EOPNOTSUPP)
			return r;
		out->missed += t->missed_before[p];
		if (p != PROGRAM_READ && p != PROGRAM_WRITE)
			continue;
		lost += out->missed;
		out->run_seconds = run_seconds[p - PROGRAM_READ];
	}
	loss = snapshot_add_loss(s);
	if (!loss)
		return -ENOMEM;
	s->map_bytes += t->map_bytes;
	loss->reason = "recursion";
	loss->updates = lost;
	s->reads_missing = !counts_reads(t);
	s->writes_missing = !counts_writes(t);
	return 0;
}
