// SPDX-License-Identifier: GPL-2.0-or-later
/* With a sampler of our own, which says what it is told to. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "accounts.h"
#include "books.h"
#include "cgroups.h"
#include "oom.h"
#include "pipewatch/util.h"
#include "process.h"
#include "sampler.h"
#include "sampling.h"

#define SECOND UINT64_C(1000000000)

struct sampler {
	int new_error, read_error, refresh_error;
	const struct sampler_process *processes;
	size_t n;
	int alive;
	unsigned int frequency_hz;
	uint32_t max_processes;
	uint64_t lost, taken;
};

static struct sampler the_sampler;

int sampler_new(unsigned int frequency_hz, uint32_t max_processes, char *ret_reason, size_t size,
		struct sampler **ret_sampler)
{
	if (the_sampler.new_error < 0) {
		snprintf(ret_reason, size, "It is forbidden.");
		return the_sampler.new_error;
	}
	the_sampler.frequency_hz = frequency_hz;
	the_sampler.max_processes = max_processes;
	the_sampler.alive++;
	*ret_sampler = &the_sampler;
	return 0;
}

struct sampler *sampler_free(struct sampler *s)
{
	if (s)
		s->alive--;
	return NULL;
}

int sampler_refresh(struct sampler *s)
{
	return s->refresh_error;
}

int sampler_read(struct sampler *s, sampler_known_fn known, sampler_each_fn each, void *userdata)
{
	(void)known;
	for (size_t i = 0; i < s->n; i++)
		each(&s->processes[i], userdata);
	return s->read_error;
}

uint64_t sampler_map_bytes(const struct sampler *s)
{
	(void)s;
	return 0;
}

bool sampler_sees(const struct sampler *s, enum update_kind kind)
{
	(void)s;
	return kind != UPDATE_CMTIME;
}

uint64_t sampler_lost(const struct sampler *s)
{
	return s->lost;
}

uint64_t sampler_taken(const struct sampler *s)
{
	return s->taken;
}

static struct sampling *sampling_of(struct accounts *a)
{
	struct sampling *s = NULL;
	char reason[256];

	assert_int_equal(sampling_new(97, 1000, a, NULL, reason, sizeof(reason), &s), 0);
	assert_non_null(s);
	return s;
}

static void say(const struct sampler_process *processes, size_t n)
{
	the_sampler.processes = processes;
	the_sampler.n = n;
}

static int reset(void **state)
{
	(void)state;
	memset(&the_sampler, 0, sizeof(the_sampler));
	oom_after = OOM_NEVER;
	return 0;
}

/* So many samples for each second. */
#define SAMPLES(ns) ((ns) / SECOND * 100)
#define SAID(pid, name, pipe, atime, cmtime)                                                    \
	{                                                                                       \
		.tgid = pid, .comm = name, .start_boottime_ns = pid * UINT64_C(1000000),        \
		.pipe_ns = pipe, .pipe_samples = SAMPLES(pipe), .update_ns = { atime, cmtime }, \
		.update_samples = { SAMPLES(atime), SAMPLES(cmtime) },                          \
	}

static double cpu(struct accounts *a, const char *comm)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = view(a);

	return group(s, comm, comm)->pipe_cpu_seconds;
}

static void test_denied(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	struct sampling *s = NULL;
	char reason[256] = "";

	(void)state;
	the_sampler.new_error = -EACCES;
	assert_int_equal(sampling_new(97, 1000, a, NULL, reason, sizeof(reason), &s), -EACCES);
	assert_null(s);
	assert_string_equal(reason, "It is forbidden.");
}

static void test_arguments_and_end(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	struct sampling *s = sampling_of(a);

	(void)state;
	assert_int_equal(the_sampler.frequency_hz, 97);
	assert_int_equal(the_sampler.max_processes, 1000);
	assert_int_equal(the_sampler.alive, 1);
	assert_int_equal(sampling_refresh(s), 0);
	the_sampler.refresh_error = -EMFILE;
	assert_int_equal(sampling_refresh(s), -EMFILE);
	assert_null(sampling_free(s));
	assert_int_equal(the_sampler.alive, 0);
	assert_null(sampling_free(NULL));
}

static void test_differences_are_booked(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(sampling_freep) struct sampling *s = sampling_of(a);
	const struct sampler_process first[] = { SAID(1, "cat", 3 * SECOND, 0, 0) },
				     second[] = { SAID(1, "cat", 5 * SECOND, 0, 0),
						  SAID(2, "dog", SECOND, 0, 0) },
				     third[] = { SAID(2, "dog", SECOND, 0, 0) };

	(void)state;
	process(a, 1, "cat", "cat");
	process(a, 2, "dog", "dog");
	say(first, 1);
	assert_int_equal(sampling_collect(s, 0), 0);
	assert_true(cpu(a, "cat") == 3);
	say(second, 2);
	assert_int_equal(sampling_collect(s, 0), 0);
	assert_int_equal(sampling_collect(s, 0), 0);
	assert_true(cpu(a, "cat") == 5);
	assert_true(cpu(a, "dog") == 1);

	/* One that has been forgotten and comes again begins at zero, as the sampler does. */
	say(third, 1);
	assert_int_equal(sampling_collect(s, 0), 0);
	say(first, 1);
	assert_int_equal(sampling_collect(s, 0), 0);
	assert_true(cpu(a, "cat") == 8);
	assert_true(cpu(a, "dog") == 1);
}

static void test_failed_round_loses_nothing(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(sampling_freep) struct sampling *s = sampling_of(a);
	const struct sampler_process said[] = { SAID(1, "cat", 3 * SECOND, 0, 0) };

	(void)state;
	process(a, 1, "cat", "cat");
	say(said, 1);
	assert_int_equal(sampling_collect(s, 0), 0);
	say(NULL, 0);
	the_sampler.read_error = -ENOENT;
	assert_int_equal(sampling_collect(s, 0), -ENOENT);
	/* It was not forgotten: its three seconds are not booked again. */
	the_sampler.read_error = 0;
	say(said, 1);
	assert_int_equal(sampling_collect(s, 0), 0);
	assert_true(cpu(a, "cat") == 3);
}

/* A snapshot of @anonymous and @fifo reads, all updates paid and their whole cost known. */
static struct snapshot *costs(struct accounts *a, uint64_t anonymous, uint64_t fifo, double seconds)
{
	const struct pipe_sizes sizes = {};
	struct account *p = process(a, 1, "cat", "cat");
	struct snapshot *s;

	account_book(a, p, PIPE_ANONYMOUS, &(struct pipe_counts){ .reads = anonymous }, &sizes);
	account_book(a, p, PIPE_FIFO, &(struct pipe_counts){ .reads = fifo }, &sizes);
	s = view(a);
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++) {
			struct cost_estimate *e = &s->unit_costs[pipe][kind];

			s->paths[pipe][kind].state = PATH_PAID;
			cost_estimate_unknown(e, "No.");
			e->whole = (struct cost_figure){ .known = true,
							 .seconds = seconds,
							 .error_seconds = seconds / 100 };
		}
	return s;
}

static void test_costs_are_checked(void **state)
{
	const struct {
		uint64_t anonymous, fifo;
		double seconds;
		bool known[PIPE_KINDS];
		enum cost_agreement agreement;
	} cases[] = {
		{ 1000, 0, 0.002, { true, false }, COST_AGREE },
		{ 980, 20, 2.0 / 980, { true, false }, COST_AGREE },
		{ 0, 1000, 0.002, { false, true }, COST_AGREE },
		{ 1000, 0, 0.004, { true, false }, COST_DISAGREE },
		{ 979, 21, 0.002, { false, false }, COST_SINGLE },
		{ 0, 0, 0.002, { false, false }, COST_SINGLE },
	};
	const struct sampler_process said[] = { SAID(1, "cat", 3 * SECOND, 2 * SECOND, 0) };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(accounts_freep) struct accounts *a = books(10);
		_cleanup_(sampling_freep) struct sampling *s = sampling_of(a);
		_cleanup_(snapshot_unrefp) struct snapshot *out =
			costs(a, cases[i].anonymous, cases[i].fifo, cases[i].seconds);

		say(said, 1);
		assert_int_equal(sampling_collect(s, 0), 0);
		/* Twice the same is the same. */
		assert_int_equal(sampling_collect(s, 0), 0);
		sampling_check_costs(s, out);
		for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
			const struct cost_estimate *e = &out->unit_costs[pipe][UPDATE_ATIME];

			assert_int_equal(e->by[COST_SAMPLE].known, cases[i].known[pipe]);
			assert_int_equal(e->agreement,
					 cases[i].known[pipe] ? cases[i].agreement : COST_SINGLE);
			/* 200 samples. */
			if (e->by[COST_SAMPLE].known)
				assert_true(e->by[COST_SAMPLE].seconds ==
					    2.0 / (pipe ? cases[i].fifo : cases[i].anonymous));
			assert_false(out->unit_costs[pipe][UPDATE_CMTIME].by[COST_SAMPLE].known);
		}
	}
}

static const struct snapshot_process *listed(const struct snapshot *s, uint32_t pid)
{
	const struct snapshot_process *p = snapshot_find_process(s, pid);

	assert_non_null(p);
	return p;
}

/* A process that nothing was counted of. */
static struct sampler_process sampled(uint32_t pid, const char *comm, uint64_t seconds)
{
	struct sampler_process p = SAID(pid, "", seconds * SECOND, 0, 0);

	snprintf(p.comm, sizeof(p.comm), "%s", comm);
	return p;
}

static void test_kinds_of_updates(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(sampling_freep) struct sampling *s = sampling_of(a);
	_cleanup_(snapshot_unrefp) struct snapshot *out = NULL;
	struct sampler_process said = SAID(1, "cat", 20 * SECOND, 2 * SECOND, 3 * SECOND);

	(void)state;
	process(a, 1, "cat", "cat");
	say(&said, 1);
	assert_int_equal(sampling_collect(s, 0), 0);
	said.update_ns[UPDATE_ATIME] += SECOND;
	said.update_ns[UPDATE_FSNOTIFY] = 12 * SECOND;
	said.fsnotify_ns[PIPE_ANONYMOUS] = 4 * SECOND;
	said.fsnotify_ns[PIPE_FIFO] = 8 * SECOND;
	assert_int_equal(sampling_collect(s, 0), 0);
	assert_int_equal(sampling_collect(s, 0), 0);
	out = view(a);
	assert_true(listed(out, 1)->sampled_seconds[UPDATE_ATIME] == 3);
	assert_true(listed(out, 1)->sampled_seconds[UPDATE_CMTIME] == 3);
	assert_true(listed(out, 1)->sampled_seconds[UPDATE_FSNOTIFY] == 12);
	assert_true(listed(out, 1)->costs[PIPE_ANONYMOUS].seconds[UPDATE_FSNOTIFY] == 4);
	assert_true(group(out, "cat", "cat")->costs[PIPE_FIFO].seconds[UPDATE_FSNOTIFY] == 8);
	assert_true(group(out, "cat", "cat")->sampled_seconds[UPDATE_FSNOTIFY] == 12);
}

static void test_what_is_seen(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(sampling_freep) struct sampling *s = sampling_of(a);
	_cleanup_(snapshot_unrefp) struct snapshot *out = view(a);

	(void)state;
	the_sampler.lost = 42;
	sampling_fill(s, out);
	assert_true(out->sampling_sees[UPDATE_ATIME]);
	assert_false(out->sampling_sees[UPDATE_CMTIME]);
	assert_true(out->sampling_sees[UPDATE_FSNOTIFY]);
	assert_int_equal(sampling_lost(s), 42);
	the_sampler.taken = 43;
	assert_int_equal(sampling_taken(s), 43);
}

/* By name, which is any bytes and changes; with what had no room for itself on (other). */
static void test_without_counts(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(sampling_freep) struct sampling *s = sampling_of(a);
	_cleanup_(snapshot_unrefp) struct snapshot *first = NULL, *second = NULL;
	struct sampler_process said[] = { sampled(1, "c\xfft", 3), sampled(2, "0123456789abcde", 1),
					  sampled(0, "", 7) };

	(void)state;
	say(said, 3);
	assert_int_equal(sampling_collect(s, 0), 0);
	first = view(a);
	assert_int_equal(first->n_processes, 2);
	assert_string_equal(listed(first, 1)->comm, "c\\xfft");
	assert_true(listed(first, 1)->pipe_cpu_seconds == 3);
	assert_int_equal(listed(first, 1)->start_time_usec, BOOT_USEC + 1000);
	assert_string_equal(listed(first, 2)->comm, "0123456789abcde");
	assert_true(group(first, "", "c\\xfft")->pipe_cpu_seconds == 3);
	assert_int_equal(group(first, "", "c\\xfft")->processes, 1);
	assert_true(group(first, SNAPSHOT_OTHER, SNAPSHOT_OTHER)->pipe_cpu_seconds == 7);

	said[0] = sampled(1, "dog", 5);
	assert_int_equal(sampling_collect(s, 0), 0);
	second = view(a);
	assert_int_equal(second->n_processes, 2);
	assert_string_equal(listed(second, 1)->comm, "dog");
	assert_true(listed(second, 1)->pipe_cpu_seconds == 5);
	assert_true(group(second, "", "c\\xfft")->pipe_cpu_seconds == 3);
	assert_int_equal(group(second, "", "c\\xfft")->processes, 0);
	assert_true(group(second, "", "dog")->pipe_cpu_seconds == 2);
}

/* Where processes are counted as well, the later name is the right one, whoever brings it. */
static void test_names_beside_counting(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(sampling_freep) struct sampling *s = sampling_of(a);
	_cleanup_(snapshot_unrefp) struct snapshot *renamed = NULL, *closed = NULL;
	struct sampler_process said[] = { sampled(1, "sh", 3), sampled(2, "sh", 1) };
	struct account *one = process(a, 1, "sh", "a.service"),
		       *two = process(a, 2, "cat", "a.service");

	(void)state;
	say(said, 1);
	assert_int_equal(sampling_collect(s, 0), 0);
	/* Counting sees it first. */
	assert_int_equal(account_identify(a, one, "dog", "a.service"), 0);
	said[0].pipe_ns += SECOND;
	assert_int_equal(sampling_collect(s, 0), 0);
	renamed = view(a);
	assert_string_equal(listed(renamed, 1)->comm, "dog");
	assert_string_equal(listed(renamed, 1)->unit, "a.service");
	assert_true(group(renamed, "a.service", "sh")->pipe_cpu_seconds == 3);
	assert_true(group(renamed, "a.service", "dog")->pipe_cpu_seconds == 1);

	/* Its last sample was before it became what it was when it ended. */
	account_close(a, two, 0);
	said[1].exited = true;
	say(said, 2);
	assert_int_equal(sampling_collect(s, 0), 0);
	closed = view(a);
	assert_string_equal(listed(closed, 2)->comm, "cat");
	assert_true(listed(closed, 2)->pipe_cpu_seconds == 1);
}

static void test_ended_processes_are_closed(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(sampling_freep) struct sampling *s = sampling_of(a);
	_cleanup_(snapshot_unrefp) struct snapshot *closed = NULL, *young = NULL, *old = NULL;
	struct sampler_process said[] = { sampled(1, "cat", 3), sampled(2, "cat", 1) };

	(void)state;
	said[0].exited = true;
	say(said, 2);
	assert_int_equal(sampling_collect(s, 1000), 0);
	closed = view(a);
	assert_true(listed(closed, 1)->exited);
	assert_true(listed(closed, 1)->pipe_cpu_seconds == 3);
	assert_false(listed(closed, 2)->exited);

	say(said + 1, 1);
	assert_int_equal(sampling_collect(s, 999 + EXITED_USEC), 0);
	young = view(a);
	assert_int_equal(young->n_processes, 2);
	assert_int_equal(sampling_collect(s, 1000 + EXITED_USEC), 0);
	old = view(a);
	assert_int_equal(old->n_processes, 1);
	assert_false(listed(old, 2)->exited);
	assert_true(group(old, "", "cat")->pipe_cpu_seconds == 4);
}

/* Thousands of short processes in one round, and two of one pid: those that ended last stay. */
static void test_storm(void **state)
{
	enum { N = 5000 };
	static struct sampler_process said[N + 1];
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(sampling_freep) struct sampling *s = sampling_of(a);
	_cleanup_(snapshot_unrefp) struct snapshot *out = NULL;

	(void)state;
	for (int i = 0; i < N; i++) {
		said[i] = sampled(i + 1, "cat", 1);
		said[i].exited = true;
	}
	said[N] = sampled(N, "cat", 1);
	said[N].start_boottime_ns++;
	say(said, N + 1);
	assert_int_equal(sampling_collect(s, 1), 0);
	out = view(a);
	assert_int_equal(out->n_processes, 1024 + 1);
	assert_false(listed(out, N)->exited);
	assert_true(group(out, "", "cat")->pipe_cpu_seconds == N + 1);
	assert_int_equal(group(out, "", "cat")->processes, 1);
}

/* The unit, in a /proc without cgroup v2, hence by process. */
static void test_units(void **state)
{
	char proc[] = "/tmp/pipewatch-sampling-XXXXXX", directory[64], path[80];
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(cgroups_freep) struct cgroups *cgroups = NULL;
	_cleanup_(sampling_freep) struct sampling *s = NULL;
	_cleanup_(snapshot_unrefp) struct snapshot *out = NULL;
	struct sampler_process said[] = { sampled(1, "cat", 1), sampled(2, "cat", 2) };
	char reason[64];
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(proc));
	assert_int_equal(cgroups_new(proc, &cgroups), 0);
	assert_int_equal(sampling_new(97, 1000, a, cgroups, reason, sizeof(reason), &s), 0);
	process(a, 2, "cat", "b.service");
	say(said, 2);
	assert_int_equal(sampling_collect(s, 0), 0);
	/* What was not known in the first round may be in the next, and what was known stays. */
	snprintf(directory, sizeof(directory), "%s/1", proc);
	assert_int_equal(mkdir(directory, 0700), 0);
	snprintf(path, sizeof(path), "%s/cgroup", directory);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs("1:name=systemd:/system.slice/a.service\n", f);
	assert_int_equal(fclose(f), 0);
	said[0].pipe_ns += 4 * SECOND;
	assert_int_equal(sampling_collect(s, 0), 0);
	out = view(a);
	assert_true(group(out, "", "cat")->pipe_cpu_seconds == 1);
	assert_true(group(out, "a.service", "cat")->pipe_cpu_seconds == 4);
	assert_true(group(out, "b.service", "cat")->pipe_cpu_seconds == 2);
	assert_int_equal(remove(path), 0);
	assert_int_equal(remove(directory), 0);
	assert_int_equal(remove(proc), 0);
}

/* A unit that is not known any more stays as it was, but for who has moved elsewhere meanwhile. */
static void test_unit_that_is_gone(void **state)
{
	char proc[] = "/tmp/pipewatch-sampling-XXXXXX";
	_cleanup_(accounts_freep) struct accounts *a = books(10);
	_cleanup_(cgroups_freep) struct cgroups *cgroups = NULL;
	_cleanup_(sampling_freep) struct sampling *s = NULL;
	_cleanup_(snapshot_unrefp) struct snapshot *out = NULL;
	struct sampler_process said[] = { sampled(1, "cat", 1) };
	char reason[64];

	(void)state;
	assert_non_null(mkdtemp(proc));
	assert_int_equal(cgroups_new(proc, &cgroups), 0);
	assert_int_equal(sampling_new(97, 1000, a, cgroups, reason, sizeof(reason), &s), 0);
	process(a, 1, "cat", "a.service");
	said[0].cgroup_id = 7;
	say(said, 1);
	assert_int_equal(sampling_collect(s, 0), 0);
	memcpy(said[0].comm, "dog", 4);
	said[0].pipe_ns += 2 * SECOND;
	assert_int_equal(sampling_collect(s, 0), 0);
	memcpy(said[0].comm, "cow", 4);
	said[0].cgroup_id = 8;
	said[0].pipe_ns += 4 * SECOND;
	assert_int_equal(sampling_collect(s, 0), 0);
	out = view(a);
	assert_true(group(out, "a.service", "cat")->pipe_cpu_seconds == 1);
	assert_true(group(out, "a.service", "dog")->pipe_cpu_seconds == 2);
	assert_true(group(out, "", "cow")->pipe_cpu_seconds == 4);
	assert_int_equal(remove(proc), 0);
}

/* With ever more memory, one that goes on and one that has ended: both are booked, once. */
static void test_no_memory(void **state)
{
	int failures = 0, r;

	(void)state;
	do {
		_cleanup_(accounts_freep) struct accounts *a = books(10);
		_cleanup_(sampling_freep) struct sampling *s = sampling_of(a);
		_cleanup_(snapshot_unrefp) struct snapshot *out = NULL;
		struct sampler_process said[] = { sampled(1, "cat", 3), sampled(2, "cat", 1) };
		double sum = 0;

		said[1].exited = true;
		say(said, 2);
		oom_after = failures;
		r = sampling_collect(s, 0);
		oom_after = OOM_NEVER;
		assert_int_equal(r, r < 0 ? -ENOMEM : 0);
		failures += r < 0;
		say(said, 1);
		assert_int_equal(sampling_collect(s, 0), 0);
		out = view(a);
		for (size_t i = 0; i < out->n_groups; i++)
			sum += out->groups[i].pipe_cpu_seconds;
		assert_true(sum == 4);
		assert_string_equal(listed(out, 1)->comm, "cat");
	} while (r < 0);
	assert_in_range(failures, 6, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_denied, reset),
		cmocka_unit_test_setup(test_arguments_and_end, reset),
		cmocka_unit_test_setup(test_differences_are_booked, reset),
		cmocka_unit_test_setup(test_failed_round_loses_nothing, reset),
		cmocka_unit_test_setup(test_costs_are_checked, reset),
		cmocka_unit_test_setup(test_kinds_of_updates, reset),
		cmocka_unit_test_setup(test_what_is_seen, reset),
		cmocka_unit_test_setup(test_without_counts, reset),
		cmocka_unit_test_setup(test_names_beside_counting, reset),
		cmocka_unit_test_setup(test_ended_processes_are_closed, reset),
		cmocka_unit_test_setup(test_storm, reset),
		cmocka_unit_test_setup(test_units, reset),
		cmocka_unit_test_setup(test_unit_that_is_gone, reset),
		cmocka_unit_test_setup(test_no_memory, reset),
	};

	return cmocka_run_group_tests_name("sampling", tests, NULL, NULL);
}
