#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# usage: sample-guest.sh [-w KERNEL]... KERNEL...
#
# Sampling against loads of known cost, in guests that count instructions; with -w only while pipes are
# watched. Then with CPUs that come and go, without room and without permission.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
program=${BUILD:-$here/../../build}/bench/sample
only_watched=()
while [ "${1-}" = -w ]; do
	only_watched+=("$2")
	shift 2
done
: "${1:?usage: sample-guest.sh [-w KERNEL]... KERNEL...}"
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

# A case in the guest, and those where a pipe is watched, also by somebody else.
# shellcheck disable=SC2016 # for the guest
run='run() { c=$1; shift; ./sample -F 9999 -r 3 "$@" | sed "s/^/$c /"; }
	watched() {
		run watched -t 200 -w; run fifo-watched -t 200 -w -f
		./sample -F 0 -i -w -t 60000 & until grep -qs ^inotify /proc/[0-9]*/fdinfo/*; do sleep 0.01; done
		run beside -t 200; run fifo-beside -t 20 -f; kill $!; wait
	}'

# While a pipe is watched, all pipes of its kind pay, and none of the other.
watched() {
	local kernel=$1 truth
	truth=$(minus "$(get watched pair 2)" "$(get anonymous pair 2)")
	near "$kernel: watched: fsnotify" watched fsnotify "$truth" 7
	# Of somebody else's watch fsnotify only takes notice, so that the call, which is not sampled, matters.
	truth=$(awk -v a="$(get beside pair 2)" -v b="$(get anonymous pair 2)" 'BEGIN { print 0.72 * (a - b) }')
	near "$kernel: beside a watched pipe: fsnotify" beside fsnotify "$truth" 15
	for case_ in watched beside; do
		is "$kernel: $case_: on anonymous pipes alone" "$(get $case_ notified 1) $(get $case_ notified 2)" \
			"$(get $case_ fsnotify 1) 0"
	done
	truth=$(minus "$(get fifo-watched pair 2)" "$(get fifo pair 2)")
	near "$kernel: a watched FIFO: fsnotify" fifo-watched fsnotify "$truth" 7
	is "$kernel: a watched FIFO: on FIFOs alone" "$(get fifo-watched notified 1) $(get fifo-watched notified 2)" \
		"0 $(get fifo-watched fsnotify 1)"
	is "$kernel: a FIFO beside a watched pipe: no fsnotify" "$(get fifo-beside fsnotify 1)" 0
	is "$kernel: the watcher is named" "$(grep '^watched watcher ' <<< "$output")" "watched watcher sample 1 1"
	is "$kernel: watched: the process is named, while it lives and then" \
		"$(get watched name 1) $(get watched ended 1)" "renamed renamed"
	# Its cgroup is the root.
	is "$kernel: watched: its cgroup is known" "$(get watched name 2) $(get watched ended 2)" "1 1"
}

measure_watched() {
	output=$(guest -k "$1" -i -t 300 -- "$run"'
		run anonymous -t 10; run fifo -t 10 -f; watched')
	is "$1: it runs" $? 0
	watched "$1"
}

measure() {
	local kernel=$1 case_ noatime empty atime
	output=$(guest -k "$kernel" -i -t 600 -- "$run"'
		run anonymous -F 4999 -t 1500; run noatime -t 200 -a; run fifo -F 4999 -t 1500 -f; run fifo-noatime -t 200 -f -a
		watched; run empty -F 4999 -t 1000 -z; run fifo-empty -F 4999 -t 1000 -z -f')
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
	watched "$kernel"
	is "$kernel: no others" "$(get anonymous others 2) $(get fifo others 2)" "0 0"
	is "$kernel: ended processes are forgotten" "$(get anonymous left 1)" 0
	# The first one stands for a whole mean period, and what follows the last one for nothing.
	ok "$kernel: the samples stand for all the time" awk -v a="$(get anonymous taken 1)" \
		-v b="$(get anonymous clock 1)" 'BEGIN { exit !(a > 0.998 * b && a < 1.002 * b) }'
}

# shellcheck disable=SC2016 # for the guest
come_and_go() {
	output=$(guest -k "$1" -n 2 -t 300 -- 'cpu=/sys/devices/system/cpu/cpu1/online; echo 0 > $cpu
		(sleep 2; echo 1 > $cpu; read -r up _ < /proc/uptime; sleep 3; echo 0 > $cpu; read -r down _ < /proc/uptime; echo 1 > $cpu
			read -r again _ < /proc/uptime; echo "hot second $up $down $again") &
		./sample -i -F 20 -t 10000 -r 200 2>&1 | sed "s/^/hot /"
		./sample -F 0 -t 5000 > /dev/null & ./sample -m 1 -F 997 -t 3000 | sed "s/^/full /"')
	is "$1: CPUs come and go" $? 0
	is "$1: both are sampled at the end" "$(get hot taken 3)" 2
	is "$1: without complaint" "$(grep -c '^hot sample:' <<< "$output")" 0
	# All of one, and of the other at most while it was there, beside what three first samples stand for; and more
	# of it than either of its two times can give alone. That leaves a second and more for what may be missing: 0.2 s
	# until it is looked for, up to 1.7 s where its short absence is noticed only by the samples that fail to come.
	# A pause of the guest, on a busy machine, is missing on both.
	ok "$1: the time of both" awk -v ns="$(get hot taken 1)" -v clock="$(get hot clock 1)" -v begin="$(get hot clock 2)" \
		-v up="$(get hot second 1)" -v down="$(get hot second 2)" -v again="$(get hot second 3)" -v paused="$(get hot paused 1)" 'BEGIN {
		first = down - up
		second = (begin + clock) / 1e9 - again
		most = clock / 1e9 + first + second
		least = clock / 1e9 + (first > second ? first : second) - 2 * paused / 1e9
		printf "# %.2f s of %.2f to %.2f\n", ns / 1e9, least, most
		exit !(clock >= 10e9 && first > 0 && second > 0 && ns / 1e9 > least && ns / 1e9 < most + 0.15)
	}'
	ok "$1: what there is no room for is counted" [ "$(get full lost 1)" -gt 0 ]
	# Which of the two had room is a matter of chance. The other one runs on while the sums are read.
	ok "$1: and summed up" [ "$(get full others 2)" -ge "$(get full lost 1)" ]
	ok "$1: no more than that" [ "$(get full pipe 2)" -eq 0 -o "$(get full others 2)" -le "$(get full lost 2)" ]
}

# shellcheck disable=SC2016 # for the guest
denied() {
	output=$(guest -k "$1" -t 300 -- 'k=/proc/sys/kernel; run() { c=$1; shift; ./sample -i -t 10 "$@" | sed "s/^/$c /"; }
		echo 3 > $k/perf_event_paranoid; run paranoid -d sys_admin; run syslog -d syslog
		echo 2 > $k/perf_event_paranoid; run level2 -d sys_admin; run both -d sys_admin -d perfmon
		echo 2 > $k/kptr_restrict; run kptr')
	is "$1: perf_event_paranoid" "$(get paranoid denied 1) $(get paranoid kernel.perf_event_paranoid 2)" "EACCES 3,"
	ok "$1: CAP_SYSLOG" grep -q '^syslog .*from those without CAP_SYSLOG' <<< "$output"
	is "$1: perf_event_paranoid=2 needs no CAP_SYS_ADMIN" "$(get level2 lost 2)" 0
	ok "$1: CAP_PERFMON" grep -q '^both .*lacks CAP_PERFMON' <<< "$output"
	ok "$1: kptr_restrict" grep -q '^kptr .*kernel.kptr_restrict is 2' <<< "$output"
}

plan $((11 * ${#only_watched[@]} + 24 * $# + 12))
for kernel in "${only_watched[@]}"; do
	measure_watched "$kernel"
done
for kernel; do
	measure "$kernel"
done
come_and_go "$1"
denied "$1"
done_testing
