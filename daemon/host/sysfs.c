// SPDX-License-Identifier: GPL-2.0-or-later
#include "sysfs.h"

#include <string.h>

#include "pipewatch/util.h"

void sysfs_read(const char *path, char *ret, size_t size)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "re");

	ret[0] = '\0';
	if (f && fgets(ret, (int)size, f))
		ret[strcspn(ret, "\n")] = '\0';
}
