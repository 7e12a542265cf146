/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Accept and Accept-Encoding headers (RFC 9110, 12.5), leniently: what cannot be understood is
 * as if it were not there.
 */
#ifndef PIPEWATCH_ACCEPT_H
#define PIPEWATCH_ACCEPT_H

#include <stdbool.h>
#include <stddef.h>

/* One of the alternatives in such a header. */
struct accept_range {
	const char *value; /* media range or coding; not terminated */
	size_t value_length;
	const char *parameters; /* from the first ';', not terminated */
	size_t parameters_length;
	unsigned int quality; /* in thousandths: 0 (refused) to 1000 */
};

/* Takes the next alternative from *header, which is moved on. Returns false at the end. */
bool accept_next(const char **header, struct accept_range *ret);

/* Is it this media range or coding? Case does not matter. */
bool accept_is(const struct accept_range *range, const char *value);

/* Does its parameter @name equal @value? When there is no such parameter: @absent. */
bool accept_parameter_is(const struct accept_range *range, const char *name, const char *value,
			 bool absent);

/* Does an Accept-Encoding header (NULL: none) ask for @coding with a quality above zero? */
bool accept_encoding(const char *header, const char *coding);

#endif
