# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# The child that attaches for a burst: killed with the daemon, and alone; at whatever it is, while readers
# wait in the functions that are attached to.
. ./tap.sh
. ./daemon.sh

# A burst begins at once where the clock source is another, which is looked at every ten seconds.
clock=/sys/devices/system/clocksource/clocksource0/current_clocksource
clocks=0
provoke() {
	clocks=$((clocks + 1))
	echo "clock$clocks" > /tmp/clock
}

# children PID: their process ids, those that have ended among them. Starts no process: the daemon has to
# get on on the same CPU.
children() {
	for stat in /proc/[0-9]*/stat; do
		read -r line 2> /dev/null < "$stat" || continue
		case ${line##*) } in
		?" $1 "*) echo "${line%% *}" ;;
		esac
	done
}

links() {
	bpftool link list | grep -c '^[0-9]'
}

only_counting() {
	[ "$(links)" = "$counting" ]
}

# within SECONDS COMMAND...: until it succeeds. Looks are counted: the clock of an emulated machine may be wrong.
within() {
	looks=$(($1 * 5))
	shift
	until "$@" > /dev/null 2>&1; do
		looks=$((looks - 1))
		[ $looks -gt 0 ] || return 1
		sleep 0.2
	done
}

# Sets child.
has_child() {
	children "$daemon" > /tmp/children
	read -r child < /tmp/children
}

# Until the child of the next burst is there; and in the second case has attached all and waits to be
# ended, which the daemon does not get to do.
await_child() {
	provoke
	within 120 has_child
}
await_attached() {
	await_child
	kill -STOP "$daemon"
	within 60 child_waits
}

# It sleeps in pause(), which is number 34 on x86-64, and more is attached than what counts.
child_waits() {
	number=
	read -r number _ < "/proc/$child/syscall"
	[ "$number" = 34 ] && [ "$(links)" -gt "$counting" ]
}

# reader N: waits in a read of an anonymous pipe until there is /tmp/go
reader() {
	sh -c 'until [ -e /tmp/go ]; do sleep 0.5; done; echo through' | cat > "/tmp/read.$1" &
}

# Not even as a process that has ended.
child_gone() {
	[ ! -e "/proc/$child" ]
}

ended() {
	within 10 child_gone
	echo "status $daemon_status, child $(sed -n 's/^State:\t//p' "/proc/$child/status" 2> /dev/null || echo gone), $(left)"
}

failure='The last burst failed: the process that attaches for it was killed, or gave up.'
told() {
	wget -q -O - $url/ | grep -qF "$failure"
}

timed() {
	scrape && grep -qE '^pipewatch_metadata_unit_cost_seconds\{kind="atime",pipe="fifo",stage="update"\} [1-9]' $metrics
}

plan 9
provoke
mount --bind /tmp/clock $clock
# All on one CPU: the emulator does not always see in time that another one has changed the code
# which it executes, as attaching does.
taskset -p 1 $$ > /dev/null

reader 1
start_daemon --mode exact
counting=$(links)
await_attached
is "the child has attached all" "$(child_waits && echo yes)" yes
reader 2
sleep 1
kill -9 $daemon
wait $daemon
daemon_status=$?
fault "kill -9 while the child of a burst has all attached" "The child ends with it, and nothing is left attached." \
	"no child, no programs, no links" "$(ended)" "status 137, child gone, 0 programs, 0 links"
touch /tmp/go
within 10 grep -q through /tmp/read.1
within 10 grep -q through /tmp/read.2
fault "kill -9 with readers asleep in a pipe, since before and since the attaching" "They read on." \
	"both read what comes" "$(cat /tmp/read.1 /tmp/read.2 | paste -sd ' ')" "through through"

start_daemon --mode exact
await_child
kill -9 $daemon
wait $daemon
daemon_status=$?
fault "kill -9 while the child of a burst attaches" "The child ends with it, and nothing is left attached." \
	"no child, no programs, no links" "$(ended)" "status 137, child gone, 0 programs, 0 links"

start_daemon --mode exact
await_attached
kill -9 "$child"
within 10 only_counting
kill -CONT $daemon
within 60 told
load -n 100 -s 10 -c after
scrape
fault "kill -9 of the child of a burst alone" "The daemon says so and counts on; nothing is taken from that burst." \
	"the reason; exact counts; no child, no cost of stages" \
	"$(told && echo told), $(counts after anonymous), $(children $daemon | wc -l) children, $(links) links, $(timed && echo timed)" \
	"told, $(expected anonymous 100 1000 100 1000), 0 children, $counting links, "
provoke
ok "the next burst ends" within 120 timed
is "and the failure is forgotten" "$(told || echo forgotten)" forgotten
stop_daemon
is "SIGTERM" "$daemon_status, $(cat /tmp/daemon.log)" "0, "
is "nothing is left" "$(left)" "0 programs, 0 links"
umount $clock
done_testing
