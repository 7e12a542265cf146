# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# A stopped service leaves nothing behind.
# Results: 6

# Functions of the kernel that something is attached to.
hooked() {
	grep -cE '^(anon_)?pipe_(read|write) ' /sys/kernel/tracing/enabled_functions
}

systemctl start pipewatchd
is "two functions are hooked" "$(hooked)" 2
systemctl stop pipewatchd
is "systemctl stop" "$?, $(ending)" "0, inactive, success, status 0, 0 restarts"
is "no program is left" "$(programs)" ""
is "no function is hooked" "$(hooked)" 0
is "the address is closed" "$(answers)" "000 curl 7"
is "the name is free" "$(busctl list --no-legend | grep -c '^org.pipewatch1 *[0-9]')" 0
