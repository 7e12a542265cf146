// SPDX-License-Identifier: GPL-2.0-or-later
#include "run-time.h"

#include <errno.h>
#include <stddef.h>

#include <bpf/bpf.h>

int run_time_enable(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	return fd < 0 ? -errno : fd;
}

int run_time_read(int program_fd, uint64_t *ret_runs, double *ret_seconds)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(program_fd, &info, &size) < 0)
		return -errno;
	if (size < offsetof(struct bpf_prog_info, run_cnt) + sizeof(info.run_cnt))
		return -EOPNOTSUPP;
	*ret_runs = info.run_cnt;
	*ret_seconds = info.run_time_ns / 1e9;
	return 0;
}

int run_time_missed(int program_fd, uint64_t *ret_runs)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(program_fd, &info, &size) < 0)
		return -errno;
	if (size < offsetof(struct bpf_prog_info, recursion_misses) + sizeof(info.recursion_misses))
		return -EOPNOTSUPP;
	*ret_runs = info.recursion_misses;
	return 0;
}
