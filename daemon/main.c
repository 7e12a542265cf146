// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pipewatchd: command line, configuration, the phases of the start, and the event loop. Everything
 * that goes wrong anywhere is logged here, once.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "bus.h"
#include "pipewatch/clock.h"
#include "config.h"
#include "http.h"
#include "log.h"
#include "memory.h"
#include "options.h"
#include "pipewatch/api.h"
#include "pipewatch/util.h"
#include "privilege.h"
#include "service.h"

/* By default sd-event moves timers by up to 250 ms, to a grid that is the same on the whole host:
 * longer than a window, and in step with others. */
#define STEP_ACCURACY_USEC 1000

#define USEC_PER_SEC UINT64_C(1000000)

struct daemon {
	const struct options *options;
	struct config *config;
	sd_event *event;
	struct service *service;
	struct http *http;
	struct bus *bus;
	sd_event_source *wake;
	int wake_fd;		 /* what wake polls; -1: nothing */
	enum snapshot_mode mode; /* as last told */
	bool collect_failed;	 /* and told so */
	int window_error;	 /* likewise */
};

static void warn_line(const char *line)
{
	log_message(LOG_WARNING, "%s", line);
}

static int fail_os(const char *what, int error)
{
	log_message(LOG_ERR, "%s: %s", what, strerror(-error));
	return PIPEWATCH_EXIT_OS;
}

/* Files, then command line. Returns 0 or an exit code, having logged why. */
static int read_config(const struct options *options, struct config **ret_config)
{
	_cleanup_(config_freep) struct config *c = config_new();
	struct config_error error;
	int r;

	if (!c)
		return fail_os("Reading the configuration failed", -ENOMEM);
	r = config_read(c, options->config_file, warn_line, &error);
	if (r < 0) {
		log_message(LOG_ERR, "%s", error.message);
		return PIPEWATCH_EXIT_CONFIG;
	}
	r = options_apply(options, c);
	if (r < 0)
		return fail_os("Applying the command line failed", r);
	*ret_config = c;
	c = NULL;
	return 0;
}

static void log_bus(void *userdata, int level, const char *message)
{
	(void)userdata;
	log_message(level, "%s", message);
}

static void collect(struct daemon *d, bool wake)
{
	int r = service_collect(d->service, wake);

	if (r < 0 && !d->collect_failed)
		log_message(
			LOG_WARNING,
			"Reading the counters failed: %s. Nothing is lost yet; the next round tries again.",
			strerror(-r));
	d->collect_failed = r < 0;
}

static void tell_states(struct daemon *d)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;

	if (d->bus && service_get(d->service, &(struct snapshot_wish){}, &s) >= 0)
		bus_states_changed(d->bus, s);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	int r;

	(void)usec;
	collect(userdata, false);
	tell_states(userdata);
	r = sd_event_source_set_time_relative(source, SERVICE_COLLECT_SEC * USEC_PER_SEC);
	return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_wake(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)source;
	(void)fd;
	(void)events;
	collect(userdata, true);
	return 0;
}

/* Polls what the measurement wants to be polled, which changes with the mode. Where that fails it
 * is tried again with the next step; until then the counters are read by the timer alone. */
static void follow_wake_fd(struct daemon *d)
{
	int fd = service_wake_fd(d->service), r;

	if (fd == d->wake_fd)
		return;
	d->wake = sd_event_source_disable_unref(d->wake);
	d->wake_fd = -1;
	if (fd < 0)
		return;
	r = sd_event_add_io(d->event, &d->wake, fd, EPOLLIN, on_wake, d);
	if (r < 0)
		log_message(LOG_WARNING,
			    "Watching for ends of threads failed: %s. It is tried again.",
			    strerror(-r));
	else
		d->wake_fd = fd;
}

/* Logs a change of mode, and tells it on the bus. */
static void follow_mode(struct daemon *d)
{
	const char *reason;
	enum snapshot_mode mode = service_mode(d->service, &reason);

	if (mode != d->mode) {
		log_message(LOG_INFO, "Mode %s. %s", snapshot_mode_name(mode), reason);
		tell_states(d);
		d->mode = mode;
	}
	follow_wake_fd(d);
}

static void follow_windows(struct daemon *d)
{
	int error = service_window_error(d->service);

	if (error < 0 && error != d->window_error)
		log_message(LOG_WARNING,
			    "A window could not be counted: %s. The next one tries again.",
			    strerror(-error));
	d->window_error = error;
}

static int on_step(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct daemon *d = userdata;
	uint64_t next_usec = service_step(d->service);
	int r;

	(void)usec;
	follow_windows(d);
	follow_mode(d);
	r = sd_event_source_set_time_relative(source, next_usec);
	return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* On failure everything stays as it was. */
static void reload(struct daemon *d)
{
	_cleanup_(config_freep) struct config *fresh = NULL;
	const char *failed, *restart;
	int r;

	if (read_config(d->options, &fresh) != 0) {
		log_message(LOG_ERR, "Reload failed: the old configuration stays in force.");
		return;
	}
	/* A passed socket stands in for the default address, as at the start. */
	if (!(fresh->listen_is_default && sd_listen_fds(0) > 0)) {
		r = http_relisten(d->http, fresh->listen, &failed);
		if (r < 0) {
			log_message(
				LOG_ERR,
				"Reload failed: listening on %s: %s. The old configuration stays in force.",
				failed, strerror(-r));
			return;
		}
	}
	restart = service_reconfigure(d->service, fresh);
	if (!restart && strcmp(fresh->bus, d->config->bus))
		restart = "Bus=";
	if (restart)
		log_message(LOG_WARNING,
			    "Reloaded, but the new %s takes effect only with a restart.", restart);
	else
		log_message(LOG_INFO, "Reloaded.");
	config_free(d->config);
	d->config = fresh;
	fresh = NULL;
}

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	(void)source;
	(void)info;
	sd_notifyf(false, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, monotonic_usec());
	reload(userdata);
	follow_mode(userdata);
	tell_states(userdata);
	sd_notify(false, "READY=1");
	return 0;
}

/* A timer that the loop keeps. When its handler fails the loop ends: by default sd-event would only
 * switch the timer off, and a daemon that looks well would measure nothing. */
static int add_timer(struct daemon *d, uint64_t usec, uint64_t accuracy_usec,
		     sd_event_time_handler_t handler)
{
	_cleanup_(sd_event_source_unrefp) sd_event_source *source = NULL;
	int r = sd_event_add_time_relative(d->event, &source, CLOCK_MONOTONIC, usec, accuracy_usec,
					   handler, d);

	if (r >= 0)
		r = sd_event_source_set_exit_on_failure(source, true);
	if (r >= 0)
		r = sd_event_source_set_floating(source, true);
	return r;
}

/* Blocks the signals first, so that none is missed or kills us during the start. */
static int add_signals(struct daemon *d)
{
	sigset_t set;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	signal(SIGPIPE, SIG_IGN);
	r = sd_event_add_signal(d->event, NULL, SIGTERM, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(d->event, NULL, SIGINT, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(d->event, NULL, SIGHUP, on_hangup, d);
	return r;
}

static int add_collection(struct daemon *d)
{
	const char *reason;
	int r;

	r = add_timer(d, SERVICE_COLLECT_SEC * USEC_PER_SEC, 0, on_timer);
	if (r >= 0)
		r = add_timer(d, 0, STEP_ACCURACY_USEC, on_step);
	if (r < 0)
		return r;
	d->wake_fd = -1;
	d->mode = service_mode(d->service, &reason);
	follow_mode(d);
	return 0;
}

static void strings_freep(char ***strings)
{
	for (char **s = *strings; s && *s; s++)
		free(*s);
	free(*strings);
}

/* Returns how many sockets systemd has passed, or -errno, having logged why. */
static int serve_passed(struct daemon *d)
{
	_cleanup_(strings_freep) char **names = NULL;
	int n = sd_listen_fds_with_names(false, &names);

	if (n < 0) {
		fail_os("Taking over the sockets passed by systemd failed", n);
		return n;
	}
	for (int i = 0; i < n; i++) {
		int r = http_listen_fd(d->http, SD_LISTEN_FDS_START + i);

		if (r >= 0)
			continue;
		log_message(
			LOG_ERR,
			"The passed socket %s cannot be used: %s. Pass listening stream sockets only.",
			names[i], strerror(-r));
		return r;
	}
	return n;
}

/* Returns 0 or an exit code, having logged why. */
static int serve_http(struct daemon *d)
{
	int n_passed, r;

	r = http_new(d->event, service_get, d->service, &d->http);
	if (r < 0)
		return fail_os("Starting the HTTP server failed", r);
	n_passed = serve_passed(d);
	if (n_passed < 0)
		return PIPEWATCH_EXIT_OS;

	/* systemd has probably opened the default address; any other was asked for. */
	if (n_passed > 0 && d->config->listen_is_default)
		return 0;
	for (char **listen = d->config->listen; *listen; listen++) {
		r = http_listen(d->http, *listen);
		if (r == -EADDRINUSE) {
			log_message(
				LOG_ERR,
				"Cannot listen on %s: it is in use, perhaps by another pipewatchd. Stop that, or choose another address with Listen= or --listen.",
				*listen);
			return PIPEWATCH_EXIT_OS;
		}
		if (r < 0) {
			log_message(LOG_ERR, "Cannot listen on %s: %s.", *listen, strerror(-r));
			return PIPEWATCH_EXIT_OS;
		}
	}
	return 0;
}

/* Says once what cannot be measured. Whether that ends the start depends on the mode asked for. */
static int judge_service(const struct daemon *d)
{
	const char *reason;
	int code = service_exit_code(d->service, &reason);

	if (code == 0)
		return 0;
	if (d->config->mode == MODE_AUTO) {
		log_message(LOG_WARNING, "Running degraded, without counting. %s", reason);
		return 0;
	}
	log_message(LOG_ERR, "%s With --mode auto pipewatchd would run without counting.", reason);
	return code;
}

/* Returns 0 or an exit code, having logged why. Before anything is attached, and while signals
 * still end us at once. */
static int check_alone(const struct daemon *d)
{
	char message[1024];

	if (!strcmp(d->config->bus, "none") || !bus_taken(d->config->bus, message, sizeof(message)))
		return 0;
	log_message(LOG_ERR, "%s", message);
	return PIPEWATCH_EXIT_UNAVAILABLE;
}

static int daemon_start(struct daemon *d)
{
	int r;

	r = check_alone(d);
	if (r != 0)
		return r;
	r = sd_event_default(&d->event);
	if (r >= 0)
		r = add_signals(d);
	if (r < 0)
		return fail_os("Starting the event loop failed", r);

	r = service_new(d->config, &d->service);
	if (r < 0)
		return fail_os("Starting the measurement failed", r);
	r = judge_service(d);
	if (r != 0)
		return r;
	r = add_collection(d);
	if (r < 0)
		return fail_os("Starting the collection failed", r);

	r = serve_http(d);
	if (r != 0)
		return r;
	if (strcmp(d->config->bus, "none")) {
		r = bus_new(d->event, d->config->bus, service_get, log_bus, d->service, &d->bus);
		if (r < 0)
			return fail_os("Starting on the bus failed", r);
	}

	memory_release();
	r = privilege_drop(service_reattaches(d->service), service_permitted, d->service);
	if (r < 0)
		log_message(LOG_WARNING, "Cannot give up all privileges: %s.", strerror(-r));
	return 0;
}

/* For a client, for files in /proc that are read meanwhile, and for notifying systemd. */
#define SPARE_DESCRIPTORS 4

/* Without them the start would seem to succeed, and nobody be served. */
static int check_descriptors(void)
{
	int spare[SPARE_DESCRIPTORS], n, r = 0;

	for (n = 0; n < SPARE_DESCRIPTORS && r == 0; n++) {
		spare[n] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
		if (spare[n] < 0)
			r = -errno;
	}
	while (--n >= 0)
		closep(&spare[n]);
	return r;
}

static int daemon_run(struct daemon *d)
{
	int r;

	/* Not earlier: from its first message on it must be fed, and nothing does that during the
	 * start. */
	r = sd_event_set_watchdog(d->event, true);
	if (r < 0)
		return fail_os("Starting the watchdog failed", r);
	http_set_ready(d->http, true);
	r = check_descriptors();
	if (r < 0)
		return fail_os("The limit of file descriptors leaves none for clients", r);
	r = sd_notifyf(false, "READY=1\nSTATUS=%s",
		       service_exit_code(d->service, &(const char *){ NULL }) == 0
			       ? "Running."
			       : "Degraded: operations are not counted.");
	if (r < 0)
		return fail_os("Telling the service manager that all is ready failed", r);
	r = sd_event_loop(d->event);
	sd_notify(false, "STOPPING=1");
	return r < 0 ? fail_os("The event loop failed", r) : r;
}

static void daemon_stop(struct daemon *d)
{
	sd_event_source_unref(d->wake);
	bus_free(d->bus);
	http_free(d->http);
	service_free(d->service);
	config_free(d->config);
	sd_event_unref(d->event);
}

int main(int argc, char **argv)
{
	_cleanup_(options_freep) struct options *options = NULL;
	_cleanup_(daemon_stop) struct daemon d = {};
	int r;

	memory_prepare();
	r = options_parse(argc, argv, &options);
	if (r == -EINVAL)
		return PIPEWATCH_EXIT_USAGE;
	if (r < 0)
		return fail_os("Reading the command line failed", r);
	if (options->action == OPTIONS_DONE)
		return PIPEWATCH_EXIT_OK;

	d.options = options;
	r = read_config(options, &d.config);
	if (r != 0)
		return r;
	switch (options->action) {
	case OPTIONS_CHECK_CONFIG:
		config_dump(d.config, stdout);
		if (fflush(stdout) != 0)
			return fail_os("Writing the configuration failed", -errno);
		return PIPEWATCH_EXIT_OK;
	case OPTIONS_CHECK: return service_check(d.config, stdout);
	default: r = daemon_start(&d); return r != 0 ? r : daemon_run(&d);
	}
}
