/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers as text. */
#ifndef PIPEWATCH_NUMBER_H
#define PIPEWATCH_NUMBER_H

#include <stdio.h>
#include <stdlib.h>

#define NUMBER_MAX 32

/* The shortest decimal that reads back as the same finite number. */
static inline void number_format(double value, char ret[static NUMBER_MAX])
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(ret, NUMBER_MAX, "%.*g", digits, value);
		if (strtod(ret, NULL) == value)
			break;
	}
}

#endif
