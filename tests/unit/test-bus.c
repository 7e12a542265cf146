// SPDX-License-Identifier: GPL-2.0-or-later
/* What needs no bus; tests/bus has the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <syslog.h>

#include "bus.h"
#include "bus-owner.h"
#include "bus-remedies.h"
#include "bus-states.h"
#include "pipewatch/util.h"

#define ABSENT "unix:path=/nonexistent/pipewatch/bus"

static int get_nothing(void *userdata, const struct snapshot_wish *wish,
		       struct snapshot **ret_snapshot)
{
	(void)userdata, (void)wish, (void)ret_snapshot;
	return -ENODATA;
}

struct told {
	sd_event *event;
	unsigned int n;
	int level;
	char message[256];
};

static void tell(void *userdata, int level, const char *message)
{
	struct told *told = userdata;

	told->n++;
	told->level = level;
	snprintf(told->message, sizeof(told->message), "%s", message);
}

static int try_address(const char *address)
{
	_cleanup_(bus_freep) struct bus *b = NULL;
	struct told told = { 0 };
	sd_event *event = NULL;
	int r;

	assert_true(sd_event_new(&event) >= 0);
	r = bus_new(event, address, get_nothing, tell, &told, &b);
	assert_int_equal(b != NULL, r == 0);
	sd_event_unref(event);
	return r;
}

static void test_addresses(void **state)
{
	char long_address[512] = "unix:path=/";

	(void)state;
	memset(long_address + strlen(long_address), 'x', 300);
	assert_int_equal(try_address(ABSENT), 0);
	assert_int_equal(try_address("unix:abstract=pipewatch-nobody"), 0);
	assert_int_equal(try_address(ABSENT ";unix:path=/nonexistent/other"), 0);
	assert_int_equal(try_address(""), -EINVAL);
	assert_int_equal(try_address("nonsense"), -EINVAL);
	assert_int_equal(try_address("unix:"), -EINVAL);
	assert_int_equal(try_address("unix:path=/a,abstract=b"), -EINVAL);
	assert_int_equal(try_address("unix:path=%zz"), -EINVAL);
	assert_int_equal(try_address(long_address), -EINVAL);
	assert_int_equal(try_address("tcp:host=localhost,port=1"), -EINVAL);
	assert_int_equal(try_address(ABSENT ";tcp:host=localhost,port=1"), -EINVAL);
	assert_int_equal(try_address("unixexec:path=/bin/true"), -EINVAL);
}

static void test_well_known_buses(void **state)
{
	(void)state;
	assert_int_equal(setenv("DBUS_SYSTEM_BUS_ADDRESS", ABSENT, 1), 0);
	assert_int_equal(try_address("system"), 0);
	assert_int_equal(setenv("DBUS_SYSTEM_BUS_ADDRESS", "nonsense", 1), 0);
	assert_int_equal(try_address("system"), -EINVAL);
	unsetenv("DBUS_SYSTEM_BUS_ADDRESS");

	assert_int_equal(setenv("DBUS_SESSION_BUS_ADDRESS", ABSENT, 1), 0);
	assert_int_equal(try_address("session"), 0);
	unsetenv("DBUS_SESSION_BUS_ADDRESS");
	assert_int_equal(setenv("XDG_RUNTIME_DIR", "/nonexistent", 1), 0);
	assert_int_equal(try_address("session"), 0);
	unsetenv("XDG_RUNTIME_DIR");
	assert_int_equal(try_address("session"), -EINVAL);
}

/* Nobody is there to have the name: that takes no time, and is no error yet. */
static void test_not_taken(void **state)
{
	static const char *const addresses[] = { ABSENT, "unix:abstract=pipewatch-nobody", "",
						 "nonsense", "tcp:host=localhost,port=1" };
	char message[64] = "untouched";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		assert_false(bus_taken(addresses[i], message, sizeof(message)));
	assert_string_equal(message, "untouched");
}

static void expect_described(struct bus_owner owner, size_t size, const char *expected)
{
	char message[256];

	bus_owner_describe(&owner, "unix:path=/a", message, size);
	assert_string_equal(message, expected);
}

static void test_owner(void **state)
{
	(void)state;
	expect_described((struct bus_owner){ true, UINT32_MAX }, 256,
			 "The name org.pipewatch1 on the bus at unix:path=/a belongs to process "
			 "4294967295, probably another pipewatchd. Stop that, or start this one "
			 "with --bus none.");
	expect_described((struct bus_owner){ true, 0 }, 256,
			 "The name org.pipewatch1 on the bus at unix:path=/a belongs to another "
			 "program, probably another pipewatchd. Stop that, or start this one with "
			 "--bus none.");
	expect_described((struct bus_owner){ true, 1 }, 9, "The name");
}

static int on_enough(sd_event_source *source, uint64_t usec, void *userdata)
{
	(void)source, (void)usec;
	return sd_event_exit(userdata, 0);
}

static int on_soon(sd_event_source *source, void *userdata)
{
	(void)source;
	return sd_event_exit(userdata, 0);
}

/* A bus that refuses connections is told of at once, and only once in as many attempts as fit into
 * the time. */
static void test_refused_connection(void **state)
{
	struct told told = { 0 };
	struct bus *b = NULL;

	(void)state;
	assert_true(sd_event_new(&told.event) >= 0);
	assert_int_equal(
		bus_new(told.event, "unix:abstract=pipewatch-nobody", get_nothing, tell, &told, &b),
		0);
	assert_true(sd_event_add_time_relative(told.event, NULL, CLOCK_MONOTONIC, 1800000, 0,
					       on_enough, told.event) >= 0);
	assert_int_equal(sd_event_loop(told.event), 0);
	assert_int_equal(told.n, 1);
	assert_int_equal(told.level, LOG_WARNING);
	assert_string_equal(told.message, "The bus at unix:abstract=pipewatch-nobody is not "
					  "available: Connection refused; still trying.");
	bus_free(b);
	sd_event_unref(told.event);
}

static void fill(struct snapshot *s)
{
	s->version = "1.2.3";
	s->kernel_release = "6.1.0";
	s->state = STATE_RUNNING;
	s->state_reason = "All is well.";
	s->mode = MODE_EXACT;
	s->configured_mode = MODE_AUTO;
	s->mode_reason = "It fits.";
	for (enum pipe_kind pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (enum update_kind kind = 0; kind < UPDATE_KINDS; kind++)
			s->paths[pipe][kind] = (struct snapshot_path){ PATH_PAID, "Seen." };
	s->counting = true;
	s->coverage_ratio = 1;
	cost_figure_unknown(&s->observer.overhead, "Nobody knows.");
}

/* Without a connection there is nobody to tell. */
static void test_states_changed_without_bus(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();
	_cleanup_(bus_freep) struct bus *b = NULL;
	struct told told = { 0 };
	int r;

	(void)state;
	assert_non_null(s);
	fill(s);
	assert_true(sd_event_new(&told.event) >= 0);
	assert_int_equal(bus_new(told.event, ABSENT, get_nothing, tell, &told, &b), 0);
	bus_states_changed(b, s);
	s->state = STATE_DEGRADED;
	bus_states_changed(b, s);
	assert_true(sd_event_add_defer(told.event, NULL, on_soon, told.event) >= 0);
	r = sd_event_loop(told.event);
	assert_int_equal(r, 0);
	assert_int_equal(told.n, 0);
	sd_event_unref(told.event);
}

static void expect_text(const struct snapshot *s, const char *property, const char *expected)
{
	_cleanup_(freep) char *text = bus_states_text(s, property);

	assert_non_null(text);
	assert_string_equal(text, expected);
}

static void test_texts(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();

	(void)state;
	assert_non_null(s);
	fill(s);
	expect_text(s, "Version", "1.2.3");
	expect_text(s, "Mode", "exact");
	expect_text(s, "ConfiguredMode", "auto");
	expect_text(s, "AnonymousTimestamps", "paid");
	expect_text(s, "AnonymousTimestampsReason", "Seen.");
	expect_text(s, "CoverageReason", "");
	expect_text(s, "CountingReason", "");
	assert_null(bus_states_text(s, "Nothing"));

	s->paths[PIPE_ANONYMOUS][UPDATE_CMTIME].reason = "Seen too.";
	expect_text(s, "AnonymousTimestamps", "paid");
	expect_text(s, "AnonymousTimestampsReason",
		    "atime is paid: Seen. cmtime is paid: Seen too.");
	s->paths[PIPE_ANONYMOUS][UPDATE_CMTIME].state = PATH_REMOVED;
	expect_text(s, "AnonymousTimestamps", "unknown");
	s->paths[PIPE_ANONYMOUS][UPDATE_ATIME].state = PATH_REMOVED;
	expect_text(s, "AnonymousTimestamps", "removed");

	expect_text(s, "Estimated", "no");
	expect_text(s, "ObserverOverheadReason", "Nobody knows.");
	expect_text(s, "WatchersReason", "");

	s->observer.overhead.known = true;
	s->watchers_reason = "Some are hidden.";
	s->estimated = true;
	s->coverage_ratio = 0.125;
	expect_text(s, "Estimated", "yes");
	expect_text(s, "ObserverOverheadReason", "");
	expect_text(s, "WatchersReason", "Some are hidden.");
	expect_text(s, "CoverageReason",
		    "Operations are counted in short windows, and the counts are extrapolated.");
	s->coverage_ratio = 0;
	expect_text(s, "CoverageReason",
		    "Operations are not counted in this mode: the counts stand still.");
	s->counting = false;
	s->counting_reason = "Forbidden.";
	expect_text(s, "CoverageReason", "Forbidden.");
	expect_text(s, "CountingReason", "Forbidden.");
}

static struct bus_states *take(const struct snapshot *s)
{
	struct bus_states *states = NULL;

	assert_int_equal(bus_states_new(s, &states), 0);
	return states;
}

static void test_diff(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();
	const char *names[BUS_STATES_MAX + 1];
	struct snapshot_program *program;
	struct bus_states *before, *after;

	(void)state;
	assert_non_null(s);
	fill(s);
	program = snapshot_add_program(s);
	assert_non_null(program);
	*program = (struct snapshot_program){
		.program = "on_read", .hook = "pipe_read", .attached = true, .reason = ""
	};
	before = take(s);

	/* Counters and constants are no states. */
	s->tracked_processes = 5;
	s->budget_ratio = 0.5;
	s->version = "other";
	s->unseen_operations_max = 3;
	s->observer.cpu_seconds[OBSERVER_DAEMON] = 1;
	s->unit_costs[PIPE_FIFO][UPDATE_ATIME].whole.known = true;
	assert_non_null(snapshot_add_watcher(s));
	after = take(s);
	assert_int_equal(bus_states_diff(before, after, names), 0);
	assert_null(names[0]);
	bus_states_free(after);

	s->state = STATE_DEGRADED;
	program->attached = false;
	s->paths[PIPE_FIFO][UPDATE_FSNOTIFY].reason = "Guessed.";
	after = take(s);
	assert_int_equal(bus_states_diff(before, after, names), 3);
	assert_string_equal(names[0], "State");
	assert_string_equal(names[1], "Paths");
	assert_string_equal(names[2], "Programs");
	assert_null(names[3]);
	bus_states_free(after);

	/* All that can differ. */
	for (enum update_kind kind = 0; kind < UPDATE_KINDS; kind++)
		s->paths[PIPE_ANONYMOUS][kind] = (struct snapshot_path){ PATH_REMOVED, "Gone." };
	s->state_reason = s->mode_reason = s->counting_reason = "Other.";
	s->mode = s->configured_mode = MODE_OFF;
	s->counting = false;
	s->estimated = true;
	s->observer.overhead.known = true;
	s->watchers_reason = "Other.";
	after = take(s);
	assert_int_equal(bus_states_diff(before, after, names), BUS_STATES_MAX);
	assert_null(names[BUS_STATES_MAX]);
	bus_states_free(after);
	bus_states_free(before);
}

static void expect_remedy(const struct bus_remedy *row, enum remedy remedy, const char *scope,
			  const char *comm, uint32_t pid, double seconds)
{
	assert_int_equal(row->remedy, remedy);
	assert_string_equal(row->scope, scope);
	assert_string_equal(row->comm, comm);
	assert_int_equal(row->pid, pid);
	assert_true(row->seconds == seconds);
}

/* The host's, then those of groups, then of processes, each by what they save. */
static void test_remedies(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();
	_cleanup_(freep) struct bus_remedy *rows = NULL, *cut = NULL;
	struct snapshot_process *p;
	struct snapshot_group *g;
	size_t n = 0;

	(void)state;
	assert_non_null(s);
	fill(s);
	s->unit_costs[PIPE_ANONYMOUS][UPDATE_CMTIME].whole.known = true;
	for (uint32_t i = 1; i <= 3; i++) {
		p = snapshot_add_process(s);
		assert_non_null(p);
		p->pid = i;
		/* Known, and the same, so that the pid decides. */
		p->costs[PIPE_ANONYMOUS].seconds[UPDATE_CMTIME] = 0.5;
		p->costs[PIPE_ANONYMOUS].seconds[UPDATE_ATIME] = 7;
		p->batch_seconds = 9; /* not known, as atime is not */
		p->exited = i == 2;
	}
	g = snapshot_add_group(s);
	assert_non_null(g);
	g->comm = "a";
	g->costs[PIPE_ANONYMOUS].seconds[UPDATE_CMTIME] = 1;
	g = snapshot_add_group(s);
	assert_non_null(g);
	g->comm = "none";
	g = snapshot_add_group(s);
	assert_non_null(g);
	g->comm = "b";
	g->costs[PIPE_ANONYMOUS].seconds[UPDATE_CMTIME] = 2;
	snapshot_finish(s);

	assert_int_equal(bus_remedies_new(s, &rows, &n), 0);
	assert_int_equal(n, 5);
	expect_remedy(&rows[0], REMEDY_KERNEL, "host", "", 0, 3);
	expect_remedy(&rows[1], REMEDY_KERNEL, "group", "b", 0, 2);
	expect_remedy(&rows[2], REMEDY_KERNEL, "group", "a", 0, 1);
	expect_remedy(&rows[3], REMEDY_KERNEL, "process", "", 1, 0.5);
	expect_remedy(&rows[4], REMEDY_KERNEL, "process", "", 3, 0.5);

	for (uint32_t i = 0; i < BUS_REMEDIES_MAX; i++) {
		g = snapshot_add_group(s);
		assert_non_null(g);
		g->comm = "c";
		g->costs[PIPE_ANONYMOUS].seconds[UPDATE_CMTIME] = 3 + i;
	}
	assert_int_equal(bus_remedies_new(s, &cut, &n), 0);
	assert_int_equal(n, 1 + BUS_REMEDIES_MAX + 2);
	expect_remedy(&cut[1], REMEDY_KERNEL, "group", "c", 0, 3 + BUS_REMEDIES_MAX - 1);
	expect_remedy(&cut[BUS_REMEDIES_MAX], REMEDY_KERNEL, "group", "c", 0, 3);
	expect_remedy(&cut[BUS_REMEDIES_MAX + 1], REMEDY_KERNEL, "process", "", 1, 0.5);
}

/* Of one scope and saving: by unit, name, pid, and remedy. */
static void test_remedies_that_save_the_same(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();
	_cleanup_(freep) struct bus_remedy *rows = NULL;
	static const char *const units[] = { "b", "a", "a" };
	static const char *const comms[] = { "x", "z", "y" };
	size_t n = 0;

	(void)state;
	assert_non_null(s);
	fill(s);
	s->sampling = s->sampling_sees[UPDATE_FSNOTIFY] = true;
	s->unit_costs[PIPE_ANONYMOUS][UPDATE_CMTIME].whole.known = true;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		struct snapshot_group *g = snapshot_add_group(s);

		assert_non_null(g);
		g->unit = units[i];
		g->comm = comms[i];
		g->costs[PIPE_ANONYMOUS].seconds[UPDATE_CMTIME] = 1;
		g->costs[PIPE_ANONYMOUS].seconds[UPDATE_FSNOTIFY] = 1;
	}
	snapshot_finish(s);

	assert_int_equal(bus_remedies_new(s, &rows, &n), 0);
	assert_int_equal(n, 8);
	expect_remedy(&rows[0], REMEDY_KERNEL, "host", "", 0, 3);
	expect_remedy(&rows[1], REMEDY_UNWATCH, "host", "", 0, 3);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		expect_remedy(&rows[2 + 2 * i], REMEDY_KERNEL, "group", comms[2 - i], 0, 1);
		expect_remedy(&rows[3 + 2 * i], REMEDY_UNWATCH, "group", comms[2 - i], 0, 1);
		assert_string_equal(rows[2 + 2 * i].unit, units[2 - i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_well_known_buses),
		cmocka_unit_test(test_not_taken),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_refused_connection),
		cmocka_unit_test(test_states_changed_without_bus),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_diff),
		cmocka_unit_test(test_remedies),
		cmocka_unit_test(test_remedies_that_save_the_same),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
