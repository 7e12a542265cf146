# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# Thousands of processes, in a guest that counts instructions: what the daemon takes of memory and time.
# PIPEWATCH_LIVE that stay, and two rounds of PIPEWATCH_SHORT that come and go. The bounds are those of
# ten thousand, by their number.
. ./tap.sh
. ./daemon.sh
. ./crowds.sh

live=${PIPEWATCH_LIVE:-2000}
short=${PIPEWATCH_SHORT:-2500}

# As much as ten thousand of them may take is 60 million and 16 MiB; of the latter 11.5 are without any.
instructions=$((60000000 / 10000 * live))
kib=$((13312 + 3072 * live / 10000))
second=3000000 # a thousandth of a processor

plan 17
begin_limited --mode exact
crowd $((live / 2)) 0 /tmp/half &
first=$!
until_file /tmp/half
scrape_cost
half=$spent
crowd $((live - live / 2)) 0 /tmp/whole &
second_half=$!
until_file /tmp/whole
scrape_cost
whole=$spent
cp $metrics /tmp/metrics.live

cpu_time
before=$nanoseconds
sleep 10
cpu_time
idle=$(((nanoseconds - before) / 10))

crowd 0 "$short" /tmp/short.1
scrape
sizes
resident_1=$resident descriptors_1=$descriptors
cp $metrics /tmp/metrics.1
crowd 0 "$short" /tmp/short.2
scrape
sizes
resident_2=$resident descriptors_2=$descriptors
cp $metrics /tmp/metrics.2

kill $first $second_half
wait $first $second_half 2> /dev/null
# They end one after another.
tries=0
until scrape && grep -qxF 'pipewatch_map_entries{map="claims"} 0' $metrics || [ $tries = 100 ]; do
	tries=$((tries + 1))
	usleep 100000
done
cp $metrics /tmp/metrics.end

# at FILE NAME...: as metric or total of then.
at() {
	at_file=/tmp/metrics.$1
	shift
	metrics=$at_file "$@"
}

ok "a scrape with $live live processes takes $whole instructions, at most $instructions" \
	[ "$whole" -le "$instructions" ]
ok "with half of them it takes $half: no more than in proportion" [ $((10 * whole)) -le $((22 * half)) ]
ok "idle, it takes $idle a second, at most $second" [ "$idle" -le $second ]
ok "it has $resident_1 KiB resident, at most $kib" [ "$resident_1" -le "$kib" ]
# Pages of libraries come and go by 64 KiB, a burst may be loaded in between, and a thousand ended
# processes are kept for a minute.
ok "and $resident_2 after another round: no more but for that" \
	[ "$resident_2" -le $((resident_1 + 768)) ]
is "no file is left open" "$descriptors_2" "$descriptors_1"
is "the limit of the unit was never met" "$(limits_hit)" 0
is "live ones are counted" "$(at live total pipewatch_pipe_writes_total)" "$live"
is "and tracked" "$(at live metric pipewatch_tracked_processes)" "$live"
is "and have claims" "$(at live claims)" "$live"
is "short ones are counted" "$(at 1 total pipewatch_pipe_writes_total)" $((live + short))
is "and the next" "$(at 2 total pipewatch_pipe_writes_total)" $((live + 2 * short))
is "in bytes" "$(at 2 total pipewatch_pipe_written_bytes_total)" $((live + 2 * short))
is "under their name" "$(at 2 total pipewatch_pipe_writes_total 'comm="crowd"')" $((live + 2 * short))
is "only the live ones are tracked" "$(at 2 metric pipewatch_tracked_processes)" "$live"
is "they end and leave nothing" \
	"$(at end claims) $(at end metric pipewatch_tracked_processes)" "0 0"
bytes=$(at end metric pipewatch_map_memory_bytes)
ok "the maps take $bytes bytes, a fifth of the limit at most" [ "$bytes" -le $((limit / 5)) ]
echo "# the group took at most $(cat $group/memory.peak 2> /dev/null || echo "?") bytes"
stop_daemon
done_testing
