#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What other readers of the source than the compilers have to say: nothing. Their checks that follow
# paths know neither the attribute that frees what leaves its scope nor uthash and utlist, and see
# leaks and NULL everywhere; the sanitizers look for these where the code runs.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
cd "$here/../.." || exit 1

build=${BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

plan 2

# shellcheck disable=SC2046 # words
# memleak, resourceLeak: the attribute. uninitvar: the macros of utlist. unknownMacro: those of libbpf.
nice cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance,portability -j "$(nproc)" \
	--suppress=memleak --suppress=resourceLeak --suppress=uninitvar --suppress=unknownMacro \
	--suppress="*:$build/*" -D_GNU_SOURCE '-DPIPEWATCH_VERSION="0"' '-D_cleanup_(x)=' \
	-Iinclude $(find daemon -type d -printf "-I%p ") -I"$build" daemon > "$work/out" 2>&1
result "cppcheck" || head -n 20 "$work/out" | sed 's/^/# /'

# Without those that want another style than ours: arguments of one type side by side, conversions that are
# meant, names with underscores, strcmp() as a condition, sizes of pointers to be sorted, products of
# small constants as sizes.
checks='-*,bugprone-*,-bugprone-easily-swappable-parameters,-bugprone-narrowing-conversions'
checks+=',-bugprone-reserved-identifier,-bugprone-suspicious-string-compare,-bugprone-sizeof-expression'
checks+=',-bugprone-implicit-widening-of-multiplication-result'
find daemon -name '*.c' | nice xargs -P "$(nproc)" -n 8 sh -c '
	checks=$1 build=$2 flags=$3
	shift 3
	clang-tidy --quiet --warnings-as-errors="*" --checks="$checks" "$@" -- -std=gnu11 -D_GNU_SOURCE \
		-DPIPEWATCH_VERSION=\"0\" -Iinclude -iquote "$build" $flags
	' sh "$checks" "$build" "$(find daemon -type d -printf "-iquote %p ") $(pkg-config --cflags libbpf libsystemd libmicrohttpd json-c)" > "$work/out" 2>&1
result "clang-tidy" || grep -E 'error:' "$work/out" | head -n 20 | sed 's/^/# /'

done_testing
