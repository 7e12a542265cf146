/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What remedies save, as rows of a D-Bus message.
 *
 * A row is (remedy, scope, unit, comm, pid, CPU seconds saved so far, CPU seconds saved per second
 * on average since the start, NaN where the clock was set back). The scope is host, group or
 * process; what does not apply to it is "" or 0. Those of the host come first, then groups, then
 * live processes, each by what is saved, descending, and BUS_REMEDIES_MAX of each scope at most.
 * Remedies overlap: their savings do not add up. What saves nothing has no row.
 */
#ifndef PIPEWATCH_BUS_REMEDIES_H
#define PIPEWATCH_BUS_REMEDIES_H

#include <systemd/sd-bus.h>

#include "snapshot.h"

#define BUS_REMEDY	 "(ssssudd)"
#define BUS_REMEDIES_MAX 200

struct bus_remedy {
	enum remedy remedy;
	const char *scope;
	const char *unit;
	const char *comm;
	uint32_t pid;
	double seconds;
};

/* Returns 0 and the rows of @s, which must outlive them, in an array to be freed; or -ENOMEM. */
int bus_remedies_new(const struct snapshot *s, struct bus_remedy **ret_remedies, size_t *ret_n);

/* Returns 0 or more, or -errno. */
int bus_remedies_append(sd_bus_message *reply, const struct snapshot *s,
			const struct bus_remedy *remedies, size_t n);

/* At most so many bytes of a message does a row take. */
size_t bus_remedy_bytes(const struct bus_remedy *remedy);

#endif
