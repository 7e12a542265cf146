/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which functions the running kernel has: by its BTF, or, where it offers none, by the names in
 * /proc/kallsyms. Needs no privileges.
 */
#ifndef PIPEWATCH_SYMBOLS_H
#define PIPEWATCH_SYMBOLS_H

struct symbols;

/* Returns 0 or -ENOMEM. Where neither source can be read the object exists and symbols_has() gives
 * the reason. */
int symbols_open(struct symbols **ret_symbols);
int symbols_open_at(const char *btf_path, const char *kallsyms_path, struct symbols **ret_symbols);
struct symbols *symbols_free(struct symbols *s);

/* Gives back the memory, some 5 MB, until symbols_has() is asked again. */
void symbols_unload(struct symbols *s);

static inline void symbols_freep(struct symbols **s)
{
	symbols_free(*s);
}

/* A verdict_symbol_fn: @userdata is a struct symbols. 1 yes, 0 no, -errno when not to be known. */
int symbols_has(void *userdata, const char *function);

#endif
