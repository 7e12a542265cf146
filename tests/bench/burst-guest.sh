#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Bursts against the truth, in guests that count instructions: on a kernel that updates the times of anonymous
# pipes, and on one that does not. Then with clocks that are too slow or too coarse.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
program=${BUILD:-$here/../../build}/bench/burst-truth
trap 'exit 143' TERM

# measure KERNEL RESULTS [GUEST-OPTION]... [-- ARGUMENT]: the program's results are ours
measure() {
	local kernel=$1 results=$2 options=() line verdict name
	shift 2
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	[ $# = 0 ] || shift
	output=$("$here/../vm/guest" -k "$kernel" -t 400 "${options[@]}" -f "$program" -- "./${program##*/} $*")
	is "$kernel ${options[*]}: it runs" $? 0
	is "$kernel: it gives all results" "$(grep -c '^1\.\.'"$results"'$' <<< "$output")" 1
	while read -r line; do
		case $line in
		"ok "*) verdict=true ;;
		"not ok "*) verdict=false ;;
		*)
			echo "$line" | sed -n 's/^# /# /p'
			continue
			;;
		esac
		name=${line#* - }
		$verdict
		result "$kernel: $name"
	done <<< "$output"
}

plan 40

measure 6.12 13 -i
measure 7.3 11 -i
measure 6.12 2 -a clocksource=acpi_pm -- acpi_pm
measure 6.12 2 -a clocksource=hpet -- hpet
measure 7.3 2 -i -a clocksource=acpi_pm -- acpi_pm
done_testing
