# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# Short lives: processes that come and go between two scrapes. PIPEWATCH_SWARM processes in all.
. ./tap.sh
. ./daemon.sh

plan 12
n=${PIPEWATCH_SWARM:-2000}
start_daemon --mode exact

load -n 16 -s 65536 -c megabyte
scrape
counted "1 MiB through a pipe between two scrapes" megabyte anonymous 16 1048576 16 1048576
is "its claim is gone" "$(claims)" 0
scrape
counted "after its end the counter stays" megabyte anonymous 16 1048576 16 1048576

stop_daemon
start_daemon --mode exact
read -r begin _ < /proc/uptime
# As many at a time as there are CPUs.
ok "$n processes of one byte each" swarm "$n" 2
read -r end _ < /proc/uptime
scrape
counted "all of them are counted" swarm anonymous 0 0 "$n" "$n"
is "none without a name" "$(metric pipewatch_unattributed_operations_total)" 0
is "none is lost" "$(lost)" 0
is "no claims are left" "$(claims)" 0
echo "# $n processes: from $begin to $end s"

stop_daemon
start_daemon --mode exact
ok "2000 processes with 300 names, eight at a time" swarm 2000 8 300
settle 0
exact_or_lost "all of them are counted" "$(total pipewatch_pipe_writes_total)" 0 2000
is "200 groups and the others" "$(series pipewatch_pipe_writes_total) \
$(series pipewatch_pipe_writes_total 'unit="(other)"')" "201 1"
is "no claims are left" "$(claims)" 0
stop_daemon
done_testing
