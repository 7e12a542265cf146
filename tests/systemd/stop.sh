# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# A stopped service leaves nothing behind.
# Results: 5

# Functions of the kernel that something is attached to.
hooked() {
	grep -cE '^(anon_)?pipe_(read|write) ' /sys/kernel/tracing/enabled_functions
}

systemctl start pipewatchd
systemd-run -q --unit=endless /t/load -n 1000000000 -s 100 -c endless
while scrape; do :; done > /dev/null 2>&1 &
is "two functions are hooked" "$(hooked)" 2
systemctl stop pipewatchd
is "systemctl stop" "$?, $(ending)" "0, inactive, success, status 0, 0 restarts"
fault "systemctl stop (SIGTERM) while pipes and scrapes are busy" "Nothing is left attached." \
	"no programs, no function hooked" "$(within_is 20 "" programs; programs | wc -w) programs, $(hooked) functions" \
	"0 programs, 0 functions"
# It heeds SIGTERM when it is done.
systemctl kill -s KILL endless
is "the address is closed" "$(answers)" "000 curl 7"
is "the name is free" "$(busctl list --no-legend | grep -c '^org.pipewatch1 *[0-9]')" 0
