// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/PID/stat: any bytes, and lines of known meaning around any name. */
#include "process.h"

#include <inttypes.h>

#include "fuzz.h"

static void any_bytes(const uint8_t *data, size_t size)
{
	_cleanup_(freep) char *exact = malloc(size ?: 1);
	struct process p;

	FUZZ_CHECK(exact);
	memcpy(exact, data, size);
	if (process_parse(exact, size, &p) == 0)
		FUZZ_CHECK(strnlen(p.comm, sizeof(p.comm)) < sizeof(p.comm));
}

static void known_meaning(struct fuzz_input *in)
{
	static const char states[] = "RSDZTtXI";
	char comm[64], stat[512];
	char state = states[fuzz_u8(in) % strlen(states)];
	uint64_t threads = fuzz_u64(in), start = fuzz_u64(in);
	struct process p;
	int n;

	fuzz_string(in, comm, sizeof(comm));
	n = snprintf(stat, sizeof(stat),
		     "%" PRIu64 " (%s) %c 1 2 3 4 -1 4194304 1 0 0 0 2 3 0 0 20 0 %" PRIu64
		     " 0 %" PRIu64 " 4096 100 18446744073709551615\n",
		     fuzz_u64(in), comm, state, threads, start);
	FUZZ_CHECK(process_parse(stat, n, &p) == 0);
	FUZZ_CHECK(strcmp(p.comm, comm) == 0);
	FUZZ_CHECK(p.start_ticks == start);
	FUZZ_CHECK(p.ended == ((state == 'Z' || state == 'X') && threads <= 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	any_bytes(data, size);
	known_meaning(&in);
	return 0;
}
