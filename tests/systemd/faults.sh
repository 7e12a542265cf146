# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# What an administrator or the system can do to the service: hide /proc from it, and give it too few
# threads, files or bytes.
# Results: 6

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
