// SPDX-License-Identifier: GPL-2.0-or-later
#include "accept.h"

#include <string.h>
#include <strings.h>

#define QUALITY_MAX 1000

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void trim(const char **text, size_t *length)
{
	while (*length > 0 && is_blank(**text)) {
		(*text)++;
		(*length)--;
	}
	while (*length > 0 && is_blank((*text)[*length - 1]))
		(*length)--;
}

/* Where @stop or the end comes first, outside of quoted strings. */
static size_t span_until(const char *text, size_t length, char stop)
{
	bool quoted = false;

	for (size_t i = 0; i < length; i++) {
		if (quoted && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			quoted = !quoted;
		else if (text[i] == stop && !quoted)
			return i;
	}
	return length;
}

static bool equals(const char *text, size_t length, const char *word)
{
	return length == strlen(word) && strncasecmp(text, word, length) == 0;
}

/* Finds a parameter's value, without its quotes. */
static bool find_parameter(const struct accept_range *range, const char *name,
			   const char **ret_value, size_t *ret_length)
{
	const char *rest = range->parameters;
	size_t rest_length = range->parameters_length;

	while (rest_length > 0) {
		const char *text = rest + 1, *value;
		size_t length = span_until(text, rest_length - 1, ';'), name_length, value_length;

		rest = text + length;
		rest_length -= length + 1;

		name_length = span_until(text, length, '=');
		if (name_length == length)
			continue;
		value = text + name_length + 1;
		value_length = length - name_length - 1;
		trim(&text, &name_length);
		trim(&value, &value_length);
		if (!equals(text, name_length, name))
			continue;

		if (value_length >= 2 && value[0] == '"' && value[value_length - 1] == '"') {
			value++;
			value_length -= 2;
		}
		*ret_value = value;
		*ret_length = value_length;
		return true;
	}
	return false;
}

/* "0", "1", "0.5", "0.125", "1.000"; anything else refuses. */
static unsigned int parse_quality(const char *text, size_t length)
{
	unsigned int quality, weight = QUALITY_MAX / 10;

	if (length < 1 || (text[0] != '0' && text[0] != '1') || (length > 1 && text[1] != '.'))
		return 0;
	quality = (text[0] - '0') * QUALITY_MAX;
	for (size_t i = 2; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		quality += (text[i] - '0') * weight;
		weight /= 10;
	}
	return quality > QUALITY_MAX ? QUALITY_MAX : quality;
}

bool accept_next(const char **header, struct accept_range *ret)
{
	while (**header) {
		const char *text = *header, *quality;
		size_t length = span_until(text, strlen(text), ','), quality_length;

		*header += length;
		if (**header == ',')
			(*header)++;

		trim(&text, &length);
		if (length == 0)
			continue;

		ret->value = text;
		ret->value_length = span_until(text, length, ';');
		ret->parameters = text + ret->value_length;
		ret->parameters_length = length - ret->value_length;
		trim(&ret->value, &ret->value_length);
		ret->quality = QUALITY_MAX;
		if (find_parameter(ret, "q", &quality, &quality_length))
			ret->quality = parse_quality(quality, quality_length);
		return true;
	}
	return false;
}

bool accept_is(const struct accept_range *range, const char *value)
{
	return equals(range->value, range->value_length, value);
}

bool accept_parameter_is(const struct accept_range *range, const char *name, const char *value,
			 bool absent)
{
	const char *found;
	size_t length;

	if (!find_parameter(range, name, &found, &length))
		return absent;
	return equals(found, length, value);
}

bool accept_encoding(const char *header, const char *coding)
{
	struct accept_range range;
	bool any = false;

	while (header && accept_next(&header, &range)) {
		/* The coding by its name overrules the asterisk, wherever it stands. */
		if (accept_is(&range, coding))
			return range.quality > 0;
		if (accept_is(&range, "*"))
			any = range.quality > 0;
	}
	return any;
}
