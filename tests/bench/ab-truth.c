// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A/B figures beside what long loops on one pipe after the other say, as good as any truth where
 * instructions are counted. A line each: PIPE UPDATE COST ERROR TRUTH in ns, or PIPE UPDATE -
 * REASON; and what A/B took: wall RATIO of the time asked for.
 *
 * usage: ab-truth [-d USEC] [-n OPERATIONS] [-r REPETITIONS]
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "ab.h"
#include "own-pipe.h"
#include "symbols.h"
#include "verdict.h"

static const char *const directories[] = { "/run", "/dev/shm", "/tmp", NULL };

struct truth {
	double write_ns, read_ns;
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Fills with ten operations, drains with ten: another loop than the one that is tested. */
static struct truth loop(enum pipe_kind kind, bool noatime, long n_operations)
{
	struct truth sum = { 0, 0 };
	struct own_pipe p;
	const char *failed;
	char buffer[100] = { 0 };
	double clock = now_ns();

	for (int i = 0; i < 1000; i++)
		now_ns();
	clock = (now_ns() - clock) / 1001;

	if (own_pipe_open(kind, directories, &p, &failed) < 0 ||
	    fcntl(p.read_fd, F_SETFL, noatime ? O_NOATIME : 0) < 0)
		err(1, "pipe");
	for (long i = 0; i < n_operations; i += 10) {
		double start = now_ns(), middle, end;

		for (int j = 0; j < 10; j++)
			if (write(p.write_fd, buffer, sizeof(buffer)) != sizeof(buffer))
				err(1, "write");
		middle = now_ns();
		for (int j = 0; j < 10; j++)
			if (read(p.read_fd, buffer, sizeof(buffer)) != sizeof(buffer))
				err(1, "read");
		end = now_ns();
		sum.write_ns += middle - start - clock;
		sum.read_ns += end - middle - clock;
	}
	own_pipe_close(&p);
	sum.write_ns /= (double)n_operations;
	sum.read_ns /= (double)n_operations;
	return sum;
}

static double truth_of(struct truth truths[PIPE_KINDS][2], int kind, int update)
{
	if (update == UPDATE_ATIME)
		return truths[kind][0].read_ns - truths[kind][1].read_ns;
	return truths[kind][0].write_ns - truths[PIPE_ANONYMOUS][0].write_ns -
	       (truths[kind][1].read_ns - truths[PIPE_ANONYMOUS][1].read_ns);
}

static void print(int kind, const char *name, const struct cost_figure *f, double truth)
{
	printf("%s %s ", pipe_kind_name(kind), name);
	if (f->known)
		printf("%.2f %.2f %.2f\n", f->seconds * 1e9, f->error_seconds * 1e9, truth);
	else
		printf("- %s\n", f->reason);
}

int main(int argc, char **argv)
{
	enum path_state paths[PIPE_KINDS][UPDATE_KINDS];
	struct truth truths[PIPE_KINDS][2] = { 0 };
	unsigned int duration_usec = 20000;
	long n_operations = 64000;
	int option, repetitions = 1;
	struct symbols *symbols;
	struct verdict verdict;

	while ((option = getopt(argc, argv, "d:n:r:")) >= 0) {
		switch (option) {
		case 'd': duration_usec = (unsigned int)atoi(optarg); break;
		case 'n': n_operations = atol(optarg); break;
		case 'r': repetitions = atoi(optarg); break;
		default: return 64;
		}
	}
	if (symbols_open(&symbols) < 0)
		err(1, "symbols");
	verdict_find(symbols_has, symbols, directories, &verdict);
	for (int kind = 0; kind < PIPE_KINDS; kind++)
		for (int update = 0; update < UPDATE_KINDS; update++)
			paths[kind][update] = verdict.paths[kind][update].state;

	for (int kind = 0; n_operations > 0 && kind < PIPE_KINDS; kind++)
		for (int noatime = 0; noatime < 2; noatime++)
			truths[kind][noatime] = loop(kind, noatime, n_operations);

	for (; repetitions > 0; repetitions--) {
		double start = now_ns(), end;
		struct ab ab;
		int r = ab_measure(directories, duration_usec, paths, &ab);

		end = now_ns();
		if (r < 0)
			errx(1, "ab_measure: %d", r);
		for (int kind = 0; kind < PIPE_KINDS; kind++) {
			for (int update = 0; update < UPDATE_KINDS; update++) {
				const char *name = update_kind_name(update);

				print(kind, name, &ab.updates[kind][update],
				      truth_of(truths, kind, update));
			}
			print(kind, "read", &ab.reads[kind], truths[kind][0].read_ns);
			print(kind, "write", &ab.writes[kind], truths[kind][0].write_ns);
		}
		printf("wall %.2f\n", (end - start) / (duration_usec * 1e3));
	}
	symbols_free(symbols);
	return 0;
}
