# SPDX-License-Identifier: GPL-2.0-or-later
#
# Makes RESULTS.md of what measure prints, each line with the kernel before it. The variables
# kernels, modes, candidates and rivals say what there is, in the order of the tables.

function have(kernel, observer, figure) {
	return (kernel, observer, figure) in cost
}

function added(kernel, observer, figure) {
	return cost[kernel, observer, figure] - cost[kernel, "base", figure]
}

function show_added(kernel, observer, figure) {
	if (!have(kernel, observer, figure) || (kernel, observer) in elsewhere)
		return "-"
	if (observer == "base")
		return sprintf("%.0f", cost[kernel, observer, figure])
	return sprintf("%+.0f", added(kernel, observer, figure))
}

# figure_list: separated by commas, because names have spaces in them
function row(kernel, observer, name, figure_list, rest,    figures, n, f) {
	n = split(figure_list, figures, ",")
	printf "| %s | %s |", release[kernel], name
	for (f = 1; f <= n; f++)
		printf " %s |", show_added(kernel, observer, figures[f])
	print rest
}

# What loops with an update and without differ by; 0 where there is none or nothing to compare with.
# The wrapper around what FIFOs share with anonymous pipes costs reads as much as writes.
function truth(kernel, kind, pipe) {
	if (path[kernel, pipe, kind] != "paid")
		return 0
	if (kind == "atime")
		return cost[kernel, "base", pipe " r"] - cost[kernel, "base", pipe "-noatime r"]
	if (pipe == "fifo" && path[kernel, "anonymous", kind] == "removed")
		return cost[kernel, "base", "fifo w"] - cost[kernel, "base", "anonymous w"] - \
			(cost[kernel, "base", "fifo-noatime r"] - cost[kernel, "base", "anonymous-noatime r"])
	return 0
}

# The same for a tool that takes all pipes together: the benchmark uses both kinds alike.
function truth_of_all(kernel, kind,    a, f) {
	a = truth(kernel, kind, "anonymous")
	f = truth(kernel, kind, "fifo")
	return a && f ? (a + f) / 2 : a + f
}

function error(got, wanted) {
	return 100 * (got - wanted) / wanted
}

function magnitude(x) {
	return x < 0 ? -x : x
}

function show_error(got, wanted) {
	return wanted ? sprintf("%+.1f %%", error(got, wanted)) : "no truth"
}

function counts(kernel, observer,    got, wanted) {
	if (!((kernel, observer) in counted))
		return "-"
	got = counted[kernel, observer]
	wanted = total[kernel, observer]
	return got == wanted ? "exact" : sprintf("%+.2f %%", error(got, wanted))
}

function resident(kernel, observer) {
	return (kernel, observer) in memory ? memory[kernel, observer] : "-"
}

# Updates of both kinds of pipe that the benchmark made under a rival: its O_NOATIME rounds make none.
function updates(kernel, observer, kind,    n) {
	for (pipe in noatime_reads) {
		if (path[kernel, pipe, kind] != "paid")
			continue
		n += kind == "atime" ? reads[kernel, observer, pipe] - noatime_reads[pipe] : writes[kernel, observer, pipe]
	}
	return n
}

# What a rival says that an update costs, as a number; 0 if it does not.
function said(kernel, observer, kind,    n) {
	if ((kernel, observer, kind) in sampled) {
		n = updates(kernel, observer, kind)
		return n ? sampled[kernel, observer, kind] * 1e9 / 997 / n : 0
	}
	return says[kernel, observer, kind]
}

function show_said(kernel, observer, kind,    wanted, low, high) {
	wanted = truth_of_all(kernel, kind)
	if ((kernel, observer, kind) in bucket) {
		split(bucket[kernel, observer, kind], edges, " ")
		if (!wanted)
			return sprintf("%d to %d (no truth)", edges[1], edges[2])
		return sprintf("%d to %d (%+.0f to %+.0f %%)", edges[1], edges[2], error(edges[1], wanted),
			       error(edges[2], wanted))
	}
	if (!said(kernel, observer, kind))
		return "-"
	if ((kernel, observer, kind) in sampled)
		return sprintf("%.0f ± %.0f (%s)", said(kernel, observer, kind),
			       said(kernel, observer, kind) / sqrt(sampled[kernel, observer, kind]),
			       show_error(said(kernel, observer, kind), wanted))
	return sprintf("%.0f (%s)", said(kernel, observer, kind), show_error(said(kernel, observer, kind), wanted))
}

# Where anybody adds less or is nearer to the truth than exact mode, that is said.
function worse(kernel,    r, observer, f, ours, theirs, kind, pipe, t, e, n, i) {
	for (r = 1; r <= n_rivals; r++) {
		observer = "rival:" rival[r]
		f = rival[r] == "sampling" ? "mean" : "fill"
		ours = f == "mean" ? "anonymous mw,anonymous mr" : "anonymous w,anonymous r"
		split(ours, pair, ",")
		if (!have(kernel, observer, pair[1]))
			continue
		# A tool that does not touch an operation at all has nothing to say of it.
		n = 0
		for (i = 1; i <= 2; i++)
			if (added(kernel, observer, pair[i]) < added(kernel, "pipewatchd:exact", pair[i]))
				n++
		if (n == 2 && (rival[r] == "sampling" || (kernel, observer) in counted))
			printf "- %s: *%s* adds %+.0f to a write and %+.0f to a read, exact mode %+.0f and %+.0f.\n",
				release[kernel], title[rival[r]], added(kernel, observer, pair[1]),
				added(kernel, observer, pair[2]), added(kernel, "pipewatchd:exact", pair[1]),
				added(kernel, "pipewatchd:exact", pair[2])
		for (kind in kinds) {
			t = truth_of_all(kernel, kind)
			if (!t || !said(kernel, observer, kind))
				continue
			e = 0
			for (pipe in noatime_reads)
				if (truth(kernel, kind, pipe) && (kernel, "pipewatchd:exact", kind, pipe) in unit &&
				    magnitude(error(unit[kernel, "pipewatchd:exact", kind, pipe], truth(kernel, kind, pipe))) > e)
					e = magnitude(error(unit[kernel, "pipewatchd:exact", kind, pipe], truth(kernel, kind, pipe)))
			if (magnitude(error(said(kernel, observer, kind), t)) < e)
				printf "- %s: *%s* is nearer to the truth of %s, by %.1f %% against %.1f %%.\n", release[kernel],
					title[rival[r]], kind, magnitude(error(said(kernel, observer, kind), t)), e
		}
	}
	for (r = 1; r <= n_rivals; r++) {
		observer = "rival:" rival[r]
		if ((kernel, observer) in memory && memory[kernel, observer] + 0 < memory[kernel, "pipewatchd:exact"] + 0)
			printf "- %s: *%s* has %s MiB in memory, pipewatchd %s.\n", release[kernel], title[rival[r]],
				memory[kernel, observer], memory[kernel, "pipewatchd:exact"]
	}
	t = truth(kernel, "atime", "anonymous")
	if (t && added(kernel, "pipewatchd:exact", "anonymous r") > t)
		printf "- %s: exact mode adds %+.0f to a read, more than the update that it counts costs (%.0f).\n",
			release[kernel], added(kernel, "pipewatchd:exact", "anonymous r"), t
}

BEGIN {
	noatime_reads["anonymous"] = noatime_reads["fifo"] = (4 + 31) * 500 # as in pipe.c
	kinds["atime"]
	kinds["cmtime"]
	title["counts:kfunc"] = "bpftrace, kretfunc: operations and bytes by process"
	title["counts:kprobe"] = "bpftrace, kretprobe: operations and bytes by process"
	title["times:kfunc"] = "bpftrace, kfunc and kretfunc: time of updates by process"
	title["times:kprobe"] = "bpftrace, kprobe and kretprobe: time of updates by process"
	title["sampling"] = "bpftrace, profile:hz:997: kernel stacks of a program"
	title["funclatency:touch_atime"] = "funclatency touch_atime"
	title["funclatency:file_update_time"] = "funclatency file_update_time"
}

$2 == "kernel" { release[$1] = $4; sub(/-cloud-amd64$/, "", release[$1]) }
$3 == "fill" { cost[$1, $2, $4 " w"] = $5; cost[$1, $2, $4 " r"] = $6 }
$3 == "mean" { cost[$1, $2, $4 " mw"] = $5; cost[$1, $2, $4 " mr"] = $6 }
$3 == "alternate" { cost[$1, $2, $4 " a"] = $5 }
$3 == "total" { writes[$1, $2, $4] = $5; reads[$1, $2, $4] = $6; total[$1, $2] += $5 + $6 }
$3 == "counted" && NF == 6 { counted[$1, $2] += $5 + $6 }
$3 == "mode" && $2 ~ /^pipewatchd:/ {
	runs_as[$1, $2] = $4
	if ($2 != "pipewatchd:" $4 && $2 != "pipewatchd:auto")
		elsewhere[$1, $2] = $4
}
$3 == "path" { path[$1, $4, $5] = $6 }
$3 == "cost" { unit[$1, $2, $4, $5] = $6 }
$3 == "agreement" { agreement[$1, $2, $4, $5] = $6 }
$3 == "says" { says[$1, $2, $4] = $5; updates_seen[$1, $2, $4] = $6 }
$3 == "bucket" { bucket[$1, $2, $4] = $5 " " $6 }
$3 == "memory" { memory[$1, $2] = sprintf("%.1f", $4 / 1024) }
$3 == "sampled" { sampled[$1, $2, "atime"] = $4; sampled[$1, $2, "cmtime"] = $5 }
$3 == "failed" { reason = $0; sub(/^.* failed (stdin:[^ ]* )?/, "", reason); failed[$1, $2] = reason }

END {
	n_kernels = split(kernels, kernel, " ")
	n_modes = split(modes, mode, " ")
	n_candidates = split(candidates, candidate, " ")
	n_rivals = split(rivals, rival, " ")

	print "# What watching costs, and what it says\n"
	print "Instructions of the guest per 100-byte operation. Made by `make bench`, recorded by"
	print "`tests/bench/run --record`. Instructions are not cycles: an atomic addition or a cache miss"
	print "counts as one.\n"

	print "## What pipewatchd adds, by mode\n"
	print "Of the kernel alone, and what is added to it. One process fills a pipe and then drains it; in"
	print "*alternating* two processes send a message to and fro, and the figure is the mean of an"
	print "operation, switches of context included. These are medians, of programs in the kernel alone."
	print "*All told* is the mean of a second, in which timers, samples and the daemon itself run as well;"
	print "of `auto` and `burst`, whose windows a median does not see, of three after four of the same load."
	print "*Counts*: of the operations of the benchmark, against how many there were.\n"
	columns = "anonymous w,anonymous r,anonymous-noatime r,anonymous a,fifo w,fifo r,fifo a,anonymous mw,anonymous mr"
	print "| kernel | observer | write | read | O_NOATIME read | alternating | FIFO write | FIFO read" \
	      " | FIFO alternating | write, all told | read, all told | counts |"
	print "|---|---|---|---|---|---|---|---|---|---|---|---|"
	for (k = 1; k <= n_kernels; k++) {
		row(kernel[k], "base", "none", columns, " - |")
		row(kernel[k], "empty", "empty programs", columns, " - |")
		for (m = 1; m <= n_modes; m++) {
			observer = "pipewatchd:" mode[m]
			if ((kernel[k], observer) in elsewhere) {
				missing[mode[m]] = elsewhere[kernel[k], observer]
				continue
			}
			name = "pipewatchd, " mode[m]
			if (runs_as[kernel[k], observer] != mode[m])
				name = name " (" runs_as[kernel[k], observer] ")"
			row(kernel[k], observer, name, columns, " " counts(kernel[k], observer) " |")
		}
	}
	for (m = 1; m <= n_modes; m++)
		if (mode[m] in missing)
			printf "\nThis pipewatchd has no mode `%s`: it runs as `%s`.\n", mode[m], missing[mode[m]]

	print "\n## What an update costs, by pipewatchd and by loops\n"
	print "The truth is what two loops in the same boot, without pipewatchd, differ by: reads with and"
	print "without O_NOATIME; writes to a FIFO and to an anonymous pipe where only the former updates its"
	print "times, the FIFO's wrapper allowed for by reads. Nothing switches the update of a write off"
	print "where both have it, hence there is no truth.\n"
	print "| kernel | mode | pipe | update | truth | pipewatchd | error | its ways of measuring |"
	print "|---|---|---|---|---|---|---|---|"
	split("anonymous fifo", pipes, " ")
	split("atime cmtime", both, " ")
	for (k = 1; k <= n_kernels; k++) {
		for (m = 1; m <= n_modes; m++) {
			observer = "pipewatchd:" mode[m]
			if ((kernel[k], observer) in elsewhere)
				continue
			for (p = 1; p <= 2; p++) {
				for (u = 1; u <= 2; u++) {
					printf "| %s | %s | %s | %s | ", release[kernel[k]], mode[m], pipes[p], both[u]
					if (path[kernel[k], pipes[p], both[u]] == "removed") {
						print "none is made | - | - | - |"
						continue
					}
					wanted = truth(kernel[k], both[u], pipes[p])
					printf "%s | ", wanted ? sprintf("%.1f", wanted) : "-"
					if (!((kernel[k], observer, both[u], pipes[p]) in unit)) {
						print "- | - | - |"
						continue
					}
					got = unit[kernel[k], observer, both[u], pipes[p]]
					printf "%.1f | %s | %s |\n", got, wanted ? show_error(got, wanted) : "-",
						agreement[kernel[k], observer, both[u], pipes[p]]
				}
			}
		}
	}

	print "\n## What other tools add and say\n"
	printf "Of Debian 12: bpftrace %s and funclatency of libbpf-tools %s.\n", bpftrace_version, tools_version
	print "They do what they can of pipewatchd's work, with the best scripts that were found: the clock is"
	print "read next to the function, and the test for pipes comes first. bpftrace takes both kinds of pipe"
	print "together; funclatency times one function for all files and has no mean, so the table has its"
	print "fullest bucket. Sampling is to be divided by a number of updates that it does not know: the"
	print "benchmark's; its additions are all told. On 7.x the scripts have to be told of `anon_pipe_read`"
	print "and `anon_pipe_write`. In brackets: the error against the same truth as above; MiB: resident memory.\n"
	print "| kernel | tool | write | read | FIFO write | FIFO read | atime | cmtime | counts | MiB |"
	print "|---|---|---|---|---|---|---|---|---|---|"
	for (k = 1; k <= n_kernels; k++) {
		if (!have(kernel[k], "rival:" rival[n_rivals], "anonymous w"))
			continue
		for (r = 1; r <= n_rivals; r++) {
			observer = "rival:" rival[r]
			columns = "anonymous w,anonymous r,fifo w,fifo r"
			if (rival[r] == "sampling")
				columns = "anonymous mw,anonymous mr,fifo mw,fifo mr"
			row(kernel[k], observer, title[rival[r]], columns,
			    sprintf(" %s | %s | %s | %s |", show_said(kernel[k], observer, "atime"),
				    show_said(kernel[k], observer, "cmtime"), counts(kernel[k], observer), resident(kernel[k], observer)))
		}
		observer = "pipewatchd:exact"
		row(kernel[k], observer, "pipewatchd, exact", "anonymous w,anonymous r,fifo w,fifo r",
		    " see above | see above | " counts(kernel[k], observer) " | " resident(kernel[k], observer) " |")
	}
	print ""
	for (k = 1; k <= n_kernels; k++)
		for (r = 1; r <= n_rivals; r++)
			if ((kernel[k], "rival:" rival[r]) in failed)
				printf "- %s, %s, does not run: `%s`\n", release[kernel[k]], title[rival[r]],
					failed[kernel[k], "rival:" rival[r]]

	print "\n## Where pipewatchd does worse\n"
	for (k = 1; k <= n_kernels; k++)
		worse(kernel[k])
	print "\nSampling costs next to nothing because it does next to nothing: it knows neither counts, bytes"
	print "nor kinds of pipe, and of *n* samples the error is 1/√*n*. Under an emulator that counts"
	print "instructions a loop and a clock without jitter can also fall into step."

	print "\n## Where the counters are kept\n"
	print "Anonymous pipes; every form counts operations by size class, bytes and O_NOATIME reads, and"
	print "has the same test for the kind of pipe.\n"
	print "| kernel | form | write | read | alternating |"
	print "|---|---|---|---|---|"
	columns = "anonymous w,anonymous r,anonymous a"
	for (k = 1; k <= n_kernels; k++) {
		if (!have(kernel[k], candidate[1], "anonymous w"))
			continue
		row(kernel[k], "empty", "empty programs", columns)
		for (c = 1; c <= n_candidates; c++)
			row(kernel[k], candidate[c], "`" candidate[c] "`", columns)
		row(kernel[k], "pipewatchd:exact", "pipewatchd (`direct`, with slots for FIFOs)", columns)
	}
	print ""
	print "- `percpu_hash`: a per-CPU hash by process"
	print "- `hash`: a hash by process, with atomic additions"
	print "- `task_storage`: storage of the task; not measured on 7.3, which allocates it with an"
	print "  instruction (cmpxchg16b) that the guests do without"
	print "- `combining`: an entry per CPU for its current process, added to a hash when another comes"
	print "- `array`: a slot per thread, looked up in an array map"
	print "- `direct`: a slot per thread, by its address"
}
