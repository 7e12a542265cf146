// SPDX-License-Identifier: GPL-2.0-or-later
#include "service.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/utsname.h>

#include <bpf/libbpf.h>

#include "ab.h"
#include "check.h"
#include "pipewatch/clock.h"
#include "cpu-time.h"
#include "measurement.h"
#include "permission.h"
#include "pipewatch/api.h"
#include "pipewatch/util.h"
#include "symbols.h"
#include "sysfs.h"
#include "verdict.h"

/* A reader that asks again sooner gets the same snapshot, since a new one takes a walk over the
 * slots. */
#define FRESH_USEC UINT64_C(10000)

/* What unit costs on own pipes are measured for. */
#define AB_USEC 20000

struct service {
	struct config_values {
		enum snapshot_mode mode;
		double budget_ratio;
		unsigned int max_threads, max_groups, sample_frequency_hz;
	} configured;
	bool pid_label;

	struct utsname kernel;
	char clocksource[64];
	/* CLOCK_REALTIME, as it was at the start: identities must not move when it is set. */
	uint64_t start_usec, boot_usec;

	struct symbols *symbols;
	struct verdict verdict;
	struct measurement *measurement; /* NULL: for --check only */
	const char *directories[6];	 /* for FIFOs of our own, NULL-terminated */
	char state_reason[1024];

	struct snapshot *last;
	struct snapshot_wish last_wish;
	uint64_t last_usec; /* CLOCK_MONOTONIC */
};

static void find_verdict(struct service *s)
{
	static const char *const usual[] = { "/run", "/dev/shm", "/tmp", "/var/tmp" };
	const char *runtime = getenv("RUNTIME_DIRECTORY");
	size_t n = 0;

	if (runtime)
		s->directories[n++] = runtime;
	memcpy(s->directories + n, usual, sizeof(usual));
	verdict_find(symbols_has, s->symbols, s->directories, &s->verdict);
}

/* A measurement_refusal_fn. A seccomp filter may kill whoever calls bpf(2), so a child tries that.
 */
static int refusal(void *userdata, int error, char *ret_reason, size_t size)
{
	struct service *s = userdata;
	struct permission_facts facts;
	int code;

	if (error == 0) {
		permission_gather(NULL, NULL, &facts);
		if (!facts.bpf_killed)
			return 0;
		error = -EPERM;
	}
	code = check_counting(symbols_has, s->symbols, error, ret_reason, size);
	symbols_unload(s->symbols);
	return code;
}

static void __attribute__((format(printf, 2, 3)))
state_reason_add(struct service *s, const char *format, ...)
{
	size_t length = strlen(s->state_reason);
	va_list arguments;

	if (length && length + 2 < sizeof(s->state_reason)) {
		s->state_reason[length++] = ' ';
		s->state_reason[length] = '\0';
	}
	va_start(arguments, format);
	vsnprintf(s->state_reason + length, sizeof(s->state_reason) - length, format, arguments);
	va_end(arguments);
}

static void program_missing(const char *program, const char *reason, void *userdata)
{
	state_reason_add(userdata, "%s is missing: %s.", program, reason);
}

/* Sentences about everything that is not as it should be; none when all is well. */
static void find_state(struct service *s)
{
	const char *reason;
	int error;

	s->state_reason[0] = '\0';
	if (measurement_refused(s->measurement, &reason))
		state_reason_add(s, "%s %s",
				 s->configured.mode == MODE_PROFILE ? "Nothing is sampled."
								    : "Operations are not counted.",
				 reason);
	measurement_missing(s->measurement, program_missing, s);
	error = measurement_window_error(s->measurement);
	if (error < 0)
		state_reason_add(s, "The last window could not be counted: %s.", strerror(-error));
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_FSNOTIFY; kind++) {
			const struct verdict_path *path = &s->verdict.paths[pipe][kind];

			if (path->state == PATH_UNKNOWN)
				state_reason_add(
					s,
					"Whether this kernel pays for %s of %s pipes is not known. %s",
					update_kind_name(kind), pipe_kind_name(pipe), path->reason);
		}
}

static struct config_values values_of(const struct config *config)
{
	return (struct config_values){
		.mode = config->mode,
		.budget_ratio = config->budget_percent / 100,
		.max_threads = config->max_threads,
		.max_groups = config->max_groups,
		.sample_frequency_hz = config->sample_frequency_hz,
	};
}

/* Everything but the measurement, for --check as well. */
static int service_prepare(const struct config *config, struct service **ret_service)
{
	_cleanup_(service_freep) struct service *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->configured = values_of(config);
	s->pid_label = config->pid_label;
	s->start_usec = clock_usec(CLOCK_REALTIME);
	s->boot_usec = s->start_usec - clock_usec(CLOCK_BOOTTIME);
	if (uname(&s->kernel) < 0)
		return -errno;
	r = symbols_open(&s->symbols);
	if (r < 0)
		return r;
	find_verdict(s);
	/* What libbpf would print is in the programs' logs and our messages. */
	libbpf_set_print(NULL);

	*ret_service = s;
	s = NULL;
	return 0;
}

static void find_setup(struct service *s, struct measurement_setup *ret)
{
	*ret = (struct measurement_setup){
		.mode = s->configured.mode,
		.budget_ratio = s->configured.budget_ratio,
		.max_threads = s->configured.max_threads,
		.max_groups = s->configured.max_groups,
		.sample_frequency_hz = s->configured.sample_frequency_hz,
		.start_usec = s->start_usec,
		.boot_usec = s->boot_usec,
		.directories = s->directories,
		.refusal = refusal,
		.userdata = s,
	};
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++)
			ret->paths[pipe][kind] = s->verdict.paths[pipe][kind].state;
}

int service_new(const struct config *config, struct service **ret_service)
{
	_cleanup_(service_freep) struct service *s = NULL;
	struct measurement_setup setup;
	int r;

	r = service_prepare(config, &s);
	if (r < 0)
		return r;
	find_setup(s, &setup);
	r = measurement_new(&setup, &s->measurement);
	if (r < 0)
		return r;
	symbols_unload(s->symbols);

	*ret_service = s;
	s = NULL;
	return 0;
}

struct service *service_free(struct service *s)
{
	if (!s)
		return NULL;
	snapshot_unref(s->last);
	measurement_free(s->measurement);
	symbols_free(s->symbols);
	free(s);
	return NULL;
}

int service_exit_code(const struct service *s, const char **ret_reason)
{
	return measurement_refused(s->measurement, ret_reason);
}

const char *service_reconfigure(struct service *s, const struct config *config)
{
	struct config_values fresh = values_of(config);
	const char *restart = NULL;

	s->pid_label = config->pid_label;
	if (fresh.max_threads != s->configured.max_threads)
		restart = "MaxThreads=";
	else if (fresh.max_groups != s->configured.max_groups)
		restart = "MaxGroups=";
	else if (fresh.sample_frequency_hz != s->configured.sample_frequency_hz)
		restart = "SampleFrequency=";
	if (fresh.budget_ratio != s->configured.budget_ratio)
		measurement_set_budget(s->measurement, fresh.budget_ratio);
	if (fresh.mode != s->configured.mode)
		measurement_set_mode(s->measurement, fresh.mode);
	s->configured.budget_ratio = fresh.budget_ratio;
	s->configured.mode = fresh.mode;
	return restart;
}

static void last_forget(struct service *s)
{
	s->last = snapshot_unref(s->last);
}

/* Is the last snapshot what is asked for? */
static bool last_serves(const struct service *s, const struct snapshot_wish *wish,
			uint64_t now_usec)
{
	if (!s->last || now_usec - s->last_usec >= FRESH_USEC)
		return false;
	if (s->last->n_unlisted == 0)
		return true;
	return wish->n_processes <= s->last_wish.n_processes &&
	       (!wish->pid || wish->pid == s->last_wish.pid);
}

uint64_t service_step(struct service *s)
{
	/* It would not be served any more, and can be large. */
	if (!last_serves(s, &(struct snapshot_wish){}, monotonic_usec()))
		last_forget(s);
	return measurement_step(s->measurement);
}

enum snapshot_mode service_mode(const struct service *s, const char **ret_reason)
{
	return measurement_mode(s->measurement, ret_reason);
}

int service_collect(struct service *s, bool wake)
{
	return measurement_collect(s->measurement, wake);
}

int service_window_error(const struct service *s)
{
	return measurement_window_error(s->measurement);
}

bool service_reattaches(const struct service *s)
{
	return measurement_reattaches(s->measurement);
}

bool service_permitted(void *userdata)
{
	const struct service *s = userdata;

	return measurement_permitted(s->measurement);
}

int service_wake_fd(const struct service *s)
{
	return measurement_wake_fd(s->measurement);
}

/* It may change while we run. Where it cannot be read, what was read last holds. */
static void find_clocksource(struct service *s)
{
	char clocksource[sizeof(s->clocksource)];

	sysfs_read(SYSFS_CLOCKSOURCE, clocksource, sizeof(clocksource));
	if (clocksource[0])
		memcpy(s->clocksource, clocksource, sizeof(clocksource));
}

static int fill(struct service *s, const struct snapshot_wish *wish, struct snapshot *out)
{
	const char *reason;

	find_state(s);
	find_clocksource(s);
	out->version = PIPEWATCH_VERSION;
	out->libbpf_version = libbpf_version_string();
	out->start_time_usec = s->start_usec;
	out->state = s->state_reason[0] ? STATE_DEGRADED : STATE_RUNNING;
	out->state_reason = snapshot_string(out, s->state_reason);
	out->kernel_release = snapshot_string(out, s->kernel.release);
	out->machine = snapshot_string(out, s->kernel.machine);
	out->clocksource = snapshot_string(out, s->clocksource);
	if (!out->state_reason || !out->kernel_release || !out->machine || !out->clocksource)
		return -ENOMEM;

	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++) {
			reason = snapshot_string(out, s->verdict.paths[pipe][kind].reason);
			if (!reason)
				return -ENOMEM;
			out->paths[pipe][kind] = (struct snapshot_path){
				.state = s->verdict.paths[pipe][kind].state,
				.reason = reason,
			};
		}
	return measurement_fill(s->measurement, s->pid_label, wish, out);
}

int service_get(void *userdata, const struct snapshot_wish *wish, struct snapshot **ret_snapshot)
{
	_cleanup_(snapshot_unrefp) struct snapshot *fresh = NULL;
	struct service *s = userdata;
	uint64_t now = monotonic_usec();
	struct snapshot_wish fresh_wish = *wish;
	int r;

	/* CPU times are read for these in any case. */
	if (fresh_wish.n_processes < CPU_TIMES_MAX)
		fresh_wish.n_processes = CPU_TIMES_MAX;
	if (!last_serves(s, &fresh_wish, now)) {
		last_forget(s);
		r = service_collect(s, false);
		if (r < 0)
			return r;
		fresh = snapshot_new();
		if (!fresh)
			return -ENOMEM;
		r = fill(s, &fresh_wish, fresh);
		if (r < 0)
			return r;
		snapshot_finish(fresh);
		measurement_finish(s->measurement, fresh);
		s->last = fresh;
		s->last_wish = fresh_wish;
		fresh = NULL;
		s->last_usec = now;
	}
	*ret_snapshot = snapshot_ref(s->last);
	return 0;
}

int service_check(const struct config *config, FILE *f)
{
	_cleanup_(service_freep) struct service *s = NULL;
	struct measurement_setup setup;
	char reason[512] = "";
	struct ab ab;
	int code, measured, r;

	r = service_prepare(config, &s);
	if (r < 0) {
		fprintf(stderr, "pipewatchd: %s\n", strerror(-r));
		return PIPEWATCH_EXIT_OS;
	}
	/* Before anything is attached to the functions that it times. */
	find_setup(s, &setup);
	measured = ab_measure(s->directories, AB_USEC, setup.paths, &ab);
	/* By attaching for a moment, since nothing else is certain. */
	code = measurement_try(&setup, reason, sizeof(reason));
	return check_print(
		&(struct check){
			.kernel_release = s->kernel.release,
			.machine = s->kernel.machine,
			.verdict = &s->verdict,
			.counting_exit = code,
			.counting_reason = reason,
			.ab = measured < 0 ? NULL : &ab,
			.ab_reason = measured < 0 ? strerror(-measured) : NULL,
		},
		f);
}
