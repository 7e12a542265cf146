#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A/B figures of 20 ms against long loops, in guests that count instructions: on a kernel that updates
# the times of anonymous pipes, and on one that does not.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
program=${BUILD:-$here/../../build}/bench/ab-truth
trap 'exit 143' TERM

measure() {
	output=$("$here/../vm/guest" -k "$1" -i -t 280 -f "$program" -- "./${program##*/} -n 64000")
	is "$1: it runs" $? 0
}

# close PIPE UPDATE PERCENT: the figure is that close to the truth, and three of its errors cover it
# shellcheck disable=SC2016 # of awk
close() {
	ok "$kernel: $1 $2 is within $3 % of the truth" awk -v pipe="$1" -v update="$2" -v percent="$3" '
		$1 == pipe && $2 == update {
			found = $3 > 0 && $5 > 0
			away = $3 > $5 ? $3 - $5 : $5 - $3
			print "# " $0
		}
		END { exit !(found && away <= $5 * percent / 100 && away <= 3 * $4) }
	' <<< "$(grep "^$1 $2 " <<< "$output")"
}

reason() {
	is "$kernel: $1 $2 has none" "$(sed -n "s/^$1 $2 - //p" <<< "$output")" "$3"
}

# shellcheck disable=SC2016 # of awk
in_time() {
	ok "$kernel: it takes no longer than asked for and a tick" awk '$1 == "wall" { n++; late = $2 > 1.3 }
		END { exit !(n == 1 && !late) }' <<< "$output"
}

nothing='This kernel makes none: there is nothing to measure.'
no_switch='Nothing switches it off on this kernel: there is no write without it to compare with.'

plan 19

kernel=6.12
measure $kernel
close anonymous atime 3
close fifo atime 3
reason anonymous cmtime "$no_switch"
reason fifo cmtime "$no_switch"
close anonymous read 3
close anonymous write 3
close fifo read 3
close fifo write 3
in_time

kernel=7.3
measure $kernel
reason anonymous atime "$nothing"
reason anonymous cmtime "$nothing"
close fifo atime 3
close fifo cmtime 3
close anonymous read 3
close anonymous write 3
close fifo read 3
in_time

done_testing
