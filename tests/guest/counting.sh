# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# What is counted, and what is not: exact numbers by process and kind of pipe.
. ./tap.sh
. ./daemon.sh

plan 33
start_daemon
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

# More threads than CPUs: a kernel that preempts them within a BPF program skips runs of it for
# others, and says so. What is named and what is lost is the whole.
lost_before=$(metric 'pipewatch_lost_updates_total{reason="recursion"}')
load -n 1000 -s 10 -t 16 -c many
scrape
lost=$(($(metric 'pipewatch_lost_updates_total{reason="recursion"}') - lost_before))
named=$(($(metric 'pipewatch_pipe_reads_total{unit="",comm="many",pipe="anonymous"}') + \
	$(metric 'pipewatch_pipe_writes_total{unit="",comm="many",pipe="anonymous"}')))
is "16 threads: what is counted and what is lost is the whole" "$((named + lost))" 32000
is "16 threads: nothing is lost" "$lost" 0

for n in 1 2 3 4; do
	load -n $((n * 100)) -s $n -c "side-$n" &
	jobs="$jobs $!"
done
# shellcheck disable=SC2086 # several
wait $jobs
scrape
for n in 1 2 3 4; do
	counted "process $n of four at a time" side-$n anonymous $((n * 100)) $((n * n * 100)) \
		$((n * 100)) $((n * n * 100))
done

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
steps name:sleeper threads:5 write:1:10 drain:10 mark:/tmp/asleep block &
sleeper=$!
steps marks:/tmp/asleep:5
usleep 100000
scrape
counted "threads asleep in a read" sleeper anonymous 5 50 5 50
is "each has its claim" "$(claims)" 6
kill -9 $sleeper
wait $sleeper
scrape
counted "killed in it" sleeper anonymous 5 50 5 50
is "the claims are gone" "$(claims)" 1
steps name:blank touch:/tmp/blank block &
blank=$!
until_file /tmp/blank
usleep 100000
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

# 2^k - 1 and 2^k are in neighbouring classes.
before=$(metric 'pipewatch_pipe_write_size_bytes_bucket{pipe="fifo",le="127"}')
steps fifo write:3:127 write:2:128
scrape
is "size classes" "$(($(metric 'pipewatch_pipe_write_size_bytes_bucket{pipe="fifo",le="127"}') - \
	before))" 3

stop_daemon
is "the daemon ends well" "$daemon_status, $(cat /tmp/daemon.log)" "0, "
done_testing
