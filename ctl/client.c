// SPDX-License-Identifier: GPL-2.0-or-later
#include "client.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "pipewatch/clock.h"
#include "pipewatch/util.h"

#define ADDRESS_SYSTEM "unix:path=/run/dbus/system_bus_socket"
#define NOT_AN_ADDRESS                                                                    \
	"\"%s\" is not the address of a bus. Use system, session, or an address such as " \
	"unix:path=/run/dbus/system_bus_socket."
#define PROPERTIES	"org.freedesktop.DBus.Properties"
#define VERSION_TIMEOUT 2
#define USEC_PER_SEC	UINT64_C(1000000)

struct client {
	char *address;
	const char *bus; /* as it was named */
	sd_bus *connection;
	int interrupt_fd;
	bool activate;
	unsigned int patience_sec;
};

struct reply {
	sd_bus_message *message; /* NULL: not there yet */
};

static int resolve(const char *bus, char **ret_address, struct failure *f)
{
	const char *address = NULL, *directory;
	int r;

	if (!strcmp(bus, "system")) {
		address = secure_getenv("DBUS_SYSTEM_BUS_ADDRESS");
		if (!address)
			address = ADDRESS_SYSTEM;
	} else if (!strcmp(bus, "session")) {
		address = secure_getenv("DBUS_SESSION_BUS_ADDRESS");
		directory = secure_getenv("XDG_RUNTIME_DIR");
		if (!address && !directory)
			return failure_set(
				f, PIPEWATCH_EXIT_UNAVAILABLE,
				"There is no session bus: neither DBUS_SESSION_BUS_ADDRESS nor "
				"XDG_RUNTIME_DIR is set. pipewatchd is usually on the system bus: "
				"try without --bus.");
		if (!address) {
			r = asprintf(ret_address, "unix:path=%s/bus", directory);
			return r < 0 ? failure_os(f, "Naming the session bus failed", ENOMEM) : 0;
		}
	} else {
		address = bus;
	}
	/* Others have the name of a host to be looked up, or of a program to be run. */
	for (const char *part = address; part;
	     part = strchr(part, ';') ? strchr(part, ';') + 1 : NULL)
		if (strncmp(part, "unix:", strlen("unix:")) != 0)
			return failure_set(f, PIPEWATCH_EXIT_USAGE, NOT_AN_ADDRESS, address);
	*ret_address = strdup(address);
	return *ret_address ? 0 : failure_os(f, "Naming the bus failed", ENOMEM);
}

int client_new(const char *bus, int interrupt_fd, bool activate, struct client **ret_client,
	       struct failure *f)
{
	struct client *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return failure_os(f, "Preparing for the bus failed", ENOMEM);
	c->bus = bus;
	c->interrupt_fd = interrupt_fd;
	c->activate = activate;
	c->patience_sec = CLIENT_CALL_SEC;
	r = resolve(bus, &c->address, f);
	if (r != 0) {
		free(c);
		return r;
	}
	*ret_client = c;
	return 0;
}

void client_set_patience(struct client *c, unsigned int seconds)
{
	c->patience_sec = seconds;
}

static void disconnect(struct client *c)
{
	/* Nothing that waits to be sent is worth waiting for. */
	sd_bus_close_unref(c->connection);
	c->connection = NULL;
}

struct client *client_free(struct client *c)
{
	if (!c)
		return NULL;
	disconnect(c);
	free(c->address);
	free(c);
	return NULL;
}

/*
 * Handles what has come until @deadline_usec or something to handle next. Returns 1 when something
 * was handled or may be, 0 when the time is over or the user interrupts, -errno when the connection
 * has failed.
 */
static int step(struct client *c, uint64_t deadline_usec, bool *ret_interrupted)
{
	struct pollfd fds[2] = { { .fd = sd_bus_get_fd(c->connection) },
				 { .fd = c->interrupt_fd, .events = POLLIN } };
	uint64_t now, until, timeout;
	int r;

	r = sd_bus_process(c->connection, NULL);
	if (r != 0)
		return r < 0 ? r : 1;

	now = monotonic_usec();
	if (now >= deadline_usec)
		return 0;
	r = sd_bus_get_events(c->connection);
	if (r < 0)
		return r;
	fds[0].events = (short)r;
	until = deadline_usec;
	if (sd_bus_get_timeout(c->connection, &timeout) > 0 && timeout < until)
		until = timeout;
	r = poll(fds, 2, until <= now ? 0 : (int)((until - now) / 1000 + 1));
	if (r < 0 && errno != EINTR)
		return -errno;
	if (r > 0 && fds[1].revents) {
		*ret_interrupted = true;
		return 0;
	}
	return 1;
}

static int explain_connection(const struct client *c, int error, struct failure *f)
{
	const char *ask = !strcmp(c->bus, "system")
				  ? "Is dbus running (systemctl status dbus)?"
				  : "Is the address right? Without --bus the system bus is used.";

	switch (-error) {
	case ENOENT:
	case ECONNREFUSED:
	case ENOTCONN:
	case ECONNRESET:
	case EPIPE:
	case EHOSTUNREACH:
	case ENETUNREACH:
		return failure_set(f, PIPEWATCH_EXIT_UNAVAILABLE, "There is no bus at %s (%s). %s",
				   c->address, strerror(-error), ask);
	case EACCES:
	case EPERM:
		return failure_set(f, PIPEWATCH_EXIT_NOT_PERMITTED,
				   "The bus at %s does not let this user in (%s). Try as another "
				   "user, or with sudo.",
				   c->address, strerror(-error));
	case EINVAL: return failure_set(f, PIPEWATCH_EXIT_USAGE, NOT_AN_ADDRESS, c->address);
	case ETIMEDOUT:
		return failure_set(f, PIPEWATCH_EXIT_UNAVAILABLE,
				   "The bus at %s did not answer within %d seconds. %s", c->address,
				   CLIENT_CONNECT_SEC, ask);
	default:
		return failure_set(f, PIPEWATCH_EXIT_OS, "Connecting to the bus at %s failed: %s.",
				   c->address, strerror(-error));
	}
}

/* Until the bus has answered our greeting; then a call's time is the daemon's alone. */
static int connect_bus(struct client *c, struct failure *f)
{
	uint64_t deadline = monotonic_usec() + CLIENT_CONNECT_SEC * USEC_PER_SEC;
	bool interrupted = false;
	int r;

	r = sd_bus_new(&c->connection);
	if (r >= 0)
		r = sd_bus_set_address(c->connection, c->address);
	if (r >= 0)
		r = sd_bus_set_bus_client(c->connection, true);
	if (r >= 0)
		r = sd_bus_start(c->connection);
	while (r >= 0) {
		r = sd_bus_is_ready(c->connection);
		if (r != 0)
			break;
		r = step(c, deadline, &interrupted);
		if (r == 0)
			r = interrupted ? 0 : -ETIMEDOUT;
		if (interrupted)
			break;
	}
	if (r > 0)
		return 0;
	disconnect(c);
	return interrupted ? CLIENT_INTERRUPTED : explain_connection(c, r, f);
}

static int on_reply(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	struct reply *reply = userdata;

	(void)error;
	reply->message = sd_bus_message_ref(message);
	return 0;
}

/* Sends @call and waits. 1: answered; 0: interrupted; -errno. */
static int exchange(struct client *c, sd_bus_message *call, unsigned int seconds,
		    sd_bus_message **ret_answer)
{
	uint64_t deadline = monotonic_usec() + seconds * USEC_PER_SEC;
	struct reply reply = {};
	sd_bus_slot *slot = NULL;
	bool interrupted = false;
	int r;

	r = sd_bus_call_async(c->connection, &slot, call, on_reply, &reply, seconds * USEC_PER_SEC);
	while (r >= 0 && !reply.message) {
		r = step(c, deadline, &interrupted);
		if (r == 0) {
			r = interrupted ? 0 : -ETIMEDOUT;
			break;
		}
	}
	sd_bus_slot_unref(slot);
	if (!reply.message)
		return r;
	*ret_answer = reply.message;
	return 1;
}

/* What an older daemon says of itself; it was started by then, if at all. */
static void ask_version(struct client *c, char *ret, size_t size)
{
	sd_bus_message *call = NULL, *answer = NULL;
	const char *version = NULL;
	int r;

	r = sd_bus_message_new_method_call(c->connection, &call, PIPEWATCH_BUS_NAME,
					   PIPEWATCH_BUS_PATH, PROPERTIES, "Get");
	if (r >= 0)
		r = sd_bus_message_append(call, "ss", PIPEWATCH_BUS_INTERFACE, "Version");
	if (r >= 0)
		r = exchange(c, call, VERSION_TIMEOUT, &answer);
	if (r > 0 && !sd_bus_message_is_method_error(answer, NULL) &&
	    sd_bus_message_enter_container(answer, 'v', "s") > 0)
		sd_bus_message_read(answer, "s", &version);
	snprintf(ret, size, "%s", version ? version : "of an unknown version");
	sd_bus_message_unref(answer);
	sd_bus_message_unref(call);
}

static int explain_error(struct client *c, const char *method, const sd_bus_error *error,
			 struct failure *f)
{
	static const char *const absent[] = {
		SD_BUS_ERROR_SERVICE_UNKNOWN,
		SD_BUS_ERROR_NAME_HAS_NO_OWNER,
		"org.freedesktop.systemd1.NoSuchUnit",
		"org.freedesktop.systemd1.UnitMasked",
		"org.freedesktop.systemd1.ShuttingDown",
		"org.freedesktop.DBus.Error.Spawn.",
	};
	static const char *const unknown[] = {
		SD_BUS_ERROR_UNKNOWN_METHOD,
		SD_BUS_ERROR_UNKNOWN_OBJECT,
		SD_BUS_ERROR_UNKNOWN_INTERFACE,
	};
	const char *message = error->message && *error->message ? error->message : error->name;
	char version[64];

	for (size_t i = 0; i < ARRAY_SIZE(absent); i++)
		if (!strncmp(error->name, absent[i], strlen(absent[i])))
			return failure_set(
				f, PIPEWATCH_EXIT_UNAVAILABLE,
				"pipewatchd is not running: nobody owns %s on the bus at %s (%s). "
				"Start it with \"sudo systemctl start pipewatchd\", or by hand with "
				"\"sudo pipewatchd\". If it does not start, \"pipewatchctl check\" "
				"says what this machine permits.",
				PIPEWATCH_BUS_NAME, c->address, message);
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		if (!strcmp(error->name, unknown[i])) {
			ask_version(c, version, sizeof(version));
			return failure_set(
				f, PIPEWATCH_EXIT_UNAVAILABLE,
				"The running pipewatchd is %s and has no %s(), which pipewatchctl "
				"%s needs. If a newer one is installed, restart it (sudo systemctl "
				"restart pipewatchd); otherwise upgrade it.",
				version, method, PIPEWATCH_VERSION);
		}
	if (!strcmp(error->name, SD_BUS_ERROR_ACCESS_DENIED))
		return failure_set(f, PIPEWATCH_EXIT_NOT_PERMITTED,
				   "The bus does not permit this user to ask pipewatchd (%s). "
				   "The policy that comes with it, org.pipewatch1.conf, lets "
				   "everybody read: is it installed, and has dbus been reloaded?",
				   message);
	if (!strcmp(error->name, SD_BUS_ERROR_NO_REPLY) ||
	    !strcmp(error->name, SD_BUS_ERROR_TIMEOUT) ||
	    !strcmp(error->name, "org.freedesktop.DBus.Error.TimedOut"))
		return failure_set(f, PIPEWATCH_EXIT_UNAVAILABLE,
				   "pipewatchd did not answer (%s). See \"systemctl status "
				   "pipewatchd\".",
				   message);
	return failure_set(f, PIPEWATCH_EXIT_OS, "pipewatchd cannot answer %s(): %s (%s).", method,
			   message, error->name);
}

static int explain_call(const struct client *c, int error, struct failure *f)
{
	switch (-error) {
	case ETIMEDOUT:
		return failure_set(
			f, PIPEWATCH_EXIT_UNAVAILABLE,
			"pipewatchd did not answer within %u seconds. See \"systemctl status "
			"pipewatchd\".",
			c->patience_sec);
	case ECONNRESET:
	case ENOTCONN:
	case EPIPE:
		return failure_set(f, PIPEWATCH_EXIT_UNAVAILABLE,
				   "The bus at %s went away while pipewatchd was being asked (%s). "
				   "Try again.",
				   c->address, strerror(-error));
	default: return failure_os(f, "Asking pipewatchd failed", error);
	}
}

/* 1: answered; 0: interrupted; -errno. */
static int send_call(struct client *c, const char *method, sd_bus_message **ret_answer)
{
	sd_bus_message *call = NULL;
	int r;

	r = sd_bus_message_new_method_call(c->connection, &call, PIPEWATCH_BUS_NAME,
					   PIPEWATCH_BUS_PATH, PIPEWATCH_BUS_INTERFACE, method);
	if (r >= 0)
		r = sd_bus_message_set_auto_start(call, c->activate);
	if (r >= 0)
		r = exchange(c, call, c->patience_sec, ret_answer);
	sd_bus_message_unref(call);
	return r;
}

int client_call(struct client *c, const char *method, char **ret_text, struct failure *f)
{
	sd_bus_message *answer = NULL;
	const char *text;
	char *copy;
	int r;

	if (!c->connection) {
		r = connect_bus(c, f);
		if (r != 0)
			return r;
	}
	r = send_call(c, method, &answer);
	if (r == 0)
		return CLIENT_INTERRUPTED;
	if (r < 0) {
		disconnect(c);
		return explain_call(c, r, f);
	}
	if (sd_bus_message_is_method_error(answer, NULL)) {
		r = explain_error(c, method, sd_bus_message_get_error(answer), f);
	} else if (sd_bus_message_read(answer, "s", &text) < 0) {
		r = failure_set(
			f, PIPEWATCH_EXIT_INTERNAL,
			"What answers to %s on the bus at %s is not pipewatchd: %s() did not "
			"return a string.",
			PIPEWATCH_BUS_NAME, c->address, method);
	} else {
		copy = strdup(text);
		r = copy ? 0 : failure_os(f, "Reading the answer failed", ENOMEM);
		if (copy)
			*ret_text = copy;
	}
	sd_bus_message_unref(answer);
	return r;
}
