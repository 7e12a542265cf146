// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/kallsyms: whatever it says, ranges are ranges, of functions that were asked for; and of
 * lines of known meaning, exactly theirs. */
#include "kallsyms.h"

#include <errno.h>
#include <inttypes.h>

#include "fuzz.h"

#define RANGES	    4
#define SYMBOLS_MAX 12

static const char *const functions[] = { "a", "pipe_read", "touch_atime", NULL };
static int file = -1;

static void any_bytes(const uint8_t *data, size_t size)
{
	struct kallsyms_range ranges[RANGES];
	size_t n = RANGES + 1;
	char path[32];
	int r;

	r = kallsyms_find(fuzz_file(&file, data, size, path), functions, ranges, RANGES, &n);
	if (r < 0) {
		FUZZ_CHECK(n == RANGES + 1);
		return;
	}
	FUZZ_CHECK(r == 0 && n <= RANGES);
	for (size_t i = 0; i < n; i++) {
		FUZZ_CHECK(ranges[i].function < ARRAY_SIZE(functions) - 1);
		FUZZ_CHECK(ranges[i].begin != 0 && ranges[i].begin < ranges[i].end);
	}
}

/* What symbols may be called, and which of the functions it is that they are (a part of). */
static const struct {
	const char *name;
	int function; /* -1: none */
} names[] = { { "a", 0 },
	      { "a.cold", 0 },
	      { "ab", -1 },
	      { "pipe_read", 1 },
	      { "pipe_rea", -1 },
	      { "pipe_read.part.0.cold", 1 },
	      { "_pipe_read", -1 },
	      { "touch_atime", 2 },
	      { "touch_atime_x", -1 },
	      { "touch_atime.", 2 },
	      { ".a", -1 },
	      { "x", -1 } };

struct symbol {
	uint64_t address;
	uint8_t name, type, module;
};

/* The ranges of @symbols by the letter: from each to the next greater address. */
static int expect(const struct symbol *symbols, size_t n, struct kallsyms_range *ret, size_t *ret_n)
{
	static const char types[] = "tTwWdDrR";
	bool ended = true;

	*ret_n = 0;
	for (size_t i = 0; i < n; i++) {
		int function = names[symbols[i].name % ARRAY_SIZE(names)].function;
		struct kallsyms_range range = { .begin = symbols[i].address };

		if (function < 0 || symbols[i].module % 4 == 0 ||
		    !strchr("tTwW", types[symbols[i].type % strlen(types)]))
			continue;
		if (symbols[i].address == 0)
			return -EACCES;
		if (*ret_n == RANGES)
			return -ENOSPC;
		range.function = function;
		for (size_t j = i + 1; j < n && range.end == 0; j++)
			if (symbols[j].address > range.begin)
				range.end = symbols[j].address;
		ended &= range.end != 0;
		ret[(*ret_n)++] = range;
	}
	return n > 0 && ended ? 0 : -ENODATA;
}

static void known_meaning(struct fuzz_input *in)
{
	static const char types[] = "tTwWdDrR";
	struct kallsyms_range found[RANGES], wanted[RANGES];
	struct symbol symbols[SYMBOLS_MAX];
	size_t n = fuzz_u8(in) % SYMBOLS_MAX, n_text = 0, n_found = 0, n_wanted;
	char text[64 * SYMBOLS_MAX], path[32];
	/* Zero where the addresses are hidden. */
	uint64_t address = fuzz_u8(in) % 8 ? UINT64_C(0xffffffff81000000) : 0;
	int r;

	for (size_t i = 0; i < n; i++) {
		struct symbol *s = &symbols[i];

		*s = (struct symbol){ address, fuzz_u8(in), fuzz_u8(in), fuzz_u8(in) };
		n_text += snprintf(text + n_text, sizeof(text) - n_text, "%016" PRIx64 " %c %s%s\n",
				   address, types[s->type % strlen(types)],
				   names[s->name % ARRAY_SIZE(names)].name,
				   s->module % 4 == 0 ? "\t[module]" : "");
		if (address)
			address += fuzz_u8(in) & 0x7f;
	}
	r = kallsyms_find(fuzz_file(&file, (uint8_t *)text, n_text, path), functions, found, RANGES,
			  &n_found);
	FUZZ_CHECK(r == expect(symbols, n, wanted, &n_wanted));
	if (r < 0)
		return;
	FUZZ_CHECK(n_found == n_wanted);
	for (size_t i = 0; i < n_found; i++) {
		FUZZ_CHECK(found[i].function == wanted[i].function);
		FUZZ_CHECK(found[i].begin == wanted[i].begin && found[i].end == wanted[i].end);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	any_bytes(data, size);
	known_meaning(&in);
	return 0;
}
