/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where functions of the kernel proper are in memory, by /proc/kallsyms. The addresses are shown
 * only to a process that has CAP_SYSLOG when it opens the file.
 */
#ifndef PIPEWATCH_KALLSYMS_H
#define PIPEWATCH_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

/* [begin, end) belongs to a function as a whole, or is a part that the compiler split off
 * (NAME.cold, NAME.part.0, …). */
struct kallsyms_range {
	size_t function; /* index into the names asked for */
	uint64_t begin;
	uint64_t end;
};

/*
 * Finds every part of @functions (NULL-terminated). Functions that the kernel does not have are
 * left out. Returns 0; -EACCES where addresses are hidden; -ENOSPC for more than @max parts;
 * -ENODATA when there are no symbols at all; or -errno of reading.
 */
int kallsyms_find(const char *path, const char *const *functions, struct kallsyms_range *ret,
		  size_t max, size_t *ret_n);

/*
 * The same in an open file, passed by a process that may see the addresses. It stays open. -ENOTTY:
 * it is not a file of /proc.
 */
int kallsyms_find_passed(int fd, const char *const *functions, struct kallsyms_range *ret,
			 size_t max, size_t *ret_n);

#endif
