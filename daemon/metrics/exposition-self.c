// SPDX-License-Identifier: GPL-2.0-or-later
#include "exposition.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <string.h>

#include "cpu-seconds.h"
#include "pipewatch/util.h"

static void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

static double count_open_fds(void)
{
	_cleanup_(closedirp) DIR *d = opendir("/proc/self/fd");
	struct dirent *entry;
	double n = 0;

	if (!d)
		return -1;
	while ((entry = readdir(d)))
		n += isdigit((unsigned char)entry->d_name[0]) ? 1 : 0;
	return n - 1; /* the directory's own */
}

/* In whole seconds, but the same each time, which a difference of two clocks would not be. */
static double boot_time_seconds(void)
{
	_cleanup_(fclosep) FILE *f = fopen("/proc/stat", "re");
	_cleanup_(freep) char *line = NULL;
	size_t size = 0;
	uint64_t seconds;

	/* The line of all interrupts, before it, is long. */
	while (f && getline(&line, &size, f) > 0)
		if (sscanf(line, "btime %" SCNu64, &seconds) == 1)
			return seconds;
	return -1;
}

static void read_stat(struct exposition_self *ret)
{
	_cleanup_(fclosep) FILE *f = fopen("/proc/self/stat", "re");
	const double ticks = sysconf(_SC_CLK_TCK), boot = boot_time_seconds();
	uint64_t threads, start, virtual_bytes;
	char line[2048], *fields;
	int64_t resident_pages;

	if (!f || ticks <= 0 || !fgets(line, sizeof(line), f))
		return;
	/* The name is in parentheses and may hold any other. */
	fields = strrchr(line, ')');
	if (!fields)
		return;
	/* From field 3 on; see proc_pid_stat(5). */
	if (sscanf(fields + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
		   "%" SCNu64 " %*d %" SCNu64 " %" SCNu64 " %" SCNd64,
		   &threads, &start, &virtual_bytes, &resident_pages) != 4)
		return;

	ret->threads = threads;
	ret->virtual_bytes = virtual_bytes;
	ret->resident_bytes = (double)resident_pages * sysconf(_SC_PAGESIZE);
	if (boot >= 0)
		ret->start_time_seconds = boot + start / ticks;
}

void exposition_self_read(struct exposition_self *ret)
{
	struct rlimit limit;
	struct rusage usage;

	*ret = (struct exposition_self){ -1, -1, -1, -1, -1, -1, -1 };

	read_stat(ret);
	ret->open_fds = count_open_fds();
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		ret->max_fds = limit.rlim_cur;
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		ret->cpu_seconds = cpu_seconds(&usage);
}
