#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# usage: sample-guest.sh KERNEL...
#
# Sampling against loads of known cost, in guests that count instructions; then with CPUs that come and
# go, without room and without permission.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
program=${BUILD:-$here/../../build}/bench/sample
: "${1:?usage: sample-guest.sh KERNEL...}"
trap 'exit 143' TERM

guest() {
	"$here/../vm/guest" -f "$program" "$@"
}

# get CASE NAME COLUMN: from the output, whose lines begin with the case
get() {
	awk -v c="$1" -v name="$2" -v column="$3" '$1 == c && $2 == name { print $(column + 2) }' <<< "$output"
}

# near NAME CASE LINE TRUTH PERCENT: the line's time, for each pair of operations and without the sampling's own
# cost, differs from the truth by no more than PERCENT, four standard errors aside
near() {
	ok "$1" awk -v ns="$(get "$2" "$3" 1)" -v samples="$(get "$2" "$3" 2)" -v pairs="$(get "$2" truth 1)" \
		-v slow="$(get "$2" pair 1)" -v alone="$(get "$2" pair 2)" -v truth="$4" -v percent="$5" 'BEGIN {
		if (samples == 0 || pairs == 0 || alone == 0)
			exit 1
		got = ns / pairs * alone / slow
		error = got / sqrt(samples)
		away = got > truth ? got - truth : truth - got
		printf "# %.1f, standard error %.1f, truth %.1f\n", got, error, truth
		exit !(away <= 4 * error + truth * percent / 100)
	}'
}

# each CASE LINE: the time for each pair of operations, without the sampling's own cost
each() {
	awk -v ns="$(get "$1" "$2" 1)" -v pairs="$(get "$1" truth 1)" -v slow="$(get "$1" pair 1)" \
		-v alone="$(get "$1" pair 2)" 'BEGIN { print ns / pairs * alone / slow }'
}

minus() {
	awk -v a="$1" -v b="$2" 'BEGIN { print a - b }'
}

measure() {
	local kernel=$1 case_ noatime empty atime
	# shellcheck disable=SC2016 # for the guest
	output=$(guest -k "$kernel" -i -t 300 -- 'run() { c=$1; shift; ./sample "$@" -F 4999 -r 3 | sed "s/^/$c /"; }
		run anonymous -t 1500; run noatime -t 500 -a; run fifo -t 1500 -f; run fifo-noatime -t 500 -f -a
		run watched -t 500 -w; run empty -t 1000 -z; run fifo-empty -t 1000 -z -f')
	is "$kernel: it runs" $? 0

	for case_ in anonymous fifo; do
		noatime=noatime empty=empty
		[ $case_ = anonymous ] || noatime=fifo-noatime empty=fifo-empty
		# Operations of no bytes, which the body is found by, take a little inside as well.
		near "$kernel: $case_: the pipe's functions" $case_ pipe \
			"$(awk -v a="$(get $case_ truth 2)" -v b="$(each $empty pipe)" 'BEGIN { print a + b }')" 2
		atime=$(minus "$(get $case_ pair 2)" "$(get $noatime pair 2)")
		case $kernel-$case_ in
		7.*-anonymous)
			is "$kernel: $case_: no atime" "$(get $case_ atime 1)" 0
			is "$kernel: $case_: no cmtime" "$(get $case_ cmtime 1)" 0
			;;
		*)
			near "$kernel: $case_: atime" $case_ atime "$atime" 6
			# There is no write without it to compare with; timed calls say 101 to 121, by kernel.
			near "$kernel: $case_: cmtime" $case_ cmtime 111 10
			;;
		esac
		is "$kernel: $case_: no fsnotify" "$(get $case_ fsnotify 1)" 0
	done
	is "$kernel: O_NOATIME: no atime" "$(get noatime atime 1)" 0
	is "$kernel: a FIFO with O_NOATIME: no atime" "$(get fifo-noatime atime 1)" 0
	near "$kernel: watched: fsnotify" watched fsnotify \
		"$(minus "$(get watched pair 2)" "$(get anonymous pair 2)")" 7
	is "$kernel: no others" "$(get anonymous others 2) $(get fifo others 2)" "0 0"
	is "$kernel: ended processes are forgotten" "$(get anonymous left 1)" 0
	# The first one stands for a whole mean period, and what follows the last one for nothing.
	ok "$kernel: the samples stand for all the time" awk -v a="$(get anonymous taken 1)" \
		-v b="$(get anonymous clock 1)" 'BEGIN { exit !(a > 0.998 * b && a < 1.002 * b) }'
}

# shellcheck disable=SC2016 # for the guest
come_and_go() {
	output=$(guest -k "$1" -n 2 -t 100 -- 'cpu=/sys/devices/system/cpu/cpu1/online; echo 0 > $cpu; read -r begin _ < /proc/uptime
		(sleep 2; echo 1 > $cpu; read -r up _ < /proc/uptime; sleep 3; echo 0 > $cpu; echo 1 > $cpu
			read -r again _ < /proc/uptime; echo "hot second $begin $up $again") &
		./sample -i -F 97 -t 10000 -r 200 2>&1 | sed "s/^/hot /"
		./sample -F 0 -t 5000 > /dev/null & ./sample -m 1 -F 997 -t 3000 | sed "s/^/full /"')
	is "$1: CPUs come and go" $? 0
	is "$1: both are sampled at the end" "$(get hot taken 3)" 2
	is "$1: without complaint" "$(grep -c '^hot sample:' <<< "$output")" 0
	# All of it of one, and of the other at most from when it came. How much less there is of that one depends
	# on how busy this machine is: the figures say it, but are no result.
	ok "$1: the time of both" awk -v ns="$(get hot taken 1)" -v clock="$(get hot clock 1)" \
		-v begin="$(get hot second 1)" -v up="$(get hot second 2)" 'BEGIN {
		most = 2 * clock - (up - begin) * 1e9
		print "# " ns / 1e9 " s of " most / 1e9 " s"
		exit !(clock >= 10e9 && up > begin && ns > 0.98 * clock && ns < most + 0.3e9)
	}'
	ok "$1: what there is no room for is counted" [ "$(get full taken 4)" -gt 0 ]
	# Which of the two had room is a matter of chance.
	is "$1: and summed up" $(($(get full pipe 2) > 0 ? $(get full others 2) == $(get full taken 4) : $(get full others 2) > $(get full taken 4))) 1
}

# shellcheck disable=SC2016 # for the guest
denied() {
	output=$(guest -k "$1" -t 60 -- 'k=/proc/sys/kernel; run() { c=$1; shift; ./sample -i -t 10 "$@" | sed "s/^/$c /"; }
		echo 3 > $k/perf_event_paranoid; run paranoid -d sys_admin; run syslog -d syslog
		echo 2 > $k/perf_event_paranoid; run level2 -d sys_admin; run both -d sys_admin -d perfmon
		echo 2 > $k/kptr_restrict; run kptr')
	is "$1: perf_event_paranoid" "$(get paranoid denied 1) $(get paranoid kernel.perf_event_paranoid 2)" "EACCES 3,"
	ok "$1: CAP_SYSLOG" grep -q '^syslog .*from those without CAP_SYSLOG' <<< "$output"
	is "$1: perf_event_paranoid=2 needs no CAP_SYS_ADMIN" "$(get level2 taken 4)" 0
	ok "$1: CAP_PERFMON" grep -q '^both .*lacks CAP_PERFMON' <<< "$output"
	ok "$1: kptr_restrict" grep -q '^kptr .*kernel.kptr_restrict is 2' <<< "$output"
}

plan $((15 * $# + 11))
for kernel; do
	measure "$kernel"
done
come_and_go "$1"
denied "$1"
done_testing
