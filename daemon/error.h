/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of error numbers, which say more to those who read manual pages than sentences do. */
#ifndef PIPEWATCH_ERROR_H
#define PIPEWATCH_ERROR_H

#include <errno.h>
#include <string.h>

/* What the kernel's BPF code returns for what it does not support here; <errno.h> has no such name.
 */
#define KERNEL_ENOTSUPP 524

/* "EPERM" for EPERM and for -EPERM. */
static inline const char *error_name(int error)
{
	const char *name;

	if (error < 0)
		error = -error;
	if (error == KERNEL_ENOTSUPP)
		return "ENOTSUPP";
	name = strerrorname_np(error);
	return name ? name : "unknown error";
}

#endif
