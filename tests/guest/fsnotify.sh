# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# One watch on a pipe: what it costs is charged to who pays, and the watcher is named.
. ./tap.sh
. ./daemon.sh

plan 9
start_daemon --mode exact
scrape
is "nobody watches" "$(series pipewatch_pipe_watches)" 0

watched 3 > /tmp/watched &
watched=$!
until [ -s /tmp/watched ] || ! kill -0 $watched; do sleep 0.2; done
# It is looked for within seconds of having been seen to cost something, and stays until it is killed.
tries=0
until scrape && [ "$(series pipewatch_pipe_watches)" != 0 ] || [ $tries = 300 ]; do
	tries=$((tries + 1))
	sleep 0.2
done
is "the watcher is named" "$(metric 'pipewatch_pipe_watches{comm="snoop"}') $(series pipewatch_pipe_watches)" "1 1"
fsnotify=$(metric 'pipewatch_metadata_cpu_seconds_total{unit="",comm="watched",pipe="anonymous",kind="fsnotify"}')
echo "# $fsnotify s of $(cat /tmp/watched) s"
# An operation on a pipe that is watched takes 2100 to 2300 instructions, 900 to 1200 of them for
# fsnotify: 40 to 55 %. An emulator takes longer for some instructions than for others.
ok "it is paid for" awk -v part="$fsnotify" -v all="$(cat /tmp/watched)" 'BEGIN { exit !(part > 0.2 * all && part < 0.75 * all) }'
is "by nobody on FIFOs" "$(total pipewatch_metadata_cpu_seconds_total 'pipe="fifo",kind="fsnotify"')" 0
is "that is what ending the watch would save" \
	"$(metric 'pipewatch_remedy_saving_cpu_seconds_total{remedy="unwatch",unit="",comm="watched"}')" "$fsnotify"
is "by sampling" "$(metric 'pipewatch_sampled_metadata_cpu_seconds_total{unit="",comm="watched",kind="fsnotify"}')" "$fsnotify"
kill $watched
wait $watched

# Nothing more is charged without it.
scrape
before=$(total pipewatch_metadata_cpu_seconds_total 'kind="fsnotify"')
steps name:unwatched both:2000:1
scrape
is "nothing is paid without" "$(total pipewatch_metadata_cpu_seconds_total 'kind="fsnotify"')" "$before"
counted "though counted" unwatched anonymous 2000 2000 2000 2000
stop_daemon
is "the daemon ends well" "$daemon_status" 0
done_testing
