// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/btf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipewatch/util.h"
#include "symbols.h"
#include "text.h"

struct symbols {
	char *btf_path, *kallsyms_path;
	bool loaded;
	struct btf *btf;
	char *names; /* without BTF: "\nname\nname\n", functions of the kernel proper */
	int error;   /* without either: why */
};

/* Takes the functions of the kernel proper: lines "ADDRESS t NAME" without a "[module]" behind. */
static int names_read(const char *path, char **ret_names)
{
	_cleanup_(freep) char *line = NULL, *names = NULL;
	_cleanup_(fclosep) FILE *f = fopen(path, "re");
	size_t line_size = 0, n_names = 0;
	char name[256], type;
	struct text text;
	int r;

	if (!f)
		return -errno;
	r = text_open(&text);
	if (r < 0)
		return r;
	fputc('\n', text.stream);
	errno = 0;
	while (getline(&line, &line_size, f) >= 0) {
		char module;

		if (sscanf(line, "%*x %c %255s %c", &type, name, &module) != 2 ||
		    !strchr("tTwW", type))
			continue;
		fprintf(text.stream, "%s\n", name);
		n_names++;
	}
	r = ferror(f) ? (errno ? -errno : -EIO) : 0;
	if (text_close(&text, &names, NULL) < 0)
		return -ENOMEM;
	if (r < 0)
		return r;
	if (n_names == 0)
		return -ENODATA;
	*ret_names = names;
	names = NULL;
	return 0;
}

static int load(struct symbols *s)
{
	s->error = 0;
	/* Asked first, so that libbpf has no reason to complain about an absent file. */
	if (access(s->btf_path, R_OK) == 0)
		s->btf = btf__parse_raw(s->btf_path);
	if (!s->btf) {
		s->error = names_read(s->kallsyms_path, &s->names);
		if (s->error == -ENOMEM)
			return -ENOMEM;
	}
	s->loaded = true;
	return 0;
}

int symbols_open_at(const char *btf_path, const char *kallsyms_path, struct symbols **ret_symbols)
{
	_cleanup_(symbols_freep) struct symbols *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->btf_path = strdup(btf_path);
	s->kallsyms_path = strdup(kallsyms_path);
	if (!s->btf_path || !s->kallsyms_path)
		return -ENOMEM;
	r = load(s);
	if (r < 0)
		return r;
	*ret_symbols = s;
	s = NULL;
	return 0;
}

int symbols_open(struct symbols **ret_symbols)
{
	return symbols_open_at("/sys/kernel/btf/vmlinux", "/proc/kallsyms", ret_symbols);
}

void symbols_unload(struct symbols *s)
{
	btf__free(s->btf);
	free(s->names);
	s->btf = NULL;
	s->names = NULL;
	s->loaded = false;
}

struct symbols *symbols_free(struct symbols *s)
{
	if (!s)
		return NULL;
	symbols_unload(s);
	free(s->btf_path);
	free(s->kallsyms_path);
	free(s);
	return NULL;
}

int symbols_has(void *userdata, const char *function)
{
	struct symbols *s = userdata;
	char needle[258];
	int r;

	r = s->loaded ? 0 : load(s);
	if (r < 0)
		return r;
	if (s->btf) {
		int id = btf__find_by_name_kind(s->btf, function, BTF_KIND_FUNC);

		return id == -ENOENT ? 0 : id < 0 ? id : 1;
	}
	if (!s->names)
		return s->error;
	if (snprintf(needle, sizeof(needle), "\n%s\n", function) >= (int)sizeof(needle))
		return 0;
	return strstr(s->names, needle) ? 1 : 0;
}
