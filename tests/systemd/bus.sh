# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# A call on the bus starts the service; a bus that goes away does not end it.
# Results: 9

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
is "and its counts" "$(scrape | sample \
	'pipewatch_pipe_writes_total{unit="witness.service",comm="witness",pipe="anonymous"}')" 10
systemctl stop witness

systemctl kill -s STOP dbus
is "a bus that hangs: HTTP goes on" "$(answers), $(answers)" "200, 200"
systemctl kill -s CONT dbus
ok "the name is still there" within_is 20 's "running"' bus_state
systemctl -q disable pipewatchd
