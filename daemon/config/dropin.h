/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the *.conf files that belong to a configuration file, with the order of directories,
 * masking and sorting of systemd.
 */
#ifndef PIPEWATCH_DROPIN_H
#define PIPEWATCH_DROPIN_H

#include <limits.h>

/*
 * Lists *.conf of @directories (NULL-terminated, each taken below @root), sorted by base name in
 * byte order; of equal names only that in the first directory is listed. Hidden files are passed
 * over, absent directories too. Returns 0 and a NULL-terminated list for dropin_list_free();
 * -ENOMEM; or -errno of a directory that cannot be read, named in @ret_failed.
 */
int dropin_find(const char *root, const char *const *directories, char ***ret_files,
		char ret_failed[static PATH_MAX]);

char **dropin_list_free(char **files); /* takes NULL; returns NULL */

static inline void dropin_list_freep(char ***files)
{
	dropin_list_free(*files);
}

#endif
