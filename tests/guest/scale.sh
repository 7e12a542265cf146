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

# As much as ten thousand of them may take is 60 million and 16 MiB; of the latter 11.5 are without any,
# and of the former what some hundred processes take that are looked up in /proc.
instructions=$((5000000 + 5500 * live))
kib=$((13312 + 3072 * live / 10000))
second=3000000 # a thousandth of a processor

plan 25
begin_limited --mode "${PIPEWATCH_MODE:-exact}"
# What is made at the first scrape of all is not what processes cost.
scrape_cost
none=$spent
first_scrape gather $((live / 2)) /tmp/half
first_half=$spent half=$gathered
scrape_cost
warm_half=$spent
first_scrape gather $((live - live / 2)) /tmp/whole
second_half=$spent whole=$gathered
scrape_cost
warm_whole=$spent
cp $metrics /tmp/metrics.live

cpu_time
before=$nanoseconds
sleep 10
cpu_time
idle=$(((nanoseconds - before) / 10))

crowd 0 "$short" /tmp/short.1
scrape
sizes
resident_1=$resident anonymous_1=$anonymous descriptors_1=$descriptors
cp $metrics /tmp/metrics.1
crowd 0 "$short" /tmp/short.2
scrape
sizes
anonymous_2=$anonymous descriptors_2=$descriptors
cp $metrics /tmp/metrics.2

both_stir() {
	stir $half /tmp/half
	stir $whole /tmp/whole
}
first_scrape both_stir
stirred=$spent
cp $metrics /tmp/metrics.stirred
first_scrape disperse $half $whole
dispersed=$spent
until_idle
cp $metrics /tmp/metrics.end

# The same number, all at once, whose main threads use no pipes.
first_scrape gather "$live" /tmp/workers -w
workers=$spent
cp $metrics /tmp/metrics.workers
first_scrape stir $gathered /tmp/workers
workers_stirred=$spent
cp $metrics /tmp/metrics.workers-stirred
first_scrape disperse $gathered
workers_dispersed=$spent
until_idle

all=$((live + 2 * short))
within() {
	ok "$1: $2 instructions, at most $instructions" [ "$2" -le "$instructions" ]
}

echo "# without any, a scrape takes $none"
within "a scrape with $live live processes" "$warm_whole"
ok "with half of them it takes $warm_half: no more than in proportion" [ $((10 * warm_whole)) -le $((22 * warm_half)) ]
within "the first one, when half of them are new" "$first_half"
within "and when the other half is" "$second_half"
ok "it is in proportion to what is new" [ $((10 * second_half)) -le $((13 * first_half + 10 * (warm_whole - warm_half))) ]
within "after all of them have written" "$stirred"
within "after all of them have ended" "$dispersed"
within "when as many are new, whose main threads use no pipes" "$workers"
within "after all of these have written" "$workers_stirred"
within "after all of these have ended" "$workers_dispersed"
ok "idle, it takes $idle a second, at most $second" [ "$idle" -le $second ]
ok "it has $resident_1 KiB resident, at most $kib" [ "$resident_1" -le "$kib" ]
# A burst may be loaded in between, and a thousand ended processes are kept for a minute.
ok "$anonymous_1 of them not of files, and $anonymous_2 after another round: no more but for that" \
	[ "$anonymous_2" -le $((anonymous_1 + 768)) ]
is "no file is left open" "$descriptors_2" "$descriptors_1"
is "the limit of the unit was never met" "$(limits_hit)" 0
is "live ones are counted" "$(metrics_of live total pipewatch_pipe_writes_total)" "$live"
is "and tracked, and have claims" "$(metrics_of live metric pipewatch_tracked_processes) $(metrics_of live claims)" \
	"$live $live"
is "short ones are counted" "$(metrics_of 1 total pipewatch_pipe_writes_total)" $((live + short))
is "and the next" "$(metrics_of 2 total pipewatch_pipe_writes_total)" $all
is "in bytes, and under their name" "$(metrics_of 2 total pipewatch_pipe_written_bytes_total) \
$(metrics_of 2 total pipewatch_pipe_writes_total 'comm="crowd"')" "$all $all"
is "only the live ones are tracked" "$(metrics_of 2 metric pipewatch_tracked_processes)" "$live"
is "all that they write later is counted" "$(metrics_of stirred total pipewatch_pipe_writes_total)" $((all + live))
is "they end and leave nothing" "$(metrics_of end claims) $(metrics_of end metric pipewatch_tracked_processes)" "0 0"
# Of ten thousand a few find no slot: they are in the sum, without a name.
is "so with other threads" "$(metrics_of workers total pipewatch_pipe_writes_total) \
$(metrics_of workers-stirred total pipewatch_pipe_writes_total)" "$((all + 2 * live)) $((all + 3 * live))"
bytes=$(metrics_of end metric pipewatch_map_memory_bytes)
ok "the maps take $bytes bytes, a fifth of the limit at most" [ "$bytes" -le $((limit / 5)) ]
echo "# the group took at most $(cat $group/memory.peak 2> /dev/null || echo "?") bytes"
stop_daemon
done_testing
