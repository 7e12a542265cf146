// SPDX-License-Identifier: GPL-2.0-or-later
#include "http-request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "pipewatch/util.h"

/* A longer body is answered without being read. */
#define IGNORED_BODY_BYTES_MAX 65536

struct headers {
	unsigned int hosts;
	unsigned int lengths;
	unsigned int codings;
	bool bad_name;
};

static enum MHD_Result on_header(void *userdata, enum MHD_ValueKind kind, const char *name,
				 const char *value)
{
	/* What names may consist of (RFC 9110, 5.6.2): no blank, which would hide the name. */
	static const char token[] = "!#$%&'*+-.^_`|~0123456789"
				    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct headers *headers = userdata;

	(void)kind;
	(void)value;

	headers->hosts += strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0;
	headers->lengths += strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
	headers->codings += strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0;
	headers->bad_name |= !*name || name[strspn(name, token)] != '\0';
	return MHD_YES;
}

const char *http_request_fault(struct MHD_Connection *connection, const char *version)
{
	struct headers headers = { 0 };

	MHD_get_connection_values(connection, MHD_HEADER_KIND, on_header, &headers);
	if (headers.bad_name)
		return "A header has a name that is none.";
	if (headers.hosts > 1)
		return "There is more than one Host header.";
	if (headers.hosts == 0 && strcmp(version, MHD_HTTP_VERSION_1_0) != 0)
		return "There is no Host header.";
	/* Where two sides understand this differently, one sees a request that the other does not.
	 */
	if (headers.lengths + headers.codings > 1)
		return "There is more than one header about the length of the body.";
	return NULL;
}

static const char *find_header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

bool http_request_is_cut(struct MHD_Connection *connection)
{
	const char *length = find_header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);

	return find_header(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING) ||
	       find_header(connection, MHD_HTTP_HEADER_EXPECT) ||
	       (length && strtoull(length, NULL, 10) > IGNORED_BODY_BYTES_MAX);
}

const char *http_request_path(const char *target)
{
	static const char *const schemes[] = { "http://", "https://" };

	if (target[0] == '/')
		return target;
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		const char *authority = target + strlen(schemes[i]), *path;

		if (strncasecmp(target, schemes[i], strlen(schemes[i])) != 0)
			continue;
		path = strchrnul(authority, '/');
		if (path == authority)
			return NULL;
		return *path ? path : "/";
	}
	return NULL;
}

size_t http_request_unescape(void *userdata, struct MHD_Connection *connection, char *text)
{
	(void)userdata;
	(void)connection;

	return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}
