// SPDX-License-Identifier: GPL-2.0-or-later
#include "measurement-parts.h"

#include <errno.h>
#include <string.h>

/* Why nothing has been counted yet. */
static const char *counting_reason(const struct measurement *m)
{
	if (m->counting_reason[0])
		return m->counting_reason;
	return m->setup.mode == MODE_OFF ? "The mode is off: nothing is attached."
					 : "The mode is profile: nothing is counted.";
}

static void fill_unit_costs(const struct measurement *m, struct snapshot *s)
{
	if (m->calibration) {
		memcpy(s->unit_costs, calibration_estimates(m->calibration)->updates,
		       sizeof(s->unit_costs));
		return;
	}
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int kind = 0; kind < UPDATE_KINDS; kind++)
			cost_estimate_unknown(&s->unit_costs[pipe][kind],
					      m->choice.mode == MODE_PROFILE
						      ? "The mode is profile: nothing is timed."
						      : "The mode is off: nothing is measured.");
}

static void fill_observer(const struct measurement *m, struct snapshot_observer *ret)
{
	ret->operation = m->cost.operation;
	ret->counting = m->cost.counting;
	observer_fill(m->observer, ret);
	memcpy(ret->predicted, m->choice.predicted, sizeof(ret->predicted));
	ret->allowed = m->choice.allowed;
}

int measurement_fill(struct measurement *m, bool pid_label, const struct snapshot_wish *wish,
		     struct snapshot *s)
{
	const char *reason;
	int r;

	s->mode = measurement_mode(m, &reason);
	s->configured_mode = m->setup.mode;
	s->mode_reason = snapshot_string(s, reason);
	s->budget_ratio = m->setup.budget_ratio;
	s->counting = m->counted;
	s->counting_reason = snapshot_string(s, m->counted ? "" : counting_reason(m));
	s->sampling = m->sampling;
	s->sampling_reason = snapshot_string(s, m->sampling ? "" : m->sampling_reason);
	if (!s->mode_reason || !s->counting_reason || !s->sampling_reason)
		return -ENOMEM;
	fill_unit_costs(m, s);
	fill_observer(m, &s->observer);
	s->sampling_lost = m->sampling_lost;
	if (m->sampling) {
		sampling_fill(m->sampling, s);
		s->sampling_lost += sampling_lost(m->sampling);
	}
	r = watchers_fill(m->watchers, s);
	if (r >= 0 && m->counting)
		r = counting_fill(m->counting, m->cost.run_seconds, s);
	if (r >= 0)
		r = accounts_fill(m->accounts, m->setup.boot_usec, pid_label, wish, s);
	return r;
}

void measurement_finish(struct measurement *m, struct snapshot *s)
{
	/* Samples and counts have to be of the same time. */
	if (m->sampling && !m->interrupted)
		sampling_check_costs(m->sampling, s);
	cpu_times_fill(m->cpu_times, s);
}
