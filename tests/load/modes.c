// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * modes CHANGES SEED PIPEWATCHD: starts the daemon and changes its mode and budget that often by
 * reload, under load, without a pause but for windows now and then; then ends it in the middle of
 * something. It looks at all counters after each change, and says in lines "NAME NUMBER" what came
 * of it; what is wrong, in lines that begin with "#" as well.
 *
 * It uses no pipe itself. What its loads do they count in memory that they share with it.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loads.h"
#include "series.h"
#include "subject.h"

#define SAID_MAX  20
#define SAME_USEC 11000

/* Once in so many changes windows get time to open, and once in so many to a mode that counting
 * does not go on in, which takes most of the time. */
#define LINGER_EVERY 60
#define LINGER_USEC  3000000
#define STOP_EVERY   8
#define FDS_EVERY    100

/* ---- what is published ---- */

struct scrape {
	struct series_list series;
	/* Of each load, before the request and after the response. */
	uint64_t before[LOADS], after[LOADS];
	double asked, answered;
	enum mode mode;
	bool exact; /* every operation is counted */
	double lost;
};

/* The highest that a counter ever was. */
static struct series_list highest;

static struct scrape last, fresh;
static struct {
	unsigned int changes, pairs, fell, jumped, miscounted, attached, leaked, wrong_mode;
	unsigned int endings, left, windows, exact_looks, exact_rounds, fds_looks;
} found;

/* Counts what is wrong, and tells of the first. */
__attribute__((format(printf, 2, 3))) static void wrong(unsigned int *counter, const char *format,
							...)
{
	static unsigned int said;
	va_list arguments;

	(*counter)++;
	if (said++ >= SAID_MAX)
		return;
	printf("# change %u: ", found.changes);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}

/* ---- looking ---- */

__attribute__((format(printf, 2, 3))) static double valuef(struct scrape *s, const char *format,
							   ...)
{
	char name[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(name, sizeof(name), format, arguments);
	va_end(arguments);
	return series_value(&s->series, name);
}

static double or_zero(double x)
{
	return isnan(x) ? 0 : x;
}

static void turns_read(uint64_t ret[LOADS])
{
	for (int i = 0; i < LOADS; i++)
		ret[i] = *loads[i].turns;
}

static void scrape(struct scrape *s)
{
	static double answered;
	double coverage;

	/* Who asks sooner is given the same again. */
	while (now() < answered + SAME_USEC * 1e-6)
		usleep(1000);
	s->asked = now();
	turns_read(s->before);
	if (series_fetch(&s->series) < 0)
		die("/metrics");
	turns_read(s->after);
	s->answered = answered = now();
	s->mode = AUTO;
	for (int mode = EXACT; mode < MODES; mode++)
		if (valuef(s, "pipewatch_mode{mode=\"%s\"}", mode_names[mode]) == 1)
			s->mode = mode;
	coverage = series_value(&s->series, "pipewatch_coverage_ratio");
	s->exact = s->mode == EXACT && coverage == 1;
	if (s->exact && !isnan(series_value(&s->series, "pipewatch_unseen_operations")))
		wrong(&found.jumped, "every operation is counted, and some may not be seen");
	s->lost = 0;
	for (size_t i = 0; i < s->series.n; i++)
		if (!strncmp(s->series.all[i].name, "pipewatch_lost_updates_total{", 29))
			s->lost += s->series.all[i].value;
}

/* ---- checks ---- */

static bool ends(const char *name, size_t length, const char *suffix)
{
	size_t n = strlen(suffix);

	return length >= n && !strncmp(name + length - n, suffix, n);
}

static bool is_counter(const char *name)
{
	size_t length = strcspn(name, "{");

	return ends(name, length, "_total") || ends(name, length, "_count") ||
	       ends(name, length, "_sum") || ends(name, length, "_bucket");
}

/* Nothing falls, not even after it has been absent for a while. */
static void check_counters(struct scrape *s)
{
	struct series_list added = {};

	for (size_t i = 0; i < s->series.n; i++) {
		const struct series *now = &s->series.all[i];
		struct series *high;

		if (!is_counter(now->name))
			continue;
		high = series_find(&highest, now->name);
		if (high && now->value < high->value)
			wrong(&found.fell, "%s fell from %.17g to %.17g in mode %s", now->name,
			      high->value, now->value, mode_names[s->mode]);
		if (high)
			high->value = fmax(high->value, now->value);
		else if (series_add(&added, now->name, now->value) < 0)
			die("too many series");
	}
	for (size_t i = 0; i < added.n; i++)
		if (series_add(&highest, added.all[i].name, added.all[i].value) < 0)
			die("too many series");
	series_sort(&highest);
	while (added.n > 0)
		free(added.all[--added.n].name);
}

/* What has been booked of a load may stand for all since it was booked before. */
struct booking {
	double counted, error;
	/* The latest look before it changed, and the turns then. */
	double asked;
	uint64_t since;
};

static void check_load(int i, const char *kind)
{
	static struct booking bookings[LOADS][2];
	struct booking *b = &bookings[i][kind[0] == 'w'];
	char labels[64];
	double counted, before, error, growth, least, most;

	snprintf(labels, sizeof(labels), "{unit=\"\",comm=\"%s\",pipe=\"anonymous\"}",
		 loads[i].comm);
	counted = or_zero(valuef(&fresh, "pipewatch_pipe_%s_total%s", kind, labels));
	before = or_zero(valuef(&last, "pipewatch_pipe_%s_total%s", kind, labels));
	error = or_zero(valuef(&fresh, "pipewatch_pipe_%s_standard_error%s", kind, labels));
	growth = counted - before;

	if (last.exact && fresh.exact) {
		/* One turn may be under way each time. */
		least = (double)fresh.before[i] - last.after[i] - 1 - (fresh.lost - last.lost);
		most = (double)fresh.after[i] - last.before[i] + 1;
		found.exact_looks++;
		if (growth < least || growth > most)
			wrong(&found.jumped, "exact: %s: %s grew by %.0f, not by %.0f to %.0f",
			      loads[i].comm, kind, growth, least, most);
	} else {
		/* A second window may take back what the first was given for want of another. */
		double own_error = sqrt(fabs(error * error - b->error * b->error));

		most = (double)fresh.after[i] - b->since + 1;
		most = most * 2 + 3 * own_error;
		/* A window that nothing disturbed may stand for a time in which the machine was
		 * busy otherwise, or paused. It corrects for being slower while counted. */
		most = fmax(most, load_most(&loads[i], fresh.answered - b->asked) * 1.25);
		if (growth > most)
			wrong(&found.jumped,
			      "%s to %s: %s: %s grew by %.0f, of %.0f at most, error %.0f",
			      mode_names[last.mode], mode_names[fresh.mode], loads[i].comm, kind,
			      growth, most, own_error);
	}
	if (counted > b->counted) {
		b->since = last.before[i];
		b->asked = last.asked;
		b->counted = counted;
		b->error = error;
	}
}

static void look(void)
{
	static struct scrape swap;

	scrape(&fresh);
	check_counters(&fresh);
	if (last.series.n > 0)
		for (int i = 0; i < LOADS; i++) {
			check_load(i, "reads");
			check_load(i, "writes");
		}
	if (series_value(&fresh.series, "pipewatch_coverage_ratio") < 1 &&
	    series_value(&fresh.series, "pipewatch_coverage_ratio") > 0)
		found.windows++;
	swap = last;
	last = fresh;
	fresh = swap;
}

/* Exactly so much is counted as was done while everything is. */
static void check_exact(void)
{
	static const char *const keys[] = {
		"pipewatch_pipe_reads_total{unit=\"\",comm=\"worker\",pipe=\"anonymous\"}",
		"pipewatch_pipe_writes_total{unit=\"\",comm=\"worker\",pipe=\"anonymous\"}",
		"pipewatch_pipe_reads_total{unit=\"\",comm=\"worker\",pipe=\"fifo\"}",
		"pipewatch_pipe_writes_total{unit=\"\",comm=\"worker\",pipe=\"fifo\"}",
	};
	unsigned int turns[2] = { 1 + rand() % 300, 1 + rand() % 300 };
	double before[4], lost = last.lost;

	for (int i = 0; i < 4; i++)
		before[i] = or_zero(series_value(&last.series, keys[i]));
	work(turns[0], false);
	work(turns[1], true);
	look();
	/* In auto it may have left that meanwhile. */
	if (!last.exact)
		return;
	found.exact_rounds++;
	for (int i = 0; i < 4; i++) {
		double got = or_zero(series_value(&last.series, keys[i])) - before[i];

		if (got > turns[i / 2] || got < turns[i / 2] - (last.lost - lost))
			wrong(&found.miscounted, "%s: %.0f counted of %u, %.0f lost", keys[i], got,
			      turns[i / 2], last.lost - lost);
	}
}

/* ---- the daemon ---- */

/* What programs that time have open; nothing else has as many at once. */
#define BURST_FDS_MIN 10

/* In mode exact there are as many as before. Programs that time are there from a burst until the
 * mode is off, and those that sample until the first time that it is. */
static void check_fds(void)
{
	static unsigned int before[2][2];
	bool sampling = !isnan(series_value(&last.series, "pipewatch_sampler_lost_samples_total"));
	unsigned int n = daemon_fds(), *wanted;
	double until = now() + 10;

	do {
		bool burst = before[0][sampling] && n >= before[0][sampling] + BURST_FDS_MIN;

		wanted = &before[burst][sampling];
		if (!*wanted || n == *wanted)
			break;
		usleep(100000);
		n = daemon_fds();
	} while (now() < until);
	printf("# %u changes: %u file descriptors, %.0f kB of memory\n", found.changes, n,
	       series_value(&last.series, "process_resident_memory_bytes") / 1024);
	found.fds_looks += *wanted > 0;
	if (*wanted && n != *wanted)
		wrong(&found.leaked, "%u file descriptors, and there were %u", n, *wanted);
	*wanted = n;
}

/* How fast the machine is decides how often everything is counted, and how many looks are at
 * windows: where there are too few of them to test much, more are made. */
static bool too_few_exact(void)
{
	return found.exact_rounds * 8 < found.changes || found.exact_looks * 3 < found.changes * 2;
}

static bool too_few_windows(void)
{
	return found.windows * 8 < found.changes;
}

/* Each from each at first, with off as late as can be, since there is no sampling after it. Then at
 * random. */
static enum mode choose_next(enum mode mode)
{
	static bool pairs[MODES][MODES];
	enum mode next;

	for (next = AUTO; next < MODES; next++)
		if (next != mode && !pairs[mode][next]) {
			pairs[mode][next] = true;
			found.pairs++;
			return next;
		}
	if ((found.changes + 1) % FDS_EVERY == 0 && mode != EXACT)
		return EXACT;
	if (((found.changes + 1) % LINGER_EVERY == 0 || too_few_windows()) && mode != BURST)
		return BURST;
	if (too_few_exact() && mode != EXACT)
		return EXACT;
	do
		next = rand() % (rand() % STOP_EVERY == 0 ? MODES : PROFILE);
	while (next == mode);
	return next;
}

static void change(enum mode mode, double *ret_seconds)
{
	static const char *const budgets[] = { "0.1", "1", "5", "50" };
	double begin;

	configure(mode, budgets[rand() % 4]);
	begin = now();
	if (kill(daemon_pid, SIGHUP) < 0)
		die("SIGHUP");
	await_ready();
	*ret_seconds = now() - begin;
	found.changes++;
}

static void check_mode(enum mode mode, unsigned int links_before)
{
	static bool sampling_ended;
	enum mode wanted = mode;
	unsigned int n;

	/* What it takes to begin with sampling was given up at the start. */
	sampling_ended |= mode == OFF;
	if (mode == PROFILE && sampling_ended)
		wanted = OFF;
	if (wanted == AUTO ? last.mode == OFF : last.mode != wanted)
		wrong(&found.wrong_mode, "%s was asked for, %s is in force", mode_names[mode],
		      mode_names[last.mode]);
	if (mode != OFF)
		return;
	/* Programs that time stay loaded. */
	n = settled(links, links_before);
	if (n != links_before)
		wrong(&found.attached, "off: %u links, not %u", n, links_before);
}

enum moment { IN_WINDOW, IN_CHANGE, AFTER_CHANGE, MOMENTS };

/* The programs that count are attached at the start, then no more, then again. */
static void await_window(void)
{
	unsigned int n = links(), lowest = n;
	double until = now() + PATIENCE_SEC;

	while (n < lowest + 2) {
		usleep(5000);
		n = links();
		if (n < lowest)
			lowest = n;
		if (now() > until)
			die("no window");
	}
}

/* Ends the daemon with @signal at that moment, and looks at what is left. */
static void check_ending(const char *program, enum moment moment, int signal,
			 unsigned int all_before)
{
	static const char *const names[MOMENTS] = { "in a window", "in a change",
						    "after a change" };
	unsigned int n;
	int status;

	/* With windows as often as can be. */
	configure(moment == IN_WINDOW ? BURST : PROFILE, "50");
	daemon_begin(program);
	if (moment == IN_WINDOW)
		await_window();
	if (moment != IN_WINDOW) {
		configure(EXACT, "1");
		kill(daemon_pid, SIGHUP);
	}
	if (moment == IN_CHANGE)
		usleep(rand() % 50000);
	else if (moment == AFTER_CHANGE)
		await_ready();
	kill(daemon_pid, signal);
	if (waitpid(daemon_pid, &status, 0) != daemon_pid)
		die("waitpid");
	n = settled(programs_and_links, all_before);
	if (n != all_before)
		wrong(&found.left, "%s %s: %u programs and links, not %u", strsignal(signal),
		      names[moment], n, all_before);
	if (signal == SIGTERM ? status != 0 : status != SIGKILL)
		wrong(&found.left, "%s %s: status %d", strsignal(signal), names[moment], status);
	found.endings++;
}

static void check_changes(unsigned int changes, unsigned int links_before)
{
	double seconds, sums[MODES] = {}, longest = 0, begin = now();
	unsigned int numbers[MODES] = {};
	enum mode mode = EXACT, next;

	while (found.changes < changes) {
		next = choose_next(mode);
		change(next, &seconds);
		sums[next] += seconds;
		numbers[next]++;
		longest = fmax(longest, seconds);
		mode = next;
		look();
		/* A window that is still open stands for the time before. */
		for (double until = now() + PATIENCE_SEC;
		     mode == EXACT && too_few_exact() && !last.exact && now() < until;)
			look();
		check_mode(mode, links_before);
		if (last.exact)
			check_exact();
		if (last.exact && found.changes % FDS_EVERY == 0)
			check_fds();
		if (found.changes % LINGER_EVERY == 0) {
			usleep(LINGER_USEC);
			look();
		} else {
			usleep(rand() % 10000);
		}
	}
	for (int m = 0; m < MODES; m++)
		printf("# to %s: %u, %.1f ms on average\n", mode_names[m], numbers[m],
		       sums[m] / fmax(numbers[m], 1) * 1e3);
	printf("# %.1f s, the longest change took %.0f ms\n", now() - begin, longest * 1e3);
}

int main(int argc, char **argv)
{
	static const int signals[] = { SIGTERM, SIGKILL };
	unsigned int links_before, all_before;
	int status;

	if (argc != 4) {
		fputs("usage: modes CHANGES SEED PIPEWATCHD\n", stderr);
		return 64;
	}
	srand(strtoul(argv[2], NULL, 10));
	setvbuf(stdout, NULL, _IOLBF, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	notify_open();
	links_before = links();
	all_before = programs_and_links();
	for (int i = 0; i < LOADS; i++)
		load_begin(&loads[i]);

	configure(EXACT, "1");
	daemon_begin(argv[3]);
	look();
	check_fds();
	check_changes(strtoul(argv[1], NULL, 10), links_before);
	kill(daemon_pid, SIGTERM);
	if (waitpid(daemon_pid, &status, 0) != daemon_pid)
		die("waitpid");
	if (status != 0 || settled(programs_and_links, all_before) != all_before)
		wrong(&found.left, "SIGTERM: status %d, %u programs and links, not %u", status,
		      programs_and_links(), all_before);
	for (int moment = 0; moment < MOMENTS; moment++)
		for (int i = 0; i < 2; i++)
			check_ending(argv[3], moment, signals[i], all_before);

	for (int i = 0; i < LOADS; i++)
		load_end(&loads[i]);
	/* What the daemon left would be ours now. */
	if (wait(&status) >= 0 || errno != ECHILD)
		wrong(&found.left, "a process");
	printf("changes %u\npairs %u\nendings %u\nfell %u\njumped %u\nmiscounted %u\n"
	       "attached %u\nleaked %u\nwrong-mode %u\nleft %u\n",
	       found.changes, found.pairs, found.endings, found.fell, found.jumped,
	       found.miscounted, found.attached, found.leaked, found.wrong_mode, found.left);
	printf("exact-rounds %u\nexact-looks %u\nwindows %u\nfds-looks %u\n", found.exact_rounds,
	       found.exact_looks, found.windows, found.fds_looks);
	return 0;
}
