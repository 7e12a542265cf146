// SPDX-License-Identifier: GPL-2.0-or-later
#include "privilege.h"

#include <errno.h>
#include <sys/prctl.h>

#include <cap-ng.h>

int privilege_drop(void)
{
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	capng_clear(CAPNG_SELECT_CAPS);
	return capng_apply(CAPNG_SELECT_CAPS) < 0 ? -EPERM : 0;
}
