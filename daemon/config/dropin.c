// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "dropin.h"
#include "pipewatch/util.h"

#define SUFFIX ".conf"

static void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int compare_base_names(const void *a, const void *b)
{
	return strcmp(base_name(*(char *const *)a), base_name(*(char *const *)b));
}

static bool is_dropin(const char *name)
{
	size_t n = strlen(name);

	return name[0] != '.' && n > strlen(SUFFIX) && !strcmp(name + n - strlen(SUFFIX), SUFFIX);
}

static bool list_has(char **files, size_t n_files, const char *name)
{
	for (size_t i = 0; i < n_files; i++)
		if (!strcmp(base_name(files[i]), name))
			return true;
	return false;
}

/* Appends the drop-ins of one directory that no earlier directory masks. */
static int list_add(char ***files, size_t *n_files, const char *directory)
{
	_cleanup_(closedirp) DIR *d = opendir(directory);
	size_t n_masking = *n_files;

	if (!d)
		return errno == ENOENT ? 0 : -errno;

	for (;;) {
		struct dirent *entry;
		char **grown;

		errno = 0;
		entry = readdir(d);
		if (!entry)
			return -errno;
		if (!is_dropin(entry->d_name) || list_has(*files, n_masking, entry->d_name))
			continue;

		grown = reallocarray(*files, *n_files + 2, sizeof(**files));
		if (!grown)
			return -ENOMEM;
		*files = grown;
		if (asprintf(&grown[*n_files], "%s/%s", directory, entry->d_name) < 0) {
			grown[*n_files] = NULL;
			return -ENOMEM;
		}
		grown[++*n_files] = NULL;
	}
}

int dropin_find(const char *root, const char *const *directories, char ***ret_files,
		char ret_failed[static PATH_MAX])
{
	_cleanup_(dropin_list_freep) char **files = calloc(1, sizeof(*files));
	size_t n_files = 0;

	if (!files)
		return -ENOMEM;

	for (; *directories; directories++) {
		_cleanup_(freep) char *directory = NULL;
		int r;

		if (asprintf(&directory, "%s%s", root, *directories) < 0) {
			directory = NULL;
			return -ENOMEM;
		}
		r = list_add(&files, &n_files, directory);
		if (r < 0) {
			snprintf(ret_failed, PATH_MAX, "%s", directory);
			return r;
		}
	}

	qsort(files, n_files, sizeof(*files), compare_base_names);
	*ret_files = files;
	files = NULL;
	return 0;
}

char **dropin_list_free(char **files)
{
	for (char **f = files; f && *f; f++)
		free(*f);
	free(files);
	return NULL;
}
