# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# A daemon that dies or hangs is started again.
# Results: 9

start_time() {
	scrape | sample pipewatch_start_time_seconds
}

# another_than PID: there is a main process, and it is not this one.
another_than() {
	new=$(property MainPID)
	[ "$new" != 0 ] && [ "$new" != "$1" ] && [ "$(property ActiveState)" = active ]
}

systemctl start pipewatchd
main=$(property MainPID)
before=$(start_time)
systemctl kill -s KILL --kill-who=main pipewatchd
ok "a killed daemon is started again" within 30 another_than "$main"
is "once" "$(property NRestarts)" 1
ok "with a new start time" awk -v a="$before" -v b="$(start_time)" 'BEGIN { exit !(a > 0 && b > a) }'
fault "kill -9 of the service" "systemd starts it again, with a new start time." "all programs are attached, once" \
	"$(counting_programs)" "$every_program"

# So slow that the start takes longer than the watchdog would wait.
afresh
printf 'WatchdogSec=6s\nCPUQuota=20%%\n' | dropin watchdog
began=$(date +%s)
systemctl start pipewatchd
is "the watchdog does not disturb a slow start" "$?, $(state)" "0, active, running"
echo "# it took $(($(date +%s) - began)) s"
main=$(property MainPID)
# What is too slow to work cannot feed it either.
printf 'WatchdogSec=6s\n' | dropin watchdog
echo "# $(cat "/sys/fs/cgroup$(property ControlGroup)/cpu.max")"
sleep 9
is "a daemon that works feeds it" "$(property MainPID), $(property NRestarts)" "$main, 0"
systemctl kill -s STOP --kill-who=main pipewatchd
ok "one that hangs is started again" within 40 another_than "$main"
fault "the service hangs (SIGSTOP)" "The watchdog fires, and systemd starts it again." "result watchdog, once; it runs" "$(journal_of_unit | grep -c "Failed with result 'watchdog'")" 1
is "and is whole again" "$(counting_programs)" "$every_program"
