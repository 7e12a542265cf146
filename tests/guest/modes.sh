# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# Changes of mode by reload, under load: all of them, many on one kernel, without a counter that falls
# or jumps or a file descriptor that stays; then the end in the middle of it.
. ./tap.sh

case $(uname -r) in
6.12.*) changes=1020 ;;
*) changes=120 ;;
esac
changes=${PIPEWATCH_CHANGES:-$changes}

# found NAME
found() {
	sed -n "s/^$1 //p" /tmp/found
}

# at_least NAME WHAT NUMBER
at_least() {
	echo "# $1: $(found "$2")"
	ok "$1: at least $3" test "$(found "$2")" -ge "$3"
}

plan 14
# All on one CPU: the emulator does not always see in time that another one has changed the code
# which it executes, as attaching does.
taskset -p 1 $$ > /dev/null
modes "$changes" 1 ./pipewatchd > /tmp/found 2> /tmp/daemon.log
is "it runs" $? 0
grep '^#' /tmp/found
is "changes" "$(found changes)" "$changes"
is "from each mode to each" "$(found pairs)" 20
is "counters that fall" "$(found fell)" 0
is "counters that jump" "$(found jumped)" 0
is "rounds that are not counted exactly" "$(found miscounted)" 0
at_least "of rounds in which everything is counted" exact-rounds $((changes / 10))
at_least "looks at loads meanwhile" exact-looks $((changes / 2))
at_least "looks at counts of windows" windows $((changes / 10))
is "links while off" "$(found attached)" 0
is "modes that are not what was asked for" "$(found wrong-mode)" 0
is "file descriptors that stay" "$(found leaked)" 0
is "ends of the daemon" "$(found endings)" 6
is "programs, links or processes after it" "$(found left)" 0
grep -v ': Reloaded\.$\|: Mode ' /tmp/daemon.log | sed 's/^/# /' | head -n 20
done_testing
