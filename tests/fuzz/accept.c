// SPDX-License-Identifier: GPL-2.0-or-later
/* Accept and Accept-Encoding: any bytes, and headers of known meaning. */
#include "accept.h"

#include <ctype.h>

#include "exposition.h"
#include "fuzz.h"

#define HEADER_MAX 4096

/* Every piece lies in the header, in its order, and case does not matter. */
static void any_bytes(const char *header)
{
	const char *rest = header, *end = header + strlen(header), *last = header;
	struct accept_range range;
	char upper[HEADER_MAX];
	size_t i;

	while (accept_next(&rest, &range)) {
		FUZZ_CHECK(rest > last && rest <= end);
		FUZZ_CHECK(range.value >= last && range.value + range.value_length <= rest);
		FUZZ_CHECK(range.parameters >= last &&
			   range.parameters + range.parameters_length <= rest);
		FUZZ_CHECK(range.quality <= 1000);
		accept_parameter_is(&range, "version", "1.0.0", true);
		last = rest;
	}
	FUZZ_CHECK(rest == end);

	for (i = 0; header[i]; i++)
		upper[i] = toupper((unsigned char)header[i]);
	upper[i] = '\0';
	FUZZ_CHECK(accept_encoding(header, "gzip") == accept_encoding(upper, "gzip"));
	FUZZ_CHECK(exposition_negotiate(header) == exposition_negotiate(upper));
}

/* A list of codings with qualities, each at most once, written in a way that the input chooses. */
static void known_meaning(struct fuzz_input *in)
{
	static const char *const codings[] = { "gzip", "*", "br", "deflate", "x-gzip" };
	static const char *const blanks[] = { "", " ", "\t", "  " };
	unsigned int qualities[ARRAY_SIZE(codings)];
	bool there[ARRAY_SIZE(codings)] = { false };
	char header[512];
	size_t n = 0;

	header[0] = '\0';
	for (uint8_t i = fuzz_u8(in) % 8; i > 0; i--) {
		size_t coding = fuzz_u8(in) % ARRAY_SIZE(codings);
		const char *blank = blanks[fuzz_u8(in) % ARRAY_SIZE(blanks)];
		unsigned int quality = (fuzz_u8(in) | fuzz_u8(in) << 8) % 1001;

		if (there[coding])
			continue;
		there[coding] = true;
		qualities[coding] = quality;
		n += snprintf(header + n, sizeof(header) - n, "%s%s%s%s;%sq=%u.%03u%s,", blank,
			      codings[coding], blank, quality % 2 ? ";x=\"a,;q=0\\\"b\"" : "",
			      blank, quality / 1000, quality % 1000, blank);
	}
	FUZZ_CHECK(accept_encoding(header, "gzip") ==
		   (there[0] ? qualities[0] > 0 : there[1] && qualities[1] > 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	char header[HEADER_MAX];

	if (size < sizeof(header)) {
		memcpy(header, data, size);
		header[size] = '\0';
		any_bytes(header);
	}
	known_meaning(&in);
	return 0;
}
