# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# What is counted, and what is not: exact numbers by process and kind of pipe.
. ./tap.sh
. ./daemon.sh

plan 34
start_daemon --mode exact
show_shell

load -n 1000 -s 100 -c anon
load -n 1000 -s 100 -f -c fifo
load -n 500 -s 4096 -t 2 -c anon-2
load -n 500 -s 4096 -t 2 -f -c fifo-2
scrape
counted "1000 writes and reads of 100 bytes, anonymous" anon anonymous 1000 100000 1000 100000
is "no series for the other kind" "$(counts anon fifo)" "$nothing"
counted "the same on a FIFO" fifo fifo 1000 100000 1000 100000
is "no series for the other kind" "$(counts fifo anonymous)" "$nothing"
counted "from a thread on each CPU" anon-2 anonymous 1000 4096000 1000 4096000
counted "from a thread on each CPU, FIFOs" fifo-2 fifo 1000 4096000 1000 4096000


# A process on each CPU.
taskset 1 load -n 300 -s 3 -c side-1 &
one=$!
taskset 2 load -n 400 -s 4 -c side-2
wait $one
scrape
counted "one of two processes at a time" side-1 anonymous 300 900 300 900
counted "the other" side-2 anonymous 400 1600 400 1600
is "nothing is lost" "$(lost)" 0

# More than there are CPUs.
operations() {
	echo $(($(total pipewatch_pipe_reads_total "comm=\"$1") + \
		$(total pipewatch_pipe_writes_total "comm=\"$1")))
}
load -n 1000 -s 10 -t 16 -c many
scrape
exact_or_lost "16 threads" "$(operations many)" 0 32000
is "what is lost are runs of the two that count" "$(lost)" \
	"$(total pipewatch_program_missed_runs_total 'program="pipe_')"
lost_before=$(lost)
for n in 1 2 3 4; do
	load -n $((n * 100)) -s $n -c "crowd-$n" &
	jobs="$jobs $!"
done
# shellcheck disable=SC2086 # several
wait $jobs
scrape
exact_or_lost "four processes at a time" "$(operations crowd-)" "$lost_before" 2000

# Both kinds by one thread, in turns.
steps name:both both:7:11 fifo both:5:13 pipe both:3:1 fifo both:2:1
scrape
counted "anonymous beside FIFO: anonymous" both anonymous 10 80 10 80
counted "anonymous beside FIFO: FIFO" both fifo 7 67 7 67

ok "all failures happen" failures
ok "all failures happen on a FIFO" failures /tmp/failures.fifo
scrape
counted "failures are not counted" failures anonymous 1 65536 3 131073
counted "failures are not counted, FIFO" failures fifo 1 65536 3 131073
is "they leave no state" "$(claims)" 1

# A read that blocks is not an operation, and killing it makes none.
steps name:sleeper threads:5 lock write:1:10 drain:10 unlock mark:/tmp/asleep block &
sleeper=$!
steps marks:/tmp/asleep:5
until_asleep $sleeper
scrape
counted "threads asleep in a read" sleeper anonymous 5 50 5 50
is "each has its claim" "$(claims)" 6
kill -9 $sleeper
wait $sleeper
settle 1
counted "killed in it" sleeper anonymous 5 50 5 50
is "the claims are gone" "$(claims)" 1
steps name:blank touch:/tmp/blank block &
blank=$!
until_file /tmp/blank
until_asleep $blank
kill -9 $blank
wait $blank
scrape
is "a process that only slept in a read" "$(counts blank anonymous)" "$nothing"

ok "splice, tee, vmsplice" splices
scrape
is "they are not counted" "$(counts splices anonymous)" "$nothing"
ok "sendfile to a pipe" splices sendfile
scrape
# 5.10 writes to the pipe for it; later kernels splice.
case $(uname -r) in
5.10.*) counted "is counted as this kernel does it" splices anonymous 0 0 10 40960 ;;
*) is "is counted as this kernel does it" "$(counts splices anonymous)" "$nothing" ;;
esac

steps name:noatime noatime both:20:3
steps name:noatime-fifo fifo noatime both:20:3
steps name:noatime-late both:5:3 noatime both:7:3
scrape
counted "O_NOATIME: no atime updates" noatime anonymous 20 60 20 60 20
counted "O_NOATIME on a FIFO" noatime-fifo fifo 20 60 20 60 20
counted "O_NOATIME set on the way" noatime-late anonymous 12 36 12 36 7

# sizes DIRECTION: how many on FIFOs are in each class and those below it, since the last time
sizes() {
	sed -n "s/^pipewatch_pipe_$1_size_bytes_bucket{pipe=\"fifo\",le=\".*\"} //p" $metrics > "/tmp/$1.now"
	[ ! -e "/tmp/$1" ] || paste -d ' ' "/tmp/$1" "/tmp/$1.now" | awk '{ print $2 - $1 }' | paste -sd ' '
	mv "/tmp/$1.now" "/tmp/$1"
}

# 2^k - 1 and 2^k are in neighbouring classes; the last one has no end.
transfers=
bound=2
while [ $bound -le 65536 ]; do
	transfers="$transfers both:1:$((bound - 1)) both:1:$bound"
	bound=$((2 * bound))
done
sizes read
sizes write
# shellcheck disable=SC2086 # several
steps fifo $transfers
scrape
is "classes of sizes, written" "$(sizes write)" "1 3 5 7 9 11 13 15 17 19 21 23 25 27 29 32"
is "classes of sizes, read" "$(sizes read)" "1 3 5 7 9 11 13 15 17 19 21 23 25 27 29 32"

stop_daemon
is "the daemon ends well" "$daemon_status, $(cat /tmp/daemon.log)" "0, "
done_testing
