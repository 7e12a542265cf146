// SPDX-License-Identifier: GPL-2.0-or-later
#include "bus-owner.h"

#include <errno.h>
#include <inttypes.h>
#include <pipewatch/api.h>
#include <stdio.h>
#include <unistd.h>

#include "pipewatch/clock.h"
#include "pipewatch/util.h"

/* Between two questions. */
#define AGAIN_USEC 50000

int bus_owner_ask(sd_bus *connection, sd_bus_message_handler_t done, void *userdata)
{
	int r = sd_bus_call_method_async(connection, NULL, "org.freedesktop.DBus",
					 "/org/freedesktop/DBus", "org.freedesktop.DBus",
					 "GetConnectionUnixProcessID", done, userdata, "s",
					 PIPEWATCH_BUS_NAME);

	return r < 0 ? r : 0;
}

int bus_owner_read(sd_bus_message *reply, struct bus_owner *ret_owner)
{
	const sd_bus_error *failure = sd_bus_message_get_error(reply);
	struct bus_owner owner = { .exists = true };
	int r;

	if (failure && sd_bus_error_has_name(failure, SD_BUS_ERROR_NAME_HAS_NO_OWNER)) {
		owner.exists = false;
	} else if (failure) {
		if (!sd_bus_error_has_name(failure, SD_BUS_ERROR_UNIX_PROCESS_ID_UNKNOWN))
			return -sd_bus_error_get_errno(failure);
	} else {
		r = sd_bus_message_read(reply, "u", &owner.pid);
		if (r < 0)
			return r;
	}
	*ret_owner = owner;
	return 0;
}

struct question {
	bool answered;
	int result;
	struct bus_owner owner;
};

static int on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	struct question *q = userdata;

	(void)error;
	q->answered = true;
	q->result = bus_owner_read(reply, &q->owner);
	return 0;
}

/* Asks once, and waits for the answer. What sd-bus has for that waits for ever where a bus takes
 * the connection and says nothing. */
static int question_ask(sd_bus *connection, uint64_t end_usec, struct bus_owner *ret_owner)
{
	struct question q = {};
	uint64_t now;
	int r;

	r = bus_owner_ask(connection, on_answer, &q);
	while (r >= 0 && !q.answered) {
		now = monotonic_usec();
		if (now >= end_usec)
			return -ETIMEDOUT;
		r = sd_bus_process(connection, NULL);
		if (r != 0)
			continue;
		r = sd_bus_wait(connection, end_usec - now);
		if (r == -EINTR)
			r = 0;
	}
	if (r < 0)
		return r;
	if (q.result >= 0)
		*ret_owner = q.owner;
	return q.result;
}

static int connect_to(const char *address, sd_bus **ret_connection)
{
	_cleanup_(sd_bus_close_unrefp) sd_bus *connection = NULL;
	int r;

	r = sd_bus_new(&connection);
	if (r >= 0)
		r = sd_bus_set_address(connection, address);
	if (r >= 0)
		r = sd_bus_set_bus_client(connection, true);
	if (r >= 0)
		r = sd_bus_start(connection);
	if (r < 0)
		return r;
	*ret_connection = connection;
	connection = NULL;
	return 0;
}

int bus_owner_find(const char *address, uint64_t patience_usec, struct bus_owner *ret_owner)
{
	_cleanup_(sd_bus_close_unrefp) sd_bus *connection = NULL;
	uint64_t end_usec = monotonic_usec() + patience_usec;
	struct bus_owner owner = {};
	int r;

	r = connect_to(address, &connection);
	if (r < 0)
		return r;
	for (;;) {
		r = question_ask(connection, end_usec, &owner);
		/* As of the last answer, where one comes too late. */
		if (r == -ETIMEDOUT && owner.exists)
			break;
		if (r < 0)
			return r;
		if (!owner.exists || monotonic_usec() >= end_usec)
			break;
		usleep(AGAIN_USEC);
	}
	*ret_owner = owner;
	return 0;
}

void bus_owner_describe(const struct bus_owner *owner, const char *address, char *ret_message,
			size_t size)
{
	char whose[64] = "another program";

	if (owner->pid)
		snprintf(whose, sizeof(whose), "process %" PRIu32, owner->pid);
	snprintf(ret_message, size,
		 "The name " PIPEWATCH_BUS_NAME " on the bus at %s belongs to %s, probably another "
		 "pipewatchd. Stop that, or start this one with --bus none.",
		 address, whose);
}
