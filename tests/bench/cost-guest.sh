#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# usage: cost-guest.sh KERNEL...
#
# What the whole daemon says that updates cost, in guests that count instructions, against loops in the
# same boot; then with a clock that is too slow, on the first of the kernels.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${BUILD:-$top/build}
[ $# -gt 0 ] || {
	echo "usage: cost-guest.sh KERNEL..." >&2
	exit 2
}
trap 'exit 143' TERM

# guest SCRIPT OPTION...
guest() {
	local script=$1
	shift
	"$top/tests/vm/guest" "$@" -f "$build/pipewatchd" -f "$build/bench/pipe" -f "$build/tests/load/load" \
		-f "$build/tests/load/steps" -f /usr/sbin/bpftool -f "$top/tests/tap.sh" -f "$top/tests/guest/." \
		-- "PATH=\$PATH:. sh ./$script.sh"
}

# Each guest counts its results from one. One that ends without its results has none to show.
{
	for kernel; do
		echo "# kernel $kernel"
		guest costs -k "$kernel" -i -t 600 || echo "guest failed"
	done
	echo "# clocksource=acpi_pm"
	guest costs-clock -k "$1" -t 400 -a clocksource=acpi_pm || echo "guest failed"
} | awk '
	/^1\.\.[0-9]+$/ { planned += substr($0, 4); next }
	/^# kernel / { kernel = $3 ": " }
	/^# clocksource/ { kernel = "acpi_pm: " }
	/^guest failed$/ { failed = 1; next }
	/^ok / { sub(/^ok [0-9]+ - /, ""); print "ok " ++given " - " kernel $0; fflush(); next }
	/^not ok / { sub(/^not ok [0-9]+ - /, ""); print "not ok " ++given " - " kernel $0; fflush(); next }
	{ print; fflush() }
	END { print "1.." planned + 0; exit failed || planned != given }'
