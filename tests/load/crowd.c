// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * crowd [-w] LIVE SHORT MARK: LIVE processes write a byte to a pipe and stay; then SHORT ones, one
 * after another, write one and end; then the file MARK is made. With LIVE ones it goes on until it
 * is terminated, and they with it; at SIGUSR1 each of them writes one more, and then MARK is made
 * again. With -w it is not their main threads that write, but one thread beside it.
 *
 * All of them share their memory and files, so that a guest makes and holds ten thousand of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EACH_MAX    100000
#define STACK_BYTES 4096
#define PIPE_BYTES  (1 << 20) /* room for all, since nobody reads */

static int fds[2];
static bool workers;
static unsigned int turn;    /* of which each live one writes a byte */
static unsigned int written; /* by live ones */

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

static int write_by_turns(void *unused)
{
	(void)unused;
	for (unsigned int mine = 1;; mine++) {
		unsigned int now;

		while ((now = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) < mine)
			syscall(SYS_futex, &turn, FUTEX_WAIT, now, NULL);
		if (write(fds[1], "", 1) != 1)
			_exit(1);
		__atomic_add_fetch(&written, 1, __ATOMIC_RELEASE);
	}
}

static int be_live(void *worker_stack)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!workers)
		return write_by_turns(NULL);
	if (clone(write_by_turns, worker_stack,
		  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, NULL) < 0)
		_exit(1);
	for (;;)
		pause();
}

static void make_live(int n)
{
	char *stacks = mmap(NULL, 2 * (size_t)n * STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stacks == MAP_FAILED)
		die("mmap");
	for (size_t i = 0; i < (size_t)n; i++)
		if (clone(be_live, stacks + (2 * i + 1) * STACK_BYTES,
			  CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD,
			  stacks + (2 * i + 2) * STACK_BYTES) < 0)
			die("clone");
}

/* Each of @n live ones writes a byte. */
static void take_turn(unsigned int n)
{
	unsigned int all = (turn + 1) * n;

	__atomic_add_fetch(&turn, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &turn, FUTEX_WAKE, n);
	while (__atomic_load_n(&written, __ATOMIC_ACQUIRE) < all)
		usleep(1000);
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

static void mark(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	if (fd < 0)
		die(path);
	close(fd);
}

int main(int argc, char **argv)
{
	int n_live, n_short, signal;
	sigset_t signals;

	if (argc > 1 && !strcmp(argv[1], "-w")) {
		workers = true;
		argc--;
		argv++;
	}
	n_live = argc == 4 ? atoi(argv[1]) : -1;
	n_short = argc == 4 ? atoi(argv[2]) : -1;
	if (n_live < 0 || n_live > EACH_MAX || n_short < 0 || n_short > EACH_MAX) {
		fputs("usage: crowd [-w] LIVE SHORT MARK\n", stderr);
		return 64;
	}
	if (pipe(fds) < 0 || fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES) < 0)
		die("pipe");
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (n_live > 0) {
		make_live(n_live);
		take_turn(n_live);
	}
	make_short(n_short);
	mark(argv[3]);
	while (n_live > 0) {
		if (sigwait(&signals, &signal) > 0)
			die("sigwait");
		take_turn(n_live);
		mark(argv[3]);
	}
	return 0;
}
