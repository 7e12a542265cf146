/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by measurement.c and measurement-fill.c; nobody else includes it. */
#ifndef PIPEWATCH_MEASUREMENT_PARTS_H
#define PIPEWATCH_MEASUREMENT_PARTS_H

#include "accounts.h"
#include "calibration.h"
#include "cgroups.h"
#include "counting.h"
#include "cpu-time.h"
#include "governor.h"
#include "lifetime.h"
#include "measurement.h"
#include "observer.h"
#include "operation-cost.h"
#include "sampling.h"
#include "watchers.h"

struct measurement {
	struct measurement_setup setup;
	struct accounts *accounts;
	struct cgroups *cgroups;
	struct lifetime lifetime;
	struct calibration *calibration;
	struct counting *counting; /* NULL: nothing is counted */
	struct sampling *sampling; /* NULL: nothing is sampled */
	struct watchers *watchers;
	struct governor *governor;
	struct observer *observer;
	struct cpu_times *cpu_times;
	struct operation_cost cost;
	/* Of what has been freed, for counters that must not fall. */
	struct counting_past past;
	uint64_t sampling_lost;

	struct governor_choice choice;
	/* As of the last change: the figures in a reason change all the time, the state does not.
	 */
	char mode_reason[256];
	bool reason_measured;  /* that reason knew what counting costs */
	bool counted;	       /* operations have been counted at some time */
	bool interrupted;      /* there was a time in which not all of them were */
	int refused;	       /* exit code that says why counting is impossible; 0: it is not */
	bool sampling_refused; /* sampling is impossible */
	char counting_reason[512];
	char sampling_reason[256];

	int window_error;   /* of the last window; 0: it was opened and closed */
	uint64_t look_usec; /* of the next look; CLOCK_MONOTONIC */
	uint64_t calibration_usec;

	/* As of the last look. */
	uint64_t looked_usec, operations, samples;
	double hooked_operations, pipe_cpu_seconds;
	double bursts_seconds, loading_seconds, attaching_seconds;
	double operations_per_second;
	double burst_cpu_seconds; /* what the last burst took of ours; before there was one, nothing
				   */
	double burst_seconds;	  /* for which the programs of the last burst were attached */
};

#endif
