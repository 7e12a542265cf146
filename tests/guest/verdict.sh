# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# What this kernel pays for, in the metrics and by --check.
. ./tap.sh
. ./daemon.sh

# state PIPE KIND: what the metric says, with the number of states that it says it about.
state() {
	KEY="pipewatch_kernel_path{pipe=\"$1\",kind=\"$2\",state=\"" awk '
		index($0, ENVIRON["KEY"]) == 1 && $NF == 1 {
			split(substr($0, length(ENVIRON["KEY"]) + 1), part, "\"")
			states = states part[1] " "
		}
		END { print states }' $metrics
}

plan 13
case $(uname -r) in
5.10.* | 6.1.* | 6.12.*) known=paid ;;
*) known=removed ;;
esac

start_daemon
scrape
is "anonymous, atime" "$(state anonymous atime)" "$known "
is "anonymous, cmtime" "$(state anonymous cmtime)" "$known "
is "FIFO, atime" "$(state fifo atime)" "paid "
is "FIFO, cmtime" "$(state fifo cmtime)" "paid "
is "fsnotify has one state on each" "$(state anonymous fsnotify | wc -w) $(state fifo fsnotify | wc -w)" "1 1"
is "running" "$(metric 'pipewatch_state{state="running"}')" 1
is "exact" "$(metric 'pipewatch_mode{mode="exact"}')" 1
is "all is attached" "$(total pipewatch_program_attached)" "$(series pipewatch_program_attached)"
is "what counts is among it" "$(total pipewatch_program_attached 'program="pipe_read"') \
$(total pipewatch_program_attached 'program="pipe_write"')" "1 1"
stop_daemon

pipewatchd --check > /tmp/check 2> /tmp/check.err
is "--check" "$?, $(cat /tmp/check.err)" "0, "
is "--check on anonymous pipes" "$(awk '$1 == "anonymous" && $2 ~ /time$/ && $3 ~ /^(paid|removed|unknown)$/ {
	print $2, $3, $4, $5 }' /tmp/check)" "atime $known $known $known
cmtime $known $known $known"
is "--check on FIFOs" "$(awk '$1 == "fifo" && $2 ~ /time$/ && $3 ~ /^(paid|removed|unknown)$/ {
	print $2, $3, $4, $5 }' /tmp/check)" "atime paid paid paid
cmtime paid paid paid"
is "--check on counting" "$(grep -c 'reads, writes and bytes *yes, exactly' /tmp/check)" 1
done_testing
