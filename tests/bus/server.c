// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Serves a made-up snapshot on the bus at ADDRESS, without a kernel. Commands come on standard
 * input, one a line, and each is answered by one line, "ok" if there is nothing to tell; what the
 * bus module logs is a line "log: LEVEL MESSAGE".
 *
 *   state WORD REASON    changes the state; does not tell the bus
 *   changed              tells the bus of what changed
 *   flicker N            N times: a state of its own number, told
 *   counting on|off
 *   missing reads|writes|none
 *   known on|off         everything about costs, estimates, remedies and watchers
 *   fail ERRNO           the next snapshots cannot be had (0: again)
 *   many N               N processes, all named in the longest way
 *   memory               resident memory in kB
 *   quit
 *
 * It ends with the exit status that the bus module asks for, else 0, or 1 after an error.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>

#include "bus.h"
#include "pipewatch/util.h"

struct server {
	struct bus *bus;
	sd_event *event;
	enum snapshot_state state;
	char reason[256];
	bool counting;
	bool known;
	bool reads_missing;
	bool writes_missing;
	int error;
	unsigned int n_many;
};

static struct snapshot_process *add_process(struct snapshot *s, uint32_t pid, const char *comm,
					    const char *unit)
{
	struct snapshot_process *process = snapshot_add_process(s);

	if (!process)
		abort();
	process->pid = pid;
	process->start_time_usec = 1700000000000000 + pid;
	snprintf(process->comm, sizeof(process->comm), "%s", comm);
	process->unit = unit;
	return process;
}

static void add_group(struct snapshot *s, const struct snapshot_process *process, uint32_t live)
{
	struct snapshot_group *group = snapshot_add_group(s);

	if (!group)
		abort();
	group->unit = process->unit;
	group->comm = snapshot_string(s, process->comm);
	group->processes = live;
	memcpy(group->counts, process->counts, sizeof(group->counts));
}

static void add_usual(struct snapshot *s)
{
	struct snapshot_program *program;
	struct snapshot_process *process;
	struct snapshot_loss *loss;

	process = add_process(s, 100, "writer", "cron.service");
	process->counts[PIPE_ANONYMOUS] = (struct pipe_counts){ 0, 1000, 0, 64000, 0 };
	process->sizes[PIPE_ANONYMOUS].writes[6] = 1000;
	add_group(s, process, 1);

	process = add_process(s, 200, "new\nline\"\\\t\001", "docker/0123456789ab");
	process->counts[PIPE_ANONYMOUS] = (struct pipe_counts){ 500, 0, 32000, 0, 100 };
	process->counts[PIPE_FIFO] = (struct pipe_counts){ 3, 4, 30, 40, 1 };
	process->sizes[PIPE_ANONYMOUS].reads[6] = 500;
	process->sizes[PIPE_FIFO].reads[3] = 3;
	process->sizes[PIPE_FIFO].writes[3] = 4;
	add_group(s, process, 1);

	process = add_process(s, 4294967295, "", "");
	process->exited = true;
	process->counts[PIPE_FIFO] = (struct pipe_counts){ 0, 1, 0, 1ULL << 63, 0 };
	process->sizes[PIPE_FIFO].writes[15] = 1;
	add_group(s, process, 0);

	program = snapshot_add_program(s);
	if (!program)
		abort();
	*program = (struct snapshot_program){
		.program = "on_read", .hook = "pipe_read", .attached = true, .reason = ""
	};
	program = snapshot_add_program(s);
	if (!program)
		abort();
	*program = (struct snapshot_program){ .program = "on_write",
					      .hook = "pipe_write",
					      .attached = false,
					      .reason = "No such function." };

	loss = snapshot_add_loss(s);
	if (!loss)
		abort();
	*loss = (struct snapshot_loss){ "no_slot", 7 };
	loss = snapshot_add_loss(s);
	if (!loss)
		abort();
	*loss = (struct snapshot_loss){ "no_memory", 8 };
}

static struct cost_figure figure(double seconds, double error_seconds)
{
	return (struct cost_figure){ .known = true,
				     .seconds = seconds,
				     .error_seconds = error_seconds };
}

static void add_watcher(struct snapshot *s, uint32_t pid, const char *comm)
{
	struct snapshot_watcher *watcher = snapshot_add_watcher(s);

	if (!watcher)
		abort();
	watcher->pid = pid;
	watcher->watches = 2;
	snprintf(watcher->comm, sizeof(watcher->comm), "%s", comm);
}

/* Of the process and group number @i, which are the same; cost rises with @i. */
static void add_known(struct snapshot *s, size_t i)
{
	struct snapshot_process *process = &s->processes[i];
	double seconds = 0.25 * (double)(i + 1);

	process->cpu_known = true;
	process->cpu_seconds = 8;
	process->cpu_share = 0.125;
	process->pipe_cpu_seconds = 4;
	process->batch_seconds = 0.125;
	for (enum update_kind kind = 0; kind < UPDATE_KINDS; kind++)
		process->sampled_seconds[kind] = seconds;
	for (enum pipe_kind pipe = 0; pipe < PIPE_KINDS; pipe++) {
		process->errors[pipe] = (struct pipe_errors){ .reads = 1.5f, .writes = 2.5f };
		process->costs[pipe].seconds[UPDATE_ATIME] = seconds;
		process->costs[pipe].seconds[UPDATE_FSNOTIFY] = seconds / 2;
	}
	if (i >= s->n_groups)
		return;
	s->groups[i].batch_seconds = process->batch_seconds;
	s->groups[i].pipe_cpu_seconds = process->pipe_cpu_seconds;
	memcpy(s->groups[i].sampled_seconds, process->sampled_seconds,
	       sizeof(process->sampled_seconds));
	memcpy(s->groups[i].errors, process->errors, sizeof(process->errors));
	memcpy(s->groups[i].costs, process->costs, sizeof(process->costs));
}

static void make_known(struct snapshot *s)
{
	struct cost_estimate *atime = &s->unit_costs[PIPE_ANONYMOUS][UPDATE_ATIME];

	s->mode = MODE_BURST;
	s->coverage_ratio = 0.25;
	s->estimated = true;
	s->sampling = true;
	s->sampling_sees[UPDATE_ATIME] = s->sampling_sees[UPDATE_FSNOTIFY] = true;
	s->observer.operation = figure(5e-7, 1e-9);
	s->observer.overhead = figure(0.0085, 0.0005);
	atime->whole = figure(1.5e-7, 5e-9);
	atime->stages[COST_UPDATE] = figure(1.25e-7, 4e-9);
	atime->stages[COST_INODE] = figure(2.5e-8, 3e-9);
	atime->agreement = COST_AGREE;
	s->unit_costs[PIPE_FIFO][UPDATE_ATIME].whole = figure(1e-7, 1e-9);
	s->unit_costs[PIPE_FIFO][UPDATE_ATIME].undivided = true;
	add_watcher(s, 77, "tail");
	add_watcher(s, 78, "new\nline");
	s->watchers_reason = "Others are hidden.";
	for (size_t i = 0; i < s->n_processes; i++)
		add_known(s, i);
}

static int get_snapshot(void *userdata, const struct snapshot_wish *wish,
			struct snapshot **ret_snapshot)
{
	struct server *server = userdata;
	struct snapshot *s;

	(void)wish; /* it always lists all */
	if (server->error)
		return -server->error;
	s = snapshot_new();
	if (!s)
		return -ENOMEM;

	s->version = "9.8.7";
	s->libbpf_version = "1.1.2";
	s->start_time_usec = 1700000000000000;
	s->time_usec = s->start_time_usec + 2000000;
	s->state = server->state;
	s->state_reason = snapshot_string(s, server->reason);
	s->mode = server->counting ? MODE_EXACT : MODE_OFF;
	s->configured_mode = MODE_AUTO;
	s->mode_reason = "It fits.";
	s->budget_ratio = 0.01;
	s->kernel_release = "6.1.0-test";
	s->machine = "x86_64";
	s->clocksource = "tsc";
	for (enum pipe_kind pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (enum update_kind kind = 0; kind < UPDATE_KINDS; kind++)
			s->paths[pipe][kind] = (struct snapshot_path){ PATH_PAID, "Seen." };
	s->paths[PIPE_ANONYMOUS][UPDATE_CMTIME] = (struct snapshot_path){ PATH_REMOVED, "Gone." };
	s->counting = server->counting;
	s->coverage_ratio = server->counting ? 1 : 0;
	cost_figure_unknown(&s->observer.overhead, "Nobody knows.");
	s->reads_missing = server->reads_missing;
	s->writes_missing = server->writes_missing;
	s->counting_reason = server->counting ? "" : "BPF is forbidden here.";
	if ((server->counting || server->known) && !server->n_many)
		add_usual(s);
	for (unsigned int i = 0; i < server->n_many; i++) {
		struct snapshot_process *process = add_process(
			s, i + 1, "\\x01\\x02\\x03\\x04\\x05\\x06\\x07\\x08", "a.service");

		process->counts[PIPE_ANONYMOUS] = (struct pipe_counts){ 1, 1, 1, 1, 0 };
		process->counts[PIPE_FIFO] = (struct pipe_counts){ 1, 1, 1, 1, 0 };
	}
	if (server->known)
		make_known(s);
	snapshot_finish(s);
	*ret_snapshot = s;
	return 0;
}

static void on_log(void *userdata, int level, const char *message)
{
	(void)userdata;
	printf("log: %d %s\n", level, message);
}

static long resident_kb(void)
{
	char line[256];
	long kb = -1;
	FILE *f;

	f = fopen("/proc/self/status", "re");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %ld", &kb) == 1)
			break;
	fclose(f);
	return kb;
}

static void tell(struct server *server)
{
	struct snapshot *s = NULL;

	if (get_snapshot(server, &(struct snapshot_wish){}, &s) >= 0)
		bus_states_changed(server->bus, s);
	snapshot_unref(s);
}

static void flicker(struct server *server, int n)
{
	server->state = STATE_DEGRADED;
	for (int i = 1; i <= n; i++) {
		snprintf(server->reason, sizeof(server->reason), "Number %d.", i);
		tell(server);
	}
}

static void obey(struct server *server, char *line)
{
	const char *verb = strtok(line, " "), *word = strtok(NULL, " "), *rest = strtok(NULL, "");

	if (!verb)
		verb = "";
	if (!strcmp(verb, "state") && word && rest) {
		server->state = strcmp(word, "running") ? STATE_DEGRADED : STATE_RUNNING;
		snprintf(server->reason, sizeof(server->reason), "%s", rest);
	} else if (!strcmp(verb, "changed")) {
		tell(server);
	} else if (!strcmp(verb, "flicker") && word) {
		flicker(server, atoi(word));
	} else if (!strcmp(verb, "counting") && word) {
		server->counting = !strcmp(word, "on");
	} else if (!strcmp(verb, "known") && word) {
		server->known = !strcmp(word, "on");
	} else if (!strcmp(verb, "missing") && word) {
		server->reads_missing = !strcmp(word, "reads");
		server->writes_missing = !strcmp(word, "writes");
	} else if (!strcmp(verb, "fail") && word) {
		server->error = atoi(word);
	} else if (!strcmp(verb, "many") && word) {
		server->n_many = (unsigned int)atoi(word);
	} else if (!strcmp(verb, "memory")) {
		printf("%ld\n", resident_kb());
		return;
	} else if (!strcmp(verb, "quit")) {
		sd_event_exit(server->event, 0);
	} else {
		printf("what?\n");
		return;
	}
	printf("ok\n");
}

static int on_command(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct server *server = userdata;
	char line[1024];

	(void)source, (void)fd, (void)revents;
	/* One line at a time is written, so no second one hides in the buffer. */
	if (!fgets(line, sizeof(line), stdin))
		return sd_event_exit(server->event, 0);
	line[strcspn(line, "\n")] = 0;
	obey(server, line);
	return 0;
}

int main(int argc, char **argv)
{
	struct server server = { .state = STATE_RUNNING,
				 .reason = "All is well.",
				 .counting = true };
	int r;

	if (argc != 2) {
		fprintf(stderr, "usage: bus-server ADDRESS\n");
		return 64;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	r = sd_event_new(&server.event);
	if (r >= 0)
		r = bus_new(server.event, argv[1], get_snapshot, on_log, &server, &server.bus);
	if (r >= 0)
		r = sd_event_add_io(server.event, NULL, STDIN_FILENO, EPOLLIN, on_command, &server);
	if (r >= 0)
		r = sd_event_loop(server.event);
	if (r < 0)
		fprintf(stderr, "bus-server: %s\n", strerror(-r));
	bus_free(server.bus);
	sd_event_unref(server.event);
	return r < 0 ? 1 : r;
}
