// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc as a process with strange mounts and cgroups has it: a unit is valid UTF-8, that of the
 * path where that is known, and none where it cannot be. The input is mountinfo, a NUL, and the
 * cgroup file. */
#include "cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "name.h"

#define PID 7

static char proc[64];

static void write_file(const char *name, const uint8_t *data, size_t size)
{
	_cleanup_(closep) int fd = -1;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", proc, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FUZZ_CHECK(fd >= 0);
	FUZZ_CHECK(write(fd, data, size) == (ssize_t)size);
}

static void remove_proc(void)
{
	static const char *const names[] = { "self/mountinfo", "7/cgroup", "self", "7", "" };
	char path[128];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", proc, names[i]);
		remove(path);
	}
}

static void make_proc(void)
{
	char path[128];

	if (proc[0])
		return;
	snprintf(proc, sizeof(proc), "/dev/shm/pipewatch-fuzz-XXXXXX");
	FUZZ_CHECK(mkdtemp(proc));
	snprintf(path, sizeof(path), "%s/self", proc);
	FUZZ_CHECK(mkdir(path, 0700) == 0);
	snprintf(path, sizeof(path), "%s/%d", proc, PID);
	FUZZ_CHECK(mkdir(path, 0700) == 0);
	atexit(remove_proc);
}

/* Stands for what a program noted of cgroups that are gone: the end of the input. */
static int removed_path(void *userdata, uint64_t id, char *ret, size_t size)
{
	const struct fuzz_input *in = userdata;

	if (id % 2)
		return -ENOENT;
	FUZZ_CHECK(size == PATH_MAX);
	snprintf(ret, size, "/%.*s", (int)in->size, (const char *)in->data);
	return 0;
}

/* A mount point that exists would be searched, all below it. */
static bool mounts_are_nowhere(const uint8_t *data, size_t size)
{
	_cleanup_(freep) char *copy = calloc(1, size + 1);
	char *rest = NULL;

	FUZZ_CHECK(copy);
	if (size > 0)
		memcpy(copy, data, size);
	for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char point[16] = "";

		if (!strstr(line, "cgroup2"))
			continue;
		if (sscanf(line, "%*s %*s %*s %*s %15s", point) == 1 &&
		    strncmp(point, "/nowhere", strlen("/nowhere")))
			return false;
	}
	return true;
}

/* Where there is a mount point, nothing is mounted at it, so that nobody but the programs knows a
 * path. */
static void must_be_of_path(struct cgroups *c, uint64_t id, struct fuzz_input *in)
{
	char path[PATH_MAX], wanted[256] = "";
	bool known = removed_path(in, id, path, sizeof(path)) == 0;
	const char *unit = cgroups_unit(c, id, PID, 0, 6000000);

	if (known)
		name_unit_from_cgroup(path, wanted, sizeof(wanted));
	FUZZ_CHECK(cgroups_known(c) == known);
	FUZZ_CHECK(strcmp(unit, wanted) == 0);
}

static void must_be_name(const char *unit)
{
	FUZZ_CHECK(fuzz_is_utf8(unit));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(cgroups_freep) struct cgroups *c = NULL;
	const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
	size_t n_mounts = nul ? (size_t)(nul - data) : size;
	struct fuzz_input rest = { nul ? nul + 1 : data + size, nul ? size - n_mounts - 1 : 0 };

	if (!mounts_are_nowhere(data, n_mounts))
		return 0;
	make_proc();
	write_file("self/mountinfo", data, n_mounts);
	write_file("7/cgroup", rest.data, rest.size);
	FUZZ_CHECK(cgroups_new(proc, &c) == 0);
	must_be_name(cgroups_unit(c, 1, PID, 0, 0));
	must_be_name(cgroups_unit(c, 0, PID, 0, 2000000));
	must_be_name(cgroups_unit(c, 3, PID + 1, 0, 4000000));
	cgroups_set_paths(c, removed_path, &rest);
	/* Nobody knows of the process, so that its cgroup can only be known by where they are
	 * mounted. */
	must_be_name(cgroups_unit(c, 2, PID + 1, 0, 6000000));
	if (cgroups_known(c))
		for (uint64_t id = 2; id < 6; id++)
			must_be_of_path(c, id, &rest);
	else
		must_be_name(cgroups_unit(c, 4, PID, 0, 6000000));
	return 0;
}
