# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Part of run.sh: cases with every figure, and with many.

# Everything that can be known; the rows are in golden.
case_known() {
	ask 0 'known on' >/dev/null
	while read -r name value; do
		is "known: $name" "$value" "$(property "$name")"
	done <<-'END'
	Mode s "burst"
	Coverage d 0.25
	CoverageReason s "Operations are counted in short windows, and the counts are extrapolated."
	Estimated b true
	ObserverOverhead d 0.0085
	ObserverOverheadReason s ""
	UnitCosts a(sssdds) 4 "anonymous" "atime" "whole" 1.5e-07 5e-09 "agree" "anonymous" "atime" "update" 1.25e-07 4e-09 "agree" "anonymous" "atime" "inode" 2.5e-08 3e-09 "agree" "fifo" "atime" "whole" 1e-07 1e-09 "single"
	Watchers a(usu) 2 77 "tail" 2 78 "new\nline" 2
	WatchersReason s "Others are hidden."
	END
	is 'known: lists and remedies' "$(sed -n 1,4p "$here/golden/known.txt")" \
		"$(for call in 'ListProcesses u 0' 'ListGroups u 0' 'GetProcess u 100' GetRemedies; do
			# shellcheck disable=SC2086
			method $call
		done)"
	ask 0 'counting off' >/dev/null
	is 'only sampled: lists and remedies' "$(sed -n 5,7p "$here/golden/known.txt")" \
		"$(for call in 'ListProcesses u 1' 'ListGroups u 1' GetRemedies; do
			# shellcheck disable=SC2086
			method $call
		done)"
	is 'only sampled: no count' 'd nan u 4294967295' "$(property Coverage) $(property TrackedProcesses)"
}

most_that_fits() {
	send $manager.ListProcesses uint32:0 |
		sed -n 's/^Error org.freedesktop.DBus.Error.LimitsExceeded: 40000 entries do not fit into a message; ask for at most \([0-9]*\)\.$/\1/; T; p'
}

monitored() {
	[ "$(stat -c %s "$work/replies")" -ge "$1" ]
}

case_long() {
	local owner_before fits monitor before bytes

	owner_before=$(owner)
	ask 0 'many 40000' >/dev/null
	fits=$(most_that_fits)
	is 'a list that does not fit says what does' 14063 "$fits"
	is 'as much as fits' "$fits" "$(method ListProcesses u "$fits" | cut -d ' ' -f 2)"
	is 'one more' "Call failed: $((fits + 1)) entries do not fit into a message; ask for at most $fits." \
		"$(method ListProcesses u $((fits + 1)))"
	is 'Describe ends, and says so' '10000 30000' "$(text Describe | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(len(d["processes"]), d["processes_omitted"])')"

	# With every detail and the longest names the rows stay within their bounds.
	ask 0 'known on' >/dev/null
	fits=$(most_that_fits)
	is 'with all details' 8031 "$fits"
	dbus-monitor --address "$address" --binary "type='method_return'" >"$work/replies" 2>/dev/null &
	monitor=$!
	within $patience monitored 1
	# The first that it saw.
	method ListProcesses u 1 >/dev/null
	within $patience monitored 300
	before=$(stat -c %s "$work/replies")
	method ListProcesses u "$fits" >/dev/null
	within $patience monitored $((before + 8000000))
	# Whatever is more than that.
	sleep 1
	kill $monitor
	wait $monitor 2>/dev/null
	bytes=$(($(stat -c %s "$work/replies") - before))
	echo "# $bytes bytes"
	is 'is not longer than was thought' 1 $((bytes > 8000000 && bytes < 1 << 24))
	is 'at most 200 remedies of a scope' '200 process' "$(method GetRemedies | grep -o '"process"' | tr -d '"' |
		uniq -c | xargs)"
	is 'Describe fits too' 10000 "$(text Describe | python3 -c '
import json, sys
t = sys.stdin.read()
print("#", len(t), "bytes", file=sys.stderr)
print(len(json.loads(t)["processes"]))')"
	is 'the connection lives on' "$owner_before" "$(owner)"
}
