#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The test runner, fed with suites of every kind: what it adds up, and that nothing that goes wrong
# in a suite is taken for success.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/tap.sh
. "$here/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Whether a process ends within a moment; where nobody waits for it, it stays as a zombie.
gone() {
	local pid
	pid=$(< "$1")
	for _ in {1..50}; do
		grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$pid/status" || return 0
		sleep 0.1
	done
	return 1
}

# Makes a suite of what is on standard input.
suite() {
	{
		echo '#!/bin/bash'
		cat
	} > "$work/$1"
	chmod +x "$work/$1"
}

run() {
	(cd "$work" && "$here/run" "$@") > "$work/out" 2> "$work/err"
	status=$?
	closing=$(tail -n 1 "$work/out")
}

# sums NAME CLOSING STATUS ARGUMENT...: what a run adds up to.
sums() {
	local name=$1 wanted="$2, status $3"
	shift 3
	run "$@"
	is "$name" "$closing, status $status" "$wanted"
}

# shows NAME LINE: the last run printed exactly this line, once.
shows() {
	is "$1" "$(grep -cxF -- "$2" "$work/out")" 1
}

suite good <<< 'echo 1..2; echo ok 1 - one; echo ok 2 - two'
suite late-plan <<< 'echo ok 1 - one; printf 1..1'
suite bad <<< 'echo 1..2; echo ok 1 - one; echo not ok 2 - two; echo "# why"; echo noise >&2; exit 1'
suite lies <<< 'echo 1..1; echo not ok 1 - one; exit 0'
suite crashes <<< 'echo 1..2; echo ok 1 - one; echo ok 2 - two; kill -SEGV $$'
suite bad-crashes <<< 'echo 1..1; echo not ok 1 - one; kill -SEGV $$'
suite truncated <<< 'echo 1..3; echo ok 1 - one'
suite truncated-plan <<< 'echo 1..; echo ok 1 - one'
suite surplus <<< 'echo 1..1; echo ok 1 - one; echo ok 2 - two'
suite no-plan <<< 'echo ok 1 - one'
suite silent <<< ':'
suite nothing <<< 'echo 1..0'
suite two-plans <<< 'echo 1..1; echo ok 1 - one; echo 1..1'
suite disorder <<< 'echo 1..2; echo ok 2 - two; echo ok 1 - one'
suite bails <<< 'echo 1..2; echo ok 1 - one; echo "Bail out! no network"; exit 1'
suite status <<< 'echo 1..1; echo ok 1 - one; exit 3'
suite hangs <<< 'echo 1..2; echo ok 1 - one; sleep 1000 & echo $! > child; wait'
suite deaf <<< 'trap "" TERM; echo 1..1; echo ok 1 - one; while :; do sleep 0.1; done'
suite leaves <<< 'echo 1..1; echo ok 1 - one; sleep 1000 & echo $! > child'
suite skips <<< 'echo 1..2; echo ok 1 - one; echo "ok 2 - two # SKIP no reason"'
suite cmocka-skips <<< 'echo 1..1; echo "not ok 1 # SKIP one"'
suite skips-all <<< 'echo "1..0 # SKIP not here"'
suite skips-all-dies <<< 'echo "1..0 # SKIP not here"; exit 1'
# shellcheck disable=SC2016 # these are the suite's own
suite arguments <<< 'echo 1..1; echo "ok 1 - $# $2"'
# shellcheck disable=SC2016
suite meets <<< 'touch $1; for i in {1..100}; do [ -e $2 ] && break; sleep 0.1; done
	echo 1..2; echo "ok 1 - $1 first"; sleep 0.3; [ -e $2 ] || printf "not "; echo "ok 2 - $1 second"'

plan 48

sums "a good suite" "2 passed, 0 failed" 0 ./good
is "its heading has a time" "$(head -n 1 "$work/out" | sed 's/[0-9]/N/g')" "./good (N.N s)"
shows "its results have a line each" "  ok    two"
is "and nothing else is shown" "$(wc -l < "$work/out")" 4
sums "a plan at the end, without a newline" "1 passed, 0 failed" 0 ./late-plan
sums "several suites" "3 passed, 0 failed" 0 ./good ./late-plan
sums "a failed test" "1 passed, 1 failed" 1 ./bad
shows "is named" "  FAIL  two"
shows "with what the test says about it" "        # why"
shows "and what it wrote on standard error" "        ! noise"
sums "a failed test of a suite that ends well" "0 passed, 1 failed" 1 ./lies
sums "a failure before a success" "3 passed, 1 failed" 1 ./bad ./good
shows "which is told once more at the end" "  ./bad: two"
is "with what the test says about it" "$(tail -n 3 "$work/out" | head -n 2)" "  ./bad: two
          # why"
sums "a crash after the last result" "2 passed, 1 failed" 1 ./crashes
shows "is called what it is" "  FAIL  the suite: killed by SIGSEGV"
sums "a crash besides a failed test" "0 passed, 2 failed" 1 ./bad-crashes
sums "fewer results than planned" "1 passed, 1 failed" 1 ./truncated
shows "are counted" "  FAIL  the suite: 1 of 3 planned results"
sums "half a plan" "1 passed, 1 failed" 1 ./truncated-plan
sums "more results than planned" "2 passed, 1 failed" 1 ./surplus
sums "no plan" "1 passed, 1 failed" 1 ./no-plan
sums "no output" "0 passed, 1 failed" 1 ./silent
sums "an empty plan" "0 passed, 1 failed" 1 ./nothing
sums "two plans" "1 passed, 1 failed" 1 ./two-plans
sums "results out of turn" "2 passed, 1 failed" 1 ./disorder
sums "bailing out" "1 passed, 1 failed" 1 ./bails
shows "gives the reason" \
	"  FAIL  the suite: exit status 1; bailed out: no network; 1 of 2 planned results"
sums "an exit status that no result explains" "1 passed, 1 failed" 1 ./status
shows "is shown" "  FAIL  the suite: exit status 3"
sums "a hanging suite" "1 passed, 1 failed" 1 -t 1 ./hangs
shows "ends at its limit" "  FAIL  the suite: took more than 1 s; 1 of 2 planned results"
ok "with its children" gone "$work/child"
sums "a suite's own limit" "3 passed, 1 failed" 1 "1 ./hangs" ./good
sums "one deaf to SIGTERM" "1 passed, 1 failed" 1 -t 1 ./deaf
sums "a suite that leaves a process" "1 passed, 0 failed" 0 ./leaves
ok "which is ended" gone "$work/child"
sums "a skipped test" "1 passed, 0 failed, 1 skipped" 0 ./skips
shows "gives the reason" "  skip  two - no reason"
sums "a skipped test of cmocka" "0 passed, 0 failed, 1 skipped" 0 ./cmocka-skips
sums "a skipped suite" "2 passed, 0 failed, 1 skipped" 0 ./skips-all ./good
sums "a skipped suite that fails" "0 passed, 1 failed, 1 skipped" 1 ./skips-all-dies
sums "a program that is not there" "2 passed, 1 failed" 1 ./absent ./good

printf '# comment\n\n  10  ./arguments a b\n./good\n' > "$work/table"
sums "a table" "3 passed, 0 failed" 0 -f table
shows "with arguments" "  ok    2 b"

sums "suites side by side" "4 passed, 0 failed" 0 -j 2 "./meets A B" "./meets B A"
is "are shown one after the other" "$(sed -n 's/^  ok    \(.\).*/\1/p' "$work/out" | uniq | wc -l)" 2

run
is "no suite at all is wrong usage" "$status,$(cat "$work/out")" "2,"

done_testing
