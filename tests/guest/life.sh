# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# The daemon's own life: it ends under load and leaves nothing, and there is one at an address.
. ./tap.sh
. ./daemon.sh

# Programs of ours among those listed.
ours() {
	grep -cE 'name (pipe|process|cgroup)_' /tmp/programs
}

plan 12
# All on one CPU: the emulator does not always see in time that another one has changed the code
# which it executes, as attaching does.
taskset -p 1 $$ > /dev/null
load -n 100000000 -c endless &
load=$!
renice -n 19 -p $load
start_daemon --mode exact
bpftool prog list > /tmp/programs
scrape
is "programs while it runs" "$(ours)" "$(series pipewatch_program_attached)"
stop_daemon
is "SIGTERM under load" "$daemon_status, $(cat /tmp/daemon.log)" "0, "
fault "SIGTERM while a pipe is busy all the time" "It ends, and leaves nothing attached." \
	"exit status 0; no programs, no links" "$daemon_status, $(left)" "0, 0 programs, 0 links"
start_daemon --mode exact
kill -INT $daemon
wait $daemon
is "SIGINT" $? 0
start_daemon --mode exact
kill -9 $daemon
wait $daemon
is "SIGKILL" $? 137
fault "kill -9 while a pipe is busy all the time" "Nothing is left attached." "no programs, no links" "$(left)" "0 programs, 0 links"
kill -9 $load
wait $load
taskset -p 3 $$ > /dev/null

start_daemon
load -n 10 -c first
pipewatchd --bus none > /tmp/second.log 2>&1
fault "a second daemon at the same address, while the first counts" \
	"It says so in a line and leaves; the first counts on." "exit status 71, the address is in use" "$?, $(grep -c . /tmp/second.log) line, \
$(grep -c '127.0.0.1:10057: it is in use' /tmp/second.log)" "71, 1 line, 1"
scrape
counted "the first does not mind" first anonymous 10 10 10 10
pipewatchd --bus none --listen 127.0.0.1:10058 > /tmp/second.log 2>&1 &
second=$!
await 10058 $second
load -n 20 -c shared
scrape
counted "a second one at another address: the first counts" shared anonymous 20 20 20 20
wget -q -O $metrics http://127.0.0.1:10058/metrics
counted "and the second" shared anonymous 20 20 20 20
kill $second
wait $second
is "the second ends well" "$?, $(cat /tmp/second.log)" "0, "
stop_daemon
is "the first ends well" "$daemon_status, $(cat /tmp/daemon.log)" "0, "
done_testing
