# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# A call on the bus starts the service; a bus that goes away does not end it.
# Results: 10

ample_budget
systemctl -q enable pipewatchd
is "it is not running" "$(state)" "inactive, dead"
is "a call starts it" "$(as user busctl get-property org.pipewatch1 /org/pipewatch1 \
	org.pipewatch1.Manager State), $(state)" 's "running", active, running'

main=$(property MainPID)
systemd-run -q --unit=witness /t/load -n 10 -c witness -w
systemctl kill -s KILL dbus
is "the bus is killed: HTTP goes on" "$(answers)" 200
ok "the bus is back" within 20 busctl --no-pager list
ok "so is the name" within_is 20 's "running"' bus_state
is "of the same process" "$(property MainPID)" "$main"
fault "the system bus is killed" "Counting and HTTP do not notice, and the name is taken again." \
	"the same process, exact counts, the name is back" "$(writes witness.service witness)" 10
systemctl stop witness

systemctl kill -s STOP dbus
/t/load -n 300 -s 10 -c silence
fault "the system bus is stopped (SIGSTOP)" "Counting and HTTP do not notice." "exact counts; scrapes are served" \
	"$(answers), $(answers), $(writes guest.service silence)" "200, 200, 300"
systemctl kill -s CONT dbus
ok "the name is still there" within_is 20 's "running"' bus_state

# Each asks for all there is as fast as it is answered.
floods=
for _ in 1 2 3 4; do
	while :; do
		busctl call org.pipewatch1 /org/pipewatch1 org.pipewatch1.Manager GetMetrics
	done > /dev/null 2>&1 &
	floods="$floods $!"
done
sleep 1
/t/load -n 500 -s 10 -c flooded
fault "the system bus is flooded with calls" "Counting, HTTP and the bus go on." "exact counts; scrapes and calls are served" \
	"$(answers), $(writes guest.service flooded), $(bus_state), $(property MainPID)" "200, 500, s \"running\", $main"
# shellcheck disable=SC2086 # several
kill $floods
systemctl -q disable pipewatchd
