# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# The unit or container of a process, also after a move and after the end.
. ./tap.sh
. ./daemon.sh

v2=/sys/fs/cgroup
id=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef

# within DIRECTORY COMMAND...: in that control group
within() {
	mkdir -p "$1"
	sh -c 'echo 0 > "$0/cgroup.procs" && exec "$@"' "$@"
}

# units COMM: all under which it has written, each with how often
units() {
	sed -n "s/^pipewatch_pipe_writes_total{unit=\"\(.*\)\",comm=\"$1\",pipe=\"anonymous\"} /\1 /p" $metrics | sort |
		paste -sd ,
}

plan 11
start_daemon

n=0
# While one is there, and when it is gone.
while read -r path; do
	n=$((n + 1))
	within "$v2$path" steps name:unit-$n write:$n:1
	rmdir "$v2$path"
done << END
/system.slice/_cpu.service
/lxc/101/ns/system.slice/cron.service
/libpod_parent/libpod-$id/system.slice/cron.service
/somebody/system.slice/cron.service
/machine.slice/machine-a\\x2db.scope/payload
/system.slice/say "x".service
END
# Longer than what is noted when it is made.
long=/$(printf '%0200d.slice' 0)/$(printf '%0100d.service' 0)
within "$v2$long" steps name:long write:1:1
scrape
is "a name that systemd has to escape" "$(units unit-1)" "cpu.service 1"
is "a container of LXC with a systemd in it" "$(units unit-2)" "lxc/101 2"
is "a container of Podman" "$(units unit-3)" "libpod_parent/libpod-0123456789ab 3"
is "an unknown one, whose units are not the host's" "$(units unit-4)" " 4"
is "a name with an escape of systemd's" "$(units unit-5)" 'machine-a\\x2db.scope 5'
is "a name with quotes" "$(units unit-6)" 'say \"x\".service 6'
is "a long path" "$(units long)" "$(printf '%0100d.service' 0) 1"

# move NAME STEP...: a process that is moved between what it does at first and what it does then, with a
# scrape before that.
move() {
	move_name=$1
	shift
	rm -f /tmp/m?
	within $v2/from.service steps tid:/tmp/m0 "$@" name:"$move_name" write:3:1 touch:/tmp/m1 wait:/tmp/m2 write:4:1 \
		touch:/tmp/m3 wait:/tmp/m4 &
	moved=$!
	until_file /tmp/m1
	scrape
	mkdir -p $v2/to.service
	cat /tmp/m0 > $v2/to.service/cgroup.procs
	touch /tmp/m2
	until_file /tmp/m3
	scrape
	touch /tmp/m4
	wait $moved
	is "$move_name moves" "$(units "$move_name")" "from.service 3,to.service 4"
}
move main
move thread rename:thread thread
scrape
is "thread has ended there" "$(units thread)" "from.service 3,to.service 4"
stop_daemon
is "the daemon ends well" "$daemon_status, $(cat /tmp/daemon.log)" "0, "
done_testing
