# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# All ways to read and write a pipe: what is counted is what the system calls returned.
. ./tap.sh
. ./daemon.sh

ways="megabyte packets vectors faults signals unread killed resized reopened noatime spliced cloned aio uring \
uring-workers uring-polled"

plan 19
start_daemon --mode exact
for way in $ways; do
	ways "$way" > "/tmp/way.$way" && gone="${gone-} $way"
done
scrape
is "all can be gone" "${gone-}" " $ways"
for way in $ways; do
	read -r reads read_bytes writes written_bytes noatime < "/tmp/way.$way"
	counted "$way" "$way" anonymous "$reads" "$read_bytes" "$writes" "$written_bytes" "$noatime"
done
is "nothing is lost" "$(lost) $(metric pipewatch_unattributed_operations_total)" "0 0"
stop_daemon
is "the daemon ends well" "$daemon_status, $(cat /tmp/daemon.log)" "0, "
done_testing
