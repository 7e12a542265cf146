/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything between the kernel and the publishers: finds the verdict, runs the measurement, and
 * makes the snapshots. Knows no publisher.
 */
#ifndef PIPEWATCH_SERVICE_H
#define PIPEWATCH_SERVICE_H

#include "config.h"
#include "snapshot.h"

struct service;

/*
 * Finds the verdict, and loads and attaches the programs if the mode wants them. That counting
 * turns out to be impossible is no error, but makes the service degraded: see service_exit_code().
 * Copies what it needs of @config. Returns 0 or -errno.
 */
int service_new(const struct config *config, struct service **ret_service);
struct service *service_free(struct service *s); /* detaches */

static inline void service_freep(struct service **s)
{
	service_free(*s);
}

/*
 * 0 when what the mode asks for is measured, else the exit code that says why not
 * (pipewatch/api.h), and sentences with cause and remedy.
 */
int service_exit_code(const struct service *s, const char **ret_reason);

/* Applies what of a new configuration needs no restart: Mode=, Budget= and PidLabel=. Returns the
 * first other setting that has changed, or NULL. */
const char *service_reconfigure(struct service *s, const struct config *config);

/* A snapshot_get_fn; @userdata is the service. A snapshot is served again for up to 10 ms. */
int service_get(void *userdata, const struct snapshot_wish *wish, struct snapshot **ret_snapshot);

/* Books what has been counted; to be called every SERVICE_COLLECT_SEC, and with @wake when
 * service_wake_fd() is readable. */
int service_collect(struct service *s, bool wake);
int service_wake_fd(const struct service *s); /* -1: none; changes with the mode */

/* Does what is due: looks at rates, changes the mode, opens windows, calibrates. Returns in how
 * many microseconds it is to be called again. */
uint64_t service_step(struct service *s);

/* Why the last window was not counted, as -errno; 0: it was. The next one tries again. */
int service_window_error(const struct service *s);

/* The mode in force, and why. */
enum snapshot_mode service_mode(const struct service *s, const char **ret_reason);

/* May BPF programs be attached again while it runs? */
bool service_reattaches(const struct service *s);

/* A privilege_works_fn: @userdata is the service. */
bool service_permitted(void *userdata);

#define SERVICE_COLLECT_SEC 10

/* --check: verdict and what can be measured, to @f. Returns the exit code. */
int service_check(const struct config *config, FILE *f);

#endif
