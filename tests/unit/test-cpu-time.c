// SPDX-License-Identifier: GPL-2.0-or-later
/* With a /proc of our own. */
#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "cpu-time.h"
#include "oom.h"
#include "pipewatch/util.h"

#define BOOT_USEC UINT64_C(1700000000123456)

/* Watching began an hour after the machine was booted. */
#define WATCH_SEC  3600
#define WATCH_USEC (BOOT_USEC + WATCH_SEC * UINT64_C(1000000))

#define OLD_SEC	  100
#define YOUNG_SEC 4000

struct world {
	char proc[32];
	struct cpu_times *times;
	struct snapshot *s;
};

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *at)
{
	(void)stat;
	(void)type;
	(void)at;
	return remove(path);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		return -1;
	strcpy(w->proc, "/tmp/pipewatch-proc-XXXXXX");
	*state = w;
	if (!mkdtemp(w->proc) || cpu_times_new(w->proc, BOOT_USEC, WATCH_USEC, &w->times) < 0)
		return -1;
	w->s = snapshot_new();
	return w->s ? 0 : -1;
}

static int teardown(void **state)
{
	struct world *w = *state;

	nftw(w->proc, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	cpu_times_free(w->times);
	snapshot_unref(w->s);
	free(w);
	return 0;
}

/* In /proc: that process, started so many seconds after boot, used so many ticks. */
static void proc_write(const struct world *w, unsigned int pid, unsigned int start_sec,
		       unsigned int user, unsigned int system)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u", w->proc, pid);
	assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
	snprintf(path, sizeof(path), "%s/%u/stat", w->proc, pid);
	f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, "%u (cat) S 1 2 3 0 -1 4 5 6 7 8 %u %u 0 0 20 0 1 0 %lu 0\n", pid, user, system,
		start_sec * sysconf(_SC_CLK_TCK));
	assert_int_equal(fclose(f), 0);
}

static void proc_remove(const struct world *w, unsigned int pid)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%u/stat", w->proc, pid);
	assert_int_equal(unlink(path), 0);
}

/* The next snapshot begins. */
static void renew(struct world *w)
{
	snapshot_unref(w->s);
	w->s = snapshot_new();
	assert_non_null(w->s);
}

/* In the snapshot: that process, and what its updates cost. */
static struct snapshot_process *list(struct world *w, unsigned int pid, unsigned int start_sec,
				     double cost_seconds)
{
	struct snapshot_process *p = snapshot_add_process(w->s);

	assert_non_null(p);
	p->pid = pid;
	/* Not in whole ticks. */
	p->start_time_usec = BOOT_USEC + start_sec * UINT64_C(1000000) + 7654;
	p->cost_seconds = cost_seconds;
	return p;
}

static const struct snapshot_process *filled(struct world *w, unsigned int pid)
{
	for (size_t i = 0; i < w->s->n_processes; i++)
		if (w->s->processes[i].pid == pid)
			return &w->s->processes[i];
	return NULL;
}

static void assert_known(struct world *w, unsigned int pid, double cpu_seconds, double cpu_share)
{
	const struct snapshot_process *p = filled(w, pid);

	assert_non_null(p);
	assert_true(p->cpu_known);
	if (fabs(p->cpu_seconds - cpu_seconds) > 1e-9 || fabs(p->cpu_share - cpu_share) > 1e-9)
		fail_msg("%.12g s, of which %.12g", p->cpu_seconds, p->cpu_share);
}

static void assert_not_known(struct world *w, unsigned int pid)
{
	const struct snapshot_process *p = filled(w, pid);

	assert_non_null(p);
	assert_false(p->cpu_known);
	assert_true(p->cpu_seconds == 0 && p->cpu_share == 0);
}

static void fill(struct world *w)
{
	cpu_times_fill(w->times, w->s);
}

static void test_young(void **state)
{
	struct world *w = *state;

	proc_write(w, 7, YOUNG_SEC, 150, 50);
	list(w, 7, YOUNG_SEC, 0.5);
	/* From the very beginning on: all of it was watched. */
	proc_write(w, 8, WATCH_SEC, 100, 0);
	list(w, 8, WATCH_SEC, 0)->start_time_usec = WATCH_USEC;
	proc_write(w, 9, WATCH_SEC - 1, 100, 0);
	list(w, 9, WATCH_SEC - 1, 0);
	fill(w);
	assert_known(w, 7, 2, 0.25);
	assert_known(w, 8, 1, 0);
	assert_not_known(w, 9);
}

/* A share of less than ten ticks is of no worth. */
static void test_little(void **state)
{
	struct world *w = *state;

	proc_write(w, 7, YOUNG_SEC, 5, 4);
	proc_write(w, 8, YOUNG_SEC, 5, 5);
	proc_write(w, 9, OLD_SEC, 1003, 500);
	list(w, 7, YOUNG_SEC, 0.05);
	list(w, 8, YOUNG_SEC, 0.05);
	list(w, 9, OLD_SEC, 0.5);
	fill(w);
	assert_not_known(w, 7);
	assert_known(w, 8, 0.1, 0.5);
	assert_not_known(w, 9);
	for (unsigned int ticks = 1; ticks <= 10; ticks++) {
		renew(w);
		proc_write(w, 9, OLD_SEC, 1003 + ticks, 500);
		list(w, 9, OLD_SEC, 0.55);
		fill(w);
		if (ticks < 10)
			assert_not_known(w, 9);
		else
			assert_known(w, 9, 0.1, 0.5);
	}
}

/* What it used and cost before it was first seen does not count. */
static void test_old(void **state)
{
	struct world *w = *state;

	proc_write(w, 7, OLD_SEC, 100000, 0);
	list(w, 7, OLD_SEC, 3);
	fill(w);
	assert_not_known(w, 7);

	renew(w);
	proc_write(w, 7, OLD_SEC, 100100, 300);
	list(w, 7, OLD_SEC, 4);
	fill(w);
	assert_known(w, 7, 4, 0.25);

	/* The base stays. */
	renew(w);
	proc_write(w, 7, OLD_SEC, 100500, 500);
	list(w, 7, OLD_SEC, 8);
	fill(w);
	assert_known(w, 7, 10, 0.5);
}

/* Costs have errors: never more than all, never less than nothing. */
static void test_limits(void **state)
{
	struct world *w = *state;

	proc_write(w, 7, YOUNG_SEC, 50, 50);
	list(w, 7, YOUNG_SEC, 1.5);
	proc_write(w, 8, OLD_SEC, 50, 50);
	list(w, 8, OLD_SEC, 1.5);
	fill(w);
	assert_known(w, 7, 1, 1);
	renew(w);
	proc_write(w, 8, OLD_SEC, 100, 100);
	list(w, 8, OLD_SEC, 1);
	fill(w);
	assert_known(w, 8, 1, 0);
	/* Of less than the base, nothing is known. */
	renew(w);
	proc_write(w, 8, OLD_SEC, 1, 1);
	list(w, 8, OLD_SEC, 1);
	fill(w);
	assert_not_known(w, 8);
}

static void test_another_process(void **state)
{
	struct world *w = *state;

	proc_write(w, 7, YOUNG_SEC + 1, 500, 500);
	list(w, 7, YOUNG_SEC, 1);
	/* Started before the machine: nonsense, but no harm. */
	list(w, 8, 0, 1)->start_time_usec = 5;
	proc_write(w, 8, 0, 500, 500);
	list(w, 9, YOUNG_SEC, 1)->exited = true;
	proc_write(w, 9, YOUNG_SEC, 500, 500);
	fill(w);
	assert_not_known(w, 7);
	assert_not_known(w, 8);
	assert_not_known(w, 9);

	/* An old PID that was used again: each has its own base. */
	renew(w);
	proc_write(w, 7, OLD_SEC, 1000, 0);
	list(w, 7, OLD_SEC, 1);
	fill(w);
	renew(w);
	proc_write(w, 7, OLD_SEC + 9, 100, 0);
	list(w, 7, OLD_SEC + 9, 0.5);
	list(w, 7, OLD_SEC, 1)->exited = true;
	fill(w);
	assert_not_known(w, 7);
	renew(w);
	proc_write(w, 7, OLD_SEC + 9, 200, 0);
	list(w, 7, OLD_SEC + 9, 0.6);
	fill(w);
	assert_known(w, 7, 1, 0.1);
}

static void test_vanishing(void **state)
{
	struct world *w = *state;

	proc_write(w, 7, OLD_SEC, 100, 0);
	list(w, 7, OLD_SEC, 1);
	list(w, 8, YOUNG_SEC, 1);
	fill(w);
	assert_not_known(w, 8);
	/* Still listed, and the base is still there when it can be read again. */
	renew(w);
	proc_remove(w, 7);
	list(w, 7, OLD_SEC, 1);
	fill(w);
	assert_not_known(w, 7);
	renew(w);
	proc_write(w, 7, OLD_SEC, 300, 0);
	list(w, 7, OLD_SEC, 2);
	fill(w);
	assert_known(w, 7, 2, 0.5);
	/* Forgotten once it is not listed. */
	renew(w);
	fill(w);
	renew(w);
	list(w, 7, OLD_SEC, 2);
	fill(w);
	assert_not_known(w, 7);

	nftw(w->proc, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	renew(w);
	list(w, 7, OLD_SEC, 2);
	fill(w);
	assert_not_known(w, 7);
}

/* The first fifty live ones; who falls behind keeps its base. */
static void test_costliest(void **state)
{
	struct world *w = *state;
	unsigned int pid;

	for (pid = 1; pid <= 120; pid++)
		proc_write(w, pid, pid % 2 ? OLD_SEC : YOUNG_SEC, 100, 0);
	for (pid = 1; pid <= 120; pid++)
		list(w, pid, pid % 2 ? OLD_SEC : YOUNG_SEC, 0.5)->exited = pid <= 10;
	fill(w);
	for (pid = 1; pid <= 120; pid++)
		if (pid % 2 || pid <= 10 || pid > 60)
			assert_not_known(w, pid);
		else
			assert_known(w, pid, 1, 0.5);

	/* The others first. */
	renew(w);
	for (pid = 120; pid >= 1; pid--)
		list(w, pid, pid % 2 ? OLD_SEC : YOUNG_SEC, 0.5);
	fill(w);
	for (pid = 1; pid <= 120; pid++)
		if (pid % 2 || pid <= 70)
			assert_not_known(w, pid);
		else
			assert_known(w, pid, 1, 0.5);

	renew(w);
	for (pid = 1; pid <= 120; pid++) {
		proc_write(w, pid, pid % 2 ? OLD_SEC : YOUNG_SEC, 200, 0);
		list(w, pid, pid % 2 ? OLD_SEC : YOUNG_SEC, 0.75)->exited = pid <= 10;
	}
	fill(w);
	for (pid = 11; pid <= 60; pid++)
		if (pid % 2)
			assert_known(w, pid, 1, 0.25);
		else
			assert_known(w, pid, 2, 0.375);
}

/* Fifty old processes from @first on are the costliest, among 600 that are listed, and have used as
 * many ticks. */
static void pass(struct world *w, unsigned int first, unsigned int ticks)
{
	renew(w);
	for (unsigned int i = 0; i < 600; i++)
		list(w, (first + i) % 600 + 1, OLD_SEC, 0);
	for (unsigned int i = 0; i < CPU_TIMES_MAX; i++)
		proc_write(w, (first + i) % 600 + 1, OLD_SEC, ticks, 0);
	fill(w);
}

/* More old processes than there is room for: those go that were not among the costliest for the
 * longest time, never one that is. */
static void test_room(void **state)
{
	struct world *w = *state;

	for (unsigned int first = 0; first <= 250; first += 50) {
		pass(w, first, 100);
		for (unsigned int pid = first + 1; pid <= first + 50; pid++)
			assert_not_known(w, pid);
	}
	/* 51 to 300 have one; 26 to 50 come anew and take the places of 76 to 100. */
	pass(w, 25, 200);
	for (unsigned int pid = 26; pid <= 75; pid++)
		if (pid <= 50)
			assert_not_known(w, pid);
		else
			assert_known(w, pid, 1, 0);
	pass(w, 75, 300);
	for (unsigned int pid = 76; pid <= 125; pid++)
		if (pid <= 100)
			assert_not_known(w, pid);
		else
			assert_known(w, pid, 2, 0);
	pass(w, 250, 300);
	for (unsigned int pid = 251; pid <= 300; pid++)
		assert_known(w, pid, 2, 0);
}

static void test_no_memory(void **state)
{
	struct cpu_times *times = (void *)1;

	(void)state;
	oom_after = 0;
	assert_int_equal(cpu_times_new("/proc", 0, 0, &times), -ENOMEM);
	oom_after = OOM_NEVER;
	assert_ptr_equal(times, (void *)1);
	assert_int_equal(oom_failed, 1);
	assert_null(cpu_times_free(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_young, setup, teardown),
		cmocka_unit_test_setup_teardown(test_little, setup, teardown),
		cmocka_unit_test_setup_teardown(test_old, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_vanishing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_costliest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_room, setup, teardown),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests_name("cpu-time", tests, NULL, NULL);
}
