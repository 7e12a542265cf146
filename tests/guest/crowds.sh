# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2034
#
# For the scripts that try thousands of processes: a daemon under the memory limit of its unit, and what
# it takes. None of this uses pipes, which would count. Source after daemon.sh.

group=/sys/fs/cgroup/pipewatchd
limit=$((64 * 1024 * 1024)) # MemoryMax= of the unit

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

# Sets resident, in KiB, and descriptors: the fewest of two seconds, for a burst opens some.
sizes() {
	descriptors=''
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		usleep 200000
		set -- /proc/"$daemon"/fd/*
		if [ -z "$descriptors" ] || [ $# -lt "$descriptors" ]; then
			descriptors=$#
		fi
	done
	while read -r sizes_key sizes_value _; do
		[ "$sizes_key" != VmRSS: ] || resident=$sizes_value
	done < /proc/"$daemon"/status
}

# Sets spent to the fewest instructions that one of five scrapes took. Each is of a snapshot of its own.
scrape_cost() {
	spent=''
	for _ in 1 2 3 4 5; do
		usleep 50000
		cpu_time
		scrape_before=$nanoseconds
		scrape
		cpu_time
		scrape_took=$((nanoseconds - scrape_before))
		if [ -z "$spent" ] || [ $scrape_took -lt "$spent" ]; then
			spent=$scrape_took
		fi
	done
}

# limits_hit: how often the daemon's group met its limit, and how many of it were killed for that.
limits_hit() {
	awk '$1 == "max" || $1 == "oom_kill" { sum += $2 } END { print sum + 0 }' $group/memory.events
}
