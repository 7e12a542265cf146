// SPDX-License-Identifier: GPL-2.0-or-later
#include "service.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include <bpf/libbpf.h>

#include "ab.h"
#include "accounts.h"
#include "calibration.h"
#include "cgroups.h"
#include "check.h"
#include "collector.h"
#include "permission.h"
#include "sampling.h"
#include "pipewatch/api.h"
#include "symbols.h"
#include "tracer.h"
#include "util.h"
#include "verdict.h"

/* A reader that asks again sooner gets the same snapshot: asking costs a walk over the slots. */
#define FRESH_USEC UINT64_C(10000)

/* What unit costs on own pipes are measured for. */
#define AB_USEC 20000

struct service {
	enum snapshot_mode configured_mode;
	double budget_ratio;
	unsigned int max_threads, max_groups;
	bool pid_label;

	struct utsname kernel;
	char clocksource[64];
	uint64_t start_usec; /* CLOCK_REALTIME */
	uint64_t boot_usec; /* CLOCK_REALTIME, as it was at the start: identities must not move with
			       the clock */

	struct symbols *symbols;
	struct verdict verdict;
	struct tracer *tracer; /* NULL: nothing is traced */
	struct accounts *accounts;
	struct cgroups *cgroups;
	struct collector *collector;
	struct calibration *calibration; /* NULL: nothing is measured */
	struct sampling *sampling;	 /* NULL: with the reason below */
	char sampling_reason[256];
	unsigned int sample_frequency_hz;
	const char *directories[6]; /* for FIFOs of our own, NULL-terminated */

	int exit_code;
	char counting_reason[512];
	char state_reason[1024];

	struct snapshot *last;
	uint64_t last_usec; /* CLOCK_MONOTONIC */
};

static uint64_t clock_usec(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * UINT64_C(1000000) + t.tv_nsec / 1000;
}

static void clocksource_read(char *ret, size_t size)
{
	_cleanup_(fclosep) FILE *f = NULL;

	ret[0] = '\0';
	f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
	if (f && fgets(ret, size, f))
		ret[strcspn(ret, "\n")] = '\0';
}

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

/* Open, load, attach. Returns 0 or -errno; on failure nothing is attached. */
static int try_tracer(struct service *s)
{
	_cleanup_(tracer_freep) struct tracer *tracer = NULL;
	int r;

	r = tracer_open(s->max_threads, &tracer);
	if (r >= 0)
		r = tracer_load(tracer);
	if (r >= 0)
		r = tracer_attach(tracer);
	if (r < 0)
		return r;
	s->tracer = tracer;
	tracer = NULL;
	return 0;
}

/* The same, and on failure finds out why: exit_code and counting_reason. */
static int start_tracer(struct service *s)
{
	struct permission_facts facts;
	int r = -EPERM;

	/* A seccomp filter may kill who calls bpf(2): that has been tried by a child. */
	permission_gather(symbols_has, s->symbols, &facts);
	if (!facts.bpf_killed)
		r = try_tracer(s);
	if (r >= 0)
		return 0;

	s->exit_code = check_counting(symbols_has, s->symbols, r, s->counting_reason,
				      sizeof(s->counting_reason));
	if (s->exit_code == 0) {
		s->exit_code = PIPEWATCH_EXIT_UNAVAILABLE;
		snprintf(s->counting_reason, sizeof(s->counting_reason),
			 "The kernel refused our BPF programs: %s.", strerror(-r));
	}
	return r;
}

static int start_counting(struct service *s)
{
	struct tracer_memory memory;
	int r;

	r = start_tracer(s);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = accounts_new(s->max_groups, &s->accounts);
	if (r >= 0)
		r = cgroups_new("/proc", &s->cgroups);
	if (r < 0)
		return r;
	tracer_memory(s->tracer, &memory);
	return collector_new(&memory, s->accounts, s->cgroups, &s->collector);
}

static void paths_copy(const struct service *s, enum path_state ret[PIPE_KINDS][UPDATE_KINDS])
{
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++)
			ret[pipe][kind] = s->verdict.paths[pipe][kind].state;
}

static void charge_unit_costs(struct service *s)
{
	const struct estimates *estimates = calibration_estimates(s->calibration);

	for (int pipe = 0; s->accounts && pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++) {
			const struct cost_figure *whole = &estimates->updates[pipe][kind].whole;

			if (whole->known)
				accounts_set_unit_cost(s->accounts, pipe, kind, whole->seconds);
		}
}

static int start_calibration(struct service *s)
{
	enum path_state paths[PIPE_KINDS][UPDATE_KINDS];
	int r;

	paths_copy(s, paths);
	r = calibration_new(paths, s->directories, s->tracer ? NULL : s->counting_reason,
			    &s->calibration);
	if (r >= 0)
		charge_unit_costs(s);
	return r;
}

/* Sampling is a figure more; without it the rest goes on. */
static int start_sampling(struct service *s)
{
	int r;

	if (!s->accounts) {
		snprintf(s->sampling_reason, sizeof(s->sampling_reason), "%.250s",
			 s->counting_reason);
		return 0;
	}
	r = sampling_new(s->sample_frequency_hz, s->max_threads, s->accounts, s->cgroups,
			 s->sampling_reason, sizeof(s->sampling_reason), &s->sampling);
	return r == -ENOMEM ? r : 0;
}

uint64_t service_step(struct service *s)
{
	bool changed;
	uint64_t next_usec;

	if (!s->calibration)
		return UINT64_MAX;
	if (s->sampling)
		sampling_refresh(s->sampling);
	next_usec = calibration_step(s->calibration, clock_usec(CLOCK_MONOTONIC), &changed);
	/* What was done until now is charged with what was known until now. */
	if (changed && service_collect(s) >= 0)
		charge_unit_costs(s);
	return next_usec;
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

/* Sentences on all that is not as it should be; none of them: running. */
static void find_state(struct service *s)
{
	const struct tracer_program *programs;
	size_t n;

	s->state_reason[0] = '\0';
	if (s->counting_reason[0] && s->configured_mode != MODE_OFF)
		state_reason_add(s, "Operations are not counted. %s", s->counting_reason);
	if (s->tracer) {
		programs = tracer_programs(s->tracer, &n);
		for (size_t i = 0; i < n; i++)
			if (!programs[i].attached)
				state_reason_add(s, "%s is missing: %s.", programs[i].program,
						 programs[i].reason);
	}
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

/* All but the counting: what --check needs too. */
static int service_prepare(const struct config *config, struct service **ret_service)
{
	_cleanup_(service_freep) struct service *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->configured_mode = config->mode;
	s->budget_ratio = config->budget_percent / 100;
	s->max_threads = config->max_threads;
	s->max_groups = config->max_groups;
	s->pid_label = config->pid_label;
	s->sample_frequency_hz = config->sample_frequency_hz;
	s->start_usec = clock_usec(CLOCK_REALTIME);
	s->boot_usec = s->start_usec - clock_usec(CLOCK_BOOTTIME);
	if (uname(&s->kernel) < 0)
		return -errno;
	clocksource_read(s->clocksource, sizeof(s->clocksource));
	r = symbols_open(&s->symbols);
	if (r < 0)
		return r;
	find_verdict(s);

	*ret_service = s;
	s = NULL;
	return 0;
}

int service_new(const struct config *config, struct service **ret_service)
{
	_cleanup_(service_freep) struct service *s = NULL;
	int r;

	r = service_prepare(config, &s);
	if (r < 0)
		return r;
	if (s->configured_mode == MODE_OFF)
		snprintf(s->counting_reason, sizeof(s->counting_reason),
			 "The mode is off: nothing is attached.");
	else
		r = start_counting(s);
	if (r >= 0 && s->configured_mode != MODE_OFF)
		r = start_calibration(s);
	if (r >= 0)
		r = start_sampling(s);
	if (r < 0)
		return r;
	find_state(s);

	*ret_service = s;
	s = NULL;
	return 0;
}

struct service *service_free(struct service *s)
{
	if (!s)
		return NULL;
	snapshot_unref(s->last);
	sampling_free(s->sampling);
	calibration_free(s->calibration);
	collector_free(s->collector);
	cgroups_free(s->cgroups);
	accounts_free(s->accounts);
	tracer_free(s->tracer);
	symbols_free(s->symbols);
	free(s);
	return NULL;
}

int service_exit_code(const struct service *s, const char **ret_reason)
{
	*ret_reason = s->counting_reason;
	return s->exit_code;
}

const char *service_reconfigure(struct service *s, const struct config *config)
{
	s->budget_ratio = config->budget_percent / 100;
	s->pid_label = config->pid_label;
	if (config->mode != s->configured_mode)
		return "Mode=";
	if (config->max_threads != s->max_threads)
		return "MaxThreads=";
	if (config->max_groups != s->max_groups)
		return "MaxGroups=";
	return NULL;
}

int service_collect(struct service *s)
{
	int r;

	if (!s->collector)
		return 0;
	r = collector_collect(s->collector, clock_usec(CLOCK_MONOTONIC));
	if (r >= 0 && s->sampling)
		r = sampling_collect(s->sampling, clock_usec(CLOCK_MONOTONIC));
	return r;
}

bool service_reattaches(const struct service *s)
{
	return s->calibration && calibration_reattaches(s->calibration);
}

bool service_permitted(void *userdata)
{
	const struct service *s = userdata;

	return !s->collector || collector_permitted(s->collector);
}

int service_wake_fd(const struct service *s)
{
	return s->collector ? collector_wake_fd(s->collector) : -1;
}

static const char *mode_reason(const struct service *s)
{
	switch (s->configured_mode) {
	case MODE_OFF: return "Off by configuration.";
	case MODE_EXACT: return s->tracer ? "Exact by configuration." : s->counting_reason;
	case MODE_AUTO: return s->tracer ? "Every operation is counted." : s->counting_reason;
	default:
		return s->tracer
			       ? "The configured mode is not available in this version; every operation is counted."
			       : s->counting_reason;
	}
}

static void fill_unit_costs(const struct service *s, struct snapshot *out)
{
	if (s->calibration) {
		memcpy(out->unit_costs, calibration_estimates(s->calibration)->updates,
		       sizeof(out->unit_costs));
		return;
	}
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++)
			cost_estimate_unknown(&out->unit_costs[pipe][kind],
					      "The mode is off: nothing is measured.");
}

static int fill(const struct service *s, struct snapshot *out)
{
	const char *reason;
	int r;

	out->version = PIPEWATCH_VERSION;
	out->libbpf_version = libbpf_version_string();
	out->start_time_usec = s->start_usec;
	out->state = s->state_reason[0] ? STATE_DEGRADED : STATE_RUNNING;
	out->state_reason = snapshot_string(out, s->state_reason);
	out->configured_mode = s->configured_mode;
	out->mode = s->tracer ? MODE_EXACT : MODE_OFF;
	out->mode_reason = snapshot_string(out, mode_reason(s));
	out->budget_ratio = s->budget_ratio;
	out->kernel_release = snapshot_string(out, s->kernel.release);
	out->machine = snapshot_string(out, s->kernel.machine);
	out->clocksource = snapshot_string(out, s->clocksource);
	out->counting = s->tracer;
	out->counting_reason = snapshot_string(out, s->counting_reason);
	if (!out->state_reason || !out->mode_reason || !out->kernel_release || !out->machine ||
	    !out->clocksource || !out->counting_reason)
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
	out->sampling = s->sampling;
	out->sampling_reason = snapshot_string(out, s->sampling ? "" : s->sampling_reason);
	if (!out->sampling_reason)
		return -ENOMEM;
	if (s->sampling)
		sampling_fill(s->sampling, out);
	fill_unit_costs(s, out);
	if (!s->tracer)
		return 0;

	r = tracer_fill(s->tracer, out);
	if (r >= 0)
		r = collector_fill(s->collector, out);
	if (r >= 0)
		r = accounts_fill(s->accounts, s->boot_usec, s->pid_label, out);
	return r;
}

int service_get(void *userdata, struct snapshot **ret_snapshot)
{
	_cleanup_(snapshot_unrefp) struct snapshot *fresh = NULL;
	struct service *s = userdata;
	uint64_t now = clock_usec(CLOCK_MONOTONIC);
	int r;

	if (!s->last || now - s->last_usec >= FRESH_USEC) {
		r = service_collect(s);
		if (r < 0)
			return r;
		fresh = snapshot_new();
		if (!fresh)
			return -ENOMEM;
		r = fill(s, fresh);
		if (r < 0)
			return r;
		snapshot_finish(fresh);
		if (s->sampling)
			sampling_check_costs(s->sampling, fresh);
		snapshot_unref(s->last);
		s->last = fresh;
		fresh = NULL;
		s->last_usec = now;
	}
	*ret_snapshot = snapshot_ref(s->last);
	return 0;
}

int service_check(const struct config *config, FILE *f)
{
	_cleanup_(service_freep) struct service *s = NULL;
	enum path_state paths[PIPE_KINDS][UPDATE_KINDS];
	struct ab ab;
	int measured, r;

	r = service_prepare(config, &s);
	if (r < 0) {
		fprintf(stderr, "pipewatchd: %s\n", strerror(-r));
		return PIPEWATCH_EXIT_OS;
	}
	/* Before anything is attached to the functions that it times. */
	paths_copy(s, paths);
	measured = ab_measure(s->directories, AB_USEC, paths, &ab);
	/* Attached for a moment: nothing else tells for certain. */
	start_tracer(s);
	return check_print(
		&(struct check){
			.kernel_release = s->kernel.release,
			.machine = s->kernel.machine,
			.verdict = &s->verdict,
			.counting_exit = s->exit_code,
			.counting_reason = s->counting_reason,
			.ab = measured < 0 ? NULL : &ab,
			.ab_reason = measured < 0 ? strerror(-measured) : NULL,
		},
		f);
}
