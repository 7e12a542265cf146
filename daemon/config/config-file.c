// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "config.h"
#include "config-key.h"
#include "dropin.h"
#include "pipewatch/api.h"
#include "pipewatch/util.h"

#define BLANKS	       " \t"
#define FILE_BYTES_MAX (1 << 20)

/*
 * A file that is being read. The INI parser takes its lines from next_line(), which refuses what
 * the parser would silently misread: lines longer than its buffer, continuation lines, "key:
 * value", NUL bytes, and text after a section's bracket.
 */
struct reading {
	struct config *config;
	FILE *stream;
	char file[256]; /* rendered for messages */
	int line;
	char *buffer;
	size_t buffer_size;
	void (*warn)(const char *line);
	struct config_error *error;
	int r; /* the first error; reading ends there */
};

__attribute__((format(printf, 3, 4))) static void fail(struct reading *reading, int r,
						       const char *format, ...)
{
	char what[sizeof(reading->error->message) - sizeof(reading->file) - 16];
	va_list ap;

	if (reading->r < 0)
		return;
	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	reading->r = r;
	if (reading->line > 0)
		snprintf(reading->error->message, sizeof(reading->error->message), "%s:%d: %s",
			 reading->file, reading->line, what);
	else
		snprintf(reading->error->message, sizeof(reading->error->message), "%s: %s",
			 reading->file, what);
}

__attribute__((format(printf, 2, 3))) static void warn(struct reading *reading, const char *format,
						       ...)
{
	char what[256], line[sizeof(what) + sizeof(reading->file) + 16];
	va_list ap;

	if (!reading->warn)
		return;
	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	snprintf(line, sizeof(line), "%s:%d: %s", reading->file, reading->line, what);
	reading->warn(line);
}

/* "[Section]", perhaps followed by a comment. An unknown section is reported here, once, rather
 * than for each of its keys. */
static void check_section(struct reading *reading, char *line)
{
	char *end = strchr(line, ']'), *rest, rendered[64];

	rest = end ? end + 1 + strspn(end + 1, BLANKS) : NULL;
	if (!rest || (*rest && *rest != ';' && *rest != '#')) {
		fail(reading, -EINVAL,
		     "\"%s\" is not a section; \"[Section]\" alone on its line is.",
		     config_render(line, rendered, sizeof(rendered)));
		return;
	}
	*rest = '\0';
	*end = '\0';
	if (!config_section_known(line + 1) && strncmp(line + 1, "X-", 2))
		warn(reading, "Unknown section [%s], ignored.",
		     config_render(line + 1, rendered, sizeof(rendered)));
	*end = ']';
}

static void check_assignment(struct reading *reading, const char *line, size_t n_line)
{
	const char *separator = strpbrk(line, "=:");
	char rendered[64];

	if (!separator || separator == line || *separator == ':')
		fail(reading, -EINVAL, "\"%s\" is neither \"[Section]\" nor \"Key=Value\".",
		     config_render(line, rendered, sizeof(rendered)));
	else if (line[n_line - 1] == '\\')
		fail(reading, -EINVAL,
		     "The line ends in a backslash, but continuation lines are not supported.");
}

static char *next_line(char *ret, int size, void *userdata)
{
	struct reading *reading = userdata;
	char *line;
	ssize_t n;

	if (reading->r < 0)
		return NULL;
	errno = 0;
	n = getline(&reading->buffer, &reading->buffer_size, reading->stream);
	if (n < 0) {
		if (ferror(reading->stream) || errno == ENOMEM)
			fail(reading, -(errno ?: EIO), "Cannot be read: %s.",
			     strerror(errno ?: EIO));
		return NULL;
	}
	reading->line++;
	line = reading->buffer;

	if (memchr(line, '\0', (size_t)n)) {
		fail(reading, -EINVAL, "The line holds a NUL byte; the file is to be UTF-8 text.");
		return NULL;
	}
	if (reading->line == 1 && !strncmp(line, "\xef\xbb\xbf", 3)) {
		line += 3;
		n -= 3;
	}
	/* The parser would take a line that begins with a blank for a continuation. */
	while (n > 0 && strchr(BLANKS "\r\n", line[n - 1]))
		line[--n] = '\0';
	while (strchr(BLANKS, *line) && *line) {
		line++;
		n--;
	}

	if (n == 0 || *line == '#' || *line == ';') {
		*ret = '\0';
		return ret;
	}
	if (*line == '[')
		check_section(reading, line);
	else
		check_assignment(reading, line, (size_t)n);
	if (reading->r < 0)
		return NULL;
	n = (ssize_t)strlen(line);
	if (n > size - 3) {
		fail(reading, -EINVAL, "The line is longer than %d characters.", size - 3);
		return NULL;
	}
	memcpy(ret, line, (size_t)n + 1);
	return ret;
}

static int assign(void *userdata, const char *section, const char *name, const char *value)
{
	struct reading *reading = userdata;
	const struct config_key *key = config_key_find(name);
	char rendered_name[64], rendered_value[100];
	int r;

	config_render(name, rendered_name, sizeof(rendered_name));
	if (!*section) {
		warn(reading, "%s= stands before the first section, ignored.", rendered_name);
		return 1;
	}
	if (!config_section_known(section) || !strncmp(name, "X-", 2))
		return 1;
	if (!key) {
		warn(reading, "Unknown key %s= in section [%s], ignored.", rendered_name, section);
		return 1;
	}
	if (strcmp(key->section, section)) {
		warn(reading, "Unknown key %s= in section [%s], ignored; it belongs in [%s].",
		     rendered_name, section, key->section);
		return 1;
	}

	r = key->set(reading->config, value);
	if (r == -EINVAL)
		fail(reading, r, "%s=%s is not allowed; allowed is %s.", key->name,
		     config_render(value, rendered_value, sizeof(rendered_value)), key->allowed);
	else if (r < 0)
		fail(reading, r, "%s= cannot be stored: %s.", key->name, strerror(-r));
	return r == 0;
}

/* Accepts a regular file, or /dev/null, by which a drop-in of the distribution is masked. Opening
 * anything else may block or have side effects. */
static int check_type(struct reading *reading, const struct stat *st)
{
	if (S_ISREG(st->st_mode)) {
		if (st->st_size <= FILE_BYTES_MAX)
			return 0;
		fail(reading, -EFBIG, "Larger than 1 MiB, which no configuration is.");
	} else if (S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3)) {
		return 0;
	} else if (S_ISDIR(st->st_mode)) {
		fail(reading, -EISDIR, "Is a directory, but a file is needed.");
	} else {
		fail(reading, -ENOTSUP, "Is not a regular file.");
	}
	return reading->r;
}

/* Returns -ENOENT only when the file itself is absent. */
static int read_file(struct config *c, const char *file, void (*warn_fn)(const char *line),
		     struct config_error *error)
{
	struct reading reading = { .config = c, .warn = warn_fn, .error = error };
	_cleanup_(fclosep) FILE *stream = NULL;
	_cleanup_(closep) int fd = -1;
	struct stat st;
	int r;

	config_render(file, reading.file, sizeof(reading.file));
	if (stat(file, &st) < 0) {
		fail(&reading, -errno, "Cannot be read: %s.", strerror(errno));
		return reading.r;
	}
	r = check_type(&reading, &st);
	if (r < 0)
		return r;
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0) {
		fail(&reading, -errno, "Cannot be read: %s.", strerror(errno));
		return reading.r;
	}
	r = check_type(&reading, &st);
	if (r < 0)
		return r;
	stream = fdopen(fd, "re");
	if (!stream)
		return -ENOMEM;
	fd = -1;

	reading.stream = stream;
	r = ini_parse_stream(next_line, &reading, assign, &reading);
	free(reading.buffer);
	if (reading.r < 0)
		return reading.r;
	if (r != 0) {
		reading.line = r > 0 ? r : 0;
		fail(&reading, -EINVAL, "The line is neither \"[Section]\" nor \"Key=Value\".");
		return reading.r;
	}
	return 0;
}

int config_read_below(struct config *c, const char *root, const char *file,
		      void (*warn_fn)(const char *line), struct config_error *ret_error)
{
	static const char *const everywhere[] = {
		"/etc/pipewatch/pipewatch.conf.d",
		"/run/pipewatch/pipewatch.conf.d",
		"/usr/local/lib/pipewatch/pipewatch.conf.d",
		"/usr/lib/pipewatch/pipewatch.conf.d",
		NULL,
	};
	_cleanup_(freep) char *path = NULL, *beside = NULL;
	_cleanup_(dropin_list_freep) char **dropins = NULL;
	char failed[PATH_MAX], rendered[256];
	const char *directories[2] = { NULL };
	struct config_error error = { "Out of memory." };
	int r;

	if (asprintf(&path, "%s%s", root, file ?: PIPEWATCH_CONFIG_FILE) < 0) {
		path = NULL;
		r = -ENOMEM;
		goto fail;
	}
	r = read_file(c, path, warn_fn, &error);
	if (r < 0 && (r != -ENOENT || file))
		goto fail;
	error = (struct config_error){ "Out of memory." };

	if (file) {
		if (asprintf(&beside, "%s.d", file) < 0) {
			beside = NULL;
			r = -ENOMEM;
			goto fail;
		}
		directories[0] = beside;
	}
	r = dropin_find(root, file ? directories : everywhere, &dropins, failed);
	if (r < 0) {
		if (r != -ENOMEM)
			snprintf(error.message, sizeof(error.message), "%s: Cannot be read: %s.",
				 config_render(failed, rendered, sizeof(rendered)), strerror(-r));
		goto fail;
	}
	for (char **dropin = dropins; *dropin; dropin++) {
		r = read_file(c, *dropin, warn_fn, &error);
		if (r < 0)
			goto fail;
	}
	return 0;
fail:
	*ret_error = error;
	return r;
}

int config_read(struct config *c, const char *file, void (*warn_fn)(const char *line),
		struct config_error *ret_error)
{
	return config_read_below(c, "", file, warn_fn, ret_error);
}
