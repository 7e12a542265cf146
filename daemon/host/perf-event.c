// SPDX-License-Identifier: GPL-2.0-or-later
#include "perf-event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "child.h"
#include "pipewatch/util.h"

int perf_event_open_timer(int cpu, uint64_t period_ns)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.disabled = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int try_here(void)
{
	/* The CPU that we are on is online; if it goes meanwhile nothing is proved, but then
	 * nothing is forbidden either. */
	_cleanup_(closep) int fd = perf_event_open_timer(sched_getcpu(), 1000000000);

	return fd == -ENODEV ? 0 : fd < 0 ? fd : 0;
}

int perf_event_try(bool *ret_killed)
{
	int result, r;

	*ret_killed = false;
	if (prctl(PR_GET_SECCOMP) == 0)
		return try_here();
	r = child_call(try_here, &result, ret_killed);
	return r < 0 ? r : result;
}
