// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * crowd LIVE SHORT MARK: LIVE processes write a byte to a pipe and stay; then SHORT ones, one after
 * another, write one and end; then the file MARK is made. With LIVE ones it goes on until it is
 * terminated, and they with it.
 *
 * All of them share their memory and files, so that a guest makes and holds ten thousand of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define EACH_MAX    100000
#define STACK_BYTES 4096
#define PIPE_BYTES  (1 << 20) /* room for all, since nobody reads */

static int fds[2];

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "crowd: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static int be_short(void *unused)
{
	(void)unused;
	_exit(write(fds[1], "", 1) != 1);
}

static int be_live(void *unused)
{
	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(fds[1], "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void make_live(int n)
{
	char *stacks = mmap(NULL, (size_t)n * STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stacks == MAP_FAILED)
		die("mmap");
	for (int i = 0; i < n; i++)
		if (clone(be_live, stacks + (size_t)(i + 1) * STACK_BYTES,
			  CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, NULL) < 0)
			die("clone");
}

static void make_short(int n)
{
	static char stack[STACK_BYTES] __attribute__((aligned(16)));

	for (int i = 0; i < n; i++) {
		int status;
		pid_t pid = clone(be_short, stack + sizeof(stack),
				  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_VFORK | SIGCHLD, NULL);

		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			die("clone");
		if (status != 0) {
			fprintf(stderr, "crowd: a process failed\n");
			_exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	int n_live = argc == 4 ? atoi(argv[1]) : -1, n_short = argc == 4 ? atoi(argv[2]) : -1;
	int fd;

	if (n_live < 0 || n_live > EACH_MAX || n_short < 0 || n_short > EACH_MAX) {
		fputs("usage: crowd LIVE SHORT MARK\n", stderr);
		return 64;
	}
	if (pipe(fds) < 0 || fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES) < 0)
		die("pipe");
	if (n_live > 0)
		make_live(n_live);
	make_short(n_short);
	fd = open(argv[3], O_WRONLY | O_CREAT, 0600);
	if (fd < 0)
		die(argv[3]);
	while (n_live > 0)
		pause();
	return 0;
}
