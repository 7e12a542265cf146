// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "trial.h"
#include "verdict.h"

struct by_symbol {
	enum path_state state;
	char reason[96]; /* a clause */
};

__attribute__((format(printf, 3, 4))) static void
by_symbol_set(struct by_symbol *s, enum path_state state, const char *format, ...)
{
	va_list ap;

	s->state = state;
	va_start(ap, format);
	vsnprintf(s->reason, sizeof(s->reason), format, ap);
	va_end(ap);
}

/*
 * Where anonymous pipes have functions of their own, these make no updates, and those of FIFOs wrap
 * them and do. On earlier kernels one pair of functions serves both and always does.
 */
static void find_by_symbol(verdict_symbol_fn symbol, void *userdata, enum pipe_kind pipe,
			   enum update_kind update, struct by_symbol *ret)
{
	const char *operation = update == UPDATE_ATIME ? "read" : "write";
	char anonymous[32], fifo[32], common[32];
	int has_anonymous, has_fifo, has_common;

	snprintf(anonymous, sizeof(anonymous), "anon_pipe_%s", operation);
	snprintf(fifo, sizeof(fifo), "fifo_pipe_%s", operation);
	snprintf(common, sizeof(common), "pipe_%s", operation);
	has_anonymous = symbol(userdata, anonymous);
	has_fifo = symbol(userdata, fifo);
	has_common = symbol(userdata, common);

	if (has_anonymous < 0 || has_fifo < 0 || has_common < 0) {
		int error = has_anonymous < 0 ? has_anonymous
			    : has_fifo < 0    ? has_fifo
					      : has_common;

		by_symbol_set(ret, PATH_UNKNOWN, "the kernel's symbols cannot be read (%s)",
			      error_name(error));
	} else if (has_anonymous && pipe == PIPE_ANONYMOUS) {
		by_symbol_set(ret, PATH_REMOVED, "the kernel has %s", anonymous);
	} else if (has_anonymous && has_fifo) {
		by_symbol_set(ret, PATH_PAID, "the kernel has %s", fifo);
	} else if (has_anonymous) {
		by_symbol_set(ret, PATH_UNKNOWN, "the kernel has %s but no %s", anonymous, fifo);
	} else if (has_common) {
		by_symbol_set(ret, PATH_PAID, "the kernel has %s and no %s", common, anonymous);
	} else {
		by_symbol_set(ret, PATH_UNKNOWN, "the kernel has neither %s nor %s", common,
			      anonymous);
	}
}

void verdict_path_conclude(struct verdict_path *path, const char *symbol_reason,
			   const char *behaviour_reason)
{
	const char *symbol = symbol_reason && *symbol_reason ? symbol_reason : NULL;
	const char *behaviour = behaviour_reason && *behaviour_reason ? behaviour_reason : NULL;
	bool by_symbol = path->by_symbol != PATH_UNKNOWN,
	     by_behaviour = path->by_behaviour != PATH_UNKNOWN;

	if (by_symbol && by_behaviour && path->by_symbol != path->by_behaviour) {
		path->state = PATH_UNKNOWN;
		snprintf(path->reason, sizeof(path->reason),
			 "Contradiction: by symbol %s (%.90s), by behaviour %s (%.110s).",
			 path_state_name(path->by_symbol), symbol ?: "no reason given",
			 path_state_name(path->by_behaviour), behaviour ?: "no reason given");
		return;
	}
	path->state = by_symbol ? path->by_symbol : path->by_behaviour;
	if (symbol && behaviour)
		snprintf(path->reason, sizeof(path->reason), "%.110s%s%.120s.", symbol,
			 by_symbol && by_behaviour ? ", and " : "; ", behaviour);
	else
		snprintf(path->reason, sizeof(path->reason), "%.250s.",
			 symbol    ?: behaviour ?: "nothing is known of it");
	path->reason[0] = (char)toupper((unsigned char)path->reason[0]);
}

/* The code that notifies is the same for both kinds of pipe, so what a FIFO shows holds for both.
 */
static void infer_fsnotify(const struct trial *fifo, struct trial *anonymous)
{
	if (fifo->state == PATH_UNKNOWN)
		return;
	anonymous->state = fifo->state;
	snprintf(anonymous->reason, sizeof(anonymous->reason), "as on a FIFO, %.97s", fifo->reason);
}

void verdict_find(verdict_symbol_fn symbol, void *userdata, const char *const *directories,
		  struct verdict *ret)
{
	struct trial trials[PIPE_KINDS][UPDATE_KINDS];

	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		trial_run(pipe, directories, trials[pipe]);
	infer_fsnotify(&trials[PIPE_FIFO][UPDATE_FSNOTIFY],
		       &trials[PIPE_ANONYMOUS][UPDATE_FSNOTIFY]);

	for (int pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (int update = 0; update < UPDATE_KINDS; update++) {
			const struct trial *trial = &trials[pipe][update];
			struct verdict_path *path = &ret->paths[pipe][update];
			struct by_symbol by_symbol = { PATH_UNKNOWN, "" };

			/* No symbol tells about fsnotify, since its call from pipe I/O is inline.
			 */
			if (update != UPDATE_FSNOTIFY)
				find_by_symbol(symbol, userdata, pipe, update, &by_symbol);
			path->by_symbol = by_symbol.state;
			path->by_behaviour = trial->state;
			verdict_path_conclude(path, by_symbol.reason, trial->reason);
		}
}
