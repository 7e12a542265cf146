// SPDX-License-Identifier: GPL-2.0-or-later
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "config.h"
#include "config-key.h"
#include "name.h"
#include "pipewatch/api.h"
#include "pipewatch/util.h"

#define BLANKS " \t"

/* The longest line that the INI parser takes, less "Bus=", so that what is accepted can be dumped
 * and read again. */
#define BUS_MAX 190

/* Decimal digits and nothing else: no sign, no blank, no other base. */
static int parse_unsigned(const char *value, unsigned int min, unsigned int max, unsigned int *ret)
{
	unsigned int n = 0;

	if (!*value)
		return -EINVAL;
	for (const char *p = value; *p; p++) {
		unsigned int digit = (unsigned int)*p - '0';

		if (digit > 9 || n > (max - digit) / 10)
			return -EINVAL;
		n = n * 10 + digit;
	}
	if (n < min)
		return -EINVAL;
	*ret = n;
	return 0;
}

/*
 * Digits with at most one point, and an optional "%": strtod() would take hex, "nan" and the
 * locale's comma. Up to 15 significant digits, which a double holds exactly enough to print them
 * again.
 */
static int parse_percentage(const char *value, double min, double max, double *ret)
{
	double mantissa = 0, scale = 1;
	int n_digits = 0, n_significant = 0;
	bool point = false;
	const char *p;

	for (p = value; isdigit((unsigned char)*p) || (*p == '.' && !point); p++) {
		if (*p == '.') {
			point = true;
			continue;
		}
		n_digits++;
		if (n_significant > 0 || *p != '0')
			n_significant++;
		if (n_significant > 15 || n_digits > 20)
			return -EINVAL;
		mantissa = mantissa * 10 + (*p - '0');
		if (point)
			scale *= 10;
	}
	if (n_digits == 0 || p[-1] == '.' || value[0] == '.')
		return -EINVAL;
	if (*p == '%')
		p++;
	if (*p || mantissa / scale < min || mantissa / scale > max)
		return -EINVAL;
	*ret = mantissa / scale;
	return 0;
}

static int parse_boolean(const char *value, bool *ret)
{
	static const char *const yes[] = { "1", "yes", "y", "true", "t", "on" };
	static const char *const no[] = { "0", "no", "n", "false", "f", "off" };

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		if (!strcasecmp(value, yes[i])) {
			*ret = true;
			return 0;
		}
		if (!strcasecmp(value, no[i])) {
			*ret = false;
			return 0;
		}
	}
	return -EINVAL;
}

static bool is_graphic(const char *text)
{
	for (; *text; text++)
		if (!isgraph((unsigned char)*text))
			return false;
	return true;
}

static int set_mode(struct config *c, const char *value)
{
	for (int mode = 0; mode < SNAPSHOT_MODES; mode++) {
		if (!strcmp(value, snapshot_mode_name(mode))) {
			c->mode = mode;
			return 0;
		}
	}
	return -EINVAL;
}

static int set_budget(struct config *c, const char *value)
{
	return parse_percentage(value, 0.01, 100, &c->budget_percent);
}

static int set_sample_frequency(struct config *c, const char *value)
{
	return parse_unsigned(value, 1, 10000, &c->sample_frequency_hz);
}

static int set_max_threads(struct config *c, const char *value)
{
	unsigned int n;
	int r = parse_unsigned(value, 8, 1048576, &n);

	if (r < 0)
		return r;
	if (n & (n - 1))
		return -EINVAL;
	c->max_threads = n;
	return 0;
}

static int set_max_groups(struct config *c, const char *value)
{
	return parse_unsigned(value, 1, 100000, &c->max_groups);
}

static int set_pid_label(struct config *c, const char *value)
{
	return parse_boolean(value, &c->pid_label);
}

bool config_listen_valid(const char *listen)
{
	unsigned char address[sizeof(struct in6_addr)];
	char host[INET6_ADDRSTRLEN];
	int family = AF_INET;
	unsigned int port;
	const char *colon;
	size_t n;

	/* Dumps and log lines are UTF-8, so a path must be; a blank would split it in two. */
	if (!strncmp(listen, "unix:", strlen("unix:"))) {
		const char *path = listen + strlen("unix:");
		char rendered[4 * sizeof(((struct sockaddr_un *)0)->sun_path)];

		n = strlen(path);
		if (path[0] != '/' || n >= sizeof(((struct sockaddr_un *)0)->sun_path) ||
		    path[n - 1] == '/')
			return false;
		for (const char *p = path; *p; p++)
			if ((unsigned char)*p <= ' ' || *p == 0x7f || *p == '\\')
				return false;
		name_render(path, n, rendered, sizeof(rendered));
		return !strcmp(path, rendered);
	}

	colon = strrchr(listen, ':');
	if (!colon || parse_unsigned(colon + 1, 1, 65535, &port) < 0)
		return false;
	n = (size_t)(colon - listen);
	if (n >= 2 && listen[0] == '[' && listen[n - 1] == ']') {
		family = AF_INET6;
		listen++;
		n -= 2;
	}
	if (n >= sizeof(host))
		return false;
	memcpy(host, listen, n);
	host[n] = '\0';
	return inet_pton(family, host, address) == 1;
}

static void listen_clear(struct config *c)
{
	for (char **l = c->listen; *l; l++) {
		free(*l);
		*l = NULL;
	}
	c->listen_is_default = false;
}

/* Adds an address unless it is in the list: it could not be opened twice. */
static int listen_add(struct config *c, const char *listen)
{
	size_t n = 0;
	char **grown;

	for (; c->listen[n]; n++)
		if (!strcmp(c->listen[n], listen))
			return 0;

	grown = reallocarray(c->listen, n + 2, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	c->listen = grown;
	grown[n + 1] = NULL;
	grown[n] = strdup(listen);
	return grown[n] ? 0 : -ENOMEM;
}

static int set_listen(struct config *c, const char *value)
{
	_cleanup_(freep) char *check = strdup(value), *add = strdup(value);
	size_t n_words = 0;
	char *save;

	if (!check || !add)
		return -ENOMEM;

	for (char *word = strtok_r(check, BLANKS, &save); word;
	     word = strtok_r(NULL, BLANKS, &save)) {
		if (!config_listen_valid(word))
			return -EINVAL;
		n_words++;
	}
	if (n_words == 0 || c->listen_is_default)
		listen_clear(c);
	for (char *word = strtok_r(add, BLANKS, &save); word;
	     word = strtok_r(NULL, BLANKS, &save)) {
		int r = listen_add(c, word);

		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Does one address, "unix:key=value,key=value", name a socket to connect to? Changes it. Addresses
 * of other kinds are refused, since bus.c cannot use them.
 */
static bool bus_address_valid(char *address)
{
	static const char transport[] = "unix:";
	bool found = false;
	char *pair, *rest;

	if (strncmp(address, transport, strlen(transport)) != 0)
		return false;
	rest = address + strlen(transport);
	while ((pair = strsep(&rest, ","))) {
		char *value = pair;
		const char *key = strsep(&value, "=");

		if (!*key || !value || !*value)
			return false;
		found = found || !strcmp(key, "path") || !strcmp(key, "abstract");
	}
	return found;
}

static int set_bus(struct config *c, const char *value)
{
	_cleanup_(freep) char *copy = strdup(value);
	char *bus, *address, *rest = copy;

	if (!copy)
		return -ENOMEM;
	if (strcmp(value, "system") && strcmp(value, "session") && strcmp(value, "none")) {
		if (!*value || strlen(value) > BUS_MAX || !is_graphic(value) || strchr(value, '\\'))
			return -EINVAL;
		while ((address = strsep(&rest, ";")))
			if (!bus_address_valid(address))
				return -EINVAL;
	}

	bus = strdup(value);
	if (!bus)
		return -ENOMEM;
	free(c->bus);
	c->bus = bus;
	return 0;
}

static const struct config_key keys[] = {
	{ "Measurement", "Mode", "auto, exact, burst, profile or off", set_mode },
	{ "Measurement", "Budget", "a percentage from 0.01 to 100", set_budget },
	{ "Measurement", "SampleFrequency", "a whole number from 1 to 10000",
	  set_sample_frequency },
	{ "Measurement", "MaxThreads", "a power of two from 8 to 1048576", set_max_threads },
	{ "Metrics", "Listen",
	  "ADDR:PORT, [ADDR6]:PORT or unix:/PATH with a numeric address, several separated by blanks",
	  set_listen },
	{ "Metrics", "MaxGroups", "a whole number from 1 to 100000", set_max_groups },
	{ "Metrics", "PidLabel", "yes or no", set_pid_label },
	{ "Bus", "Bus",
	  "system, session, none or the address of a Unix socket such as unix:path=/run/dbus/system_bus_socket",
	  set_bus },
};

const struct config_key *config_key_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

bool config_section_known(const char *section)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(keys[i].section, section))
			return true;
	return false;
}

int config_set(struct config *c, const char *key, const char *value, const char **ret_allowed)
{
	const struct config_key *k = config_key_find(key);
	int r;

	if (!k) {
		*ret_allowed =
			"Mode, Budget, SampleFrequency, MaxThreads, Listen, MaxGroups, PidLabel or Bus";
		return -ENOENT;
	}
	r = k->set(c, value);
	if (r < 0)
		*ret_allowed = k->allowed;
	return r;
}

struct config *config_new(void)
{
	_cleanup_(config_freep) struct config *c = calloc(1, sizeof(*c));
	struct config *ret;

	if (!c)
		return NULL;
	c->mode = MODE_AUTO;
	c->budget_percent = 1;
	c->sample_frequency_hz = 97;
	c->max_threads = 16384;
	c->max_groups = 200;
	c->bus = strdup("system");
	c->listen = calloc(1, sizeof(*c->listen));
	if (!c->bus || !c->listen || listen_add(c, PIPEWATCH_DEFAULT_LISTEN) < 0)
		return NULL;
	c->listen_is_default = true;

	ret = c;
	c = NULL;
	return ret;
}

struct config *config_free(struct config *c)
{
	if (!c)
		return NULL;
	for (char **l = c->listen; l && *l; l++)
		free(*l);
	free(c->listen);
	free(c->bus);
	free(c);
	return NULL;
}

/* Renders the character at the start of @text, or its first byte where that begins none. Returns
 * how many bytes it took. */
static size_t render_character(const char *text, char ret[static 17])
{
	unsigned char lead = (unsigned char)text[0];
	size_t n = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;

	n = strnlen(text, n);
	/* Valid text comes back as it is; else judge the first byte alone. */
	if (name_render(text, n, ret, 17) != n && n > 1) {
		n = 1;
		name_render(text, n, ret, 17);
	}
	/* C0, DEL and C1 (U+0080 .. U+009F) could steer a terminal. */
	if (n == 1 && (lead < ' ' || lead == 0x7f))
		snprintf(ret, 17, "\\x%02x", lead);
	else if (n == 2 && lead == 0xc2 && (unsigned char)text[1] < 0xa0)
		snprintf(ret, 17, "\\xc2\\x%02x", (unsigned char)text[1]);
	return n;
}

const char *config_render(const char *text, char *ret, size_t ret_size)
{
	static const char ellipsis[] = "...";
	size_t used = 0, cut_at = 0; /* cut_at: the last end of a character with room for the
					ellipsis behind */

	while (*text) {
		char character[17];
		size_t n_text = render_character(text, character), n = strlen(character);

		if (used + n >= ret_size) {
			used = cut_at;
			if (sizeof(ellipsis) <= ret_size) {
				memcpy(ret + used, ellipsis, strlen(ellipsis));
				used += strlen(ellipsis);
			}
			break;
		}
		memcpy(ret + used, character, n);
		used += n;
		text += n_text;
		if (used + sizeof(ellipsis) <= ret_size)
			cut_at = used;
	}
	ret[used] = '\0';
	return ret;
}

void config_dump(const struct config *c, FILE *f)
{
	fprintf(f, "[Measurement]\n");
	fprintf(f, "Mode=%s\n", snapshot_mode_name(c->mode));
	fprintf(f, "Budget=%.15g\n", c->budget_percent);
	fprintf(f, "SampleFrequency=%u\n", c->sample_frequency_hz);
	fprintf(f, "MaxThreads=%u\n", c->max_threads);

	fprintf(f, "\n[Metrics]\n");
	if (!c->listen[0])
		fprintf(f, "Listen=\n");
	for (char **l = c->listen; *l; l++)
		fprintf(f, "Listen=%s\n", *l);
	fprintf(f, "MaxGroups=%u\n", c->max_groups);
	fprintf(f, "PidLabel=%s\n", c->pid_label ? "yes" : "no");

	fprintf(f, "\n[Bus]\n");
	fprintf(f, "Bus=%s\n", c->bus);
}
