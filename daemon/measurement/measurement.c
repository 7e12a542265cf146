// SPDX-License-Identifier: GPL-2.0-or-later
#include "measurement-parts.h"

#include <errno.h>
#include <string.h>

#include "pipewatch/clock.h"
#include "pipewatch/api.h"
#include "pipewatch/util.h"

/* From one look at rates and modes to the next: for this long exact counting can exceed the budget.
 */
#define LOOK_USEC UINT64_C(1000000)

/* When to look again whether programs are attached or detached. */
#define UNSETTLED_USEC UINT64_C(50000)

/* Bursts may take this share of what is allowed. */
#define BURSTS_SHARE 0.2

/* When samples, a few dozen of them, show less than this share of a window's rate, the load has
 * changed. */
#define SAMPLED_RATIO_MIN 0.25

/* Assumed before the first burst: for how long its programs are attached, including loading and
 * trying out, and what they add to an operation, in multiples of what counting adds. */
#define BURST_EXPECTED_SECONDS	 2
#define BURST_EXPECTED_COUNTINGS 2

/* What a sample takes with its interrupt: 4.4 us on average, by what sampling at 199 and 999 Hz
 * adds to the instructions of pipe operations. */
#define SAMPLE_SECONDS 4.4e-6

static bool mode_counts(enum snapshot_mode mode)
{
	return mode == MODE_EXACT || mode == MODE_BURST;
}

/* Why counting failed with @error: an exit code and the reason. */
static int failure_explain(const struct measurement_setup *setup, int error, char *ret_reason,
			   size_t size)
{
	int code = setup->refusal(setup->userdata, error, ret_reason, size);

	if (code)
		return code;
	snprintf(ret_reason, size, "The kernel refused our BPF programs: %s.", strerror(-error));
	return PIPEWATCH_EXIT_UNAVAILABLE;
}

int measurement_try(const struct measurement_setup *setup, char *ret_reason, size_t size)
{
	int code = setup->refusal(setup->userdata, 0, ret_reason, size), r;

	if (code)
		return code;
	r = counting_try(setup->max_threads);
	return r < 0 ? failure_explain(setup, r, ret_reason, size) : 0;
}

static int counting_start(struct measurement *m)
{
	char *reason = m->counting_reason;
	size_t size = sizeof(m->counting_reason);
	int r;

	m->refused = m->setup.refusal(m->setup.userdata, 0, reason, size);
	if (m->refused)
		return -EPERM;
	r = counting_new(m->setup.max_threads, m->accounts, m->cgroups, &m->counting);
	if (r < 0) {
		m->refused = failure_explain(&m->setup, r, reason, size);
		return r;
	}
	counting_set_past(m->counting, &m->past);
	m->counted = true;
	m->hooked_operations = 0;
	counting_set_cost(m->counting, m->cost.counting.seconds, m->cost.ratio);
	return 0;
}

static void counting_stop(struct measurement *m)
{
	if (!m->counting)
		return;
	counting_past(m->counting, &m->past);
	m->counting = counting_free(m->counting);
	m->window_error = 0;
}

/* Sampling is an additional figure: without it the rest goes on. */
static int sampling_start(struct measurement *m)
{
	int r;

	if (m->sampling || m->sampling_refused)
		return 0;
	m->sampling_refused = true;
	/* Where bpf(2) is known to be refused it must not be called at all. */
	if (m->setup.refusal(m->setup.userdata, 0, m->sampling_reason, sizeof(m->sampling_reason)))
		return -EPERM;
	m->samples = 0;
	r = sampling_new(m->setup.sample_frequency_hz, m->setup.max_threads, m->accounts,
			 m->cgroups, m->sampling_reason, sizeof(m->sampling_reason), &m->sampling);
	m->sampling_refused = r < 0;
	return r;
}

static void sampling_stop(struct measurement *m, const char *reason)
{
	if (!m->sampling)
		return;
	sampling_collect(m->sampling, monotonic_usec());
	m->sampling_lost += sampling_lost(m->sampling);
	m->sampling = sampling_free(m->sampling);
	snprintf(m->sampling_reason, sizeof(m->sampling_reason), "%s", reason);
}

static unsigned int online_cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? n : 1;
}

static void facts_gather(const struct measurement *m, uint64_t now_usec, struct governor_facts *ret)
{
	*ret = (struct governor_facts){
		.configured = m->setup.mode,
		.can_count = !m->refused,
		.can_sample = m->sampling,
		.now_seconds = now_usec * 1e-6,
		.operations_per_second = m->operations_per_second,
		.operation_seconds = m->cost.operation.seconds,
		.counting_seconds = m->cost.counting.seconds,
		/* Bursts have their share whether or not they use it. */
		.other_seconds = observer_other(m->observer) + BURSTS_SHARE * m->choice.allowed,
		.budget_ratio = m->setup.budget_ratio,
		.cpus = online_cpus(),
		.window_seconds = COUNTING_WINDOW_SECONDS,
		.attached_seconds = COUNTING_ATTACHED_SECONDS,
	};
	if (m->counting) {
		ret->window_seconds = counting_window_seconds(m->counting);
		ret->attached_seconds = counting_attached_seconds(m->counting);
		ret->window_cpu_seconds = counting_window_cpu_seconds(m->counting);
	}
}

static void charge_unit_costs(struct measurement *m)
{
	const struct estimates *estimates = calibration_estimates(m->calibration);

	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++) {
			const struct cost_figure *whole = &estimates->updates[pipe][kind].whole;

			if (whole->known)
				accounts_set_unit_cost(m->accounts, pipe, kind, whole->seconds);
		}
	if (m->cost.operation.known)
		accounts_set_operation_cost(m->accounts, m->cost.operation.seconds);
}

/* Starts counting. The first time, what operations cost is measured before and after it. */
static int start(struct measurement *m)
{
	struct cost_figure figure;
	int fds[2], r;

	if (m->counting)
		return 0;
	if (!m->calibration) {
		r = calibration_new(m->setup.paths, m->setup.directories, monotonic_usec(),
				    &m->calibration);
		if (r < 0)
			return r;
		calibration_operation(m->calibration, &figure);
		operation_cost_without(&m->cost, &figure);
	}
	r = counting_start(m);
	calibration_set_bursts(m->calibration, r < 0 ? m->counting_reason : NULL);
	charge_unit_costs(m);
	if (r < 0 || m->cost.ratio > 0)
		return r;
	counting_fds(m->counting, fds);
	operation_cost_try(&m->cost, m->setup.directories, m->setup.paths, fds);
	counting_set_cost(m->counting, m->cost.counting.seconds, m->cost.ratio);
	return 0;
}

/* Opens or closes a window, and keeps what that costs us apart from the rest of our own time. */
static void windows_step(struct measurement *m, uint64_t *ret_usec)
{
	bool was_open = counting_window_open(m->counting), is_open;
	int r = counting_step(m->counting, ret_usec);

	is_open = counting_window_open(m->counting);
	if (r < 0 || is_open != was_open)
		m->window_error = r;
	if (was_open && !is_open)
		observer_window(m->observer, counting_window_cpu_seconds(m->counting));
}

/* Makes the mode that was chosen the one in force, as far as possible. */
static void choice_apply(struct measurement *m, enum snapshot_mode before)
{
	enum snapshot_mode mode = m->choice.mode;

	/* What failed before would fail again. */
	if (mode != MODE_OFF && (before == MODE_OFF || before == MODE_AUTO))
		sampling_start(m);
	else if (mode == MODE_OFF)
		sampling_stop(m, "The mode is off: nothing is sampled.");
	if (mode_counts(mode) && start(m) >= 0 && m->counting) {
		counting_set_period(m->counting, m->choice.period_seconds * 1e6);
		/* At once, so that what is told of the change is true. */
		windows_step(m, &(uint64_t){ 0 });
	} else {
		counting_stop(m);
	}
	if (m->calibration && mode == MODE_OFF)
		calibration_unload(m->calibration);
	else if (m->calibration && !m->counting)
		calibration_pause(m->calibration);
	m->interrupted |= mode != MODE_EXACT;
	if (mode != before)
		observer_mode_changed(m->observer, monotonic_usec());
}

/* Twice, since finding something impossible changes what can be chosen. */
static void mode_choose(struct measurement *m)
{
	struct governor_facts facts;

	for (int i = 0; i < 2; i++) {
		enum snapshot_mode before = m->choice.mode;

		facts_gather(m, monotonic_usec(), &facts);
		governor_choose(m->governor, &facts, &m->choice);
		if (m->choice.mode != before || !m->mode_reason[0] ||
		    m->reason_measured != m->cost.counting.known) {
			memcpy(m->mode_reason, m->choice.reason, sizeof(m->mode_reason));
			m->reason_measured = m->cost.counting.known;
		}
		choice_apply(m, before);
		if (!mode_counts(m->choice.mode) || m->counting)
			break;
	}
}

/* Rates are of the time from now on. */
static void look_begin(struct measurement *m)
{
	m->looked_usec = monotonic_usec();
	m->look_usec = m->looked_usec + LOOK_USEC;
	m->operations = accounts_operations(m->accounts);
	m->operations_per_second = 0;
	observer_look(m->observer, m->looked_usec);
}

int measurement_new(const struct measurement_setup *setup, struct measurement **ret_measurement)
{
	_cleanup_(measurement_freep) struct measurement *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	m->setup = *setup;
	m->governor = governor_new();
	m->observer = observer_new();
	if (!m->governor || !m->observer)
		return -ENOMEM;
	r = accounts_new(setup->max_groups, &m->accounts);
	m->lifetime.accounts = m->accounts;
	if (r >= 0)
		r = cgroups_new("/proc", &m->cgroups);
	if (r >= 0)
		r = cpu_times_new("/proc", setup->boot_usec, setup->start_usec, &m->cpu_times);
	if (r >= 0)
		r = watchers_new(&m->watchers);
	if (r < 0)
		return r;
	operation_cost_init(&m->cost);
	m->burst_seconds = BURST_EXPECTED_SECONDS;
	if (setup->mode != MODE_OFF && sampling_start(m) == -ENOMEM)
		return -ENOMEM;
	mode_choose(m);
	/* What starting took is not what running takes, and what our own threads claimed for it is
	 * free again. An error comes again when the counters are next read. */
	(void)measurement_collect(m, false);
	look_begin(m);

	*ret_measurement = m;
	m = NULL;
	return 0;
}

struct measurement *measurement_free(struct measurement *m)
{
	if (!m)
		return NULL;
	calibration_free(m->calibration);
	counting_free(m->counting);
	sampling_free(m->sampling);
	watchers_free(m->watchers);
	cpu_times_free(m->cpu_times);
	observer_free(m->observer);
	governor_free(m->governor);
	cgroups_free(m->cgroups);
	accounts_free(m->accounts);
	free(m);
	return NULL;
}

int measurement_refused(const struct measurement *m, const char **ret_reason)
{
	switch (m->setup.mode) {
	case MODE_OFF: return 0;
	case MODE_PROFILE:
		*ret_reason = m->sampling_reason;
		return m->sampling ? 0 : PIPEWATCH_EXIT_NOT_PERMITTED;
	default: *ret_reason = m->counting_reason; return m->counting ? 0 : m->refused;
	}
}

void measurement_set_mode(struct measurement *m, enum snapshot_mode mode)
{
	/* Nobody looked while it was off. */
	if (m->setup.mode == MODE_OFF)
		look_begin(m);
	m->setup.mode = mode;
	/* What was found impossible is tried again. */
	m->refused = 0;
	m->sampling_refused = false;
	m->counting_reason[0] = m->mode_reason[0] = '\0';
	if (mode != MODE_OFF)
		sampling_start(m);
	mode_choose(m);
}

void measurement_set_budget(struct measurement *m, double ratio)
{
	m->setup.budget_ratio = ratio;
	m->mode_reason[0] = '\0';
	mode_choose(m);
}

enum snapshot_mode measurement_mode(const struct measurement *m, const char **ret_reason)
{
	*ret_reason = m->counting_reason[0] && m->setup.mode != MODE_PROFILE ? m->counting_reason
									     : m->mode_reason;
	return m->choice.mode;
}

/* Operations per second, as far as the mode in force can tell. */
static double rate_find(struct measurement *m, double seconds)
{
	double pipe_cpu = accounts_pipe_cpu(m->accounts), sampled = pipe_cpu - m->pipe_cpu_seconds;
	uint64_t operations = accounts_operations(m->accounts), booked = operations - m->operations;
	double window;

	m->operations = operations;
	m->pipe_cpu_seconds = pipe_cpu;
	if (m->counting && !counting_in_windows(m->counting))
		return booked / seconds;

	/* What is sampled is the time inside the pipe's functions, which is most of an operation.
	 */
	sampled = m->cost.operation.known ? sampled / m->cost.operation.seconds / seconds : 0;
	if (!m->counting)
		return sampled;
	/* Until the first window the last rate stands. */
	window = counting_window_rate(m->counting);
	if (window < 0)
		window = m->operations_per_second;
	/* Samples show sooner than the next window that a load has ended. */
	return m->sampling && sampled < SAMPLED_RATIO_MIN * window ? sampled : window;
}

/* What a burst costs everybody while its programs are attached, in addition to our own time; before
 * the first, what is to be expected. */
static double burst_cost(const struct measurement *m)
{
	double pair = calibration_pair_seconds(m->calibration);

	return m->operations_per_second * m->burst_seconds *
	       (pair > 0 ? pair : BURST_EXPECTED_COUNTINGS * m->cost.counting.seconds);
}

/* As a share of the figure; 0 where it is not known, since nothing is charged then. */
static double cost_error(const struct cost_figure *f)
{
	return f->known ? cost_figure_value(f, true) : 0;
}

/* What the budget is a share of, in seconds per second, and its standard error as a share of it. */
static double budget_base(const struct measurement *m, double *ret_error)
{
	double pipe = m->operations_per_second * m->cost.operation.seconds;
	double least = GOVERNOR_FLOOR * online_cpus();

	*ret_error = pipe > least ? cost_error(&m->cost.operation) : 0;
	return pipe > least ? pipe : least;
}

/*
 * Bursts have a share of their own of what is allowed, and the next one is put off until it fits.
 * So what they take of our CPU time does not count as running cost.
 */
static void charge_calibration(struct measurement *m)
{
	double bursts, loading, attaching;

	if (!m->calibration)
		return;
	bursts = calibration_attached_seconds(m->calibration);
	loading = calibration_loading_seconds(m->calibration);
	attaching = calibration_attaching_seconds(m->calibration);
	if (bursts > m->bursts_seconds) {
		m->burst_seconds = bursts - m->bursts_seconds;
		observer_charge(m->observer, OBSERVER_BURSTS, burst_cost(m));
	}
	if (attaching > m->attaching_seconds)
		m->burst_cpu_seconds = attaching - m->attaching_seconds;
	observer_window(m->observer,
			loading - m->loading_seconds + attaching - m->attaching_seconds);
	calibration_set_interval(m->calibration, (burst_cost(m) + m->burst_cpu_seconds) /
							 (BURSTS_SHARE * m->choice.allowed));
	m->bursts_seconds = bursts;
	m->loading_seconds = loading;
	m->attaching_seconds = attaching;
}

static void charge_own_cost(struct measurement *m, double seconds)
{
	double hooked = m->counting ? counting_hooked_operations(m->counting)
				    : m->hooked_operations;
	uint64_t samples = m->sampling ? sampling_taken(m->sampling) : m->samples;
	double base, base_error;

	observer_charge(m->observer, OBSERVER_PROGRAMS,
			(hooked - m->hooked_operations) * m->cost.counting.seconds);
	observer_charge(m->observer, OBSERVER_SAMPLING, (samples - m->samples) * SAMPLE_SECONDS);
	charge_calibration(m);
	base = budget_base(m, &base_error);
	observer_set_errors(m->observer, cost_error(&m->cost.counting), base_error);
	observer_pipe_time(m->observer, base * seconds);
	m->hooked_operations = hooked;
	m->samples = samples;
}

static void look(struct measurement *m, uint64_t now_usec)
{
	double seconds = (now_usec - m->looked_usec) * 1e-6;

	/* Whoever asks for the figures, or the timer, is told of the error if it lasts. */
	(void)measurement_collect(m, false);
	m->operations_per_second = rate_find(m, seconds);
	charge_own_cost(m, seconds);
	m->looked_usec = now_usec;
	observer_look(m->observer, now_usec);
	if (m->sampling)
		sampling_refresh(m->sampling);
	watchers_follow(m->watchers, "/proc", accounts_fsnotify(m->accounts), now_usec);
	mode_choose(m);
	m->look_usec = now_usec + LOOK_USEC;
}

/* A/B has been measured anew, with the counting programs attached or without. */
static void costs_renew(struct measurement *m)
{
	struct cost_figure figure;

	/* What was done until now is charged at the costs known until now. */
	(void)measurement_collect(m, false);
	calibration_operation(m->calibration, &figure);
	if (m->counting && !counting_in_windows(m->counting))
		operation_cost_with(&m->cost, &figure);
	else
		operation_cost_without(&m->cost, &figure);
	if (m->counting)
		counting_set_cost(m->counting, m->cost.counting.seconds, m->cost.ratio);
	charge_unit_costs(m);
}

/* Where nothing can be counted, A/B still tells what an update costs. */
static bool calibrates(const struct measurement *m)
{
	return m->calibration && (m->counting || m->refused);
}

/* Not in a window or right after one, when A/B would run with the programs for a part of the time.
 */
static void calibration_do(struct measurement *m, uint64_t now_usec)
{
	bool changed;

	if (m->counting && !counting_settled(m->counting)) {
		m->calibration_usec = now_usec + UNSETTLED_USEC;
		return;
	}
	m->calibration_usec = now_usec + calibration_step(m->calibration, now_usec, &changed);
	if (changed)
		costs_renew(m);
}

uint64_t measurement_step(struct measurement *m)
{
	uint64_t now_usec = monotonic_usec(), next_usec, window_usec = UINT64_MAX;

	if (m->setup.mode == MODE_OFF)
		return LOOK_USEC;
	if (now_usec >= m->look_usec)
		look(m, now_usec);
	if (m->counting)
		windows_step(m, &window_usec);
	if (calibrates(m) && now_usec >= m->calibration_usec)
		calibration_do(m, now_usec);

	next_usec = m->look_usec;
	if (calibrates(m) && m->calibration_usec < next_usec)
		next_usec = m->calibration_usec;
	now_usec = monotonic_usec();
	next_usec = next_usec > now_usec ? next_usec - now_usec : 0;
	return next_usec < window_usec ? next_usec : window_usec;
}

int measurement_collect(struct measurement *m, bool wake)
{
	int r = 0;

	if (m->counting)
		r = counting_collect(m->counting, wake);
	if (r >= 0 && m->sampling)
		r = sampling_collect(m->sampling, monotonic_usec());
	lifetime_check(&m->lifetime, monotonic_usec());
	return r;
}

int measurement_window_error(const struct measurement *m)
{
	return m->window_error;
}

int measurement_wake_fd(const struct measurement *m)
{
	return m->counting ? counting_wake_fd(m->counting) : -1;
}

bool measurement_reattaches(const struct measurement *m)
{
	return !m->refused;
}

bool measurement_permitted(const struct measurement *m)
{
	return (!m->counting || counting_permitted(m->counting)) &&
	       (!m->sampling || sampling_permitted(m->sampling));
}

void measurement_missing(const struct measurement *m,
			 void (*each)(const char *program, const char *reason, void *userdata),
			 void *userdata)
{
	if (m->counting)
		counting_missing(m->counting, each, userdata);
}
