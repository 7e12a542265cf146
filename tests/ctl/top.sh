#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# pipewatchctl top on a real terminal, tmux's: keys, another size, a daemon that goes and comes
# back, and the screen given back whatever ends it.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
# shellcheck source=tests/ctl/bus.sh
. "$top/tests/ctl/bus.sh"
trap 'tmux_ kill-server 2> /dev/null; stop_service; stop_bus; rm -rf "$work"' EXIT

# Each start has a server of its own: one that is killed is gone a little later only.
server=0

tmux_() {
	tmux -S "$work/tmux$server" -f /dev/null "$@"
}

screen() {
	tmux_ capture-pane -p -t top
}

line() {
	screen | sed -n "$1p"
}

shows() {
	screen | grep -qE "$1"
}

key() {
	tmux_ send-keys -t top "$1"
}

# sees NAME REGEX: it comes to show that within a few seconds
sees() {
	within 8 shows "$2"
	result "$1" || screen | sed 's/^/# /'
}

# The columns of the processes' numbers.
pids() {
	screen | awk '$1 ~ /^[0-9]+\*?$/ { print $1 }' | paste -s -d ' '
}

# A shell as a user has it: what was there before comes back afterwards.
start() {
	tmux_ kill-server 2> /dev/null
	server=$((server + 1))
	tmux_ new-session -d -s top -x 80 -y 24 \
		"echo before; $ctl --bus $address top $*; echo exit \$?; exec sleep 100"
}

pid_of_top() {
	pgrep -P "$(tmux_ display-message -p -t top '#{pane_pid}')" -f pipewatchctl
}

given_back() {
	within 5 shows "^exit $2\$"
	is "$1" "$(screen | grep .)" "before
exit $2"
	is "$1: cursor and wrapping" "$(tmux_ display-message -p -t top '#{cursor_flag} #{wrap_flag} #{alternate_on}')" "1 1 0"
	is "$1: the keyboard" "$(stty -a -F "$(tmux_ display-message -p -t top '#{pane_tty}')" | grep -oE '(^| )-?(icanon|echo)\>' | paste -s -d ' ' | tr -s ' ')" "$tty_before"
}

plan 45
start_bus ''
cp "$top/tests/ctl/golden/full.json" "$answers/describe.1.json"
record later
start_service

tmux_ new-session -d -s top -x 80 -y 24 'exec sleep 100'
tty_before=$(stty -a -F "$(tmux_ display-message -p -t top '#{pane_tty}')" | grep -oE '(^| )-?(icanon|echo)\>' | paste -s -d ' ' | tr -s ' ')

start -d 1
sees "the first screen is of the time since the start" "Average of the 16 min 40 s since the start"
is "all of them" "$(pids)" "185 186* 2000 4294967295"
sees "then what has changed" "In the last 2.00 s"
is "by cost" "$(pids)" "2000 185 3000"
is "what is on the bottom" "$(line 24)$(screen | grep -c '^q quit')" "1"
is "no line is wider than the terminal" "$(screen | awk 'length($0) > 80' | wc -l)" 0
is "what it costs" "$(screen | awk '$1 == 2000 { print $(NF - 2), $(NF - 1), $NF, $(NF - 3) }')" "% 25.0 % 12.5"
is "a hostile name is harmless" "$(screen | grep -c 'evil')" 1
key o
sees "by operations" "processes by operations"
is "in that order" "$(pids)" "185 2000 3000"
key p
sees "by number" "processes by pid"
is "in that order" "$(pids)" "185 2000 3000"
key c
sees "by cost again" "processes by cost"
is "in that order" "$(pids)" "2000 185 3000"
key g
sees "groups" "groups by cost"
is "without numbers" "$(screen | grep -c PID)" 0
key g
sees "processes again" "processes by cost"
key x
is "a key that means nothing" "$(sleep 0.3; pids)" "2000 185 3000"

tmux_ resize-window -t top -x 50 -y 6
sees "a small window" "^q quit"
is "as many rows as fit" "$(pids)" "2000 185"
tmux_ resize-window -t top -x 1 -y 1
smallest() {
	[ "$(tmux_ display-message -p -t top '#{pane_width} #{pane_height}') $(screen)" = "1 1 H" ]
}
ok "the smallest window has the first character" within 5 smallest
tmux_ resize-window -t top -x 120 -y 30
sees "a large one" 'log-pipeline.service'
is "all rows" "$(pids)" "2000 185 3000"

stop_service
sees "a daemon that is gone is told of" "pipewatchd is not running"
is "what was known stays" "$(pids)" "2000 185 3000"
rm "$answers/describe.1.json"
start_service
gone() {
	! shows "pipewatchd is not running"
}
within 8 gone
is "it comes back" "$(screen | grep -c 'not running') $(pids)" "0 2000 185 3000"

start -d 1
sees "in a window that keeps its size" "mode exact"
key q
given_back "quit" 0

start -d 1
sees "again" "mode exact"
kill -TERM "$(pid_of_top)"
given_back "ended by a signal" 0

start -d 1
sees "once more" "mode exact"
kill -TSTP "$(pid_of_top)"
stopped() {
	[ "$(screen | grep .)" = before ]
}
ok "stopped, it gives the screen back" within 5 stopped
kill -CONT "$(pid_of_top)"
sees "and takes it again" "mode exact"
manner hang
calls=$(cat "$answers/calls")
asked() {
	[ "$(cat "$answers/calls")" -gt "$calls" ]
}
within 5 asked
key o
sees "keys are heeded while the daemon hangs" "processes by operations"
key q
given_back "quit while it hangs" 0
manner

start -d 0.2 -n 2
given_back "ended after so many rounds" 0

stop_service
start
within 5 shows '^exit'
is "no daemon to begin with" "$(screen | grep -cE '^(before|exit 69)$|^pipewatchctl: pipewatchd is not running')" 3

done_testing
