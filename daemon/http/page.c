// SPDX-License-Identifier: GPL-2.0-or-later
#include "page.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "pipewatch/util.h"

/* What fits on a screen; the whole list is in /metrics and on the bus. */
#define GROUPS_SHOWN   25
#define WATCHERS_SHOWN 10

static const char style[] =
	":root{color-scheme:light dark;--fg:#1d2330;--dim:#5d6678;--bg:#f7f8fa;--card:#fff;--line:#dfe3ea;"
	"--accent:#1f5fbf;--paid:#a34700;--removed:#1b7a3d;--unknown:#5d6678}"
	"@media(prefers-color-scheme:dark){:root{--fg:#e4e8f0;--dim:#98a2b5;--bg:#14171d;--card:#1c2129;"
	"--line:#2e3541;--accent:#7fb0ff;--paid:#ffab66;--removed:#6fd08c;--unknown:#98a2b5}}"
	"*{box-sizing:border-box}"
	"body{margin:0 auto;padding:2rem 1.25rem 3rem;max-width:64rem;background:var(--bg);color:var(--fg);"
	"font:16px/1.5 system-ui,sans-serif}"
	"h1{font-size:1.6rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}"
	"p{margin:.4rem 0}.dim{color:var(--dim)}a{color:var(--accent)}"
	"nav a{margin-right:1.25rem}"
	"div.table{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:.5rem}"
	"table{border-collapse:collapse;width:100%}"
	"th,td{padding:.45rem .8rem;text-align:left;vertical-align:top;border-top:1px solid var(--line)}"
	"tr:first-child>*{border-top:0}"
	"thead th{font-size:.85rem;font-weight:600;color:var(--dim)}"
	"tbody th{font-weight:500;white-space:nowrap}"
	"td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}th.n{text-align:right}"
	"td.name{font-family:ui-monospace,monospace;font-size:.9rem;overflow-wrap:anywhere}"
	".tag{font-weight:600}.paid{color:var(--paid)}.removed{color:var(--removed)}.unknown{color:var(--unknown)}";

static const char *const update_titles[UPDATE_KINDS] = {
	[UPDATE_ATIME] = "access time, on read",
	[UPDATE_CMTIME] = "modification and change time, on write",
	[UPDATE_FSNOTIFY] = "inotify and fanotify events",
};

/* Each goes on with what it would have saved. */
static const char *const remedy_titles[REMEDIES] = {
	[REMEDY_KERNEL] = "Linux 6.15 or newer, which keeps no times on anonymous pipes,",
	[REMEDY_NOATIME] = "Opening the read ends of pipes with O_NOATIME",
	[REMEDY_UNWATCH] = "Ending all watches on pipes",
	[REMEDY_BATCH] = "Reading and writing 4096 bytes at a time",
};

static const char *const part_titles[OBSERVER_PARTS] = {
	[OBSERVER_PROGRAMS] = "counting",
	[OBSERVER_BURSTS] = "timed bursts",
	[OBSERVER_SAMPLING] = "sampling",
	[OBSERVER_DAEMON] = "pipewatchd itself",
};

/* Control characters become their pictures (U+2400 on), so that a name shows what it holds. */
static void write_text(FILE *f, const char *text)
{
	for (; *text; text++) {
		unsigned char c = *text;

		switch (c) {
		case '&': fputs("&amp;", f); break;
		case '<': fputs("&lt;", f); break;
		case '>': fputs("&gt;", f); break;
		case '"': fputs("&quot;", f); break;
		case '\'': fputs("&#39;", f); break;
		case 0x7f: fputs("&#x2421;", f); break;
		default:
			if (c < 0x20)
				fprintf(f, "&#x%x;", 0x2400 + c);
			else
				putc(c, f);
		}
	}
}

/* 1234567 as 1,234,567. */
static void write_number(FILE *f, uint64_t n)
{
	char digits[24];
	size_t length = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (size_t i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			putc(',', f);
		putc(digits[i], f);
	}
}

static void write_number_cell(FILE *f, uint64_t n)
{
	fputs("<td class=\"n\">", f);
	write_number(f, n);
	fputs("</td>", f);
}

static void write_count_cell(FILE *f, uint64_t n, bool missing)
{
	if (missing)
		fputs("<td class=\"n dim\" title=\"not measured\">&ndash;</td>", f);
	else
		write_number_cell(f, n);
}

/* A name from outside; <bdi> keeps its direction of writing from the rest of the row. */
static void write_name_cell(FILE *f, const char *name)
{
	fputs("<td class=\"name\"><bdi>", f);
	write_text(f, name);
	fputs("</bdi></td>", f);
}

static void write_time(FILE *f, uint64_t usec)
{
	time_t seconds = usec / 1000000;
	char text[64];
	struct tm tm;

	if (gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm))
		fputs(text, f);
}

static void write_percent(FILE *f, double ratio)
{
	/* Three digits, but no exponent where the number is great. */
	fprintf(f, ratio < 1 ? "%.3g %%" : "%.0f %%", ratio * 100);
}

/* A sentence, set apart from the figure that it explains. */
static void write_reason(FILE *f, const char *reason)
{
	if (!*reason)
		return;
	fputs(" <span class=\"dim\">", f);
	write_text(f, reason);
	fputs("</span>", f);
}

static void write_coverage(const struct snapshot *s, FILE *f)
{
	if (!s->counting)
		return;
	fputs("<p><b>Coverage:</b> operations are counted ", f);
	write_percent(f, s->coverage_ratio);
	fputs(" of the time.", f);
	write_reason(f, snapshot_coverage_reason(s));
	if (s->unseen_operations_max > 0)
		fprintf(f,
			" A process that was in no window has made fewer than %.0f operations, "
			"with 95 %% confidence.",
			s->unseen_operations_max);
	fputs("</p>\n", f);
}

static void write_own_cost(const struct snapshot *s, FILE *f)
{
	const struct cost_figure *overhead = &s->observer.overhead;

	fputs("<p><b>Own cost:</b> ", f);
	if (overhead->known) {
		write_percent(f, overhead->seconds);
		fputs(" &plusmn; ", f);
		write_percent(f, overhead->error_seconds);
	} else {
		fputs("not known", f);
	}
	fputs(", and ", f);
	write_percent(f, s->budget_ratio);
	fputs(" of the time spent in pipe operations is allowed.", f);
	if (!overhead->known)
		write_reason(f, overhead->reason);
	fputs(" CPU time so far:", f);
	for (int part = 0; part < OBSERVER_PARTS; part++)
		fprintf(f, "%s %s %.3f s", part > 0 ? "," : "", part_titles[part],
			s->observer.cpu_seconds[part]);
	fputs(".</p>\n", f);
}

static void write_summary(const struct snapshot *s, FILE *f)
{
	fputs("<p><b>State:</b> ", f);
	write_text(f, snapshot_state_name(s->state));
	if (*s->state_reason)
		putc('.', f);
	write_reason(f, s->state_reason);
	fputs("</p>\n<p><b>Mode:</b> ", f);
	write_text(f, snapshot_mode_name(s->mode));
	if (s->configured_mode != s->mode) {
		fputs(" (configured: ", f);
		write_text(f, snapshot_mode_name(s->configured_mode));
		putc(')', f);
	}
	if (*s->mode_reason)
		putc('.', f);
	write_reason(f, s->mode_reason);
	fputs("</p>\n", f);
	write_coverage(s, f);
	write_own_cost(s, f);
	fputs("<p><b>Kernel:</b> ", f);
	write_text(f, s->kernel_release);
	putc(' ', f);
	write_text(f, s->machine);
	if (*s->clocksource) {
		fputs(", clock source ", f);
		write_text(f, s->clocksource);
	}
	fputs("</p>\n<p><b>Counting since:</b> ", f);
	write_time(f, s->start_time_usec);
	fputs("</p>\n", f);
}

static void write_verdict(const struct snapshot *s, FILE *f)
{
	fputs("<h2>Does this kernel pay for metadata on pipes?</h2>\n"
	      "<div class=\"table\"><table><thead><tr><th>Pipe</th><th>Update</th><th>Verdict</th><th>Reason</th></tr></thead>\n<tbody>\n",
	      f);
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		for (int kind = 0; kind < UPDATE_KINDS; kind++) {
			const struct snapshot_path *path = &s->paths[pipe][kind];
			const char *state = path_state_name(path->state);

			fprintf(f, "<tr><th>%s</th><td>%s</td><td class=\"tag %s\">%s</td><td>",
				pipe_kind_name(pipe), update_titles[kind], state, state);
			write_text(f, path->reason);
			fputs("</td></tr>\n", f);
		}
	}
	fputs("</tbody></table></div>\n", f);
}

/* In nanoseconds: costs are tens to hundreds of them. */
static void write_figure_cell(FILE *f, const struct cost_figure *figure, const char *otherwise)
{
	fputs(figure->known ? "<td class=\"n\">" : "<td class=\"dim\">", f);
	if (figure->known)
		fprintf(f, "%.1f ns &plusmn; %.1f", figure->seconds * 1e9,
			figure->error_seconds * 1e9);
	else
		write_text(f, otherwise);
	fputs("</td>", f);
}

static void write_unit_costs(const struct snapshot *s, FILE *f)
{
	fputs("<h2>What one update costs</h2>\n"
	      "<div class=\"table\"><table><thead><tr><th>Pipe</th><th>Update</th><th>Cost</th><th>Estimators</th>"
	      "<th>Timed calls</th><th>Own pipes</th><th>Samples</th></tr></thead>\n<tbody>\n",
	      f);
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		for (int kind = 0; kind < UPDATE_KINDS; kind++) {
			const struct cost_estimate *e = &s->unit_costs[pipe][kind];

			/* The verdict has said so. */
			if (s->paths[pipe][kind].state == PATH_REMOVED)
				continue;
			fprintf(f, "<tr><th>%s</th><td>%s</td>", pipe_kind_name(pipe),
				update_titles[kind]);
			write_figure_cell(f, &e->whole, "not known");
			fprintf(f, "<td>%s</td>",
				e->whole.known ? cost_agreement_name(e->agreement) : "");
			for (int by = 0; by < COST_ESTIMATORS; by++)
				write_figure_cell(f, &e->by[by], e->by[by].reason);
			fputs("</tr>\n", f);
		}
	}
	fputs("</tbody></table></div>\n<p class=\"dim\">With one standard error.", f);
	if (*s->sampling_reason) {
		fputs(" Nothing is sampled: ", f);
		write_text(f, s->sampling_reason);
	}
	fputs("</p>\n", f);
}

static void write_updates_cell(const struct snapshot *s, FILE *f, enum pipe_kind pipe,
			       enum update_kind kind, const struct pipe_counts *counts)
{
	uint64_t updates;

	if (snapshot_updates(s, pipe, kind, counts, &updates))
		write_number_cell(f, updates);
	else
		fputs("<td class=\"n dim\" title=\"not a figure on this kernel\">&ndash;</td>", f);
}

static void write_group_rows(const struct snapshot *s, FILE *f, const struct snapshot_group *g)
{
	for (int pipe = 0; pipe < PIPE_KINDS; pipe++) {
		const struct pipe_counts *counts = &g->counts[pipe];

		if (counts->reads + counts->writes == 0)
			continue;
		fputs("<tr>", f);
		write_name_cell(f, g->unit);
		write_name_cell(f, g->comm);
		fprintf(f, "<td>%s</td>", pipe_kind_name(pipe));
		write_count_cell(f, counts->reads, s->reads_missing);
		write_count_cell(f, counts->writes, s->writes_missing);
		write_count_cell(f, counts->read_bytes, s->reads_missing);
		write_count_cell(f, counts->written_bytes, s->writes_missing);
		write_updates_cell(s, f, pipe, UPDATE_ATIME, counts);
		write_updates_cell(s, f, pipe, UPDATE_CMTIME, counts);
		fputs("</tr>\n", f);
	}
}

static void write_groups(const struct snapshot *s, FILE *f)
{
	size_t shown = s->n_groups < GROUPS_SHOWN ? s->n_groups : GROUPS_SHOWN;

	fputs("<h2>Who uses pipes most</h2>\n", f);
	if (!s->counting) {
		fputs("<p>Nothing is counted. ", f);
		write_text(f, s->counting_reason);
		fputs("</p>\n", f);
		return;
	}
	if (s->n_groups == 0) {
		fputs("<p>No pipe has been read or written since counting began.</p>\n", f);
		return;
	}

	fputs("<div class=\"table\"><table><thead><tr><th>Unit</th><th>Process name</th><th>Pipe</th><th class=\"n\">Reads</th>"
	      "<th class=\"n\">Writes</th><th class=\"n\">Bytes read</th><th class=\"n\">Bytes written</th>"
	      "<th class=\"n\">atime updates</th><th class=\"n\">cmtime updates</th></tr></thead>\n<tbody>\n",
	      f);
	for (size_t i = 0; i < shown; i++)
		write_group_rows(s, f, &s->groups[i]);
	fputs("</tbody></table></div>\n<p class=\"dim\">", f);
	write_number(f, shown);
	fputs(" of ", f);
	write_number(f, s->n_groups);
	fputs(" groups; ", f);
	write_number(f, s->tracked_processes);
	fputs(" live processes. A dash: this kernel makes no such update, or it is not known.</p>\n",
	      f);
}

static void write_remedies(const struct snapshot *s, FILE *f)
{
	const double measured = snapshot_measured_seconds(s);
	bool any = false;
	double seconds;

	fputs("<h2>What would help</h2>\n", f);
	for (int remedy = 0; remedy < REMEDIES; remedy++) {
		if (!snapshot_saving(s, remedy, s->total_costs, s->total_batch_seconds, &seconds))
			continue;
		fprintf(f, "%s%s would have saved %.3f s of CPU time", any ? "<br>\n" : "<p>",
			remedy_titles[remedy], seconds);
		if (measured > 0) {
			fputs(", ", f);
			write_percent(f, seconds / measured);
			fputs(" of one CPU", f);
		}
		putc('.', f);
		any = true;
	}
	fputs(any ? " <span class=\"dim\">Savings overlap and do not add up.</span></p>\n"
		  : "<p>Of no remedy is it known that it would save something here.</p>\n",
	      f);
}

static void write_watchers(const struct snapshot *s, FILE *f)
{
	size_t shown = s->n_watchers < WATCHERS_SHOWN ? s->n_watchers : WATCHERS_SHOWN;

	if (s->n_watchers == 0 && !*s->watchers_reason)
		return;
	fputs(shown > 0 ? "<p>Pipes are watched by" : "<p>Nobody is known to watch a pipe.", f);
	for (size_t i = 0; i < shown; i++) {
		fputs(i > 0 ? ", <bdi>" : " <bdi>", f);
		write_text(f, s->watchers[i].comm);
		fprintf(f, "</bdi> (process %" PRIu32 ", %" PRIu32 " %s)", s->watchers[i].pid,
			s->watchers[i].watches, s->watchers[i].watches == 1 ? "watch" : "watches");
	}
	if (s->n_watchers > shown)
		fprintf(f, " and %zu others", s->n_watchers - shown);
	if (shown > 0)
		fputs(", and pay for it.", f);
	write_reason(f, s->watchers_reason);
	fputs("</p>\n", f);
}

/* What is missing or was lost, or nothing. */
static void write_shortcomings(const struct snapshot *s, FILE *f)
{
	bool any = false;

	for (size_t i = 0; i < s->n_programs; i++) {
		const struct snapshot_program *p = &s->programs[i];

		if (p->attached)
			continue;
		fputs(any ? "<li>" : "<h2>What is missing</h2>\n<ul><li>", f);
		any = true;
		fputs("Program ", f);
		write_text(f, p->program);
		fputs(" is not attached to ", f);
		write_text(f, p->hook);
		fputs(": ", f);
		write_text(f, p->reason);
		fputs("</li>\n", f);
	}
	for (size_t i = 0; s->counting && i < s->n_losses; i++) {
		if (s->losses[i].updates == 0)
			continue;
		fputs(any ? "<li>" : "<h2>What is missing</h2>\n<ul><li>", f);
		any = true;
		write_number(f, s->losses[i].updates);
		fputs(" operations were lost: ", f);
		write_text(f, s->losses[i].reason);
		fputs("</li>\n", f);
	}
	if (any)
		fputs("</ul>\n", f);
}

int page_write(const struct snapshot *s, FILE *f)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
	      "<title>pipewatchd</title><style>",
	      f);
	fputs(style, f);
	fputs("</style></head>\n<body>\n<h1>pipewatchd</h1>\n"
	      "<p class=\"dim\">What the kernel spends on the timestamps of pipes, and for whom. Version ",
	      f);
	write_text(f, s->version);
	fputs(", libbpf ", f);
	write_text(f, s->libbpf_version);
	fputs(".</p>\n<nav><a href=\"/metrics\">/metrics</a><a href=\"/-/healthy\">/-/healthy</a>"
	      "<a href=\"/-/ready\">/-/ready</a></nav>\n",
	      f);
	write_summary(s, f);
	write_verdict(s, f);
	write_unit_costs(s, f);
	write_remedies(s, f);
	write_watchers(s, f);
	write_groups(s, f);
	write_shortcomings(s, f);
	fputs("</body></html>\n", f);

	if (fflush(f) != 0)
		return -errno;
	return ferror(f) ? -EIO : 0;
}
