// SPDX-License-Identifier: GPL-2.0-or-later
#include "detachment.h"

#include <string.h>
#include <unistd.h>

#include "pipewatch/clock.h"

static void *detachment_run(void *userdata)
{
	struct detachment *d = userdata;

	for (int i = 0; i < DETACHMENT_FDS; i++)
		if (d->fds[i] >= 0)
			close(d->fds[i]);
	__atomic_store_n(&d->end_usec, monotonic_usec(), __ATOMIC_RELEASE);
	return NULL;
}

void detachment_begin(struct detachment *d, const int fds[static DETACHMENT_FDS])
{
	detachment_join(d);
	memcpy(d->fds, fds, sizeof(d->fds));
	d->end_usec = 0;
	d->running = pthread_create(&d->thread, NULL, detachment_run, d) == 0;
	if (!d->running)
		detachment_run(d);
}

uint64_t detachment_end_usec(const struct detachment *d)
{
	return __atomic_load_n(&d->end_usec, __ATOMIC_ACQUIRE);
}

void detachment_join(struct detachment *d)
{
	if (d->running)
		pthread_join(d->thread, NULL);
	d->running = false;
}
