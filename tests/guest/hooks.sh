# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# One hook cannot be had: the other figures are exact, and there is no zero in place of the lost one.
. ./tap.sh
. ./daemon.sh

plan 18
if [ $anonymous = removed ]; then
	prefix=anon_
else
	prefix=
fi

# missing DIRECTION OTHER
missing() {
	function=${prefix}pipe_$1
	rm -f /tmp/occupied
	occupy "$function" /tmp/occupied &
	occupier=$!
	until_file /tmp/occupied
	start_daemon
	load -n 100 -s 10 -c half
	load -n 100 -s 10 -f -c half
	scrape
	is "$1 cannot be had: which programs are there" "$(metric "pipewatch_program_attached{program=\"pipe_$1\",hook=\"$function\"}") \
$(metric "pipewatch_program_attached{program=\"pipe_$2\",hook=\"${prefix}pipe_$2\"}")" "0 1"
	is "it has no missed runs, all others have" "$(series pipewatch_program_missed_runs_total "program=\"pipe_$1\"") \
$(series pipewatch_program_missed_runs_total)" "0 $(($(series pipewatch_program_attached) - 1))"
	is "degraded" "$(metric 'pipewatch_state{state="degraded"}') $(metric 'pipewatch_state{state="running"}')" "1 0"
	is "${2}s are exact" "$(metric "pipewatch_pipe_${2}s_total{unit=\"\",comm=\"half\",pipe=\"anonymous\"}") \
$(metric "pipewatch_pipe_${2}s_total{unit=\"\",comm=\"half\",pipe=\"fifo\"}")" "100 100"
	is "there are no ${1}s" "$(grep -cE "^pipewatch_pipe_$1(s|_|ten)" $metrics) \
$(series pipewatch_metadata_updates_total "kind=\"$3\"")" "0 0"
	is "updates of the other kind are there" "$(metric "pipewatch_metadata_updates_total{unit=\"\",comm=\"half\",pipe=\"fifo\",kind=\"$4\"}")" 100
	is "the page says why" "$(wget -q -O - $url/ | grep -c "pipe_$1 is missing")" 1
	stop_daemon
	is "it ends well" "$daemon_status" 0
	kill -9 $occupier
	wait $occupier
	until_unlinked
}
missing read write atime cmtime
missing write read cmtime atime

start_daemon
load -n 100 -s 10 -c whole
scrape
is "running again" "$(metric 'pipewatch_state{state="running"}')" 1
counted "with both" whole anonymous 100 1000 100 1000
stop_daemon
done_testing
