#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Counting must stay cheap: exact mode adds at most 300 instructions to a 100-byte write and to a
# read, of an anonymous pipe and of a FIFO. Instructions are counted by the emulator, so the load of
# this machine has no part in it; figures repeat to within 3 instructions (0.15 % of an operation,
# 0.1 % of an alternating one), and the bound is taken as it stands, without an allowance.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${BUILD:-$top/build}
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"

kernel=6.12
bound=300
# What is ours of it. The rest is the kernel's for any program at all (about 195); if only the
# bound is missed, the kernel has become dearer.
own_bound=104

figures=$(mktemp)
trap 'rm -f "$figures"' EXIT
trap 'exit 143' TERM

"$top/tests/vm/guest" -i -k $kernel -t 200 -f "$here/measure" -f "$build/pipewatchd" \
	-f "$build/bench/." -- ./measure base empty pipewatchd:exact > "$figures"
status=$?

# figure OBSERVER LINE COLUMN: one of measure's figures
figure() {
	awk -v want="$1 $2 " -v column="$3" 'index($0 " ", want) == 1 { print $(3 + column) }' "$figures"
}

# added OBSERVER BASE LINE COLUMN: the difference, "none" without two figures
added() {
	awk -v with="$(figure "$1" "$3" "$4")" -v without="$(figure "$2" "$3" "$4")" \
		'BEGIN { if (with > 0 && without > 0) printf "%.1f\n", with - without; else print "none" }'
}

# between NUMBER LOW HIGH
between() {
	awk -v n="$1" -v low="$2" -v high="$3" \
		'BEGIN { exit !(n ~ /^-?[0-9.]+$/ && n + 0 >= low && n + 0 <= high) }'
}

plan 15

is "the guest measured" $status 0
for kind in anonymous fifo; do
	total=$(sed -n "s/^pipewatchd:exact total $kind //p" "$figures")
	is "every operation of the benchmark was counted, $kind" \
		"$(sed -n "s/^pipewatchd:exact counted $kind //p" "$figures")" "${total:-some}"
done

while read -r name line column; do
	line=${line//_/ }
	all=$(added pipewatchd:exact base "$line" "$column")
	floor=$(added empty base "$line" "$column")
	own=$(added pipewatchd:exact empty "$line" "$column")
	echo "# $name: $(figure base "$line" "$column") + $all, of which" \
		"empty programs $floor, pipewatchd $own"
	ok "$name: at most $bound instructions are added" between "$all" 1 $bound
	ok "$name: at most $own_bound of them are pipewatchd's" between "$own" 1 $own_bound
done << END
write fill_anonymous 1
read fill_anonymous 2
alternating alternate_anonymous 1
fifo-write fill_fifo 1
fifo-read fill_fifo 2
fifo-alternating alternate_fifo 1
END
done_testing
