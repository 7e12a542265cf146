/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recorded descriptions, for tests that are run in the top directory. */
#ifndef PIPEWATCH_TESTS_CTL_RECORD_H
#define PIPEWATCH_TESTS_CTL_RECORD_H

#include <stdio.h>
#include <stdlib.h>

#include "model.h"

static inline char *record_read(const char *name)
{
	char path[256], *text = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "tests/ctl/golden/%s.json", name);
	f = fopen(path, "re");
	if (!f || getdelim(&text, &size, 0, f) < 0) {
		fprintf(stderr, "%s cannot be read\n", path);
		abort();
	}
	fclose(f);
	return text;
}

static inline struct model *record_parse(const char *name)
{
	char *text = record_read(name);
	struct model *m = NULL;

	if (model_parse(text, true, &m) < 0)
		abort();
	free(text);
	return m;
}

#endif
