/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the cgroup of a process to its systemd unit or container. With cgroup v2 (also beside v1, as
 * systemd's hybrid layout has it) by the cgroup's id, also after the process is gone; with v1 alone
 * by /proc/PID/cgroup while the process lives.
 */
#ifndef PIPEWATCH_CGROUPS_H
#define PIPEWATCH_CGROUPS_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

struct cgroups;

/* @proc is "/proc" but in tests; where cgroup v2 is mounted is read from PROC/self/mountinfo.
 * Returns 0 or -ENOMEM. */
int cgroups_new(const char *proc, struct cgroups **ret_cgroups);
struct cgroups *cgroups_free(struct cgroups *c);

static inline void cgroups_freep(struct cgroups **c)
{
	cgroups_free(*c);
}

/*
 * Somebody else who may know the path of the cgroup @id, also when it has been removed. Writes it,
 * beginning with '/', to @ret and returns 0, or -errno.
 */
typedef int (*cgroups_path_fn)(void *userdata, uint64_t id, char *ret, size_t size);
void cgroups_set_paths(struct cgroups *c, cgroups_path_fn paths, void *userdata);

/*
 * The unit of the process @pid that started at @start_boottime_ns (since boot) and is or was in the
 * cgroup @id (of v2), as name_unit_from_cgroup() writes it; "" where it is not known. Valid until
 * the next call. Looks through the whole hierarchy for an id that it does not know, but at most
 * once a second (@now_usec: CLOCK_MONOTONIC). What cannot be seen from here is asked for less and
 * less often, once in a minute in the end.
 */
const char *cgroups_unit(struct cgroups *c, uint64_t id, uint32_t pid, uint64_t start_boottime_ns,
			 uint64_t now_usec);

/* Where the process @pid is now, for cgroups_unit(); @id where that cannot be found out, or does
 * not matter. */
uint64_t cgroups_id(const struct cgroups *c, uint32_t pid, uint64_t id);

/* Had been found out what that returned last, also if it is that there is none? */
bool cgroups_known(const struct cgroups *c);

#endif
