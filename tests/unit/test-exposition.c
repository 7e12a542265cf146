// SPDX-License-Identifier: GPL-2.0-or-later
/* Exact bytes, which two strict readers of others accept. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "accept.h"
#include "exposition.h"
#include "metric.h"
#include "pipewatch/util.h"
#include "published.h"

static const struct exposition_self self = {
	.cpu_seconds = 1.5,
	.start_time_seconds = 1700000000.25,
	.open_fds = 12,
	.max_fds = 1024,
	.virtual_bytes = 123456789,
	.resident_bytes = -1, /* not readable: left out */
	.threads = 1,
};

static char *expose(const struct snapshot *s, const struct exposition_self *process,
		    enum exposition_format format)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	assert_int_equal(exposition_write(s, process, format, f), 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(strlen(text), size);
	return text;
}

static void assert_exposed(bool counting, enum exposition_format format, const char *name)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = make_snapshot(counting);
	_cleanup_(freep) char *text = expose(s, &self, format);

	assert_golden(name, text);
}

static void test_text(void **state)
{
	(void)state;
	assert_exposed(true, EXPOSITION_TEXT, "counting.txt");
}

/* Where reads cannot be counted, nothing is said of them, nor of their errors. */
static void test_one_direction(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = make_snapshot(true);
	_cleanup_(freep) char *without_reads = NULL, *without_writes = NULL;

	(void)state;
	s->reads_missing = true;
	without_reads = expose(s, &self, EXPOSITION_TEXT);
	s->reads_missing = false;
	s->writes_missing = true;
	without_writes = expose(s, &self, EXPOSITION_TEXT);
	assert_null(strstr(without_reads, "\npipewatch_pipe_read"));
	assert_null(strstr(without_reads, "kind=\"atime\"} 1"));
	assert_non_null(strstr(without_reads, "\npipewatch_pipe_writes_total{"));
	assert_non_null(strstr(without_reads, "\npipewatch_pipe_writes_standard_error{"));
	assert_null(strstr(without_writes, "\npipewatch_pipe_writ"));
	assert_non_null(strstr(without_writes, "\npipewatch_pipe_reads_total{"));
	assert_non_null(strstr(without_writes, "\npipewatch_pipe_reads_standard_error{"));
}

static void test_openmetrics(void **state)
{
	(void)state;
	assert_exposed(true, EXPOSITION_OPENMETRICS, "counting.om");
}

static void test_nothing_counted(void **state)
{
	(void)state;
	assert_exposed(false, EXPOSITION_TEXT, "degraded.txt");
	assert_exposed(false, EXPOSITION_OPENMETRICS, "degraded.om");
}

/* In profile mode from the start: what was sampled, and not one count. */
static void test_only_sampled(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = make_snapshot(false);
	_cleanup_(freep) char *text = NULL;

	(void)state;
	s->mode = MODE_PROFILE;
	s->sampling = true;
	s->unit_costs[PIPE_ANONYMOUS][UPDATE_ATIME].whole = figure(1e-7, 1e-9);
	s->unit_costs[PIPE_ANONYMOUS][UPDATE_ATIME].undivided = true;
	text = expose(s, &self, EXPOSITION_TEXT);
	assert_golden("profile.txt", text);
}

/* A fresh daemon on an idle host: counting, but nothing has been counted. */
static void test_empty(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();
	_cleanup_(freep) char *text = NULL, *again = NULL;

	(void)state;
	s->counting = true;
	s->mode = MODE_BURST;
	snapshot_finish(s);
	text = expose(s, NULL, EXPOSITION_TEXT);
	assert_null(strstr(text, "pipewatch_pipe_"));
	assert_null(strstr(text, "pipewatch_metadata_updates"));
	assert_null(strstr(text, "pipewatch_unseen_operations"));
	assert_non_null(strstr(text, "\npipewatch_coverage_ratio 0\n"));
	assert_null(strstr(text, "process_"));
	assert_non_null(strstr(text, "\npipewatch_tracked_processes 0\n"));
	assert_non_null(strstr(text, "\npipewatch_unattributed_operations_total 0\n"));
	assert_non_null(strstr(text, "\npipewatch_mode{mode=\"burst\"} 1\n"));
	again = expose(s, NULL, EXPOSITION_TEXT);
	assert_string_equal(text, again);
}

/* Stages where they are known, the whole where only that is, nothing where nothing is. */
static void test_costs(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = make_snapshot(true);
	_cleanup_(freep) char *text = NULL;
	struct cost_estimate *divided = &s->unit_costs[PIPE_ANONYMOUS][UPDATE_ATIME];
	struct cost_estimate *whole = &s->unit_costs[PIPE_FIFO][UPDATE_CMTIME];
	struct snapshot_group *g = snapshot_add_group(s);

	(void)state;
	divided->whole = figure(1.5e-7, 3e-9);
	divided->stages[COST_UPDATE] = figure(1.25e-7, 2.5e-9);
	divided->stages[COST_INODE] = figure(2.5e-8, 5e-9);
	divided->agreement = COST_AGREE;
	whole->whole = figure(1e-7, 1e-8);
	whole->undivided = true;
	g->unit = "u.service";
	g->comm = "mine";
	g->counts[PIPE_ANONYMOUS] = (struct pipe_counts){ .reads = 4, .writes = 7 };
	g->costs[PIPE_ANONYMOUS].seconds[UPDATE_ATIME] = 6e-7;
	g->pipe_cpu_seconds = 0.5;
	s->sampling = true;

	text = expose(s, NULL, EXPOSITION_TEXT);
#define COST	  "\npipewatch_metadata_unit_cost_seconds"
#define ERROR	  "\npipewatch_metadata_unit_cost_error_ratio"
#define AGREEMENT "\npipewatch_metadata_unit_cost_agreement"
#define ATIME	  "{kind=\"atime\",pipe=\"anonymous\","
#define CMTIME	  "{kind=\"cmtime\",pipe=\"fifo\","
	assert_non_null(strstr(text, COST ATIME "stage=\"update\"} 1.25e-07" COST ATIME
						"stage=\"inode\"} 2.5e-08" COST CMTIME
						"stage=\"whole\"} 1e-07\n#"));
	assert_non_null(strstr(text, ERROR ATIME "stage=\"update\"} 0.02" ERROR ATIME
						 "stage=\"inode\"} 0.2" ERROR CMTIME
						 "stage=\"whole\"} 0.1\n#"));
	assert_non_null(strstr(text, AGREEMENT ATIME "state=\"agree\"} 1" AGREEMENT CMTIME
						     "state=\"single\"} 1\n#"));
	assert_non_null(strstr(
		text, "\npipewatch_metadata_cpu_seconds_total{unit=\"u.service\",comm=\"mine\","
		      "pipe=\"anonymous\",kind=\"atime\"} 6e-07\n"));
	assert_non_null(strstr(
		text,
		"\npipewatch_pipe_cpu_seconds_total{unit=\"u.service\",comm=\"mine\"} 0.5\n"));
	assert_null(strstr(text, "comm=\"mine\",pipe=\"anonymous\",kind=\"cmtime\"} 0"));
}

static void test_pid_label(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = make_snapshot(true);
	_cleanup_(freep) char *text = NULL;
	struct snapshot_process *p = snapshot_add_process(s);
	struct snapshot_group *g;

	(void)state;
	*p = (struct snapshot_process){
		.pid = 42,
		.comm = "mine",
		.unit = "u.service",
		.has_series = true,
		.series = { [PIPE_ANONYMOUS] = { .reads = 3, .writes = 5 } },
	};
	g = snapshot_add_group(s);
	g->unit = "u.service";
	g->comm = "mine";
	g->counts[PIPE_ANONYMOUS] = (struct pipe_counts){ .reads = 4, .writes = 7 };
	g->rest[PIPE_ANONYMOUS] = (struct pipe_counts){ .reads = 1, .writes = 2 };
	s->pid_label = true;

	text = expose(s, NULL, EXPOSITION_TEXT);
#define MINE "{unit=\"u.service\",comm=\"mine\",pid="
	assert_non_null(
		strstr(text, "\npipewatch_pipe_reads_total" MINE "\"42\",pipe=\"anonymous\"} 3\n"));
	assert_non_null(
		strstr(text, "\npipewatch_pipe_reads_total" MINE "\"\",pipe=\"anonymous\"} 1\n"));
	assert_non_null(strstr(text, "\npipewatch_pipe_writes_total" MINE
				     "\"42\",pipe=\"anonymous\"} 5\n"));
	assert_non_null(
		strstr(text, "\npipewatch_pipe_writes_total" MINE "\"\",pipe=\"anonymous\"} 2\n"));
	assert_null(strstr(text, "comm=\"mine\",pipe="));
}

static void test_doubles_are_shortest(void **state)
{
	static const struct metric_family family = { "x", METRIC_GAUGE, NULL, "X." };
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ 0.1, "0.1" },
		{ 1.0 / 3, "0.3333333333333333" },
		{ 0.1 + 0.2, "0.30000000000000004" },
		{ 1e-9, "1e-09" },
		{ -2.5, "-2.5" },
		{ 1700000000.123456, "1700000000.123456" },
		{ 1.7976931348623157e308, "1.7976931348623157e+308" },
		{ 1.0 / 0.0, "+Inf" },
		{ -1.0 / 0.0, "-Inf" },
		{ __builtin_nan(""), "NaN" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(freep) char *text = NULL, *expected = NULL;
		size_t size = 0;
		FILE *f = open_memstream(&text, &size);
		struct metric_writer w = { .f = f };

		metric_begin(&w, &family);
		metric_double(&w, NULL, 0, cases[i].value);
		assert_int_equal(metric_end(&w), 0);
		fclose(f);
		assert_true(asprintf(&expected, "# HELP x X.\n# TYPE x gauge\nx %s\n",
				     cases[i].text) > 0);
		assert_string_equal(text, expected);
	}
}

static void test_full_disk_is_reported(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = make_snapshot(true);
	_cleanup_(fclosep) FILE *f = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(f);
	assert_int_equal(exposition_write(s, NULL, EXPOSITION_TEXT, f), -ENOSPC);
}

static void test_content_types(void **state)
{
	(void)state;
	assert_string_equal(exposition_content_type(EXPOSITION_TEXT),
			    "text/plain; version=0.0.4; charset=utf-8");
	assert_string_equal(exposition_content_type(EXPOSITION_OPENMETRICS),
			    "application/openmetrics-text; version=1.0.0; charset=utf-8");
}

static void test_negotiation(void **state)
{
	static const struct {
		const char *accept;
		enum exposition_format format;
	} cases[] = {
		{ NULL, EXPOSITION_TEXT },
		{ "", EXPOSITION_TEXT },
		{ "*/*", EXPOSITION_TEXT },
		{ "text/html,application/xhtml+xml,*/*;q=0.8", EXPOSITION_TEXT },
		{ "image/png", EXPOSITION_TEXT },
		/* Prometheus 2.42 and 3 */
		{ "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		  EXPOSITION_OPENMETRICS },
		{ "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
		  EXPOSITION_OPENMETRICS },
		{ "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		  EXPOSITION_TEXT },
		{ "application/openmetrics-text", EXPOSITION_OPENMETRICS },
		{ "text/plain;q=0.1, text/*;q=1, application/openmetrics-text;version=1.0.0;q=0.5",
		  EXPOSITION_OPENMETRICS },
		{ "Application/OpenMetrics-Text ; Version=\"1.0.0\" ; Q=1",
		  EXPOSITION_OPENMETRICS },
		{ "application/openmetrics-text; version=0.0.1", EXPOSITION_TEXT },
		{ "application/openmetrics-text; version=2.0.0", EXPOSITION_TEXT },
		{ "application/openmetrics-text;version=1.0.0;q=0", EXPOSITION_TEXT },
		{ "application/openmetrics-text;version=1.0.0;q=0.5, text/plain;q=0.6",
		  EXPOSITION_TEXT },
		{ "application/openmetrics-text;version=1.0.0;q=0.5, text/plain;q=0.5",
		  EXPOSITION_OPENMETRICS },
		{ "text/plain;q=0.501,application/openmetrics-text;version=1.0.0;q=0.5",
		  EXPOSITION_TEXT },
		{ "application/openmetrics-text;version=1.0.0;q=0.5, text/*", EXPOSITION_TEXT },
		/* The more specific text/plain counts, not the liked asterisk. */
		{ "application/openmetrics-text;version=1.0.0;q=0.5, */*;q=1, text/plain;q=0.1",
		  EXPOSITION_OPENMETRICS },
		{ "application/openmetrics-text;version=1.0.0;q=junk", EXPOSITION_TEXT },
		{ ",;,;q=,,application/openmetrics-text;;;", EXPOSITION_OPENMETRICS },
		{ "x=\"application/openmetrics-text,", EXPOSITION_TEXT },
		{ "\\\"", EXPOSITION_TEXT },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (exposition_negotiate(cases[i].accept) != cases[i].format)
			fail_msg("wrong format for Accept: %s", cases[i].accept);
}

static void test_encodings(void **state)
{
	static const struct {
		const char *header;
		bool gzip;
	} cases[] = {
		{ NULL, false },
		{ "", false },
		{ "gzip", true },
		{ "GZIP", true },
		{ "deflate, gzip;q=0.5, br", true },
		{ "gzip;q=0", false },
		{ "gzip;q=0.000", false },
		{ "gzip;q=0.001", true },
		{ "gzip;q=0.9", true },
		{ "gzip;q=0.x", false },
		{ "gzip;q=0.5x", false },
		{ "gzip;q=2", false },
		{ "gzip;q=x", false },
		{ "gzip;q=", false },
		{ "*", true },
		{ "*;q=0", false },
		{ "*, gzip;q=0", false },
		{ "gzip;q=1, *;q=0", true },
		{ "identity", false },
		{ "xgzip, gzipx", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (accept_encoding(cases[i].header, "gzip") != cases[i].gzip)
			fail_msg("wrong answer for Accept-Encoding: %s", cases[i].header);
}

static void test_self(void **state)
{
	struct exposition_self now;
	struct rlimit limit;

	(void)state;
	exposition_self_read(&now);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(now.max_fds == (double)limit.rlim_cur);
	assert_true(now.threads == 1);
	assert_true(now.cpu_seconds >= 0 && now.cpu_seconds < 60);
	assert_true(now.resident_bytes >= 100000 && now.resident_bytes <= now.virtual_bytes);
	/* This test began a moment ago; the kernel gives its time of boot in whole seconds. */
	assert_true(now.start_time_seconds > time(NULL) - 120.0 &&
		    now.start_time_seconds < time(NULL) + 2.0);

	{
		struct exposition_self later;
		_cleanup_(fclosep) FILE *f = fopen("/dev/null", "r");

		assert_non_null(f);
		exposition_self_read(&later);
		assert_true(later.open_fds == now.open_fds + 1);
		assert_true(later.start_time_seconds == now.start_time_seconds);
	}
}

/* What a command prints, and that it succeeds. NULL, with a diagnostic, where it exits with 77. */
static char *run(const char *command)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = popen(command, "r");
	int status;

	assert_non_null(f);
	if (getdelim(&text, &size, '\0', f) < 0) {
		free(text);
		text = strdup("");
	}
	status = pclose(f);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("# skipped: %s", text);
		free(text);
		return NULL;
	}
	if (status != 0)
		fail_msg("%s\nfailed: %s", command, text);
	return text;
}

static void test_promtool_is_content(void **state)
{
	static const char *const names[] = { "counting.txt", "degraded.txt", "profile.txt" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_(freep) char *golden = golden_path(names[i]), *command = NULL, *text;
		_cleanup_(freep) char *file = strdup(__FILE__);

		assert_true(asprintf(&command,
				     "d=$(%s/../prometheus 2>&1) || { echo \"$d\"; exit 77; };"
				     "\"$d/promtool\" check metrics < %s 2>&1",
				     dirname(file), golden) > 0);
		text = run(command);
		if (!text)
			skip();
		assert_string_equal(text, "");
	}
}

/* Prints the names of processes in pipewatch_pipe_reads and _writes as its reader understood them,
 * and how many series there are. */
#define READER                                                                                            \
	"import sys\n"                                                                                    \
	"try: from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse\n" \
	"except ImportError: print('python3-prometheus-client is not installed'); sys.exit(77)\n"         \
	"families = list(parse(open(sys.argv[1], encoding='utf-8', newline='').read()))\n"                \
	"comms = {s.labels['comm'] for m in families if m.name.startswith('pipewatch_pipe_')\n"           \
	"         for s in m.samples if 'comm' in s.labels}\n"                                            \
	"print(ascii(sorted(comms)), sum(len(m.samples) for m in families), end='')\n"

static void assert_openmetrics_reader(const char *name, const char *expected)
{
	_cleanup_(freep) char *golden = golden_path(name), *command = NULL, *text;

	assert_true(asprintf(&command, "/usr/bin/python3 - %s <<'EOF' 2>&1\n%sEOF\n", golden,
			     READER) > 0);
	text = run(command);
	if (!text)
		skip();
	assert_string_equal(text, expected);
}

static void test_openmetrics_reader_is_content(void **state)
{
	(void)state;
	assert_openmetrics_reader(
		"counting.om",
		"['', '(other)', '\\\\xff\\\\xfe bad \\\\xc0\\\\xaf', 'a\\nb\"c\\\\d{e}\\tf\\x01', "
		"'big', 'in\"spect', 'never', 'sh', 'tail <-f>', 'unseen', '\\u017c\\xf3\\u0142w'] 220");
	assert_openmetrics_reader("degraded.om", "['in\"spect', 'tail <-f>'] 32");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_one_direction),
		cmocka_unit_test(test_openmetrics),
		cmocka_unit_test(test_nothing_counted),
		cmocka_unit_test(test_only_sampled),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_costs),
		cmocka_unit_test(test_pid_label),
		cmocka_unit_test(test_doubles_are_shortest),
		cmocka_unit_test(test_full_disk_is_reported),
		cmocka_unit_test(test_content_types),
		cmocka_unit_test(test_negotiation),
		cmocka_unit_test(test_encodings),
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_promtool_is_content),
		cmocka_unit_test(test_openmetrics_reader_is_content),
	};

	return cmocka_run_group_tests_name("exposition", tests, NULL, NULL);
}
