#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# All unit tests, the client, and storms of clients on a daemon once more, with everything built for
# the address and undefined-behaviour sanitizers: no access out of bounds, no leak, no overflow. A result is a test program.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
cd "$here/../.." || exit 1

build=${BUILD:-build}/sanitized
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A report is a failure, whatever the test makes of its exit status.
export ASAN_OPTIONS=exitcode=99:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1
export CMOCKA_MESSAGE_OUTPUT=TAP

tests=(tests/unit/test-*.c tests/ctl/test-*.c)
plan $((${#tests[@]} + 4))

make --no-print-directory -j"$(nproc)" BUILD="$build" LDFLAGS='' all check-unit \
	"$build/tests/ctl/service" \
	CFLAGS='-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all' \
	> "$work/out" 2>&1
result "builds" || tail -n 20 "$work/out" | sed 's/^/# /'

for file in "${tests[@]}"; do
	name=${file#tests/}
	name=${name#unit/}
	name=${name%.c}
	timeout -k 5 200 "$build/tests/$name" > "$work/out" 2>&1 < /dev/null
	result "$name" || grep -vE '^ok ' "$work/out" | head -n 40 | sed 's/^/# /'
done

for name in verbs top; do
	BUILD=$build timeout -k 5 200 "tests/ctl/$name.sh" > "$work/out" 2>&1 < /dev/null
	result "ctl/$name" || grep -vE '^ok ' "$work/out" | head -n 40 | sed 's/^/# /'
done
timeout -k 5 100 tests/faults/storm "$build/pipewatchd" 5 > "$work/out" 2>&1 < /dev/null
result "storms of HTTP and bus clients" || head -n 60 "$work/out" | sed 's/^/# /'

done_testing
