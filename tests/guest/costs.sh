# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# What the daemon says that updates cost, against loops of a program that knows nothing of it, on the
# same kernel; and who is charged. For a guest that counts instructions: figures repeat there.
. ./tap.sh
. ./daemon.sh

# fill CASE COLUMN: nanoseconds of an operation, by the benchmark; 1: of a write, 2: of a read
fill() {
	awk -v name="$1" -v column="$2" '$1 == "fill" && $2 == name { print $(2 + column) }' /tmp/truth
}

# minus A B [C]: A - B - C, of numbers that are there
minus() {
	awk -v a="$1" -v b="$2" -v c="${3-0}" 'BEGIN { if (a == "" || b == "" || c == "") print "none"; else print a - b - c }'
}

# scaled A B: A times B, if A is a number
scaled() {
	awk -v a="$1" -v b="$2" 'BEGIN { if (a ~ /^[0-9.e+-]+$/) print a * b; else print "none" }'
}

# near NAME GOT WANTED PERCENT
near() {
	echo "# $1: $2, wanted $3"
	ok "$1, within $4 %" awk -v got="$2" -v wanted="$3" -v percent="$4" 'BEGIN {
		away = got > wanted ? got - wanted : wanted - got
		exit !(got ~ /^[0-9.e+-]+$/ && wanted ~ /^[0-9.e+-]+$/ && wanted > 0 && away <= wanted * percent / 100)
	}'
}

# unit_ns KIND PIPE: the published cost of one update, the sum of its stages
unit_ns() {
	awk -v labels="{kind=\"$1\",pipe=\"$2\",stage=" 'index($0, "pipewatch_metadata_unit_cost_seconds" labels) == 1 {
		sum += $NF; n++ } END { if (n) printf "%.2f\n", sum * 1e9; else print "none" }' $metrics
}

# charged COMM PIPE KIND: seconds
charged() {
	metric "pipewatch_metadata_cpu_seconds_total{unit=\"\",comm=\"$1\",pipe=\"$2\",kind=\"$3\"}"
}

# each_ns COMM PIPE KIND: the same for each of the updates, in nanoseconds
each_ns() {
	awk -v cpu="$(charged "$1" "$2" "$3")" \
		-v n="$(metric "pipewatch_metadata_updates_total{unit=\"\",comm=\"$1\",pipe=\"$2\",kind=\"$3\"}")" \
		'BEGIN { if (n > 0) printf "%.3f\n", cpu / n * 1e9; else print "none" }'
}

# until_burst: until the first has ended, whose stages are published then. It begins after a minute, which
# costs nothing where time is counted in instructions.
until_burst() {
	sleep 60
	tries=0
	until scrape && grep -q '^pipewatch_metadata_unit_cost_seconds{.*stage="update"' $metrics; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || return 1
		sleep 0.2
	done
}

# agreement KIND PIPE: the state that is published
agreement() {
	sed -n "s/^pipewatch_metadata_unit_cost_agreement{kind=\"$1\",pipe=\"$2\",state=\"\([a-z]*\)\"} 1$/\1/p" $metrics
}

loaded() {
	bpftool prog list | grep -cE '^[0-9]+: (tracing|perf_event|raw_tracepoint|kprobe) '
}

kinds=fifo
[ $anonymous = removed ] || kinds="anonymous fifo"
if [ $anonymous = removed ]; then plan 24; else plan 30; fi

pipe > /tmp/truth
is "the loops ran" $? 0
is "nothing is loaded before" "$(loaded)" 0

start_daemon
ok "a burst ends" until_burst
for kind in $kinds; do
	near "$kind: atime" "$(unit_ns atime $kind)" "$(minus "$(fill $kind 2)" "$(fill $kind-noatime 2)")" 7
	is "$kind: burst and A/B agree on atime" "$(agreement atime $kind)" agree
done
if [ $anonymous = removed ]; then
	is "anonymous: no cost where there is no update" "$(unit_ns atime anonymous) $(unit_ns cmtime anonymous)" \
		"none none"
	# The wrapper around what FIFOs share with anonymous pipes costs reads as much as writes.
	near "fifo: cmtime" "$(unit_ns cmtime fifo)" \
		"$(minus "$(fill fifo 1)" "$(fill anonymous 1)" "$(minus "$(fill fifo-noatime 2)" "$(fill anonymous-noatime 2)")")" 15
	is "fifo: burst and A/B agree on cmtime" "$(agreement cmtime fifo)" agree
fi

# Unit costs stay as they are for a minute from here on.
cp /bin/busybox /tmp/busybox-slow
mkfifo /tmp/slow
exec 3<> /tmp/slow
/tmp/busybox-slow dd if=/tmp/slow of=/dev/null bs=1 count=1 2> /dev/null &
slow=$!
load -n 2000 -s 100 -c one
load -n 20000 -s 100 -c ten
load -n 2000 -s 100 -f -c one
load -n 20000 -s 100 -f -c ten
sleep 1
echo >&3
wait $slow
scrape
for kind in $kinds; do
	for update in atime cmtime; do
		is "$kind: $update: updates of the first" \
			"$(metric "pipewatch_metadata_updates_total{unit=\"\",comm=\"one\",pipe=\"$kind\",kind=\"$update\"}")" 2000
		is "$kind: $update: updates of the second" \
			"$(metric "pipewatch_metadata_updates_total{unit=\"\",comm=\"ten\",pipe=\"$kind\",kind=\"$update\"}")" 20000
		near "$kind: $update: stages sum to what is charged for one" "$(unit_ns $update $kind)" \
			"$(each_ns ten $kind $update)" 3
		near "$kind: $update: ten times the operations are charged ten times as much" \
			"$(charged ten $kind $update)" "$(scaled "$(charged one $kind $update)" 10)" 2
	done
done
if [ $anonymous = removed ]; then
	is "anonymous: nothing is charged" "$(charged ten anonymous atime) $(charged ten anonymous cmtime)" "absent absent"
fi
is "a second asleep: one read" "$(counts busybox-slow fifo)" "$(expected fifo 1 1 0 0)"
near "a second asleep: one update is charged" "$(scaled "$(charged busybox-slow fifo atime)" 1e9)" "$(unit_ns atime fifo)" 0.1
slept=$(metric 'pipewatch_pipe_cpu_seconds_total{unit="",comm="busybox-slow"}')
echo "# a second asleep: $slept s are sampled"
ok "a second asleep: no more than two samples" awk -v s="$slept" 'BEGIN { exit !(s ~ /^[0-9.e-]+$/ && s < 0.025) }'
ok "who is busy is sampled" awk -v s="$(total pipewatch_pipe_cpu_seconds_total 'comm="ten"')" 'BEGIN { exit !(s > 0) }'

stop_daemon
is "SIGTERM" "$daemon_status" 0
tries=0
until [ "$(loaded)" = 0 ] || [ $tries = 50 ]; do
	tries=$((tries + 1))
	usleep 50000
done
is "nothing is loaded after" "$(loaded)" 0
is "nor attached" "$(bpftool link list | grep -c .)" 0
done_testing
