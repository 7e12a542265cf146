// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What can be measured here: pipewatchd --check, which needs no privileges and no running daemon.
 * Its text is passed on, or taken apart into JSON.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "pipewatch/util.h"
#include "tree.h"
#include "text.h"
#include "verb.h"

/* It takes about a second, and longer where CPU time is short. */
#define CHECK_SEC 120

/* Far more than it prints. */
#define CHECK_MAX_BYTES (256 * 1024)

#define PROGRAM "pipewatchd"

extern char **environ;

/* Beside pipewatchctl itself, where both are built; else where it is installed. */
static int find_program(char *ret, size_t size, struct failure *f)
{
	static const char *const installed[] = { "/usr/sbin/" PROGRAM, "/usr/local/sbin/" PROGRAM };
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n > 0) {
		self[n] = 0;
		*strrchr(self, '/') = 0;
		if ((size_t)snprintf(ret, size, "%s/" PROGRAM, self) < size && !access(ret, X_OK))
			return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(installed); i++) {
		snprintf(ret, size, "%s", installed[i]);
		if (!access(ret, X_OK))
			return 0;
	}
	return failure_set(f, PIPEWATCH_EXIT_UNAVAILABLE,
			   "\"pipewatchctl check\" runs \"pipewatchd --check\", but pipewatchd is "
			   "neither beside pipewatchctl nor at %s or %s. Install it on this "
			   "machine.",
			   installed[0], installed[1]);
}

/* All that comes from @fd until its end: 0, -ETIMEDOUT, -EFBIG or another -errno. */
static int read_all(int fd, char **ret_text)
{
	_cleanup_(freep) char *text = malloc(CHECK_MAX_BYTES);
	struct timespec now;
	size_t length = 0;
	time_t end;

	if (!text)
		return -ENOMEM;
	clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec + CHECK_SEC;
	for (;;) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		ssize_t n;

		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec >= end)
			return -ETIMEDOUT;
		if (poll(&ready, 1, 1000) <= 0)
			continue;
		n = read(fd, text + length, CHECK_MAX_BYTES - 1 - length);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			break;
		length += n > 0 ? (size_t)n : 0;
		if (length == CHECK_MAX_BYTES - 1)
			return -EFBIG;
	}
	text[length] = 0;
	*ret_text = text;
	text = NULL;
	return 0;
}

static int spawn(const char *program, int out, pid_t *ret_pid)
{
	char *const argv[] = { (char *)PROGRAM, (char *)"--check", NULL };
	posix_spawn_file_actions_t actions;
	int r;

	r = posix_spawn_file_actions_init(&actions);
	if (r != 0)
		return -r;
	r = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawn(ret_pid, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

static int run(const char *program, char **ret_text, int *ret_status, struct failure *f)
{
	_cleanup_(closep) int in = -1;
	int fds[2], r, status = 0;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return failure_os(f, "Running pipewatchd --check failed", errno);
	in = fds[0];
	r = spawn(program, fds[1], &pid);
	close(fds[1]);
	if (r < 0)
		return failure_set(f, PIPEWATCH_EXIT_OS, "%s cannot be run: %s.", program,
				   strerror(-r));
	r = read_all(in, ret_text);
	if (r < 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r == -ETIMEDOUT)
		return failure_set(f, PIPEWATCH_EXIT_OS,
				   "%s --check did not end within %d seconds, and was stopped.",
				   program, CHECK_SEC);
	if (r < 0)
		return failure_os(f, "Reading what pipewatchd --check says failed", r);
	if (!WIFEXITED(status))
		return failure_set(f, PIPEWATCH_EXIT_INTERNAL, "%s --check died of signal %d.",
				   program, WTERMSIG(status));
	*ret_status = WEXITSTATUS(status);
	return 0;
}

enum section { SECTION_PATHS, SECTION_MEASURABLE, SECTION_COSTS };

struct reader {
	struct tree json;
	struct json_object *paths;
	struct json_object *measurable;
	struct json_object *costs;
	enum section section;
};

/* PIPE UPDATE STATE SYMBOL BEHAVIOUR REASON... */
static void read_path(struct reader *r, const char *line)
{
	static const char *const keys[] = { "pipe", "kind", "state", "by_symbol", "by_behaviour" };
	char words[ARRAY_SIZE(keys)][32];
	struct json_object *path;
	int at = 0;

	if (sscanf(line, " %31s %31s %31s %31s %31s %n", words[0], words[1], words[2], words[3],
		   words[4], &at) < (int)ARRAY_SIZE(keys) ||
	    at == 0 || !strcmp(words[0], "PIPE"))
		return;
	path = tree_object(&r->json, r->paths, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		tree_string(&r->json, path, keys[i], words[i]);
	tree_string(&r->json, path, "reason", line + at);
}

/* FIGURE, at least two blanks, ANSWER */
static void read_measurable(struct reader *r, char *line)
{
	char *figure = line + strspn(line, " "), *answer = NULL;
	struct json_object *object;

	/* The figure's own name may be filled up with blanks: the answer is behind the last. */
	for (char *at = figure; (at = strstr(at, "  ")); at += strspn(at, " "))
		answer = at;
	if (!answer)
		return;
	*answer = 0;
	object = tree_object(&r->json, r->measurable, NULL);
	tree_string(&r->json, object, "figure", figure);
	tree_string(&r->json, object, "answer", answer + 1 + strspn(answer + 1, " "));
}

/* PIPE UPDATE NS +/- NS ns..., or PIPE UPDATE not known: REASON */
static void read_cost(struct reader *r, const char *line)
{
	char pipe[32], kind[32];
	struct json_object *cost;
	double ns, error_ns;
	int at = 0;

	if (sscanf(line, " %31s %31s %n", pipe, kind, &at) < 2 || at == 0)
		return;
	if (!strcmp(pipe, "not")) {
		tree_string(&r->json, r->json.root, "costs_reason", line + strspn(line, " "));
		return;
	}
	cost = tree_object(&r->json, r->costs, NULL);
	tree_string(&r->json, cost, "pipe", pipe);
	tree_string(&r->json, cost, "kind", kind);
	if (sscanf(line + at, "%lf +/- %lf ns", &ns, &error_ns) == 2) {
		tree_double(&r->json, cost, "seconds", ns / 1e9);
		tree_double(&r->json, cost, "error_seconds", error_ns / 1e9);
	} else if (!strncmp(line + at, "not known: ", 11)) {
		tree_string(&r->json, cost, "reason", line + at + 11);
	}
}

static void read_line(struct reader *r, char *line)
{
	if (!strncmp(line, "Kernel ", 7))
		tree_string(&r->json, r->json.root, "kernel", line + 7);
	else if (!strncmp(line, "Why not: ", 9))
		tree_string(&r->json, r->json.root, "why_not", line + 9);
	else if (!strncmp(line, "What can be", 11))
		r->section = SECTION_MEASURABLE;
	else if (!strncmp(line, "What one update costs", 21))
		r->section = SECTION_COSTS;
	else if (*line == ' ' && r->section == SECTION_PATHS)
		read_path(r, line);
	else if (*line == ' ' && r->section == SECTION_MEASURABLE)
		read_measurable(r, line);
	else if (*line == ' ')
		read_cost(r, line);
}

static int print_json(const char *program, char *text, int status, const struct output *o,
		      struct failure *f)
{
	struct reader r = { .json = tree_begin() };
	struct json_object *lines;
	char *rest = NULL;

	tree_string(&r.json, r.json.root, "program", program);
	tree_count(&r.json, r.json.root, "exit_status", (uint64_t)status);
	r.paths = tree_array(&r.json, r.json.root, "paths");
	r.measurable = tree_array(&r.json, r.json.root, "measurable");
	r.costs = tree_array(&r.json, r.json.root, "costs");
	lines = tree_array(&r.json, r.json.root, "text");
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		tree_string(&r.json, lines, NULL, line);
		read_line(&r, line);
	}
	return output_json(o, tree_done(&r.json), false, f);
}

int check_run(const struct options *options, struct output *o, struct failure *f)
{
	_cleanup_(freep) char *text = NULL;
	char program[4200];
	int status = 0, r;

	r = find_program(program, sizeof(program), f);
	if (r == 0)
		r = run(program, &text, &status, f);
	if (r != 0)
		return r;
	if (options->json) {
		r = print_json(program, text, status, o, f);
	} else {
		text_write_lines(text, o->utf8, o->f);
		r = output_flush(o, f);
	}
	/* What it found out is told by its exit code, which is like ours. */
	return r != 0 ? r : status;
}
