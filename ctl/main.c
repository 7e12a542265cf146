// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pipewatchctl: what pipewatchd knows, for people and scripts. Every error is printed here, once.
 */
#include <errno.h>
#include <locale.h>
#include <string.h>

#include "pipewatch/util.h"
#include "text.h"
#include "verb.h"

static void complain(const char *message, bool utf8)
{
	char safe[TEXT_SAFE_FACTOR * sizeof(((struct failure *)0)->message)];

	text_safe(message, utf8, safe, sizeof(safe));
	fprintf(stderr, "pipewatchctl: %s\n", safe);
}

int main(int argc, char **argv)
{
	static const verb_fn verbs[VERBS] = {
		[VERB_STATUS] = status_run,   [VERB_TOP] = top_run,
		[VERB_LIST] = list_run,	      [VERB_SHOW] = show_run,
		[VERB_GROUPS] = groups_run,   [VERB_REMEDIES] = remedies_run,
		[VERB_CHECK] = check_run,     [VERB_BENCH] = bench_run,
		[VERB_METRICS] = metrics_run,
	};
	struct failure failure = {};
	struct options options;
	struct output output;
	int r;

	/* Characters as the terminal has them, numbers as everybody reads them. */
	setlocale(LC_CTYPE, "");
	r = options_parse(argc, argv, &options);
	if (r < 0) {
		if (r == -ENOMEM)
			complain(strerror(ENOMEM), false);
		return r == -ENOMEM ? PIPEWATCH_EXIT_OS : PIPEWATCH_EXIT_USAGE;
	}
	output_init(&output, stdout);
	if (options.verb == VERB_NONE)
		r = output_flush(&output, &failure);
	else
		r = verbs[options.verb](&options, &output, &failure);
	if (*failure.message)
		complain(failure.message, output.utf8);
	return r;
}
