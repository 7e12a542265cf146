// SPDX-License-Identifier: GPL-2.0-or-later
/* A configuration file: it is refused with one clear line, or what is in force reads back as the
 * same when it is written down. */
#include "config.h"

#include "fuzz.h"

static void warned(const char *line)
{
	FUZZ_CHECK(line[0]);
	FUZZ_CHECK(fuzz_is_line(line));
}

static char *dump(const struct config *c, size_t *ret_size)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, ret_size);

	FUZZ_CHECK(f);
	config_dump(c, f);
	FUZZ_CHECK(fclose(f) == 0);
	return text;
}

static void must_not_warn(const char *line)
{
	fprintf(stderr, "own words: %s\n", line);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int file = -1;
	_cleanup_(config_freep) struct config *c = config_new(), *again = config_new();
	_cleanup_(freep) char *text = NULL, *text_again = NULL;
	struct config_error error = { "" };
	size_t n_text, n_text_again;
	char path[32];

	FUZZ_CHECK(c && again);
	if (config_read(c, fuzz_file(&file, data, size, path), warned, &error) < 0) {
		FUZZ_CHECK(strncmp(error.message, path, strlen(path)) == 0);
		FUZZ_CHECK(error.message[strlen(path)] == ':');
		FUZZ_CHECK(fuzz_is_line(error.message));
		return 0;
	}

	FUZZ_CHECK(c->budget_percent >= 0.01 && c->budget_percent <= 100);
	FUZZ_CHECK(c->sample_frequency_hz >= 1 && c->sample_frequency_hz <= 10000);
	FUZZ_CHECK(c->max_groups >= 1 && c->max_groups <= 100000);
	FUZZ_CHECK(c->max_threads >= 8 && (c->max_threads & (c->max_threads - 1)) == 0);
	for (char **listen = c->listen; *listen; listen++)
		FUZZ_CHECK(config_listen_valid(*listen));

	text = dump(c, &n_text);
	FUZZ_CHECK(config_read(again, fuzz_file(&file, (uint8_t *)text, n_text, path),
			       must_not_warn, &error) == 0);
	text_again = dump(again, &n_text_again);
	FUZZ_CHECK(strcmp(text, text_again) == 0);
	return 0;
}
