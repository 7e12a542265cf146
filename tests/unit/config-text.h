/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A configuration as the text that config_dump() makes of it.
 */
#ifndef PIPEWATCH_TESTS_CONFIG_TEXT_H
#define PIPEWATCH_TESTS_CONFIG_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "config.h"
#include "pipewatch/util.h"

static inline char *dump(const struct config *c)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	config_dump(c, f);
	assert_int_equal(fclose(f), 0);
	return text;
}

#define DEFAULTS                                                                       \
	"[Measurement]\nMode=auto\nBudget=1\nSampleFrequency=97\nMaxThreads=16384\n\n" \
	"[Metrics]\nListen=127.0.0.1:10057\nMaxGroups=200\nPidLabel=no\n\n[Bus]\nBus=system\n"

static inline void assert_dump(const struct config *c, const char *expected)
{
	_cleanup_(freep) char *text = dump(c);

	assert_string_equal(text, expected);
}

#endif
