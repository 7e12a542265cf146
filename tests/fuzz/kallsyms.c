// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/kallsyms: whatever it says, ranges are ranges, of functions that were asked for. */
#include "kallsyms.h"

#include "fuzz.h"

#define RANGES 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const functions[] = { "a", "pipe_read", "touch_atime", NULL };
	static int file = -1;
	struct kallsyms_range ranges[RANGES];
	size_t n = RANGES + 1;
	char path[32];
	int r;

	r = kallsyms_find(fuzz_file(&file, data, size, path), functions, ranges, RANGES, &n);
	if (r < 0) {
		FUZZ_CHECK(n == RANGES + 1);
		return 0;
	}
	FUZZ_CHECK(r == 0 && n <= RANGES);
	for (size_t i = 0; i < n; i++) {
		FUZZ_CHECK(ranges[i].function < ARRAY_SIZE(functions) - 1);
		FUZZ_CHECK(ranges[i].begin != 0 && ranges[i].begin < ranges[i].end);
	}
	return 0;
}
