/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A daemon to be tested, with a configuration of its own, which says when it is ready; and what it
 * attaches.
 */
#ifndef PIPEWATCH_TESTS_SUBJECT_H
#define PIPEWATCH_TESTS_SUBJECT_H

#include <errno.h>
#include <linux/bpf.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CONFIG	     "/tmp/subject.conf"
#define SOCKET	     "/tmp/subject.notify"
#define PATIENCE_SEC 60

enum mode { AUTO, EXACT, BURST, PROFILE, OFF, MODES };

static const char *const mode_names[MODES] = { "auto", "exact", "burst", "profile", "off" };

static pid_t daemon_pid;
static int notify_fd;

__attribute__((noreturn)) static inline void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	if (daemon_pid > 0)
		kill(daemon_pid, SIGKILL);
	exit(1);
}

static inline double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static inline void await_ready(void)
{
	struct pollfd poll_fd = { .fd = notify_fd, .events = POLLIN };
	char message[4096];
	double until = now() + PATIENCE_SEC;

	while (now() < until) {
		ssize_t n;

		if (poll(&poll_fd, 1, 1000) <= 0) {
			if (waitpid(daemon_pid, NULL, WNOHANG) == daemon_pid) {
				errno = ECHILD;
				die("the daemon has ended");
			}
			continue;
		}
		n = recv(notify_fd, message, sizeof(message) - 1, 0);
		if (n < 0)
			die("recv");
		message[n] = '\0';
		if (!strncmp(message, "READY=1", 7) || strstr(message, "\nREADY=1"))
			return;
	}
	errno = ETIMEDOUT;
	die("READY=1");
}

static inline void notify_open(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SOCKET };

	unlink(SOCKET);
	notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (notify_fd < 0 || bind(notify_fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		die("bind");
}

static inline void configure(enum mode mode, const char *budget)
{
	FILE *f = fopen(CONFIG, "we");

	if (!f)
		die(CONFIG);
	fprintf(f, "[Measurement]\nMode=%s\nBudget=%s\n", mode_names[mode], budget);
	if (fclose(f) != 0)
		die(CONFIG);
}

static inline void daemon_begin(const char *program)
{
	char unread[4096];

	/* Of the one before. */
	while (recv(notify_fd, unread, sizeof(unread), MSG_DONTWAIT) >= 0)
		;
	daemon_pid = fork();
	if (daemon_pid < 0)
		die("fork");
	if (daemon_pid == 0) {
		setenv("NOTIFY_SOCKET", SOCKET, 1);
		execl(program, program, "--bus", "none", "--config", CONFIG, NULL);
		_exit(127);
	}
	await_ready();
}

static inline unsigned int daemon_fds(void)
{
	char path[64];
	unsigned int n = 0;
	struct stat unused;

	for (int fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", daemon_pid, fd);
		n += lstat(path, &unused) == 0;
	}
	return n;
}

/* How many of the host, by BPF_LINK_GET_NEXT_ID or BPF_PROG_GET_NEXT_ID. */
static inline unsigned int ids_count(int command)
{
	union bpf_attr attr = {};
	unsigned int n = 0;

	for (; syscall(SYS_bpf, command, &attr, 12) == 0; n++)
		attr.start_id = attr.next_id;
	if (errno != ENOENT)
		die("bpf");
	return n;
}

static inline unsigned int links(void)
{
	return ids_count(BPF_LINK_GET_NEXT_ID);
}

static inline unsigned int programs_and_links(void)
{
	return ids_count(BPF_PROG_GET_NEXT_ID) + links();
}

/* Some go a moment later. */
static inline unsigned int settled(unsigned int (*count)(void), unsigned int wanted)
{
	double until = now() + PATIENCE_SEC;
	unsigned int n;

	while ((n = count()) != wanted && now() < until)
		usleep(20000);
	return n;
}

#endif
