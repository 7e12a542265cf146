// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stands in for pipewatchd on the bus at ADDRESS: answers with what is in the files of DIRECTORY at
 * the time of the call.
 *
 *   describe.N.json   what the Nth Describe() returns; describe.json where there is none
 *   metrics.txt       what GetMetrics() returns
 *   manner            how calls are met: nothing or "answer", "hang", "error NAME MESSAGE",
 *                     "old" (no such method, but a Version), "number" (a number, no text)
 *   calls             written: how many Describe() there were
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "pipewatch/api.h"
#include "pipewatch/util.h"

struct service {
	const char *directory;
	unsigned int calls;
};

static char *read_file(const struct service *s, const char *name)
{
	_cleanup_(fclosep) FILE *f = NULL;
	char path[4096], *text = NULL;
	size_t size = 0;

	snprintf(path, sizeof(path), "%s/%s", s->directory, name);
	f = fopen(path, "re");
	if (!f || getdelim(&text, &size, 0, f) < 0) {
		free(text);
		return NULL;
	}
	return text;
}

static int meet(const struct service *s, sd_bus_message *call, const char *file)
{
	_cleanup_(freep) char *manner = read_file(s, "manner");
	_cleanup_(freep) char *text = read_file(s, file);
	char *rest = manner;
	const char *word = manner ? strsep(&rest, " \n") : "answer";

	if (!strcmp(word, "hang"))
		return 1;
	if (!strcmp(word, "old"))
		return sd_bus_reply_method_errorf(call, SD_BUS_ERROR_UNKNOWN_METHOD,
						  "Unknown method");
	if (!strcmp(word, "error")) {
		word = strsep(&rest, " ");
		return sd_bus_reply_method_errorf(call, word, "%s", rest);
	}
	if (!strcmp(word, "number"))
		return sd_bus_reply_method_return(call, "u", 1);
	return sd_bus_reply_method_return(call, "s", text ? text : "");
}

static int describe(struct service *s, sd_bus_message *call)
{
	char name[64], path[4096];
	FILE *f;

	s->calls++;
	snprintf(path, sizeof(path), "%s/calls", s->directory);
	f = fopen(path, "we");
	if (f) {
		fprintf(f, "%u\n", s->calls);
		fclose(f);
	}
	snprintf(name, sizeof(name), "describe.%u.json", s->calls);
	snprintf(path, sizeof(path), "%s/%s", s->directory, name);
	return meet(s, call, access(path, F_OK) < 0 ? "describe.json" : name);
}

/* No vtable: it would not let a method return what it should not. */
static int on_message(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	(void)error;
	if (sd_bus_message_is_method_call(call, PIPEWATCH_BUS_INTERFACE, "Describe"))
		return describe(userdata, call);
	if (sd_bus_message_is_method_call(call, PIPEWATCH_BUS_INTERFACE, "GetMetrics"))
		return meet(userdata, call, "metrics.txt");
	if (sd_bus_message_is_method_call(call, "org.freedesktop.DBus.Properties", "Get"))
		return sd_bus_reply_method_return(call, "v", "s", "0.0.7");
	return 0;
}

int main(int argc, char **argv)
{
	struct service s = { .directory = argc > 2 ? argv[2] : "." };
	sd_bus *bus = NULL;
	int r;

	if (argc != 3) {
		fprintf(stderr, "usage: service ADDRESS DIRECTORY\n");
		return 64;
	}
	r = sd_bus_new(&bus);
	if (r >= 0)
		r = sd_bus_set_address(bus, argv[1]);
	if (r >= 0)
		r = sd_bus_set_bus_client(bus, true);
	if (r >= 0)
		r = sd_bus_start(bus);
	if (r >= 0)
		r = sd_bus_add_object(bus, NULL, PIPEWATCH_BUS_PATH, on_message, &s);
	if (r >= 0)
		r = sd_bus_request_name(bus, PIPEWATCH_BUS_NAME, 0);
	while (r >= 0) {
		r = sd_bus_process(bus, NULL);
		if (r == 0)
			r = sd_bus_wait(bus, UINT64_MAX);
	}
	fprintf(stderr, "service: %s\n", strerror(-r));
	sd_bus_flush_close_unref(bus);
	return 1;
}
