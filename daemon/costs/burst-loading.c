// SPDX-License-Identifier: GPL-2.0-or-later
#include "burst-loading.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipewatch/clock.h"

struct burst_loading {
	pthread_t thread;
	const char *const *directories;
	atomic_bool stop; /* set by the caller */
	atomic_bool done; /* set by the thread; what follows is the thread's until then */
	int result;
	char reason[256];
	double cpu_seconds;
	struct burst *burst; /* NULL: none, or handed out */
};

static void *loading_run(void *userdata)
{
	struct burst_loading *l = userdata;

	l->result = burst_new(l->directories, &l->stop, l->reason, sizeof(l->reason), &l->burst);
	l->cpu_seconds = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
	atomic_store(&l->done, true);
	return NULL;
}

int burst_loading_new(const char *const *directories, struct burst_loading **ret_loading)
{
	struct burst_loading *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->directories = directories;
	r = pthread_create(&l->thread, NULL, loading_run, l);
	if (r > 0) {
		free(l);
		return -r;
	}
	*ret_loading = l;
	return 0;
}

void burst_loading_stop(struct burst_loading *l)
{
	atomic_store(&l->stop, true);
}

int burst_loading_result(struct burst_loading *l, char *ret_reason, size_t size,
			 struct burst **ret_burst)
{
	if (!atomic_load(&l->done))
		return -EAGAIN;
	if (l->result < 0) {
		snprintf(ret_reason, size, "%s", l->reason);
		return l->result;
	}
	*ret_burst = l->burst;
	l->burst = NULL;
	return 0;
}

double burst_loading_cpu_seconds(const struct burst_loading *l)
{
	return l->cpu_seconds;
}

struct burst_loading *burst_loading_free(struct burst_loading *l)
{
	if (!l)
		return NULL;
	burst_loading_stop(l);
	pthread_join(l->thread, NULL);
	burst_free(l->burst);
	free(l);
	return NULL;
}
