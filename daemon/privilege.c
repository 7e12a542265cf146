// SPDX-License-Identifier: GPL-2.0-or-later
#include "privilege.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/prctl.h>
#include <sys/vfs.h>

#include <cap-ng.h>

#include "pipewatch/util.h"

/* Closes a file of /proc that was passed and shows more than we may see by ourselves; see
 * kallsyms.h. */
static int input_drop(void)
{
	_cleanup_(closep) int fd = -1;
	struct statfs fs;

	if (fstatfs(STDIN_FILENO, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
		return 0;
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return fd < 0 || dup2(fd, STDIN_FILENO) < 0 ? -errno : 0;
}

/* Clears the effective set, so that nothing is allowed, but everything can still be undone. */
static int effective_drop(void)
{
	if (capng_get_caps_process() < 0)
		return -EIO;
	for (unsigned int capability = 0; capability <= CAP_LAST_CAP; capability++)
		if (capng_have_capability(CAPNG_EFFECTIVE, capability))
			capng_update(CAPNG_DROP, CAPNG_EFFECTIVE, capability);
	return capng_apply(CAPNG_SELECT_CAPS) < 0 ? -EPERM : 0;
}

int privilege_drop(bool reattaches, privilege_works_fn works, void *userdata)
{
	bool keep_bpf, keep_perfmon, keep_ptrace;
	int r;

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	r = effective_drop();
	if (r < 0)
		return r;
	keep_bpf = (reattaches || !works(userdata)) &&
		   capng_have_capability(CAPNG_PERMITTED, CAP_BPF);
	keep_perfmon = reattaches && capng_have_capability(CAPNG_PERMITTED, CAP_PERFMON);
	keep_ptrace = capng_have_capability(CAPNG_PERMITTED, CAP_SYS_PTRACE);

	capng_clear(CAPNG_SELECT_CAPS);
	if (keep_bpf)
		capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_BPF);
	if (keep_perfmon)
		capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_PERFMON);
	if (keep_ptrace)
		capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_SYS_PTRACE);
	return capng_apply(CAPNG_SELECT_CAPS) < 0 ? -EPERM : input_drop();
}
