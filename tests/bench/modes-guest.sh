#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# usage: modes-guest.sh KERNEL...
#
# What each mode of the daemon costs who does nothing but pipe operations, and how good the counts of
# windows are, in guests that count instructions.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${BUILD:-$top/build}
[ $# -gt 0 ] || {
	echo "usage: modes-guest.sh KERNEL..." >&2
	exit 2
}
trap 'exit 143' TERM

# Each guest counts its results from one. One that ends without its results has none to show.
for kernel; do
	echo "# kernel $kernel"
	"$top/tests/vm/guest" -k "$kernel" -i -t 1100 -f "$build/pipewatchd" -f "$build/tests/load/load" \
		-f "$build/tests/load/steps" -f "$build/tests/load/saturate" -f /usr/sbin/bpftool \
		-f "$top/tests/tap.sh" -f "$top/tests/guest/." -- "PATH=\$PATH:. sh ./modes-cost.sh" ||
		echo "guest failed"
done | awk '
	/^1\.\.[0-9]+$/ { planned += substr($0, 4); next }
	/^# kernel / { kernel = $3 ": " }
	/^guest failed$/ { failed = 1; next }
	/^ok / { sub(/^ok [0-9]+ - /, ""); print "ok " ++given " - " kernel $0; fflush(); next }
	/^not ok / { sub(/^not ok [0-9]+ - /, ""); print "not ok " ++given " - " kernel $0; fflush(); next }
	{ print; fflush() }
	END { print "1.." planned + 0; exit failed || planned != given }'
