# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# For a guest whose kernel is locked down: nothing is counted, and the message says why.
. ./tap.sh
. ./daemon.sh

plan 5
cause="Kernel lockdown is in confidentiality mode"
pipewatchd --bus none --mode exact > /tmp/out 2>&1
is "refused" "$?, $(grep -c . /tmp/out) line, $(grep -c "$cause" /tmp/out)" "77, 1 line, 1"
pipewatchd --check > /tmp/out 2>&1
is "--check" "$?, $(grep -c "^Why not: $cause" /tmp/out)" "77, 1"
is "--check has the verdict" "$(awk '$1 == "anonymous" && $2 == "atime" && $3 ~ /^(paid|removed|unknown)$/ {
	print $3 }' /tmp/out)" $anonymous
start_daemon
scrape
is "auto: degraded" "$(metric 'pipewatch_state{state="degraded"}') \
$(grep -cE '^pipewatch_(pipe|metadata_(updates|cpu))_' $metrics)" "1 0"
stop_daemon
is "it ends well" "$daemon_status" 0
done_testing
