// SPDX-License-Identifier: GPL-2.0-or-later
#include "check.h"
#include "config.h"
#include "kernel.h"
#include "permission.h"
#include "pipewatch/api.h"

/* Is there a function in which operations can be counted? As verdict_symbol_fn. */
static int has_hook(verdict_symbol_fn symbol, void *userdata, enum kernel_function function)
{
	int r = 0;

	for (const char *const *name = kernel_function_names(function); *name && r == 0; name++)
		r = symbol(userdata, *name);
	return r;
}

int check_counting(verdict_symbol_fn symbol, void *userdata, int error, char *ret_reason,
		   size_t size)
{
	int reads, writes, r;

	r = permission_explain(error, symbol, userdata, ret_reason, size);
	if (r != 0)
		return r;

	reads = has_hook(symbol, userdata, KERNEL_PIPE_READ);
	writes = has_hook(symbol, userdata, KERNEL_PIPE_WRITE);
	if (reads == 0 || writes == 0) {
		snprintf(ret_reason, size,
			 "This kernel has no function in which pipe %s can be counted.",
			 reads != 0    ? "writes"
			 : writes != 0 ? "reads"
				       : "reads and writes");
		return PIPEWATCH_EXIT_UNAVAILABLE;
	}
	return 0;
}

static void print_measurable(const struct check *c, FILE *f)
{
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		for (int update = 0; update < UPDATE_KINDS; update++) {
			const char *answer;

			if (update == UPDATE_FSNOTIFY)
				answer = "no: does not follow from counts";
			else if (c->verdict->paths[pipe][update].state == PATH_REMOVED)
				answer = "not applicable: this kernel makes none";
			else if (c->verdict->paths[pipe][update].state == PATH_UNKNOWN)
				answer = "no: not known whether this kernel makes them";
			else
				answer = c->counting_exit == 0 ? "yes, exactly"
							       : "no: needs counting";
			fprintf(f, "  %-9s %-8s updates   %s\n", pipe_kind_name(pipe),
				update_kind_name(update), answer);
		}
	}
}

static void print_costs(const struct check *c, FILE *f)
{
	fprintf(f, "\nWhat one update costs here, by A/B on own pipes (with standard error)\n\n");
	if (!c->ab) {
		fprintf(f, "  not measured: %s\n", c->ab_reason);
		return;
	}
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		for (int update = 0; update < UPDATE_KINDS; update++) {
			const struct cost_figure *cost = &c->ab->updates[pipe][update];
			bool write = update == UPDATE_CMTIME;
			const struct cost_figure *whole = write ? &c->ab->writes[pipe]
								: &c->ab->reads[pipe];

			fprintf(f, "  %-9s %-8s  ", pipe_kind_name(pipe), update_kind_name(update));
			if (!cost->known)
				fprintf(f, "not known: %s\n", cost->reason);
			else if (!whole->known)
				fprintf(f, "%.1f +/- %.1f ns\n", cost->seconds * 1e9,
					cost->error_seconds * 1e9);
			else
				fprintf(f,
					"%.1f +/- %.1f ns of the %.0f ns that a %s of %d bytes takes\n",
					cost->seconds * 1e9, cost->error_seconds * 1e9,
					whole->seconds * 1e9, write ? "write" : "read",
					ROUND_BYTES);
		}
	}
}

int check_print(const struct check *c, FILE *f)
{
	char release[128], machine[128];

	fprintf(f, "Kernel %s (%s)\n\n", config_render(c->kernel_release, release, sizeof(release)),
		config_render(c->machine, machine, sizeof(machine)));

	fprintf(f, "Metadata updates of pipes: does this kernel pay for them?\n\n");
	fprintf(f, "  %-9s  %-8s  %-7s  %-9s  %-12s  %s\n", "PIPE", "UPDATE", "STATE", "BY SYMBOL",
		"BY BEHAVIOUR", "REASON");
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		for (int update = 0; update < UPDATE_KINDS; update++) {
			const struct verdict_path *p = &c->verdict->paths[pipe][update];

			fprintf(f, "  %-9s  %-8s  %-7s  %-9s  %-12s  %s\n", pipe_kind_name(pipe),
				update_kind_name(update), path_state_name(p->state),
				path_state_name(p->by_symbol), path_state_name(p->by_behaviour),
				p->reason);
		}
	}

	fprintf(f, "\nWhat can be measured here, by process\n\n");
	fprintf(f, "  reads, writes and bytes      %s\n",
		c->counting_exit == 0				   ? "yes, exactly"
		: c->counting_exit == PIPEWATCH_EXIT_NOT_PERMITTED ? "no: not permitted"
		: c->counting_exit == PIPEWATCH_EXIT_UNAVAILABLE ? "no: not possible on this kernel"
								 : "no: it failed");
	print_measurable(c, f);
	print_costs(c, f);
	if (c->counting_exit != 0)
		fprintf(f, "\nWhy not: %s\n", c->counting_reason);

	if (fflush(f) != 0 || ferror(f))
		return PIPEWATCH_EXIT_OS;
	return c->counting_exit;
}
