# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# What goes wrong around a daemon that counts: /proc hidden or gone, the clock stepped, the daemon
# stopped for a while, killed at any moment, and told to end at any moment.
. ./tap.sh
. ./daemon.sh

cap_sys_resource=24 cap_perfmon=38 cap_bpf=39
start_time=pipewatch_start_time_seconds

# within UNIT COMMAND...: in the control group of that unit
within() {
	mkdir -p "/sys/fs/cgroup/$1"
	sh -c 'echo 0 > "/sys/fs/cgroup/$0/cgroup.procs" && exec "$@"' "$@"
}

# at_moments SIGNAL STEPS BASE MS [OPTION]...: starts a daemon that often, and sends it the signal after
# BASE and so many ms, two times as many, and so on. How it ended and what it left, each with how often.
at_moments() {
	at_signal=$1 at_steps=$2 at_base=$3 at_ms=$4
	shift 4
	at=0
	while [ $at -lt "$at_steps" ]; do
		at=$((at + 1))
		pipewatchd --bus none "$@" > /tmp/daemon.log 2>&1 &
		daemon=$!
		usleep $(((at_base + at * at_ms) * 1000))
		kill "-$at_signal" $daemon
		wait $daemon
		echo "status $?, $(left)"
	done | sort | uniq -c | sed 's/^ *//' | paste -sd ';'
}

# until_tracked N: scrapes until so many processes are tracked, for twenty seconds at most
until_tracked() {
	tries=0
	until scrape && grep -qx "pipewatch_tracked_processes $1" $metrics || [ $tries = 200 ]; do
		tries=$((tries + 1))
		usleep 100000
	done
}

plan 21

# ---- /proc ----

mount -o remount,hidepid=2 /proc
confine -u 1000 -c $cap_bpf -c $cap_perfmon -c $cap_sys_resource ./pipewatchd --bus none > /tmp/daemon.log 2>&1 &
daemon=$!
await 10057 $daemon
: > /tmp/ready
within hidden.service load -n 100 -s 10 -c hidden -w > /tmp/ready &
hidden=$!
until grep -q "done" /tmp/ready; do usleep 20000; done
within brief.service load -n 200 -s 10 -c brief
show_shell
# Longer than the daemon takes to look for who has ended.
sleep 2
until_tracked 2
fault "/proc is mounted with hidepid=2" "Processes are counted under their names and units, and live until they end." \
	"a live and an ended process of other users: exact counts, names and units; the live one is tracked, as is the shell" \
	"$(counts hidden anonymous hidden.service); $(counts brief anonymous brief.service); \
$(metric pipewatch_tracked_processes) tracked" \
	"$(expected anonymous 100 1000 100 1000); $(expected anonymous 200 2000 200 2000); 2 tracked"
killall load
wait $hidden
until_tracked 1
is "its end is noticed" "$(metric pipewatch_tracked_processes)" 1
stop_daemon
is "and it ends well" "$daemon_status, $(cat /tmp/daemon.log)" "0, "
mount -o remount,hidepid=0 /proc

start_daemon
scrape
is "with /proc there are its own figures" "$(metric process_resident_memory_bytes | grep -cx absent)" 0
umount -l /proc
within gone.service load -n 300 -s 10 -c gone
sleep 2
scrape
fault "/proc is unmounted under a daemon that runs" "Counting goes on, under names and units; what came from /proc is absent." \
	"exact counts, name and unit; no figures of the daemon's own process" \
	"$(counts gone anonymous gone.service); resident memory $(metric process_resident_memory_bytes)" \
	"$(expected anonymous 300 3000 300 3000); resident memory absent"
mount -t proc proc /proc
scrape
is "they are back with it" "$(metric process_resident_memory_bytes | grep -cx absent)" 0
is "the counts stay" "$(counts gone anonymous gone.service)" "$(expected anonymous 300 3000 300 3000)"
stop_daemon
is "it ends well" "$daemon_status, $(cat /tmp/daemon.log)" "0, "

umount -l /proc
pipewatchd --bus none > /tmp/daemon.log 2>&1 &
daemon=$!
tries=0
until scrape 2> /dev/null || [ $tries = 600 ]; do
	tries=$((tries + 1))
	usleep 50000
done
load -n 50 -s 10 -c blind
scrape
mount -t proc proc /proc
is "started without /proc" "$(counts blind anonymous); $(cat /tmp/daemon.log)" "$(expected anonymous 50 500 50 500); "
stop_daemon

# ---- the clock ----

start_daemon --mode exact
scrape
began=$(metric $start_time)
now=$(date +%s)
seen='' n=0
for clock in $((now + 31536000)) 1000 $((now - 3600)) $now; do
	date -s "@$clock" > /dev/null
	n=$((n + 100))
	load -n 100 -s 10 -c clocked
	scrape
	seen="$seen$([ "$(metric $start_time)" = "$began" ] && counts clocked anonymous | grep -cxF "$(expected anonymous $n $((10 * n)) $n $((10 * n)))")"
done
fault "the clock is stepped a year on, to 1970, an hour back, and right again" \
	"The start time stays, and counting goes on." "the same start time and exact counts after each step" "$seen" 1111
stop_daemon
is "it ends well" "$daemon_status, $(cat /tmp/daemon.log)" "0, "

# The clock cannot be set to a time before the boot.
read -r up _ < /proc/uptime
date -s "@$((${up%.*} + 2))" > /dev/null
start_daemon --mode exact
load -n 70 -s 10 -c early
scrape
fault "a start in 1970, when the boot is at the epoch" "It counts, from a start time that the clock gave." \
	"exact counts; the start time is the clock's" \
	"$(counts early anonymous); $(awk -v s="$(metric $start_time)" -v up="${up%.*}" 'BEGIN { print (s >= up + 2 && s < up + 60) }')" \
	"$(expected anonymous 70 700 70 700); 1"
stop_daemon
date -s "@$now" > /dev/null

# ---- a daemon that does not get to run ----

start_daemon --mode exact
kill -STOP $daemon
swarm 300 1
load -n 5000 -s 10 -c meanwhile
sleep 1
kill -CONT $daemon
scrape
fault "the daemon stands still (SIGSTOP) while 300 processes come and go" "The kernel counts on; nothing is lost." \
	"exact counts of all of them" \
	"$(counts swarm anonymous); $(counts meanwhile anonymous); $(metric pipewatch_unattributed_operations_total) unattributed" \
	"$(expected anonymous 0 0 300 300); $(expected anonymous 5000 50000 5000 50000); 0 unattributed"
began=$(metric $start_time)
stop_daemon

# ---- a daemon without memory ----

# put WORD NUMBER: into what tests/faults/preload.c maps
put() {
	printf "$(printf '\\%03o\\%03o\\0\\0\\0\\0\\0\\0' $(($2 % 256)) $(($2 / 256)))" > /tmp/number
	dd if=/tmp/number of=/tmp/faults bs=8 seek="$1" conv=notrunc 2> /dev/null
}

# fail N: the Nth allocation from here on; 0: none. The first that fails is not above the last only when both are there.
fail() {
	put 2 0
	put 0 0
	put 1 "$1"
	put 2 "$1"
}

dd if=/dev/zero of=/tmp/faults bs=8 count=4 2> /dev/null
LD_PRELOAD=/t/preload.so FAULTS=/tmp/faults pipewatchd --bus none --mode exact > /tmp/daemon.log 2>&1 &
daemon=$!
await 10057 $daemon
for name in sweep0 sweep00; do
	load -n 10 -s 10 -c $name
	put 0 0
	scrape
done
allocations=$(od -An -t d8 -N 8 /tmp/faults | tr -d ' ')
step=0
while [ $step -lt "$allocations" ]; do
	step=$((step + 1))
	load -n 10 -s 10 -c sweep$step
	fail $step
	scrape 2> /dev/null
	fail 0
done
scrape
echo "# $allocations allocations"
fault "each allocation of a scrape that books a new process fails in turn, while it counts" \
	"Nothing that was counted is lost: it is booked when there is memory." "exact counts of all of them" \
	"$((allocations > 20)), $(total pipewatch_pipe_writes_total 'comm="sweep') writes, \
$(metric pipewatch_unattributed_operations_total) unattributed" "1, $((10 * allocations + 20)) writes, 0 unattributed"
stop_daemon
is "it ends well" "$daemon_status" 0

# ---- the end at any moment ----

# All on one CPU: the emulator does not always see in time that another one has changed the code
# which it executes, as attaching does.
taskset -p 1 $$ > /dev/null
read -r begin _ < /proc/uptime
start_daemon
read -r end _ < /proc/uptime
stop_daemon
ms=$(echo "$begin $end" | awk '{ printf "%d", ($2 - $1) * 1000 }')
echo "# a start takes $ms ms"
fault "kill -9 at six moments of the start" "Nothing is left attached." "no programs, no links" \
	"$(at_moments KILL 6 0 $((ms / 5)))" "6 status 137, 0 programs, 0 links"
fault "kill -9 while windows open and close" "Nothing is left attached." "no programs, no links" \
	"$(at_moments KILL 3 "$ms" 700 --mode burst)" "3 status 137, 0 programs, 0 links"
start_daemon --mode exact
load -n 10 -s 10 -c fresh
scrape
fault "a restart after kill -9" "Counters start at zero, with a new start time." \
	"exact counts of what came since, none of before, a later start time" \
	"$(counts fresh anonymous); $(total pipewatch_pipe_writes_total 'comm="swarm"'); \
$(awk -v a="$began" -v b="$(metric $start_time)" 'BEGIN { print (b > a) }')" "$(expected anonymous 10 100 10 100); 0; 1"
stop_daemon
is "it ends well" "$daemon_status, $(cat /tmp/daemon.log)" "0, "
fault "SIGTERM at four moments of the start" "It ends, and leaves nothing attached." \
	"exit status 0, or SIGTERM's before anything is attached; no programs, no links" \
	"$(at_moments TERM 4 0 $((ms / 3)) | sed 's/status 143/status 0/; s/^1 \(.*\);3 \1$/4 \1/')" \
	"4 status 0, 0 programs, 0 links"
fault "SIGTERM while windows open and close" "It ends, and leaves nothing attached." "exit status 0, no programs, no links" \
	"$(at_moments TERM 2 "$ms" 900 --mode burst)" "2 status 0, 0 programs, 0 links"
done_testing
