#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# rules.sh [RULE]...: what the parts of this tree may know of each other, and what files look like.
# Each rule is one result; all of them without arguments. Objects are looked for in BUILD.
# ROOT is another tree to be judged: test-rules.sh breaks each rule in one.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
cd "${ROOT:-$here/../..}" || exit 1
export LC_ALL=C.UTF-8

: "${CC:=gcc}" "${BUILD:=build}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ---- what there is to judge ----

# Everything that is or may be committed.
git ls-files -co --exclude-standard > "$work/all" 2> /dev/null ||
	find . -type f -not -path './.*' -not -path './build/*' | sed 's|^\./||' > "$work/all"
while IFS= read -r file; do
	[ ! -f "$file" ] || echo "$file"
done < "$work/all" | sort > "$work/files"

c_files() {
	grep -E '\.[ch]$' "$work/files"
}

# Everything but what is not ours to write, or to be compared byte by byte.
own_files() {
	grep -vE '^LICENSE$|/golden/|/corpus/|^README\.md$' "$work/files"
}

scripts() {
	while IFS= read -r file; do
		case $file in
		*.sh) echo "$file" ;;
		*.*) ;;
		*) head -n 1 "$file" | grep -aqE '^#! ?/.*\<(ba)?sh$' && echo "$file" ;;
		esac
	done < "$work/files"
}

compile_flags() {
	echo -std=gnu11 -D_GNU_SOURCE -DPIPEWATCH_VERSION='"0"' -Iinclude -iquote ctl -iquote "$work"
	find daemon -type d -printf '-iquote %p '
	pkg-config --cflags libsystemd libmicrohttpd libbpf json-c smartcols
}

# Lines "SOURCE HEADER" for every header that a source file of the daemon comes to include, however
# indirectly; ours by base name, others by path. A header that is generated may be absent, and goes
# by its base name wherever it was built.
includes() {
	[ -s "$work/includes" ] || find daemon -name '*.c' | while IFS= read -r file; do
		# shellcheck disable=SC2046 # words
		"$CC" $(compile_flags) -M -MG "$file" 2>&1 | tr -d '\\' | tr -s ' ' '\n' |
			sed -nE "s|^daemon/(.*/)?||; s|^.*/([^/]*\.skel\.h)$|\1|
				s|^(.*\.h)$|${file##*/} \1|p"
	done > "$work/includes"
	cat "$work/includes"
}

# only HEADER-PATTERN SOURCE-PATTERN: sources that come to include what only others may.
only() {
	includes | grep -E " $1\$" | grep -vE "^($2) "
}

# names PATTERN FILE-PATTERN: lines of the daemon that hold what only some files may.
names() {
	grep -rnE "$1" daemon | grep -vE "^daemon/([a-z]+/)?($2):"
}

# ---- who may know whom ----

# rule NAME TITLE: the function rule_NAME prints violations.
rules=()
titles=()
rule() {
	rules+=("$1")
	titles+=("$2")
}

# Lines "OBJECT OWNER": the skeleton of each bpf/OBJECT.bpf.c has one source file that loads it.
owners='pipewatch tracer
burst burst-pairs
sampler sampler'

rule skeletons "each skeleton is included by its owner alone"
rule_skeletons() {
	local object owner
	while read -r object owner; do
		only "$object\.skel\.h" "$owner\.c"
	done <<< "$owners"
	includes | grep -E '\.skel\.h$' |
		grep -vE " ($(sed 's/ .*//' <<< "$owners" | paste -s -d '|'))\.skel\.h\$"
}

rule maps "maps are read and changed by the collector, and by the owners of their own"
rule_maps() {
	names '\<bpf_map_[a-z]+[a-z_]*\(' 'collector\.c|burst-pairs\.c|sampler\.c'
}

# With those that are handed what the owner has read: the collector, and the sums of bursts.
rule wire "the memory shared with a program is known to its owner and to who sums it up"
rule_wire() {
	only '.*/wire\.h' 'tracer\.c|collector\.c|delta\.c'
	only '.*/burst-wire\.h' 'burst\.c|burst-pairs\.c|burst-sum\.c'
	only '.*/sampler-wire\.h' 'sampler\.c'
	c_files | grep -vE '^(bpf|daemon|tests/bench|tests/fuzz)/|^tests/unit/slots\.h$' | xargs grep -nE '^#include.*wire\.h'
}

rule bpf "libbpf is used where the kernel is spoken to"
rule_bpf() {
	only '/.*/bpf/[^ ]*' 'tracer\.c|collector\.c|burst-pairs\.c|sampler\.c|kernel\.c|map-memory\.c|symbols\.c|run-time\.c|service\.c|options\.c'
}

publishers='bus[a-z-]*\.c|http[a-z-]*\.c|body\.c|page\.c|exposition[a-z-]*\.c|metric\.c|describe\.c|accept\.c'

rule publishers "publishers know the snapshot, not where it comes from"
rule_publishers() {
	includes | grep -E "^($publishers) " |
		grep -E ' ((collector|tracer|accounts|cgroups|process|service|verdict|ab|burst[a-z-]*|sampler|sampling|watchers|estimate|calibration)\.h|.*/bpf/.*)$'
}

rule service "the service knows no publisher, and only main knows the service"
rule_service() {
	includes | grep -E '^(service|collector|accounts)\.c ' |
		grep -E ' (bus[a-z-]*|http[a-z-]*|body|page|exposition|metric|describe)\.h$'
	only 'service\.h' 'service\.c|main\.c'
}

rule arrows "the layers below the service are known to it alone"
rule_arrows() {
	only 'collector\.h' 'collector\.c|counting\.c'
	only 'tracer\.h' 'tracer\.c|collector\.c|counting\.c'
	only 'accounts-books\.h' 'accounts(-[a-z]+)?\.c'
	# What was sampled is booked as what was counted is.
	only 'accounts\.h' 'accounts(-[a-z]+)?\.c|lifetime\.c|collector\.c|counting\.c|sampling\.c|measurement[a-z-]*\.[ch]'
	only 'cgroups\.h' 'cgroups\.c|collector\.c|counting\.c|sampling\.c|measurement[a-z-]*\.[ch]'
	only 'counting\.h' 'counting\.c|measurement[a-z-]*\.[ch]'
	only 'lifetime\.h' 'lifetime\.c|measurement[a-z-]*\.[ch]'
	only 'sampler\.h' 'sampler\.c|sampling\.c'
	only 'sampling\.h' 'sampling\.c|measurement[a-z-]*\.[ch]'
	only 'watchers\.h' 'watchers\.c|measurement[a-z-]*\.[ch]'
	only 'calibration\.h' 'calibration\.c|measurement[a-z-]*\.[ch]'
	only 'governor\.h' 'governor\.c|measurement[a-z-]*\.[ch]'
	only 'observer\.h' 'observer\.c|measurement[a-z-]*\.[ch]'
	only 'measurement\.h' 'measurement[a-z-]*\.[ch]|service\.c'
	only 'measurement-parts\.h' 'measurement[a-z-]*\.[ch]'
	only 'burst-pairs\.h' 'burst-pairs\.c|burst\.c'
}

rule pure "the model needs neither libbpf nor systemd nor HTTP"
rule_pure() {
	includes | grep -E '^(snapshot|name|pipe|exposition[a-z-]*|metric|accept|page|config[a-z-]*|dropin|accounts(-[a-z]+)?|sparse-sizes|process|cgroups|bus-states|verdict|trial|log|cost|estimate|ab|rounds|own-pipe|histogram|burst-sum|kallsyms|calibration|sampling|governor|observer|cpu-time|watchers|extrapolation)\.c ' |
		grep -E ' .*/(bpf|systemd)/| .*microhttpd\.h'
}

rule libraries "each library has one place"
rule_libraries() {
	only '.*/microhttpd\.h' 'http[a-z-]*\.c'
	only '.*/sd-bus\.h' 'bus[a-z-]*\.c'
	only '.*/sd-event\.h' 'bus[a-z-]*\.c|http\.c|http-linger\.c|main\.c'
	only '.*/sd-daemon\.h' 'main\.c'
	only '.*/ini\.h' 'config-file\.c'
	only '.*/json\.h' 'describe\.c'
	only '.*/zlib\.h' 'body\.c'
	only '.*/argp\.h' 'options\.c'
	only '.*/cap-ng\.h' 'privilege\.c|permission-facts\.c|sampler-denial\.c'
}

# Lines "SOURCE HEADER" for what each source of the client comes to include.
client_includes() {
	local file
	for file in ctl/*.c; do
		# shellcheck disable=SC2046 # words
		"$CC" $(compile_flags) -iquote . -M -MG "$file" 2>&1 | tr -d '\\' | tr -s ' ' '\n' |
			sed -nE "s|^(.*\.h)\$|${file#ctl/} \1|p"
	done
}

rule client "the client shares names and helpers with the daemon, nothing else, and each of its libraries has its place"
rule_client() {
	client_includes > "$work/client"
	grep -E ' (daemon/|bpf/|.*/bpf/|.*\.skel\.h|include/pipewatch/)' "$work/client" |
		grep -vE ' include/pipewatch/(api|clock|number|util)\.h$'
	grep -E ' .*/sd-bus\.h$' "$work/client" | grep -v '^client\.c '
	grep -E ' .*/libsmartcols\.h$' "$work/client" | grep -v '^table\.c '
	grep -E ' .*/argp\.h$' "$work/client" | grep -v '^options\.c '
	grep -E ' .*/termios\.h$' "$work/client" | grep -v '^screen\.c '
	# What goes to the terminal goes by way of what makes it harmless.
	grep -nE '\<(fprintf\(stderr|perror\(|fputs\([^;]*, stderr)' ctl/*.c | grep -v '^ctl/main\.c:'
	[ -s "$work/client" ] || echo "no client"
}

rule cycles "no two headers include each other, by however many steps"
rule_cycles() {
	# What is in no circle is put into order.
	local part
	for part in ctl daemon; do
		grep -roE --include='*.h' '^#include "[^"]+"' "$part" |
			sed -E 's|^.*/([^/:]+):#include "(.*)"$|\1 \2|' | tsort 2>&1 | grep '^tsort:'
	done
}

rule stderr "modules return errors; main and the command line talk of them"
rule_stderr() {
	only 'log\.h' 'main\.c|log\.c'
	names '\<(fprintf\(stderr|perror\(|[^.]v?syslog\([A-Za-z]|sd_journal_[a-z]+\()' 'log\.c|options\.c|service\.c|main\.c'
}

rule globals "no object has writable data of its own"
rule_globals() {
	local object=''
	while IFS= read -r object; do
		objdump -t "$object" 2>&1 |
			grep -E "[[:space:]](\.(t?data|t?bss)|\.data\.rel(\.local)?|\*COM\*)(\.[^[:space:]]*)?[[:space:]]" |
			grep -vE '[[:space:]]d[[:space:]]|\.data\.rel\.ro' |
			sed "s|^|${object##*/}: |"
	done < <(find "$BUILD/ctl" "$BUILD/daemon" -name '*.o' 2> /dev/null)
	find "$BUILD/daemon" -name '*.o' | grep -q . || echo "no objects in $BUILD"
}

# A/B must have the lowest priority, and not make the rest wait where the CPU is wanted by others:
# its loops have a thread that shares their rounds with nobody, and is left behind when it is late.
rule threads "one thread, but for the loops of A/B and for what waits for the kernel"
rule_threads() {
	names '\<(pthread_|thrd_)' 'rounds\.c|detachment\.[ch]|burst-loading\.c'
	names '\<(_Thread_local|__thread|sd_bus_default|MHD_USE_[A-Z_]*THREAD)' none
}

rule versions "what a kernel does is found out, not looked up by its version"
rule_versions() {
	grep -rnE '\<(LINUX_)?KERNEL_VERSION|LINUX_VERSION_CODE' bpf daemon
}

rule kernels "what kernels differ in is in one file of the programs"
rule_kernels() {
	grep -nE '\<bpf_core_[a-z_]+_exists\(|[0-9a-f]{12} \("' bpf/* | grep -v '^bpf/kernel\.bpf\.h:'
}

rule generated "nothing that is generated is kept"
rule_generated() {
	grep -E '(\.skel\.h|vmlinux\.h|\.o|\.a|\.d|\.pyc)$' "$work/files"
}

# ---- what files look like ----

rule licence "every file says its licence, in the first line if it can"
rule_licence() {
	local file first want licence='(GPL-2\.0-or-later|\(GPL-2\.0-or-later OR BSD-2-Clause\))'
	while IFS= read -r file; do
		first=$(grep -avE -m 1 '^(#!|<\?xml|# shellcheck shell=)' "$file")
		case $file in
		*.c) want='^// SPDX-License-Identifier: '$licence'$' ;;
		*.h) want='^/\* SPDX-License-Identifier: '$licence' \*/$' ;;
		man/*) want='^\.\\" SPDX-License-Identifier: '$licence'$' ;;
		debian/changelog | debian/copyright | debian/source/format | */.gitignore) continue ;;
		*.xml | .*ignore | .clang-format | tests/packages | tests/suites | *.md | *.csv) continue ;;
		*) want='^(#|<!--) SPDX-License-Identifier: '$licence'( -->)?$' ;;
		esac
		echo "$first" | grep -qE "$want" || echo "$file: $first"
	done < <(own_files)
}

rule length "no file is longer than 600 lines"
rule_length() {
	own_files | while IFS= read -r file; do
		wc -l "$file"
	done | awk '$1 > 600'
}

# clang-format itself puts backslashes beyond.
rule width "no line of C is wider than 100 columns, unless it holds a string"
rule_width() {
	c_files | while IFS= read -r file; do
		expand "$file" | grep -nE '^.{101,}' | grep -vE '"|\\$' | sed "s|^|$file:|"
	done
}

rule format "clang-format has nothing to change"
rule_format() {
	c_files | xargs clang-format --dry-run 2>&1 | grep -E 'warning|error'
}

rule headers "every header can be included alone"
rule_headers() {
	local file
	while IFS= read -r file; do
		if [[ $file = bpf/* ]]; then
			set -- clang -target bpf -std=gnu11 -Wall -Wextra -D__TARGET_ARCH_x86 -Iinclude -Ibpf \
				-idirafter "/usr/include/$(uname -m)-linux-gnu" -Wno-unused-function
		else
			# shellcheck disable=SC2046 # words
			set -- "$CC" $(compile_flags) -Wall -Wextra -Wmissing-prototypes
		fi
		echo "#include \"$PWD/$file\"" |
			"$@" -Werror -fsyntax-only -x c - 2>&1 | grep -m 1 error
	done < <(grep -E '\.h$' "$work/files")
}

rule prototypes "what has no prototype is static: the compiler is asked to see to it"
rule_prototypes() {
	grep -qE '^WARNINGS := .*-Wall -Wextra -Werror -Wmissing-prototypes' Makefile ||
		echo "Makefile: WARNINGS"
}

rule scripts "shellcheck has no warning"
rule_scripts() {
	local file
	while IFS= read -r file; do
		# Parts of scripts share variables with the whole.
		if head -n 1 "$file" | grep -aq '^#!'; then
			shellcheck -x -P . -S warning -f gcc -e SC1090,SC1091 "$file"
		else
			shellcheck -x -P . -S warning -f gcc -e SC1090,SC1091,SC2034,SC2154 "$file"
		fi
	done < <(scripts) 2>&1
}

rule alone "the tree speaks of itself, not of machines and people who worked on it"
rule_alone() {
	local hosts='127\.0\.0\.1|localhost|www\.freedesktop\.org|prometheus\.io|example\.(org|com)|(www\.|docs\.|git\.)?kernel\.org|(www\.)?gnu\.org|www\.debian\.org|(www\.)?shellcheck\.net'
	own_files | grep -v '^tests/rules/' | xargs grep -nIE \
		'(^|[^[:alnum:]_./})*%-])/(work|home|srv)/|\<(sub)?agents?\>|\<colleagues?\>|\<TODO\>|\<FIXME\>|\<XXX\>'
	own_files | xargs grep -noIE 'https?://[[:alnum:]][[:alnum:].-]+' |
		grep -vE "://($hosts)\$"
}

# ---- run ----

needs() {
	case $1 in
	format) echo clang-format ;;
	scripts) echo shellcheck ;;
	globals) echo objdump ;;
	esac
}

judge() {
	local name=$1 title=$2 tool found
	tool=$(needs "$name")
	if [ -n "$tool" ] && ! command -v "$tool" > /dev/null; then
		skip "$name: $title" "$tool is not installed"
		return
	fi
	found=$("rule_$name" 2>&1)
	[ -z "$found" ]
	result "$name: $title" || echo "$found" | head -n 20 | sed 's/^/# /'
}

[ $# -gt 0 ] || set -- "${rules[@]}"
plan $#
wanted=" $* "
for i in "${!rules[@]}"; do
	case $wanted in
	*" ${rules[i]} "*) judge "${rules[i]}" "${titles[i]}" ;;
	esac
done
done_testing
