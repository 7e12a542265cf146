/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which functions the running kernel has, by its BTF or, where it offers none, by the names in
 * /proc/kallsyms. Needs no privileges.
 */
#ifndef PIPEWATCH_SYMBOLS_H
#define PIPEWATCH_SYMBOLS_H

struct symbols;

/* Returns 0 or -ENOMEM. Where neither source can be read this still succeeds, and symbols_has()
 * returns the reason. */
int symbols_open(struct symbols **ret_symbols);
int symbols_open_at(const char *btf_path, const char *kallsyms_path, struct symbols **ret_symbols);
struct symbols *symbols_free(struct symbols *s);

/* Gives back the memory, about 5 MB, until symbols_has() is called again. */
void symbols_unload(struct symbols *s);

static inline void symbols_freep(struct symbols **s)
{
	symbols_free(*s);
}

/* A verdict_symbol_fn: @userdata is a struct symbols. Returns 1 or 0, or -errno when it cannot be
 * known.
 */
int symbols_has(void *userdata, const char *function);

#endif
