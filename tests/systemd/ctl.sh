# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# pipewatchctl and the service, as root and as a user: a pipeline with two ends, who holds them, and
# a daemon that is not there.
# Results: 16

# ctl VERB...: as an ordinary user
ctl() {
	as user pipewatchctl "$@" 2>&1
}

# What pipewatchctl says of a process, a line a side: "anonymous reads 1,000 ..."
sides() {
	ctl show "$1" | awk '$1 == "anonymous" { print $1, $2, $3, $4 }' | paste -sd ' '
}

is "no daemon: how to start one" "$(ctl status > said; echo $?; grep -o 'sudo systemctl start pipewatchd' said)" "69
sudo systemctl start pipewatchd"

ample_budget
systemctl start pipewatchd
# Stays as long as both ends do; 2000 operations of a byte on either side.
systemd-run -q --unit=line sh -c 'i=0; { while [ $i -lt 2000 ]; do echo -n x; i=$((i + 1)); done; exec sleep 1000; } |
	{ dd bs=1 count=2000 of=/dev/null 2> /dev/null; exec sleep 1000; }'
ok "a pipeline is counted" within 60 sh -c "runuser -u user -- pipewatchctl list --json | grep -qE '\"writes\": *2000'"
writer=$(ctl list --json | tr -d ' \n' | grep -oE '"pid":[0-9]+,"start_time_usec":[0-9]+,"comm":"[^"]*","unit":"line.service","exited":false[^}]*"writes":2000,' | sed 's/"pid":\([0-9]*\).*/\1/')
ok "its writer is found" kill -0 "$writer"
is "both sides of it" "$(sides "$writer" | cut -d ' ' -f 1-3,5-8)" "anonymous reads 0 anonymous writes 2,000 2,000"
ok "a user cannot see its files, and is told so" sh -c "runuser -u user -- pipewatchctl show $writer | grep -q 'cannot be seen by this user'"
is "root sees who is at the other end" "$(pipewatchctl show "$writer" | awk '$NF == "reads" || $NF == "writes"' | grep -c 'sleep')" 2

ok "status" sh -c "runuser -u user -- pipewatchctl status > said"
is "it says what mode it is in" "$(grep -c 'The mode is exact (configured: auto)' said)" 1
script -qec "stty cols 80 rows 24; NO_COLOR=1 runuser -u user -- pipewatchctl status" /dev/null < /dev/null | tr -d '\r' > shown
is "and fits a screen" "$(awk 'length($0) > 80 || NR > 23' shown | wc -l), $(sed -n '1s/ on.*//p' shown)" "0, pipewatchd $(pipewatchctl --version | sed -n '1s/.* //p')"
sed 's/^/# /' said
is "top, where everybody can look" "$(ctl top -n 2 -d 0.5 | grep -c '^Host: ')" 2
ok "remedies" sh -c "runuser -u user -- pipewatchctl remedies > said"
sed 's/^/# /' said
ok "check needs no daemon" sh -c "runuser -u user -- pipewatchctl check > said; grep -q 'does this kernel pay' said"
is "metrics are those of HTTP" "$(ctl metrics | grep '^pipewatch_\(mode\|kernel_path\){')" \
	"$(scrape | grep '^pipewatch_\(mode\|kernel_path\){')"
is "a name that a terminal would obey" "$(systemd-run -q --wait --unit=evil /t/load -n 100 -s 10 -c "$(printf 'e\033[2Jv')"
	ctl list --limit 0 | grep -oF 'e\u001b[2Jv' | head -n 1)" 'e\u001b[2Jv'
systemctl stop line
# Last, for it is more than is counted exactly for long.
ok "bench says that the programs are part of it" sh -c "runuser -u user -- pipewatchctl bench -s 1 > said; grep -q 'is in exact mode' said"
sed 's/^/# /' said
is "no daemon again" "$(systemctl stop pipewatchd; ctl list > said; echo $?)" 69
