# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# TAP for shell tests, on a host or in a guest: source this, say how many results there will be
# (plan N), then give each (is, ok, skip).

tap_count=0
tap_failed=0

plan() {
	echo "1..$1"
}

# Gives the result of the command before it: true; result NAME
result() {
	set -- $? "$1"
	tap_count=$((tap_count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tap_count - $2"
	else
		tap_failed=$((tap_failed + 1))
		echo "not ok $tap_count - $2"
		return 1
	fi
}

# is NAME GOT WANTED
is() {
	[ "$2" = "$3" ]
	result "$1" || printf '%s\n' "wanted: $3" "got:    $2" | sed 's/^/# /'
}

# fault NAME PROMISED SEEN GOT WANTED: as is and, where it is as wanted, a row of the table of faults
fault() {
	is "$1" "$4" "$5"
	[ "$4" != "$5" ] || echo "# fault: $1 | $3 | $2"
}

# ok NAME COMMAND [ARG]...
ok() {
	tap_name=$1
	shift
	"$@"
	result "$tap_name" || echo "# failed: $*"
}

# skip NAME REASON
skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

# The last line of a test: its exit status.
done_testing() {
	[ $tap_failed = 0 ]
}
