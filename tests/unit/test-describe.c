// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <json-c/json.h>
#include <math.h>
#include <string.h>

#include "describe.h"
#include "pipewatch/util.h"

static struct snapshot *new_snapshot(void)
{
	struct snapshot *s = snapshot_new();

	assert_non_null(s);
	s->version = "1.2.3";
	s->libbpf_version = "1.1";
	s->start_time_usec = 1700000000123456;
	s->time_usec = s->start_time_usec + 2500000;
	s->state = STATE_RUNNING;
	s->state_reason = "All is well.";
	s->mode = MODE_EXACT;
	s->configured_mode = MODE_AUTO;
	s->mode_reason = "Everything fits the budget.";
	s->budget_ratio = 0.01;
	s->kernel_release = "6.1.0-test";
	s->machine = "x86_64";
	s->clocksource = "tsc";
	for (enum pipe_kind pipe = 0; pipe < PIPE_KINDS; pipe++)
		for (enum update_kind kind = 0; kind < UPDATE_KINDS; kind++) {
			s->paths[pipe][kind].state = PATH_PAID;
			s->paths[pipe][kind].reason = "It does.";
		}
	s->counting = true;
	s->counting_reason = "";
	s->coverage_ratio = 1;
	s->sampling_reason = "Nothing is sampled.";
	return s;
}

static char *describe(const struct snapshot *s)
{
	char *json = NULL;

	assert_int_equal(describe_json(s, &json), 0);
	assert_non_null(json);
	return json;
}

#define PAID "{\"state\":\"paid\",\"reason\":\"It does.\"}"
#define PAID_FSNOTIFY                                                     \
	"{\"state\":\"paid\",\"reason\":\"It does.\",\"updates_reason\":" \
	"\"Such updates do not follow from the number of operations.\"}"
#define PAID_PATHS "{\"atime\":" PAID ",\"cmtime\":" PAID ",\"fsnotify\":" PAID_FSNOTIFY "}"
#define HEAD                                                                                      \
	"{\"version\":\"1.2.3\",\"libbpf_version\":\"1.1\",\"start_time_usec\":1700000000123456," \
	"\"state\":\"running\",\"state_reason\":\"All is well.\",\"mode\":\"exact\","             \
	"\"configured_mode\":\"auto\",\"mode_reason\":\"Everything fits the budget.\","           \
	"\"budget_ratio\":0.01," NO_PREDICTION
#define NO_PREDICTION                                                                 \
	"\"predicted_cpu_ratio\":{},\"observer_overhead_reason\":\"\",\"own_cost\":{" \
	"\"cpu_seconds\":{\"programs\":0,\"bursts\":0,\"sampling\":0,\"daemon\":0},"  \
	"\"overhead_reason\":\"\",\"operation_reason\":\"\",\"counting_reason\":\"\"},"
#define TIMES	    "\"now_usec\":1700000002623456,\"measured_seconds\":2.5,"
#define COVERED	    "\"coverage_ratio\":1,\"estimated\":false," TIMES
#define NO_WATCHERS "\"watchers\":[],"
#define NO_REMEDIES "\"remedies\":{}"
#define KERNEL \
	"\"kernel\":{\"release\":\"6.1.0-test\",\"machine\":\"x86_64\",\"clocksource\":\"tsc\"},"
#define NO_FIGURE "{\"reason\":\"\"}"
#define NO_COST                                                                                   \
	"{\"whole\":" NO_FIGURE ",\"stages\":{\"update\":" NO_FIGURE ",\"superblock\":" NO_FIGURE \
	",\"mount\":" NO_FIGURE ",\"inode\":" NO_FIGURE "},\"estimators\":{\"burst\":" NO_FIGURE  \
	",\"ab\":" NO_FIGURE ",\"sample\":" NO_FIGURE "}}"
#define NO_PIPE_COSTS "{\"atime\":" NO_COST ",\"cmtime\":" NO_COST ",\"fsnotify\":" NO_COST "}"
#define NO_COSTS      "\"unit_costs\":{\"anonymous\":" NO_PIPE_COSTS ",\"fifo\":" NO_PIPE_COSTS "},"
#define NO_SAMPLING   "\"sampling\":false,\"sampling_reason\":\"Nothing is sampled.\","
#define NO_SIZES      "[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]"
#define NO_COUNTS                                                                             \
	"{\"reads\":0,\"writes\":0,\"read_bytes\":0,\"written_bytes\":0,\"noatime_reads\":0," \
	"\"atime_updates\":0,\"cmtime_updates\":0,\"read_sizes\":" NO_SIZES                   \
	",\"write_sizes\":" NO_SIZES "}"

static void test_empty(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = new_snapshot();
	_cleanup_(freep) char *json = NULL;

	(void)state;
	snapshot_finish(s);
	json = describe(s);
	assert_string_equal(
		json, HEAD COVERED KERNEL
		"\"paths\":{\"anonymous\":" PAID_PATHS ",\"fifo\":" PAID_PATHS "}," NO_COSTS
		"\"programs\":[]," NO_WATCHERS NO_SAMPLING "\"counting\":true,"
		"\"tracked_processes\":0,\"lost_updates\":0,\"losses\":[],"
		"\"unattributed_operations\":0,\"maps\":[],"
		"\"totals\":{\"anonymous\":" NO_COUNTS ",\"fifo\":" NO_COUNTS "}," NO_REMEDIES ","
		"\"groups\":[],\"processes\":[],\"processes_omitted\":0}");
}

static void fill(struct snapshot *s)
{
	struct snapshot_process *process = snapshot_add_process(s);
	struct snapshot_program *program = snapshot_add_program(s);
	struct snapshot_group *group = snapshot_add_group(s);
	struct snapshot_loss *loss = snapshot_add_loss(s);
	struct snapshot_map *map = snapshot_add_map(s);
	const struct pipe_counts counts = {
		.reads = UINT64_MAX,
		.writes = (1ULL << 53) + 1,
		.read_bytes = 3,
		.written_bytes = 4,
		.noatime_reads = 5,
	};

	assert_non_null(process);
	assert_non_null(program);
	assert_non_null(group);
	assert_non_null(loss);
	assert_non_null(map);
	*process = (struct snapshot_process){
		.pid = UINT32_MAX,
		.start_time_usec = 7,
		.comm = "a\n\"\\/\001\t\177\xc3\xa9",
		.unit = "caf\xc3\xa9.service",
		.exited = true,
	};
	process->counts[PIPE_FIFO] = counts;
	process->sizes[PIPE_FIFO].reads[0] = UINT64_MAX;
	process->sizes[PIPE_FIFO].writes[15] = 9;
	*program = (struct snapshot_program){ .program = "on_read",
					      .hook = "pipe_read",
					      .attached = false,
					      .reason = "No such function." };
	*group = (struct snapshot_group){
		.unit = "u.service",
		.comm = "comm",
		.processes = 1,
		.counts = { [PIPE_FIFO] = counts },
	};
	*loss = (struct snapshot_loss){ "no_slot", 11 };
	*map = (struct snapshot_map){ "threads", 12, 13 };
}

#define FIFO_COUNTS                                                                    \
	"\"reads\":18446744073709551615,\"writes\":9007199254740993,\"read_bytes\":3," \
	"\"written_bytes\":4,\"noatime_reads\":5"
#define REMOVED                                               \
	"{\"state\":\"removed\",\"reason\":\"It does not.\"," \
	"\"updates_reason\":\"This kernel makes no such updates.\"}"
#define UNKNOWN                                                                \
	"{\"state\":\"unknown\",\"reason\":\"Who knows.\",\"updates_reason\":" \
	"\"It is not known whether this kernel makes such updates.\"}"

/* Odd names, great numbers, and figures that this kernel does not have. */
static void test_full(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = new_snapshot();
	_cleanup_(freep) char *json = NULL;

	(void)state;
	fill(s);
	s->coverage_ratio = 0;
	s->clocksource = "";
	s->paths[PIPE_FIFO][UPDATE_ATIME] = (struct snapshot_path){ PATH_REMOVED, "It does not." };
	s->paths[PIPE_FIFO][UPDATE_CMTIME] = (struct snapshot_path){ PATH_UNKNOWN, "Who knows." };
	snapshot_finish(s);
	s->unattributed_operations = 17;
	json = describe(s);

	assert_non_null(strstr(
		json,
		"\"coverage_ratio\":0,\"coverage_reason\":\"Operations are not counted in this mode: "
		"the counts stand still.\",\"estimated\":false," TIMES "\"kernel\":"
		"{\"release\":\"6.1.0-test\",\"machine\":\"x86_64\","
		"\"clocksource_reason\":\"The kernel does not name its clock source.\"},"
		"\"paths\":{\"anonymous\":" PAID_PATHS ",\"fifo\":{\"atime\":" REMOVED
		",\"cmtime\":" UNKNOWN ",\"fsnotify\":" PAID_FSNOTIFY "}}," NO_COSTS
		"\"programs\":[{\"program\":\"on_read\",\"hook\":\"pipe_read\","
		"\"attached\":false,\"reason\":\"No such function.\"}]," NO_WATCHERS NO_SAMPLING
		"\"counting\":true,"));
	assert_non_null(strstr(json,
			       "\"lost_updates\":11,\"losses\":[{\"reason\":\"no_slot\","
			       "\"updates\":11}],\"unattributed_operations\":17,\"maps\":[{\"map\":"
			       "\"threads\",\"entries\":12,\"max_entries\":13}],\"totals\":{"));
	assert_non_null(strstr(json,
			       "\"groups\":[{\"unit\":\"u.service\",\"comm\":\"comm\","
			       "\"processes\":1,\"fifo\":{" FIFO_COUNTS "}," NO_REMEDIES "}],"));
	assert_non_null(strstr(
		json, "\"processes\":[{\"pid\":4294967295,\"start_time_usec\":7,"
		      "\"comm\":\"a\\n\\\"\\\\/\\u0001\\t\177\xc3\xa9\","
		      "\"unit\":\"caf\xc3\xa9.service\",\"exited\":true,\"fifo\":{" FIFO_COUNTS
		      ",\"read_sizes\":[18446744073709551615,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],"
		      "\"write_sizes\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,9]}," NO_REMEDIES "}],"
		      "\"processes_omitted\":0}"));
}

/* Not measured: no figure at all, and the reason. */
static void test_not_counting(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = new_snapshot();
	_cleanup_(freep) char *json = NULL;

	(void)state;
	s->counting = false;
	s->counting_reason = "No.";
	s->budget_ratio = (double)NAN;
	snapshot_finish(s);
	json = describe(s);
#define NOT_COUNTED "{\"state\":\"paid\",\"reason\":\"It does.\",\"updates_reason\":\"No.\"}"
#define NOT_COUNTED_PATHS \
	"{\"atime\":" NOT_COUNTED ",\"cmtime\":" NOT_COUNTED ",\"fsnotify\":" NOT_COUNTED "}"
	assert_non_null(strstr(
		json, "\"mode_reason\":\"Everything fits the budget.\"," NO_PREDICTION
		      "\"coverage_reason\":\"No.\",\"estimated\":false," TIMES KERNEL
		      "\"paths\":{\"anonymous\":" NOT_COUNTED_PATHS ",\"fifo\":" NOT_COUNTED_PATHS
		      "}," NO_COSTS "\"programs\":[]," NO_WATCHERS NO_SAMPLING
		      "\"counting\":false,\"counting_reason\":\"No.\"}"));
}

/* What is known of a cost, and what it comes to. */
static void test_costs(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = new_snapshot();
	_cleanup_(freep) char *json = NULL;
	struct cost_estimate *e = &s->unit_costs[PIPE_FIFO][UPDATE_ATIME];
	struct snapshot_group *group = snapshot_add_group(s);

	(void)state;
	assert_non_null(group);
	group->unit = "u";
	group->comm = "c";
	group->counts[PIPE_FIFO].reads = 4;
	group->costs[PIPE_FIFO].seconds[UPDATE_ATIME] = 6e-7;
	group->pipe_cpu_seconds = 0.25;
	e->whole = (struct cost_figure){ .known = true, .seconds = 1.5e-7, .error_seconds = 5e-9 };
	e->by[COST_AB] = e->whole;
	e->stages[COST_UPDATE] = e->whole;
	e->agreement = COST_SINGLE;
	s->sampling = true;
	snapshot_finish(s);
	assert_true(s->groups[0].cost_seconds == 6e-7);

	json = describe(s);
#define FIGURE "{\"seconds\":1.5e-07,\"error_seconds\":5e-09}"
	assert_non_null(strstr(json, "\"fifo\":{\"atime\":{\"whole\":" FIGURE
				     ",\"agreement\":\"single\",\"stages\":{\"update\":" FIGURE
				     ",\"superblock\":" NO_FIGURE ",\"mount\":" NO_FIGURE
				     ",\"inode\":" NO_FIGURE
				     "},\"estimators\":{\"burst\":" NO_FIGURE ",\"ab\":" FIGURE));
	assert_non_null(strstr(json, "\"sampling\":true,\"lost_samples\":0,\"counting\":true,"));
	assert_non_null(strstr(json, "\"comm\":\"c\",\"processes\":0,\"pipe_cpu_seconds\":0.25,"
				     "\"sampled_cpu_seconds\":{},"));
	assert_non_null(strstr(json, "\"atime_updates\":4,\"cmtime_updates\":0,"
				     "\"atime_cpu_seconds\":6e-07},"
				     "\"remedies\":{\"noatime\":6e-07}}],"));
	assert_non_null(strstr(json, "\"cmtime_updates\":0,\"atime_cpu_seconds\":6e-07,"
				     "\"read_sizes\":" NO_SIZES ",\"write_sizes\":" NO_SIZES
				     "}},\"remedies\":{\"noatime\":6e-07},\"groups\":"));
}

/* A process and a group of @s with every detail. */
static void add_detailed(struct snapshot *s)
{
	struct snapshot_process *process = snapshot_add_process(s);
	struct snapshot_group *group = snapshot_add_group(s);

	assert_non_null(process);
	assert_non_null(group);
	process->pid = 9;
	process->cpu_known = true;
	process->cpu_seconds = 8.5;
	process->cpu_share = 0.125;
	process->pipe_cpu_seconds = 1.5;
	process->sampled_seconds[UPDATE_FSNOTIFY] = 0.375;
	process->counts[PIPE_ANONYMOUS] = (struct pipe_counts){ .reads = 40, .writes = 30 };
	process->errors[PIPE_ANONYMOUS] = (struct pipe_errors){ .reads = 2.5f, .writes = 1.25f };
	process->costs[PIPE_ANONYMOUS].seconds[UPDATE_FSNOTIFY] = 0.375;
	process->batch_seconds = 0.5;
	group->unit = "u";
	group->comm = "c";
	group->pipe_cpu_seconds = 1.5;
	group->sampled_seconds[UPDATE_FSNOTIFY] = 0.375;
	group->counts[PIPE_ANONYMOUS] = process->counts[PIPE_ANONYMOUS];
	group->errors[PIPE_ANONYMOUS] = process->errors[PIPE_ANONYMOUS];
	group->costs[PIPE_ANONYMOUS] = process->costs[PIPE_ANONYMOUS];
	group->batch_seconds = 0.5;
}

/* Everything about the daemon's own cost, estimates, remedies and watchers. */
static void test_estimated(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = new_snapshot();
	_cleanup_(freep) char *json = NULL, *missing = NULL;
	struct snapshot_watcher *watcher = snapshot_add_watcher(s);
	struct snapshot_program *program = snapshot_add_program(s);

	(void)state;
	assert_non_null(watcher);
	assert_non_null(program);
	add_detailed(s);
	s->mode = MODE_BURST;
	s->coverage_ratio = 0.0625;
	s->estimated = true;
	s->unseen_operations_max = 47.5;
	s->total_errors[PIPE_ANONYMOUS] = (struct pipe_errors){ .reads = 4.5f };
	s->sampling = true;
	s->sampling_sees[UPDATE_FSNOTIFY] = true;
	s->sampling_lost = 3;
	s->watchers_reason = "Some are hidden.";
	*watcher = (struct snapshot_watcher){ .pid = 77, .comm = "in\"spect", .watches = 2 };
	program->attached = true;
	program->missed = 6;
	program->run_seconds = 1.5e-7;
	s->observer = (struct snapshot_observer){
		.operation = { .known = true, .seconds = 5e-7, .error_seconds = 2e-9 },
		.counting = { .known = true, .seconds = 9e-8, .error_seconds = 1e-9 },
		.overhead = { .known = true, .seconds = 0.009, .error_seconds = 0.0005 },
		.cpu_seconds = { 4, 3, 2, 1 },
		.predicted = { -1, 0.25, 0.01, -1, 0 },
		.allowed = 0.02,
	};
	snapshot_finish(s);
	json = describe(s);

	assert_non_null(strstr(
		json, "\"allowed_cpu_ratio\":0.02,\"predicted_cpu_ratio\":{\"exact\":0.25,"
		      "\"burst\":0.01},\"own_cost\":{\"cpu_seconds\":{\"programs\":4,"
		      "\"bursts\":3,\"sampling\":2,\"daemon\":1},\"overhead_ratio\":0.009,"
		      "\"overhead_error_ratio\":0.0005,\"operation_seconds\":5e-07,"
		      "\"operation_error_seconds\":2e-09,\"counting_seconds\":9e-08,"
		      "\"counting_error_seconds\":1e-09},\"coverage_ratio\":0.0625,"
		      "\"coverage_reason\":\"Operations are counted in short windows, and the "
		      "counts are extrapolated.\",\"estimated\":true,"
		      "\"unseen_operations_max\":47.5," TIMES KERNEL));
	assert_non_null(strstr(
		json, "\"attached\":true,\"missed_runs\":6,\"missed\":6,\"run_seconds\":1.5e-07}],"
		      "\"watchers\":[{\"pid\":77,\"comm\":\"in\\\"spect\",\"watches\":2}],"
		      "\"watchers_reason\":\"Some are hidden.\",\"sampling\":true,"
		      "\"lost_samples\":3,\"counting\":true,"));
#define ESTIMATES                                                                               \
	"{\"reads\":40,\"writes\":30,\"read_bytes\":0,\"written_bytes\":0,\"noatime_reads\":0," \
	"\"reads_standard_error\":2.5,\"writes_standard_error\":1.25,\"atime_updates\":40,"     \
	"\"cmtime_updates\":30,\"fsnotify_cpu_seconds\":0.375"
#define SAMPLED	 "\"pipe_cpu_seconds\":1.5,\"sampled_cpu_seconds\":{\"fsnotify\":0.375},"
#define REMEDIES "\"remedies\":{\"unwatch\":0.375,\"batch\":0.5}"
	assert_non_null(strstr(json, "\"noatime_reads\":0,\"reads_standard_error\":4.5,"
				     "\"atime_updates\":40,\"cmtime_updates\":30,"
				     "\"fsnotify_cpu_seconds\":0.375,\"read_sizes\":"));
	assert_non_null(strstr(json, "}}," REMEDIES ",\"groups\":[{\"unit\":\"u\",\"comm\":\"c\","
				     "\"processes\":0," SAMPLED "\"anonymous\":" ESTIMATES
				     "}," REMEDIES "}],\"processes\":[{\"pid\":9,"
				     "\"start_time_usec\":0,\"comm\":\"\",\"unit\":\"\","
				     "\"exited\":false," SAMPLED "\"cpu_seconds\":8.5,"
				     "\"metadata_cpu_share\":0.125,\"anonymous\":" ESTIMATES
				     ",\"read_sizes\":" NO_SIZES ",\"write_sizes\":" NO_SIZES
				     "}," REMEDIES "}],\"processes_omitted\":0}"));

	/* What is not counted has no error either. */
	s->reads_missing = true;
	missing = describe(s);
	assert_null(strstr(missing, "\"reads_standard_error\""));
	assert_non_null(strstr(missing, "\"writes_standard_error\":1.25,"));
}

/* In profile mode from the start: what was sampled, and not one count. */
static void test_only_sampled(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = new_snapshot();
	_cleanup_(freep) char *json = NULL;

	(void)state;
	add_detailed(s);
	s->counting = false;
	s->counting_reason = "No.";
	s->groups[0].counts[PIPE_ANONYMOUS] = s->processes[0].counts[PIPE_ANONYMOUS] =
		(struct pipe_counts){};
	s->unit_costs[PIPE_ANONYMOUS][UPDATE_ATIME].whole.known = true;
	s->sampling = true;
	s->sampling_sees[UPDATE_ATIME] = s->sampling_sees[UPDATE_FSNOTIFY] = true;
	snapshot_finish(s);
	json = describe(s);
#define ONLY_SAMPLED \
	"\"pipe_cpu_seconds\":1.5,\"sampled_cpu_seconds\":{\"atime\":0,\"fsnotify\":0.375},"
	assert_non_null(strstr(json,
			       "\"counting\":false,\"counting_reason\":\"No.\",\"remedies\":{"
			       "\"unwatch\":0.375},\"groups\":[{\"unit\":\"u\",\"comm\":\"c\","
			       "\"processes\":0," ONLY_SAMPLED
			       "\"anonymous\":{\"fsnotify_cpu_seconds\":0.375},"
			       "\"remedies\":{\"unwatch\":0.375}}],\"processes\":[{\"pid\":9,"));
	assert_non_null(strstr(json, "\"metadata_cpu_share\":0.125,"
				     "\"anonymous\":{\"fsnotify_cpu_seconds\":0.375},"
				     "\"remedies\":{\"unwatch\":0.375}}],"
				     "\"processes_omitted\":0}"));
	assert_null(strstr(json, "\"reads\""));
	assert_null(strstr(json, "\"totals\""));
}

/* A list too long for a bus message ends, and says so. */
static void test_many(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = new_snapshot();
	_cleanup_(freep) char *json = NULL;
	struct json_object *root, *processes, *omitted;

	(void)state;
	for (int i = 0; i < DESCRIBE_PROCESSES_MAX + 3; i++) {
		struct snapshot_process *process = snapshot_add_process(s);

		assert_non_null(process);
		process->pid = (uint32_t)i + 1;
		process->counts[PIPE_ANONYMOUS].reads = 1;
	}
	snapshot_finish(s);
	json = describe(s);
	root = json_tokener_parse(json);
	assert_non_null(root);
	assert_true(json_object_object_get_ex(root, "processes", &processes));
	assert_true(json_object_object_get_ex(root, "processes_omitted", &omitted));
	assert_int_equal(json_object_array_length(processes), DESCRIBE_PROCESSES_MAX);
	assert_int_equal(json_object_get_int(omitted), 3);
	json_object_put(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),	     cmocka_unit_test(test_full),
		cmocka_unit_test(test_not_counting), cmocka_unit_test(test_costs),
		cmocka_unit_test(test_estimated),    cmocka_unit_test(test_only_sampled),
		cmocka_unit_test(test_many),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
