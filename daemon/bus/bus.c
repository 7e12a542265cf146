// SPDX-License-Identifier: GPL-2.0-or-later
#include "bus.h"

#include <errno.h>
#include <pipewatch/api.h>
#include <string.h>
#include <syslog.h>
#include <systemd/sd-bus.h>

#include "bus-manager.h"
#include "bus-owner.h"
#include "pipewatch/util.h"

/* After whatever has a deadline: a caller that floods the bus must not hold up HTTP. */
#define BUS_PRIORITY (SD_EVENT_PRIORITY_NORMAL + 10)

#define USEC_PER_SEC 1000000ULL

/* Between two attempts the wait grows from the first to the last. */
#define RETRY_MIN_USEC (USEC_PER_SEC / 2)
#define RETRY_MAX_USEC (10 * USEC_PER_SEC)

/* A name that was held for so long makes the wait short again. */
#define STEADY_USEC (10 * USEC_PER_SEC)

/* How long a connection may take before it is told of, and how long before it is made anew. */
#define PATIENCE_USEC (2 * USEC_PER_SEC)
#define GIVE_UP_USEC  (30 * USEC_PER_SEC)

/* How long somebody else may have the name at the start: the bus may be late to notice that who had
 * it has ended. */
#define GRACE_USEC (2 * USEC_PER_SEC)

/* Between two signals. */
#define TELL_USEC USEC_PER_SEC

/* So many messages that the bus does not take mean that it never will. Healthy ones have none
 * waiting. */
#define QUEUED_MAX 1024

/* By the D-Bus specification. */
#define NAME_MAX_BYTES 255

#define ADDRESS_SYSTEM "unix:path=/run/dbus/system_bus_socket"

enum phase {
	PHASE_AWAY,	  /* no connection; the timer makes one */
	PHASE_CONNECTING, /* the timer tells of the delay */
	PHASE_WAITING,	  /* likewise, and told; the timer gives up */
	PHASE_NAMELESS,	  /* connected; the timer asks for the name again */
	PHASE_LEAVING,	  /* asked whose the name is; the timer leaves without an answer */
	PHASE_NAMED,
};

/* What was last told, so that each change is told once. */
enum report { REPORT_NONE, REPORT_AWAY, REPORT_TAKEN, REPORT_REFUSED, REPORT_NAMED };

struct bus {
	sd_event *event;
	char *address;
	snapshot_get_fn get;
	bus_log_fn log;
	void *userdata;

	struct bus_manager *manager;
	sd_bus *connection; /* NULL in PHASE_AWAY, or closed and not yet thrown away */
	enum phase phase;
	enum report report;
	sd_event_source *timer;	     /* of the phase */
	sd_event_source *tell_timer; /* enabled for TELL_USEC after a signal */
	sd_event_source *forget;     /* one-shot, after each message */
	uint64_t retry_usec;
	uint64_t named_at_usec; /* CLOCK_MONOTONIC */
};

static void report(struct bus *b, enum report what, int level, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void report(struct bus *b, enum report what, int level, const char *format, ...)
{
	char message[1024];
	va_list arguments;

	if (b->report == what)
		return;
	b->report = what;
	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	b->log(b->userdata, level, message);
}

/* Enters @phase, which the timer ends after @usec. Arming a timer that exists cannot fail for lack
 * of anything. */
static void enter(struct bus *b, enum phase phase, uint64_t usec)
{
	b->phase = phase;
	sd_event_source_set_time_relative(b->timer, usec);
	sd_event_source_set_enabled(b->timer, SD_EVENT_ONESHOT);
}

static void retry_later(struct bus *b, enum phase phase)
{
	enter(b, phase, b->retry_usec);
	b->retry_usec *= 2;
	if (b->retry_usec > RETRY_MAX_USEC)
		b->retry_usec = RETRY_MAX_USEC;
}

/*
 * Takes note that the connection is of no more use. It may be in the middle of handling a message,
 * so it is only closed, and thrown away when the timer makes the next.
 */
static void connection_lost(struct bus *b, const char *reason)
{
	uint64_t now_usec = 0;

	if (b->phase == PHASE_AWAY)
		return;
	sd_event_now(b->event, CLOCK_MONOTONIC, &now_usec);
	if (b->phase == PHASE_NAMED && now_usec >= b->named_at_usec + STEADY_USEC)
		b->retry_usec = RETRY_MIN_USEC;
	sd_bus_close(b->connection);
	retry_later(b, PHASE_AWAY);
	report(b, REPORT_AWAY, LOG_WARNING, "The bus at %s is not available: %s; still trying.",
	       b->address, reason);
}

static int on_disconnected(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	(void)message, (void)error;
	connection_lost(userdata, "the connection was closed");
	return 0;
}

static int on_forget(sd_event_source *source, void *userdata)
{
	struct bus *b = userdata;

	(void)source;
	bus_manager_forget(b->manager);
	return 0;
}

/*
 * Has it a longer name of an interface or property than there can be? What sd-bus does not know it
 * quotes in an error, which takes three times the memory, and is longer than a bus lets us send.
 */
static bool has_overlong_name(sd_bus_message *message)
{
	const char *name;
	bool found = false;
	char type;

	if (!sd_bus_message_is_method_call(message, "org.freedesktop.DBus.Properties", NULL))
		return false;
	while (!found && sd_bus_message_peek_type(message, &type, NULL) > 0 && type == 's' &&
	       sd_bus_message_read(message, "s", &name) > 0)
		found = strlen(name) > NAME_MAX_BYTES;
	sd_bus_message_rewind(message, true);
	return found;
}

/* Sees every message first. */
static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	struct bus *b = userdata;
	uint64_t n_queued = 0;

	(void)error;
	bus_manager_forget(b->manager);
	sd_event_source_set_enabled(b->forget, SD_EVENT_ONESHOT);

	sd_bus_get_n_queued_write(b->connection, &n_queued);
	if (n_queued > QUEUED_MAX) {
		connection_lost(b, "it does not take our replies");
		return 1;
	}
	if (!has_overlong_name(message))
		return 0;
	sd_bus_reply_method_errorf(message, SD_BUS_ERROR_INVALID_ARGS,
				   "The name of an interface or property has at most %d bytes.",
				   NAME_MAX_BYTES);
	return 1;
}

static void leave(struct bus *b, const struct bus_owner *owner)
{
	char message[1024];

	bus_owner_describe(owner, b->address, message, sizeof(message));
	report(b, REPORT_TAKEN, LOG_ERR, "%s", message);
	/* Fails only where the loop has ended already. */
	sd_event_exit(b->event, PIPEWATCH_EXIT_UNAVAILABLE);
}

static int on_owner(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	struct bus_owner owner = { .exists = true };
	struct bus *b = userdata;

	(void)error;
	if (b->phase != PHASE_LEAVING || sd_bus_is_open(b->connection) <= 0)
		return 0;
	/* Where it tells nothing, somebody has the name all the same. */
	bus_owner_read(reply, &owner);
	if (owner.exists)
		leave(b, &owner);
	else
		retry_later(b, PHASE_NAMELESS);
	return 0;
}

/* Two that start at once both find the name free before one of them gets it. */
static void find_out_and_leave(struct bus *b)
{
	enter(b, PHASE_LEAVING, PATIENCE_USEC);
	if (bus_owner_ask(b->connection, on_owner, b) < 0)
		leave(b, &(struct bus_owner){ .exists = true });
}

static int on_name(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	const sd_bus_error *failure = sd_bus_message_get_error(reply);
	struct bus *b = userdata;
	uint32_t outcome;

	(void)error;
	if (b->phase == PHASE_AWAY)
		return 0;
	if (failure && (sd_bus_error_has_name(failure, SD_BUS_ERROR_NO_REPLY) ||
			sd_bus_error_has_name(failure, SD_BUS_ERROR_TIMEOUT) ||
			sd_bus_error_has_name(failure, SD_BUS_ERROR_DISCONNECTED))) {
		connection_lost(b, "it does not answer");
		return 0;
	}
	if (failure) {
		retry_later(b, PHASE_NAMELESS);
		report(b, REPORT_REFUSED, LOG_WARNING,
		       "The bus at %s refuses the name %s: %s; is its policy file installed?",
		       b->address, PIPEWATCH_BUS_NAME, failure->message);
		return 0;
	}
	if (sd_bus_message_read(reply, "u", &outcome) < 0) {
		connection_lost(b, "it answers nonsense");
		return 0;
	}
	/* 1 is "primary owner", 4 "already owner"; the others mean that somebody else is. */
	if (outcome != 1 && outcome != 4) {
		/* Nothing has been told yet: this is still the start. */
		if (b->report == REPORT_NONE) {
			find_out_and_leave(b);
			return 0;
		}
		retry_later(b, PHASE_NAMELESS);
		report(b, REPORT_TAKEN, LOG_WARNING,
		       "The name %s on the bus at %s belongs to another program; still trying.",
		       PIPEWATCH_BUS_NAME, b->address);
		return 0;
	}

	b->phase = PHASE_NAMED;
	sd_event_source_set_enabled(b->timer, SD_EVENT_OFF);
	sd_event_now(b->event, CLOCK_MONOTONIC, &b->named_at_usec);
	report(b, REPORT_NAMED, LOG_INFO, "The name %s on the bus at %s is ours.",
	       PIPEWATCH_BUS_NAME, b->address);
	return 0;
}

static int request_name(struct bus *b)
{
	return sd_bus_request_name_async(b->connection, NULL, PIPEWATCH_BUS_NAME, 0, on_name, b);
}

static void disconnect(struct bus *b)
{
	if (b->connection)
		sd_bus_detach_event(b->connection);
	/* Not flushed: that could wait for ever. */
	b->connection = sd_bus_close_unref(b->connection);
}

/* Starts a connection. Nothing of it waits: all that comes is queued until the bus has answered. */
static int connect_bus(struct bus *b)
{
	int r;

	r = sd_bus_new(&b->connection);
	if (r < 0)
		return r;
	r = sd_bus_set_description(b->connection, "pipewatchd");
	if (r >= 0)
		r = sd_bus_set_address(b->connection, b->address);
	if (r >= 0)
		r = sd_bus_set_bus_client(b->connection, true);
	if (r >= 0)
		r = sd_bus_set_exit_on_disconnect(b->connection, false);
	/* Nobody has files to pass to us, who have few. */
	if (r >= 0)
		r = sd_bus_negotiate_fds(b->connection, false);
	/* When the loop ends, sd-bus would flush, and wait for a bus that is stopped. */
	if (r >= 0)
		r = sd_bus_set_close_on_exit(b->connection, false);
	if (r >= 0)
		r = sd_bus_set_watch_bind(b->connection, true);
	if (r >= 0)
		r = sd_bus_add_filter(b->connection, NULL, on_message, b);
	if (r >= 0)
		r = bus_manager_export(b->manager, b->connection);
	if (r >= 0)
		r = sd_bus_start(b->connection);
	if (r >= 0)
		r = sd_bus_match_signal_async(b->connection, NULL, "org.freedesktop.DBus.Local",
					      "/org/freedesktop/DBus/Local",
					      "org.freedesktop.DBus.Local", "Disconnected",
					      on_disconnected, NULL, b);
	if (r >= 0)
		r = request_name(b);
	if (r >= 0)
		r = sd_bus_attach_event(b->connection, b->event, BUS_PRIORITY);
	if (r < 0)
		disconnect(b);
	return r;
}

static void try_connect(struct bus *b)
{
	int r;

	disconnect(b);
	enter(b, PHASE_CONNECTING, PATIENCE_USEC);
	r = connect_bus(b);
	if (r < 0)
		connection_lost(b, strerror(-r));
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct bus *b = userdata;
	int r;

	(void)source, (void)usec;
	switch (b->phase) {
	case PHASE_AWAY:
	case PHASE_WAITING: try_connect(b); break;
	case PHASE_CONNECTING:
		enter(b, PHASE_WAITING, GIVE_UP_USEC);
		report(b, REPORT_AWAY, LOG_WARNING,
		       "The bus at %s is not available: it is not there or does not answer; still "
		       "trying.",
		       b->address);
		break;
	case PHASE_NAMELESS:
		enter(b, PHASE_WAITING, GIVE_UP_USEC);
		r = request_name(b);
		if (r < 0)
			connection_lost(b, strerror(-r));
		break;
	case PHASE_LEAVING: leave(b, &(struct bus_owner){ .exists = true }); break;
	case PHASE_NAMED: break;
	}
	return 0;
}

/* Tells subscribers of what changed, and then of nothing for a while: more changes wait for
 * on_tell(). */
static void tell_states(struct bus *b, const struct snapshot *s)
{
	uint64_t n_queued = 0;
	int r;

	if (!b->connection || sd_bus_is_ready(b->connection) <= 0)
		return;
	sd_bus_get_n_queued_write(b->connection, &n_queued);
	if (n_queued > QUEUED_MAX) {
		connection_lost(b, "it does not take our signals");
		return;
	}
	r = bus_manager_tell_states(b->manager, b->connection, s);
	/* Not even a failure is repeated at once. */
	if (r != 0) {
		sd_event_source_set_time_relative(b->tell_timer, TELL_USEC);
		sd_event_source_set_enabled(b->tell_timer, SD_EVENT_ONESHOT);
	}
}

static int on_tell(sd_event_source *source, uint64_t usec, void *userdata)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	struct bus *b = userdata;

	(void)source, (void)usec;
	/* A snapshot that cannot be had now comes with the next change. */
	if (b->get(b->userdata, &(struct snapshot_wish){}, &s) >= 0)
		tell_states(b, s);
	return 0;
}

void bus_states_changed(struct bus *b, const struct snapshot *s)
{
	int enabled = SD_EVENT_OFF;

	sd_event_source_get_enabled(b->tell_timer, &enabled);
	if (enabled == SD_EVENT_OFF)
		tell_states(b, s);
}

/*
 * Copies what a D-Bus address is behind @address. Only Unix sockets: others have the name of a
 * host, which sd-bus would look up while everything waits.
 */
static int resolve_address(const char *address, char **ret_address)
{
	const char *part, *directory;
	char *resolved = NULL;

	if (!strcmp(address, "system")) {
		address = secure_getenv("DBUS_SYSTEM_BUS_ADDRESS");
		if (!address)
			address = ADDRESS_SYSTEM;
	} else if (!strcmp(address, "session")) {
		address = secure_getenv("DBUS_SESSION_BUS_ADDRESS");
		directory = secure_getenv("XDG_RUNTIME_DIR");
		if (!address && !directory)
			return -EINVAL;
		if (!address && asprintf(&resolved, "unix:path=%s/bus", directory) < 0)
			return -ENOMEM;
	}
	if (!resolved)
		resolved = strdup(address);
	if (!resolved)
		return -ENOMEM;

	for (part = resolved; part; part = strchr(part, ';') ? strchr(part, ';') + 1 : NULL)
		if (strncmp(part, "unix:", strlen("unix:")) != 0) {
			free(resolved);
			return -EINVAL;
		}
	*ret_address = resolved;
	return 0;
}

bool bus_taken(const char *address, char *ret_message, size_t size)
{
	_cleanup_(freep) char *resolved = NULL;
	struct bus_owner owner;

	if (resolve_address(address, &resolved) < 0 ||
	    bus_owner_find(resolved, GRACE_USEC, &owner) < 0 || !owner.exists)
		return false;
	bus_owner_describe(&owner, resolved, ret_message, size);
	return true;
}

static int add_sources(struct bus *b)
{
	int r;

	r = sd_event_add_time_relative(b->event, &b->timer, CLOCK_MONOTONIC, 0, 0, on_timer, b);
	if (r >= 0)
		r = sd_event_source_set_enabled(b->timer, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_time_relative(b->event, &b->tell_timer, CLOCK_MONOTONIC, 0, 0,
					       on_tell, b);
	if (r >= 0)
		r = sd_event_source_set_enabled(b->tell_timer, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_defer(b->event, &b->forget, on_forget, b);
	if (r >= 0)
		r = sd_event_source_set_enabled(b->forget, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_source_set_priority(b->forget, BUS_PRIORITY);
	return r;
}

int bus_new(sd_event *event, const char *address, snapshot_get_fn get, bus_log_fn log,
	    void *userdata, struct bus **ret_bus)
{
	_cleanup_(bus_freep) struct bus *b = NULL;
	int r;

	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->event = sd_event_ref(event);
	b->get = get;
	b->log = log;
	b->userdata = userdata;
	b->retry_usec = RETRY_MIN_USEC;

	r = resolve_address(address, &b->address);
	if (r >= 0)
		r = bus_manager_new(get, userdata, &b->manager);
	if (r >= 0)
		r = add_sources(b);
	if (r < 0)
		return r;

	/* Tried once here, to tell an address that is wrong from a bus that is not there. */
	enter(b, PHASE_CONNECTING, PATIENCE_USEC);
	r = connect_bus(b);
	if (r == -EINVAL || r == -E2BIG || r == -ENAMETOOLONG)
		return -EINVAL;
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		connection_lost(b, strerror(-r));

	*ret_bus = b;
	b = NULL;
	return 0;
}

struct bus *bus_free(struct bus *b)
{
	if (!b)
		return NULL;
	disconnect(b);
	bus_manager_free(b->manager);
	sd_event_source_disable_unref(b->timer);
	sd_event_source_disable_unref(b->tell_timer);
	sd_event_source_disable_unref(b->forget);
	sd_event_unref(b->event);
	free(b->address);
	free(b);
	return NULL;
}
