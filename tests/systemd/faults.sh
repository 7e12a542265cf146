# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# What an administrator or the system can do to the service: hide /proc from it, give it too few
# threads, files or bytes, and run another daemon beside it.
# Results: 10

# What is left of the service, a moment after it has ended.
left() {
	within_is 10 "" programs
	echo "$(programs | wc -w) programs, $(./bpftool link list | grep -c '^[0-9]') links"
}

for access in invisible noaccess; do
	afresh
	echo "ProtectProc=$access" | dropin proc
	systemctl start pipewatchd
	systemd-run -q --unit=hidden-$access /t/load -n 100 -s 10 -c hidden -w
	systemd-run -q --wait --unit=brief-$access /t/load -n 200 -s 10 -c brief
	within_is 20 100 writes hidden-$access.service hidden
	fault "ProtectProc=$access hides the processes of other users from the service" \
		"Counting goes on, under names and units." "exact counts of a live and an ended service" \
		"$(writes hidden-$access.service hidden) $(writes brief-$access.service brief), $(state)" "100 200, active, running"
	systemctl stop hidden-$access
done

afresh
echo TasksMax=1 | dropin tasks
systemctl start pipewatchd
systemd-run -q --wait --unit=alone /t/load -n 300 -s 10 -c alone
fault "TasksMax=1: no thread and no child can be had" "Counting goes on; costs that take a thread are not known." \
	"exact counts" "$(writes alone.service alone), $(state)" "300, active, running"

afresh
echo LimitNOFILE=16 | dropin files
systemctl start pipewatchd 2> /dev/null
fault "LimitNOFILE=16 leaves too few files for BPF programs" \
	"It runs degraded and says why; with another mode than auto it would leave." "degraded; Too many open files (EMFILE)" \
	"$?, $(state), $(scrape | sample 'pipewatch_state{state="degraded"}'), $(journal | grep -c 'Too many open files (EMFILE)')" \
	"0, active, running, 1, 1"

afresh
printf 'MemoryMax=6M\nMemorySwapMax=0\nRestart=no\n' | dropin memory
systemctl start pipewatchd 2> /dev/null
fault "MemoryMax=6M, less than it needs" "The start fails, systemd says why, and nothing is left attached." \
	"oom-kill; no programs, no links" "$?, $(property Result), $(left)" "1, oom-kill, 0 programs, 0 links"

afresh
printf 'MemoryMax=64M\nMemorySwapMax=0\n' | dropin memory
systemctl start pipewatchd
group=/sys/fs/cgroup$(property ControlGroup)
systemd-run -q --wait --unit=plenty /t/load -n 400 -s 10 -c plenty
for _ in 1 2 3 4 5 6 7 8 9 10; do
	scrape > /dev/null
done
fault "MemoryMax=64M, the maps of BPF programs among it" "It is enough." "exact counts; the limit was never met" \
	"$(writes plenty.service plenty), $(sed -n 's/^\(max\|oom_kill\) /\1 /p' "$group/memory.events" | paste -sd ,)" \
	"400, max 0,oom_kill 0"
echo "# $(cat "$group/memory.current" "$group/memory.peak" | paste -sd ' ') bytes now and at most"

# Whose the bus name is.
owner() {
	busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus GetConnectionUnixProcessID s \
		org.pipewatch1
}

taken_by() {
	echo "The name org.pipewatch1 on the bus at unix:path=/run/dbus/system_bus_socket belongs to process $1, probably" \
		"another pipewatchd. Stop that, or start this one with --bus none."
}

afresh
systemctl start pipewatchd
links=$(./bpftool link list | grep -c '^[0-9]')
programs=$(counting_programs)
/usr/sbin/pipewatchd --mode exact --listen 127.0.0.1:10058 > second 2>&1
second_status=$?
systemd-run -q --wait --unit=beside /t/load -n 500 -s 10 -c beside
fault "a second daemon, by hand, while the service runs" \
	"It says so, with the process, and leaves with exit status 69; the service counts on." \
	"exit status 69, one message; exact counts of the service" \
	"$second_status, $(sed 's/^pipewatchd: //' second), $(writes beside.service beside), \
$(./bpftool link list | grep -c '^[0-9]') $(counting_programs), $(state)" \
	"69, $(taken_by "$(property MainPID)"), 500, $links $programs, active, running"

main=$(property MainPID)
statuses=
for _ in 1 2 3; do
	systemctl restart pipewatchd
	statuses="$statuses$? "
done
within_is 20 "u $(property MainPID)" owner
fault "systemctl restart, three times in a row" "The name is free in time, and is the new one's." \
	"it runs, with the name, and never failed" \
	"$statuses$(state), $(owner), $(property NRestarts) restarts, $(journalctl -q -o cat -u pipewatchd | grep -c 'belongs to')" \
	"0 0 0 active, running, u $(property MainPID), 0 restarts, 0"
is "by another process" "$(property MainPID | grep -vcx "$main")" 1

afresh
systemd-run -q --unit=byhand /usr/sbin/pipewatchd --listen 127.0.0.1:10058
within_is 60 "u $(systemctl show -P MainPID byhand)" owner
systemctl start pipewatchd 2> /dev/null
started=$?
# Longer than a restart would take.
sleep 4
fault "the service is started while a daemon runs that was started by hand" \
	"The start fails, once, with the message and exit status 69." "status 69, no restart, one message" \
	"$started, $(ending), $(journal)" \
	"1, failed, exit-code, status 69, 0 restarts, $(taken_by "$(systemctl show -P MainPID byhand)")"
systemctl stop byhand
