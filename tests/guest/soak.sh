# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# PIPEWATCH_MINUTES of churn and scrapes beside PIPEWATCH_LIVE processes that stay: at the end the daemon
# has the files, the maps and the memory that it had at half time, and everything has been counted.
. ./tap.sh
. ./daemon.sh
. ./crowds.sh

minutes=${PIPEWATCH_MINUTES:-5}
live=${PIPEWATCH_LIVE:-10000}
short=500

# What may be fragmented of the heap from one hour to the next.
slack=256

# Sets elapsed, in seconds.
clock() {
	read -r clock_now _ < /proc/uptime
	elapsed=$((${clock_now%.*} - begin))
}

# A burst has been, so its programs are loaded.
burst_known() {
	grep -q '^pipewatch_metadata_unit_cost_seconds{kind="cmtime"' $metrics
}

plan 17
maps /tmp/maps.before
begin_limited --mode exact
made=0
for many in 1000 5000 "$live"; do
	if [ "$many" -le "$live" ] && [ "$many" -gt $made ]; then
		gather $((many - made)) /tmp/live."$many"
		crowds="${crowds-} $gathered"
		made=$many
		scrape_cost
		sizes
		echo "# $many live: $resident KiB, a scrape takes $((spent / 1000)) us of CPU"
	fi
done

read -r begin _ < /proc/uptime
begin=${begin%.*}
elapsed=0 rounds=0 half=''
end=$((60 * minutes))
while [ -z "$half" ] || [ $elapsed -lt $end ]; do
	crowd 0 $short /tmp/short
	scrape
	rounds=$((rounds + 1))
	# By then there are as many ended ones as are ever kept. There is as much time after it as before.
	if [ -z "$half" ] && [ $elapsed -ge $((30 * minutes)) ] &&
		{ burst_known || [ $elapsed -ge $((30 * minutes + 90)) ]; }; then
		[ $end -ge $((elapsed + 30 * minutes)) ] || end=$((elapsed + 30 * minutes))
		sizes
		half="$rounds rounds" half_anonymous=$anonymous half_descriptors=$descriptors
		maps /tmp/maps.half
		cp /tmp/descriptors /tmp/descriptors.half
		cp $metrics /tmp/metrics.half
	fi
	clock
	[ $((rounds % 20)) != 1 ] || {
		sizes
		echo "# round $rounds, after $elapsed s: $resident KiB, $anonymous of them not of files, $descriptors files"
	}
done
scrape
cp $metrics /tmp/metrics.live
sizes
maps /tmp/maps.end

# shellcheck disable=SC2086 # words
kill $crowds
# shellcheck disable=SC2086
wait $crowds 2> /dev/null
until_idle
all=$((live + rounds * short))

lost_live=$(metrics_of live lost)

# whole NAME COUNTED WHOLE: with what was lost, where some may be.
whole() {
	if $preemptible; then
		is "$1, with $lost_live that were lost" $(($2 + lost_live)) "$3"
	else
		is "$1" "$2" "$3"
	fi
}

# tracked NAME NUMBER: the live ones, but for those whose only operation was lost.
tracked() {
	if $preemptible; then
		ok "$1: $2 of $live" [ "$2" -le "$live" -a "$2" -ge $((live - lost_live)) ]
	else
		is "$1" "$2" "$live"
	fi
}

whole "$all operations of $rounds rounds are counted" "$(metrics_of live total pipewatch_pipe_writes_total)" $all
whole "in bytes" "$(metrics_of live total pipewatch_pipe_written_bytes_total)" $all
is "no reads are" "$(metrics_of live total pipewatch_pipe_reads_total)" 0
whole "under their name" "$(metrics_of live total pipewatch_pipe_writes_total 'comm="crowd"')" $all
if $preemptible; then
	skip "none is lost" "this kernel skips programs while one is preempted"
else
	is "none is lost" "$lost_live" 0
fi
is "none is without a name" "$(metrics_of live metric pipewatch_unattributed_operations_total)" 0
tracked "the live ones are tracked" "$(metrics_of live metric pipewatch_tracked_processes)"
tracked "and have claims" "$(metrics_of live claims)"
ok "$resident KiB are resident, at most 16 MiB" [ "$resident" -le 16384 ]
ok "of them $anonymous are not of files; after $half it was $half_anonymous, and no more but for fragments" \
	[ "$anonymous" -le $((half_anonymous + slack)) ]
is "no file is left open" "$descriptors" "$half_descriptors"
[ "$descriptors" = "$half_descriptors" ] || {
	diff /tmp/descriptors.half /tmp/descriptors > /tmp/descriptors.more
	sed 's/^/# /' /tmp/descriptors.more
}
is "no map is left" "$(cat /tmp/maps.end)" "$(cat /tmp/maps.half)"
is "maps take the same memory" "$(metrics_of live metric pipewatch_map_memory_bytes)" \
	"$(metrics_of half metric pipewatch_map_memory_bytes)"
is "when they have ended, nobody is tracked and has claims" \
	"$(metric pipewatch_tracked_processes) $(claims)" "0 0"
is "the limit of the unit was never met" "$(limits_hit)" 0
stop_daemon
is "the daemon ends well" "$daemon_status, $(cat /tmp/daemon.log)" "0, "
maps_become /tmp/maps.before /tmp/maps.gone
is "and leaves no map" "$(cat /tmp/maps.gone)" "$(cat /tmp/maps.before)"
done_testing
