# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2119,SC2120
#
# For the scripts that run in a guest: a daemon to test, and its figures. Source after tap.sh.
#
# Pipes of the shell count like all others. Whatever is asserted about all of the host together is
# done without any between start_daemon and scrape, or knows of the shell: show_shell.

url=http://127.0.0.1:10057
metrics=/tmp/metrics

# Where this kernel has functions for anonymous pipes, it does not touch their times.
if grep -q ' anon_pipe_read$' /proc/kallsyms; then
	anonymous=removed
else
	anonymous=paid
fi

# Where tasks can be preempted in the kernel, and so within a BPF program, runs of that program by
# other tasks on the same CPU are skipped meanwhile. The metrics say how many.
if grep -qE '\((full|lazy)\)' /sys/kernel/debug/sched/preempt 2> /dev/null; then
	preemptible=true
else
	preemptible=false
fi

# await PORT PID: until something listens there, or the process has ended; a message then.
#
# Nothing else should run meanwhile: when one processor changes the code that another one is about to
# execute, which attaching to a function does, the emulator may execute an intermediate state.
await() {
	steps port:"$1":"$2" || {
		echo "# process $2 has ended, its messages:"
		sed 's/^/# /' /tmp/daemon.log
		return 1
	}
}

# start_daemon [OPTION]...: until it is there, or has ended. Its messages are in /tmp/daemon.log.
#
# Whoever asserts exact counts of more than a few thousand operations asks for them: an emulated machine
# takes many times longer to count, and how much it takes the less of the default budget is left.
start_daemon() {
	pipewatchd --bus none "$@" > /tmp/daemon.log 2>&1 &
	daemon=$!
	await 10057 $daemon
}

# From here on the shell has its one claim, and is one of the processes that are tracked.
show_shell() {
	: "$(echo)"
}

# Sets daemon_status.
stop_daemon() {
	kill "$daemon"
	wait "$daemon"
	# shellcheck disable=SC2034 # for the tests
	daemon_status=$?
}

# Programs and links that are left, of all kinds that there are of ours. They go a moment after the
# process that held them.
left() {
	tries=0
	while :; do
		programs=$(bpftool prog list | grep -cE '^[0-9]+: (tracing|perf_event|raw_tracepoint) ')
		links=$(bpftool link list | grep -c '^[0-9]')
		{ [ "$programs $links" != "0 0" ] && [ $tries -lt 500 ]; } || break
		tries=$((tries + 1))
		usleep 50000
	done
	echo "$programs programs, $links links"
}

configure() {
	printf '[Measurement]\n%s\n[Metrics]\n%s\n' "$1" "$2" > /tmp/pipewatch.conf
}

scrape() {
	wget -q -O $metrics $url/metrics
}

# metric NAME[{LABELS}]: its value as of the last scrape, or "absent".
metric() {
	KEY="$1 " awk 'index($0, ENVIRON["KEY"]) == 1 { print $NF; found = 1; exit }
		END { if (!found) print "absent" }' $metrics
}

# total NAME [LABEL]: the sum over all series of a metric whose labels have LABEL in them.
total() {
	KEY="$1{" LABEL=${2-} awk 'index($0, ENVIRON["KEY"]) == 1 && (!ENVIRON["LABEL"] || index($0, ENVIRON["LABEL"])) {
		sum += $NF } END { print sum + 0 }' $metrics
}

# series NAME [LABEL]: their number.
series() {
	KEY="$1{" LABEL=${2-} awk 'index($0, ENVIRON["KEY"]) == 1 && (!ENVIRON["LABEL"] || index($0, ENVIRON["LABEL"])) {
		n++ } END { print n + 0 }' $metrics
}

# counts COMM PIPE [UNIT]: all that is said about a group, "-" for what is not there:
# "reads R of RB, writes W of WB, atime A, cmtime C"
counts() {
	LABELS="unit=\"${3-}\",comm=\"$1\",pipe=\"$2\"" awk '
		BEGIN {
			labels = ENVIRON["LABELS"]
			key["r"] = "pipewatch_pipe_reads_total{" labels "}"
			key["rb"] = "pipewatch_pipe_read_bytes_total{" labels "}"
			key["w"] = "pipewatch_pipe_writes_total{" labels "}"
			key["wb"] = "pipewatch_pipe_written_bytes_total{" labels "}"
			key["a"] = "pipewatch_metadata_updates_total{" labels ",kind=\"atime\"}"
			key["c"] = "pipewatch_metadata_updates_total{" labels ",kind=\"cmtime\"}"
			for (k in key)
				value[k] = "-"
		}
		/^pipewatch_pipe_|^pipewatch_metadata_updates/ {
			for (k in key)
				if (index($0, key[k] " ") == 1)
					value[k] = $NF
		}
		END {
			printf "reads %s of %s, writes %s of %s, atime %s, cmtime %s\n", value["r"],
				value["rb"], value["w"], value["wb"], value["a"], value["c"]
		}' $metrics
}

# expected PIPE READS BYTES WRITES BYTES [NOATIME_READS]: what counts should give.
expected() {
	if [ "$1" = anonymous ] && [ $anonymous = removed ]; then
		echo "reads $2 of $3, writes $4 of $5, atime -, cmtime -"
	else
		echo "reads $2 of $3, writes $4 of $5, atime $(($2 - ${6-0})), cmtime $4"
	fi
}

nothing="reads - of -, writes - of -, atime -, cmtime -"

# counted NAME COMM PIPE READS BYTES WRITES BYTES [NOATIME_READS]: gives a result.
counted() {
	counted_name=$1 counted_comm=$2
	shift 2
	is "$counted_name" "$(counts "$counted_comm" "$1")" "$(expected "$@")"
}

claims() {
	metric 'pipewatch_map_entries{map="claims"}'
}

lost() {
	metric 'pipewatch_lost_updates_total{reason="recursion"}'
}

# exact_or_lost NAME COUNTED LOST_BEFORE WHOLE: for more tasks than CPUs that use pipes at the same
# time. What is counted is the whole; with what was lost meanwhile where some may be.
exact_or_lost() {
	if $preemptible; then
		is "$1" "$(($2 + $(lost) - $3))" "$4"
	else
		is "$1" "$2, $(lost) lost" "$4, 0 lost"
	fi
}

# settle CLAIMS: scrapes. A thread whose end was skipped is noticed only when its last memory is
# freed, so where that may be, it scrapes until so many claims are left, for a minute at most.
# Uses no pipe.
settle() {
	tries=0
	until scrape && { ! $preemptible || [ $tries = 600 ] ||
		grep -qxF "pipewatch_map_entries{map=\"claims\"} $1" $metrics; }; do
		tries=$((tries + 1))
		usleep 100000
	done
}

# until_file FILE...: waits at most a minute for each.
until_file() {
	for file; do
		tries=0
		until [ -e "$file" ] || [ $tries = 3000 ]; do
			tries=$((tries + 1))
			usleep 20000
		done
	done
}

# until_gone NAME: until there is no process of that name any more. Uses no pipe.
until_gone() {
	while grep -qsx "$1" /proc/[0-9]*/comm; do
		usleep 20000
	done
}

# until_asleep PID...: until all threads of each wait for something, at most a minute.
until_asleep() {
	for process; do
		tries=0
		while grep -q '^State:[[:space:]]*[RD]' /proc/"$process"/task/*/status && [ $tries -lt 3000 ]; do
			tries=$((tries + 1))
			usleep 20000
		done
	done
}

# until_unlinked: until no program is attached to anything; links go a moment after the process that held
# them. Uses no pipe.
until_unlinked() {
	tries=0
	while bpftool link list > /tmp/links && [ -s /tmp/links ] && [ $tries -lt 1000 ]; do
		tries=$((tries + 1))
		usleep 20000
	done
}
