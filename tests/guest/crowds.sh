# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2034,SC2154
#
# For the scripts that try thousands of processes: a daemon under the memory limit of its unit, and what
# it takes. None of this uses pipes, which would count. Source after daemon.sh.

group=/sys/fs/cgroup/pipewatchd
limit=$((64 * 1024 * 1024)) # MemoryMax= of the unit

# until_marked PROCESS FILE: waits until it has made it, or has ended.
until_marked() {
	until [ -e "$2" ] || ! kill -0 "$1" 2> /dev/null; do
		usleep 20000
	done
}

# gather N FILE [OPTION]: a crowd of N that stay; its process is in gathered, its mark is FILE.
gather() {
	gather_n=$1 gather_mark=$2
	shift 2
	crowd "$@" "$gather_n" 0 "$gather_mark" &
	gathered=$!
	until_marked $gathered "$gather_mark"
}

# stir PROCESS FILE: each of a crowd writes a byte.
stir() {
	rm -f "$2"
	kill -USR1 "$1"
	until_marked "$1" "$2"
}

# disperse PROCESS...: all crowds that there are end.
disperse() {
	kill "$@"
	wait "$@" 2> /dev/null
	tries=0
	while killall -0 crowd 2> /dev/null && [ $tries -lt 500 ]; do
		tries=$((tries + 1))
		usleep 20000
	done
}

# begin_limited [OPTION]...: as start_daemon.
begin_limited() {
	echo 4194304 > /proc/sys/kernel/pid_max
	echo 200000 > /proc/sys/kernel/threads-max
	echo +memory > /sys/fs/cgroup/cgroup.subtree_control
	mkdir $group
	echo $limit > $group/memory.max
	echo $$ > $group/cgroup.procs
	start_daemon "$@"
	echo $$ > /sys/fs/cgroup/cgroup.procs
}

# Sets nanoseconds of CPU time that the daemon has had, by the threads that it has: where instructions
# are counted it is these.
cpu_time() {
	nanoseconds=0
	for cpu_task in /proc/"$daemon"/task/*/schedstat; do
		read -r cpu_ran _ < "$cpu_task"
		nanoseconds=$((nanoseconds + cpu_ran))
	done
}

# Sets resident and anonymous, in KiB, of which the latter is what no file has; and descriptors: the
# fewest of two seconds, for a burst opens some. Those are in /tmp/descriptors.
sizes() {
	descriptors=''
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		usleep 200000
		set -- /proc/"$daemon"/fd/*
		if [ -z "$descriptors" ] || [ $# -lt "$descriptors" ]; then
			descriptors=$#
			ls -l /proc/"$daemon"/fd > /tmp/descriptors
		fi
	done
	while read -r sizes_key sizes_value _; do
		case $sizes_key in
		VmRSS:) resident=$sizes_value ;;
		RssAnon:) anonymous=$sizes_value ;;
		esac
	done < /proc/"$daemon"/status
}

# maps FILE: the names of all maps in the kernel, in order, but for those of the one who lists them.
maps() {
	bpftool map list > /tmp/maps
	awk '/^[0-9]+:/ && $4 !~ /^pid_iter/ { print $4 }' /tmp/maps > "$1"
	sort -o "$1" "$1"
}

# maps_become WANTED FILE: as maps, when they are those of WANTED or ten seconds have gone: they go a
# moment after the process that held them.
maps_become() {
	tries=0
	until maps "$2" && { cmp -s "$1" "$2" || [ $tries = 50 ]; }; do
		tries=$((tries + 1))
		usleep 200000
	done
}

# until_idle: scrapes until nobody is tracked and no claims are left, for twenty seconds at most. They end
# one after another.
until_idle() {
	tries=0
	until scrape && { [ $tries = 200 ] || { grep -qxF 'pipewatch_map_entries{map="claims"} 0' $metrics &&
		grep -qxF 'pipewatch_tracked_processes 0' $metrics; }; }; do
		tries=$((tries + 1))
		usleep 100000
	done
}

# metrics_of NAME COMMAND [ARG]...: as metric or total of then.
metrics_of() {
	of_file=/tmp/metrics.$1
	shift
	metrics=$of_file "$@"
}

# Sets main_time to the CPU time of the thread that serves.
main_time() {
	read -r main_time _ < /proc/"$daemon"/task/"$daemon"/schedstat
}

# Sets spent to the instructions that a scrape took.
scrape_once() {
	main_time
	scrape_before=$main_time
	scrape
	main_time
	spent=$((main_time - scrape_before))
}

# first_scrape COMMAND [ARG]...: sets spent to what a scrape takes after the command, of which the daemon
# has not seen anything until then.
first_scrape() {
	kill -STOP "$daemon"
	"$@"
	main_time
	scrape_before=$main_time
	kill -CONT "$daemon"
	scrape
	main_time
	spent=$((main_time - scrape_before))
}

# Sets spent to the fewest of five scrapes. Each is of a snapshot of its own.
scrape_cost() {
	fewest=''
	for _ in 1 2 3 4 5; do
		usleep 50000
		scrape_once
		if [ -z "$fewest" ] || [ $spent -lt "$fewest" ]; then
			fewest=$spent
		fi
	done
	spent=$fewest
}

# limits_hit: how often the daemon's group met its limit, and how many of it were killed for that.
limits_hit() {
	awk '$1 == "max" || $1 == "oom_kill" { sum += $2 } END { print sum + 0 }' $group/memory.events
}
