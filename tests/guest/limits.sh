# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# More than there is room for: the parts are the whole.
. ./tap.sh
. ./daemon.sh

other='{unit="(other)",comm="(other)",pipe="anonymous"}'

plan 27
configure '' MaxGroups=5
start_daemon --mode exact --config /tmp/pipewatch.conf
ok "250 processes with 50 names" swarm 250 2 50
wget -q -O /tmp/metrics.first $url/metrics
ok "and again" swarm 250 2 50
scrape
named=$(total pipewatch_pipe_writes_total 'comm="swarm-')
is "50 groups where 5 have room: series" "$(series pipewatch_pipe_writes_total)" 6
is "5 names of ten each" "$named" 50
is "50 groups where 5 have room: the others have the rest" \
	"$(metric "pipewatch_pipe_writes_total$other")" $((500 - named))
is "in bytes" "$(metric "pipewatch_pipe_written_bytes_total$other")" $((500 - named))
is "they are no loss" "$(metric pipewatch_unattributed_operations_total) \
$(lost)" "0 0"
is "nothing has fallen on the way" "$(awk '
	/^pipewatch_pipe_[a-z_]*_total/ {
		key = $0
		sub(/ [^ ]*$/, "", key)
		if (NR == FNR)
			then[key] = $NF
		else
			now[key] = $NF
	}
	END {
		for (key in then)
			if (!(key in now) || now[key] < then[key])
				print key
	}' /tmp/metrics.first $metrics)" ""
stop_daemon

# One at a time, so that nothing is lost on any kernel.
configure MaxThreads=8 ''
start_daemon --mode exact --config /tmp/pipewatch.conf
steps name:crowd threads:100 lock write:10:7 unlock mark:/tmp/crowd wait:/tmp/crowd-go \
	lock write:1:7 unlock &
crowd=$!
steps marks:/tmp/crowd:100
scrape
named=$(metric 'pipewatch_pipe_writes_total{unit="",comm="crowd",pipe="anonymous"}')
is "100 threads where 8 have room: those who have it" "$named" 80
is "the others" "$(metric "pipewatch_pipe_writes_total$other")" $((1000 - named))
is "in bytes" "$(metric "pipewatch_pipe_written_bytes_total$other")" $((7000 - 7 * named))
is "unattributed" "$(metric pipewatch_unattributed_operations_total)" $((1000 - named))
fault "the map of threads is full: 100 threads where 8 have room" \
	"What has no room is counted without a name, and published as unattributed: the sum is exact." \
	"10 operations of each of 8 threads by name, 920 in (other), unattributed" \
	"$named $(metric "pipewatch_pipe_writes_total$other") $(metric pipewatch_unattributed_operations_total)" "80 920 920"
is "the table is full" "$(claims) of $(metric 'pipewatch_map_max_entries{map="claims"}')" "8 of 8"
stop_daemon

start_daemon --mode exact --config /tmp/pipewatch.conf
touch /tmp/crowd-go
wait $crowd
settle 0
is "what is not counted at first is later" "$(total pipewatch_pipe_writes_total)" 100
is "there is room again" "$(claims)" 0
steps name:next write:3:3
scrape
counted "for the next" next anonymous 0 0 3 9
stop_daemon

# The same with processes, each with a name of its own that nobody hears of.
start_daemon --mode exact --config /tmp/pipewatch.conf
steps name:flock processes:100 lock both:10:7 unlock mark:/tmp/flock sleep &
flock=$!
steps marks:/tmp/flock:100
scrape
is "100 processes where 8 have room" "$(total pipewatch_pipe_writes_total 'comm="flock"') \
$(metric "pipewatch_pipe_writes_total$other") $(metric "pipewatch_pipe_reads_total$other") \
$(metric pipewatch_unattributed_operations_total)" "80 920 920 1840"
is "8 of them have claims" "$(claims)" 8
killall -9 steps
wait $flock
until_gone flock
settle 0
is "they leave nothing" "$(claims)" 0
stop_daemon

# What the gauge says is what is in the map. Before any pipe of the shell.
walk() {
	bpftool map dump name claims > /tmp/claims
	scrape
	grep -c '"key"' /tmp/claims > "/tmp/walk.$1"
	cp $metrics "/tmp/metrics.$1"
}
# gauge N: both, as of then.
gauge() {
	echo "$(metrics=/tmp/metrics.$1 claims) $(cat "/tmp/walk.$1")"
}
start_daemon --mode exact
walk 1
steps threads:50 lock both:3:1 fifo write:1:1 unlock mark:/tmp/fifty sleep &
crowd=$!
steps marks:/tmp/fifty:50
walk 2
steps threads:20 lock write:1:1 unlock
walk 3
settle 100
walk 4
kill -9 $crowd
wait $crowd
walk 5
settle 0
walk 6
is "the gauge and the map: empty" "$(gauge 1)" "0 0"
is "50 threads with both kinds" "$(gauge 2)" "100 100"
is "one process" "$(metrics=/tmp/metrics.2 metric pipewatch_tracked_processes)" 1
is "after the next scrape" "$(gauge 4)" "100 100"
is "the end" "$(gauge 6)" "0 0"
scrape
counted "they are counted" steps anonymous 150 150 170 170
stop_daemon
is "the daemon ends well" "$daemon_status, $(cat /tmp/daemon.log)" "0, "
done_testing
