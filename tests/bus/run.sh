#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The D-Bus face against a private dbus-daemon. Usage: tests/bus/run.sh SERVER [CASE...]; SERVER is built from
# server.c beside this file. Writes TAP.

server=$(realpath "$1") || exit
shift
here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/bus-config.sh
. "$here/../bus-config.sh"
work=$(mktemp -d)
address=unix:path=$work/bus
tests=0
failed=0
bus_pid=
# What a sanitizer keeps after free() is not what the memory test looks for.
export ASAN_OPTIONS=quarantine_size_mb=1:$ASAN_OPTIONS

# ---- reporting ----

# is NAME EXPECTED ACTUAL
is() {
	tests=$((tests + 1))
	if [ "$2" == "$3" ]; then
		echo "ok $tests - $1"
	else
		failed=$((failed + 1))
		echo "not ok $tests - $1"
		diff <(echo "$2") <(echo "$3") | sed 's/^/# /'
	fi
}

# For what comes at once where nothing else runs.
patience=20

# Runs a command until it succeeds, for at most $1 seconds.
within() {
	local end=$(($(date +%s%N) + $1 * 1000000000))

	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s%N)" -lt $end ] || return 1
		sleep 0.05
	done
}

# ---- the bus ----

# start_bus [POLICY-LINE]
start_bus() {
	bus_config "$address" "${1-}" '<limit name="max_replies_per_connection">50000</limit>' >"$work/bus.conf"
	launch_bus
}

# Until it answers.
launch_bus() {
	rm -f "$work/bus"
	dbus-daemon --nofork --config-file="$work/bus.conf" 2>>"$work/bus.log" &
	bus_pid=$!
	within $patience busctl_ call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus GetId
}

kill_bus() {
	kill -KILL $bus_pid 2>/dev/null
	wait $bus_pid 2>/dev/null
}

busctl_() {
	busctl --address="$address" --timeout=$patience "$@" 2>&1
}

method() {
	busctl_ call org.pipewatch1 /org/pipewatch1 org.pipewatch1.Manager "$@"
}

property() {
	busctl_ get-property org.pipewatch1 /org/pipewatch1 org.pipewatch1.Manager "$@"
}

# With the name of the error, which busctl does not show.
send() {
	dbus-send --bus="$address" --print-reply=literal --reply-timeout=${patience}000 --dest=org.pipewatch1 \
		/org/pipewatch1 "$@" 2>&1
}

owner() {
	busctl_ call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus GetNameOwner s org.pipewatch1
}

has_name() {
	[[ $(owner) == 's ":'* ]]
}

# ---- servers, numbered; the first is number 0 ----

declare -a server_pids server_fds

start_server() {
	local fd

	mkfifo "$work/in.$1"
	"$server" "${2:-$address}" <"$work/in.$1" >"$work/out.$1" 2>&1 &
	server_pids[$1]=$!
	exec {fd}>"$work/in.$1"
	server_fds[$1]=$fd
}

gone() {
	! kill -0 "$1"
}

# end_server NUMBER STATUS NAME: it is about to end
end_server() {
	within $patience gone "${server_pids[$1]}" || kill -KILL "${server_pids[$1]}"
	wait "${server_pids[$1]}"
	is "$3" "$2" $?
	# shellcheck disable=SC1083,SC2086,SC2093
	exec {server_fds[$1]}>&-
	rm "$work/in.$1"
	unset "server_pids[$1]"
}

stop_server() {
	# Closing its input would not do: buses started since then hold it open too.
	echo quit >&"${server_fds[$1]}"
	end_server "$1" 0 "server $1 ends well"
}

answers() {
	grep -vc '^log: ' "$work/out.$1"
}

more_answers() {
	[ "$(answers "$1")" -gt "$2" ]
}

# ask SERVER COMMAND: its answer, or nothing when there is none
ask() {
	local before

	before=$(answers "$1")
	echo "$2" >&"${server_fds[$1]}"
	within $patience more_answers "$1" "$before" && grep -v '^log: ' "$work/out.$1" | tail -n 1
}

logs() {
	sed -n "s!^log: !!; T; s!$address!ADDRESS!; p" "$work/out.$1"
}

log_is() {
	[ "$(logs "$1" | tail -n 1)" == "$2" ]
}

cleanup() {
	kill -CONT $bus_pid 2>/dev/null
	kill -KILL $bus_pid "${server_pids[@]}" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT

ours='6 The name org.pipewatch1 on the bus at ADDRESS is ours.'

anonymous_100='"AnonymousReads" t 0 "AnonymousWrites" t 1000 "AnonymousReadBytes" t 0 "AnonymousWrittenBytes" t 64000'
anonymous_100+=' "AnonymousNoatimeReads" t 0 "AnonymousAtimeUpdates" t 0'
anonymous_200='"AnonymousReads" t 500 "AnonymousWrites" t 0 "AnonymousReadBytes" t 32000 "AnonymousWrittenBytes" t 0'
anonymous_200+=' "AnonymousNoatimeReads" t 100 "AnonymousAtimeUpdates" t 400'
sizes_200='"AnonymousReadSizes" at 16 0 0 0 0 0 0 500 0 0 0 0 0 0 0 0 0'
sizes_200+=' "AnonymousWriteSizes" at 16 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0'
fifo_200='"FifoReads" t 3 "FifoWrites" t 4 "FifoReadBytes" t 30 "FifoWrittenBytes" t 40 "FifoNoatimeReads" t 1'
fifo_200+=' "FifoAtimeUpdates" t 2 "FifoCmtimeUpdates" t 4'
fifo_sizes_200='"FifoReadSizes" at 16 0 0 0 3 0 0 0 0 0 0 0 0 0 0 0 0 "FifoWriteSizes" at 16 0 0 0 4 0 0 0 0 0 0 0 0 0 0 0 0'
fifo_last='"FifoReads" t 0 "FifoWrites" t 1 "FifoReadBytes" t 0 "FifoWrittenBytes" t 9223372036854775808'
fifo_last+=' "FifoNoatimeReads" t 0 "FifoAtimeUpdates" t 0 "FifoCmtimeUpdates" t 1'
process_100="100 1700000000000100 \"writer\" \"cron.service\" 0 1000 0 64000 7 \"Exited\" b false $anonymous_100"
head_200='200 1700000000000200 "new\nline\"\\\t\001" "docker/0123456789ab" 503 4 32030 40'
process_200="$head_200 14 \"Exited\" b false $anonymous_200 $fifo_200"
process_last="4294967295 1700004294967295 \"\" \"\" 0 1 0 9223372036854775808 8 \"Exited\" b true $fifo_last"
group_100="\"cron.service\" \"writer\" 1 0 1000 0 64000 6 $anonymous_100"
group_200="\"docker/0123456789ab\" \"new\\nline\\\"\\\\\\t\\001\" 1 503 4 32030 40 13 $anonymous_200 $fifo_200"
group_last="\"\" \"\" 0 0 1 0 9223372036854775808 7 $fifo_last"

absent_number=18446744073709551615
manager=org.pipewatch1.Manager

# ---- the cases; each begins with a bus and server 0 on it ----

# shellcheck source=tests/bus/figures.sh
. "$here/figures.sh"
# shellcheck source=tests/bus/name.sh
. "$here/name.sh"

case_interface() {
	is 'introspection' "$(cat "$here/introspection.xml")" \
		"$(busctl_ introspect --xml-interface org.pipewatch1 /org/pipewatch1)"
	is 'Ping' '' "$(busctl_ call org.pipewatch1 /org/pipewatch1 org.freedesktop.DBus.Peer Ping)"

	while read -r name value; do
		is "$name" "$value" "$(property "$name")"
	done <<-'END'
	Version s "9.8.7"
	KernelRelease s "6.1.0-test"
	StartTime t 1700000000000000
	State s "running"
	StateReason s "All is well."
	AnonymousTimestamps s "unknown"
	AnonymousTimestampsReason s "atime is paid: Seen. cmtime is removed: Gone."
	Paths a(ssss) 6 "anonymous" "atime" "paid" "Seen." "anonymous" "cmtime" "removed" "Gone." "anonymous" "fsnotify" "paid" "Seen." "fifo" "atime" "paid" "Seen." "fifo" "cmtime" "paid" "Seen." "fifo" "fsnotify" "paid" "Seen."
	Programs a(ssbs) 2 "on_read" "pipe_read" true "" "on_write" "pipe_write" false "No such function."
	Mode s "exact"
	ModeReason s "It fits."
	ConfiguredMode s "auto"
	Counting b true
	CountingReason s ""
	Coverage d 1
	CoverageReason s ""
	Budget d 0.01
	ObserverOverhead d nan
	ObserverOverheadReason s "Nobody knows."
	Estimated b false
	UnitCosts a(sssdds) 0
	Watchers a(usu) 0
	WatchersReason s ""
	TrackedProcesses u 2
	LostUpdates t 15
	END
	is 'properties are read-only' \
		"$(sed -n "s/.*<property name=\"\([^\"]*\)\".*/Error org.freedesktop.DBus.Error.PropertyReadOnly: Property '\1' is not writable./p" \
			"$here/introspection.xml")" \
		"$(sed -n 's/.*<property name="\([^"]*\)".*/\1/p' "$here/introspection.xml" | while read -r name; do
			send org.freedesktop.DBus.Properties.Set string:$manager "string:$name" variant:string:x
		done)"
	is 'all properties' "$(grep -c '<property ' "$here/introspection.xml")" \
		"$(busctl_ call org.pipewatch1 /org/pipewatch1 org.freedesktop.DBus.Properties GetAll s $manager |
			cut -d ' ' -f 2)"
	is 'no such property' \
		"Error org.freedesktop.DBus.Error.UnknownProperty: Unknown interface $manager or property Nothing." \
		"$(send org.freedesktop.DBus.Properties.Get string:$manager string:Nothing)"
}

case_methods() {
	local all="$process_100 $process_200 $process_last"
	local groups="$group_100 $group_200 $group_last"

	is 'ListProcesses: all' "a(utsstttta{sv}) 3 $all" "$(method ListProcesses u 0)"
	is 'ListProcesses: one' "a(utsstttta{sv}) 1 $process_100" "$(method ListProcesses u 1)"
	is 'ListProcesses: limit = number' "a(utsstttta{sv}) 3 $all" "$(method ListProcesses u 3)"
	is 'ListProcesses: highest limit' "a(utsstttta{sv}) 3 $all" "$(method ListProcesses u 4294967295)"
	is 'GetRemedies: nothing to save' 'a(ssssudd) 0' "$(method GetRemedies)"
	is 'ListGroups: all' "a(ssutttta{sv}) 3 $groups" "$(method ListGroups u 0)"
	is 'ListGroups: two' "a(ssutttta{sv}) 2 $group_100 $group_200" "$(method ListGroups u 2)"
	is 'ListGroups: highest limit' "a(ssutttta{sv}) 3 $groups" "$(method ListGroups u 4294967295)"
	is 'GetProcess' \
		"(utsstttta{sv}) $head_200 18 \"Exited\" b false $anonymous_200 $sizes_200 $fifo_200 $fifo_sizes_200" \
		"$(method GetProcess u 200)"
	is 'GetProcess: highest pid' "(utsstttta{sv}) ${process_last/ 8 / 10 }"' "FifoReadSizes" at 16 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "FifoWriteSizes" at 16 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1' \
		"$(method GetProcess u 4294967295)"
	is 'GetProcess: none' 'Error org.pipewatch1.Error.NoSuchProcess: Process 0 is not known: it has not used a pipe since counting began, or it ended more than 60 seconds ago, or it never was.' \
		"$(send $manager.GetProcess uint32:0)"

	is 'no argument' \
		"Error org.freedesktop.DBus.Error.InvalidArgs: Invalid arguments '' to call $manager.ListProcesses(), expecting 'u'." \
		"$(send $manager.ListProcesses)"
	is 'wrong argument' \
		"Error org.freedesktop.DBus.Error.InvalidArgs: Invalid arguments 's' to call $manager.GetProcess(), expecting 'u'." \
		"$(send $manager.GetProcess string:200)"
	is 'no such method' \
		"Error org.freedesktop.DBus.Error.UnknownMethod: Unknown method Nothing or interface $manager." \
		"$(send $manager.Nothing)"
}

text() {
	busctl_ --json=short call org.pipewatch1 /org/pipewatch1 $manager "$1" |
		python3 -c 'import json, sys; sys.stdout.write(json.load(sys.stdin)["data"][0])'
}

case_texts() {
	is 'Describe is strict JSON' '200 new_line"\_ 2' "$(text Describe | python3 -c '
import json, sys
def no(x): raise ValueError(x)
p = json.load(sys.stdin, parse_constant=no)["processes"][1]
print(p["pid"], p["comm"].replace("\n", "_").replace("\t\x01", "_"), p["fifo"]["atime_updates"])')"
	is 'GetMetrics is text' 1 \
		"$(text GetMetrics | grep -cx 'pipewatch_pipe_writes_total{unit="cron.service",comm="writer",pipe="anonymous"} 1000')"
	is 'GetMetrics has the figures of the process itself' 1 "$(text GetMetrics | grep -c '^process_open_fds ')"
}

case_not_measured() {
	local error='Error org.pipewatch1.Error.NotMeasured: BPF is forbidden here.'

	ask 0 'counting off' >/dev/null
	is 'not counting: ListProcesses' "$error" "$(send $manager.ListProcesses uint32:0)"
	is 'not counting: ListGroups' "$error" "$(send $manager.ListGroups uint32:0)"
	is 'not counting: GetProcess' "$error" "$(send $manager.GetProcess uint32:100)"
	is 'not counting: GetRemedies' "$error" "$(send $manager.GetRemedies)"
	while read -r name value; do
		is "not counting: $name" "$value" "$(property "$name")"
	done <<-'END'
	Counting b false
	CountingReason s "BPF is forbidden here."
	Coverage d nan
	CoverageReason s "BPF is forbidden here."
	Mode s "off"
	TrackedProcesses u 4294967295
	LostUpdates t 18446744073709551615
	END
	is 'not counting: GetMetrics' 0 "$(text GetMetrics | grep -c '^pipewatch_pipe_')"
	is 'not counting: Describe' 'BPF is forbidden here.' \
		"$(text Describe | python3 -c 'import json, sys; print(json.load(sys.stdin)["counting_reason"])')"
}

case_missing() {
	ask 0 'missing reads' >/dev/null
	is 'reads missing: GetProcess' \
		"(utsstttta{sv}) ${head_200/503 4 32030 40/$absent_number 4 $absent_number 40} 8 \"Exited\" b false \"AnonymousWrites\" t 0 \"AnonymousWrittenBytes\" t 0 \"AnonymousWriteSizes\" ${sizes_200#*WriteSizes\" } \"FifoWrites\" t 4 \"FifoWrittenBytes\" t 40 \"FifoCmtimeUpdates\" t 4 \"FifoWriteSizes\" ${fifo_sizes_200#*WriteSizes\" }" \
		"$(method GetProcess u 200)"
	is 'reads missing: Describe' "['writes', 'written_bytes', 'cmtime_updates', 'write_sizes'] The operations that make such updates are not counted." \
		"$(text Describe | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(list(d["processes"][1]["fifo"]), d["paths"]["fifo"]["atime"]["updates_reason"])')"
	ask 0 'missing writes' >/dev/null
	is 'writes missing: ListGroups' \
		"a(ssutttta{sv}) 1 \"cron.service\" \"writer\" 1 0 $absent_number 0 $absent_number 4 \"AnonymousReads\" t 0 \"AnonymousReadBytes\" t 0 \"AnonymousNoatimeReads\" t 0 \"AnonymousAtimeUpdates\" t 0" \
		"$(method ListGroups u 1)"
	ask 0 'missing none' >/dev/null
	is 'nothing missing' "a(ssutttta{sv}) 1 $group_100" "$(method ListGroups u 1)"
}

case_failing() {
	local error='Error org.pipewatch1.Error.Failed: The figures cannot be read: Cannot allocate memory.'

	ask 0 'fail 12' >/dev/null
	for call in 'ListProcesses uint32:0' 'ListGroups uint32:0' 'GetProcess uint32:100' GetRemedies GetMetrics Describe; do
		# shellcheck disable=SC2086
		is "no snapshot: $call" "$error" "$(send $manager.$call)"
	done
	is 'no snapshot: Get' "$error" "$(send org.freedesktop.DBus.Properties.Get string:$manager string:State)"
	is 'no snapshot: introspection' "$(cat "$here/introspection.xml")" \
		"$(busctl_ introspect --xml-interface org.pipewatch1 /org/pipewatch1)"
	ask 0 'fail 0' >/dev/null
	is 'a snapshot again' 's "running"' "$(property State)"
}

# The number of PropertiesChanged signals, and what they told of.
signals() {
	grep -c member=PropertiesChanged "$work/signals"
	sed -n 's/^ .*string "\(.*\)"$/\1/; T; p' "$work/signals" | grep -v "^:\|^$manager\$" | paste -sd ' '
}

has_signals() {
	[ "$(grep -c member=PropertiesChanged "$work/signals")" -eq "$1" ]
}

case_signals() {
	local monitor

	dbus-monitor --address "$address" "type='signal',interface='org.freedesktop.DBus.Properties'" \
		>"$work/signals" 2>&1 &
	monitor=$!
	within $patience grep -q NameAcquired "$work/signals"
	property State >/dev/null

	ask 0 changed >/dev/null
	ask 0 'state degraded One.' >/dev/null
	ask 0 changed >/dev/null
	within $patience has_signals 1
	sleep 1.2
	ask 0 changed >/dev/null
	is 'a signal of what changed' $'1\nState degraded StateReason One.' "$(signals)"

	# The first change is told at once; of the others, within a second, only what they end in.
	: >"$work/signals"
	ask 0 'flicker 5' >/dev/null
	within $patience has_signals 2
	sleep 1.2
	is 'many changes are two signals' $'2\nStateReason Number 1. StateReason Number 5.' "$(signals)"
	kill $monitor
	wait $monitor 2>/dev/null
}

case_flood() {
	local flood before after

	ask 0 'many 10000' >/dev/null
	method ListProcesses u 1 >/dev/null
	before=$(ask 0 memory)
	mkfifo "$work/flood"
	python3 "$here/flood.py" "$work/bus" 20000 <"$work/flood" >"$work/flood.out" 2>/dev/null &
	flood=$!
	exec {fd}>"$work/flood"
	is 'a flood of calls is sent' 0 "$(within 60 grep -q sent "$work/flood.out"; echo $?)"
	# It takes turns with what the flood has left behind.
	ask 0 memory >/dev/null
	sleep 2
	ask 0 'many 0' >/dev/null
	after=$(ask 0 memory)
	is 'a caller that never reads costs less than 100 MB' 1 $((after - before < 100000))
	echo "# memory before $before kB, after $after kB"
	logs 0 | sed 's/^/# /'
	exec {fd}>&-
	wait $flood
	is 'after it left, others are served' "a(utsstttta{sv}) 1 $process_100" \
		"$(within $patience method ListProcesses u 1; method ListProcesses u 1)"
}

# The installed policy on a bus that, as the system bus, allows nothing by default. Needs another user.
case_policy() {
	local nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

	if ! "${nobody[@]}" true 2>/dev/null; then
		tests=$((tests + 1))
		echo "ok $tests - the policy # SKIP cannot become another user"
		return
	fi
	kill_bus
	chmod 711 "$work"
	cat >"$work/bus.conf" <<-END
	<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
	 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
	<busconfig>
	  <type>system</type>
	  <listen>$address</listen>
	  <auth>EXTERNAL</auth>
	  <policy context="default">
	    <allow user="*"/>
	    <deny own="*"/>
	    <deny send_type="method_call"/>
	    <allow send_type="signal"/>
	    <allow send_requested_reply="true" send_type="method_return"/>
	    <allow send_requested_reply="true" send_type="error"/>
	    <allow receive_type="method_call"/>
	    <allow receive_type="method_return"/>
	    <allow receive_type="error"/>
	    <allow receive_type="signal"/>
	    <allow send_destination="org.freedesktop.DBus"/>
	  </policy>
	  <include>$here/../../units/org.pipewatch1.conf</include>
	</busconfig>
	END
	launch_bus
	is 'the policy lets root own the name' 0 "$(within $patience log_is 0 "$ours" && within $patience has_name; echo $?)"
	is 'others read properties' 's "running"' "$("${nobody[@]}" busctl --address="$address" \
		get-property org.pipewatch1 /org/pipewatch1 $manager State 2>&1)"
	is 'others call methods' "a(utsstttta{sv}) 1 $process_100" "$("${nobody[@]}" busctl --address="$address" \
		call org.pipewatch1 /org/pipewatch1 $manager ListProcesses u 1 2>&1)"
	is 'others do not own the name' 'Call failed: Access denied' \
		"$("${nobody[@]}" busctl --address="$address" call org.freedesktop.DBus /org/freedesktop/DBus \
			org.freedesktop.DBus RequestName su org.pipewatch1 4 2>&1)"
}

[ $# -gt 0 ] || set -- interface methods texts not_measured known missing failing signals long flood restart stopped absent \
	taken odd refused policy
for case in "$@"; do
	echo "# $case"
	start_bus
	start_server 0
	within $patience log_is 0 "$ours" || echo "# no name: $(cat "$work/out.0")"
	"case_$case"
	for i in "${!server_pids[@]}"; do
		stop_server "$i"
	done
	kill_bus
done

echo "1..$tests"
[ $failed -eq 0 ]
