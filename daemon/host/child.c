// SPDX-License-Identifier: GPL-2.0-or-later
#include "child.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "error.h"

static _Noreturn void child_run(int (*call)(void))
{
	int error;

	/* No core file for a death that is expected. */
	prctl(PR_SET_DUMPABLE, 0);
	signal(SIGSYS, SIG_DFL);
	error = -call();
	/* An exit status has eight bits. */
	_exit(error == KERNEL_ENOTSUPP ? EOPNOTSUPP : error);
}

int child_call(int (*call)(void), int *ret_result, bool *ret_killed)
{
	pid_t pid, waited;
	int status;

	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		child_run(call);
	do {
		waited = waitpid(pid, &status, 0);
	} while (waited < 0 && errno == EINTR);
	if (waited < 0)
		return -errno;
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGSYS)
		return -ECHILD;
	*ret_killed = WIFSIGNALED(status);
	*ret_result = *ret_killed ? -EPERM : -WEXITSTATUS(status);
	return 0;
}
