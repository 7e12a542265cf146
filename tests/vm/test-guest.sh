#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The guests themselves: that output and status come through unchanged, and that a guest which dies
# is neither taken for a success nor started again once it has run anything.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 143' TERM

guest() {
	"$here/guest" "$@" > "$work/out" 2> "$work/err"
	status=$?
}

outcome() {
	printf '%s, status %s' "$(paste -sd ' ' "$work/out")" "$status"
}

# fake_qemu [GUEST-OPTION]...: a QEMU that does what it is told, and counts how often it is started.
fake_qemu() {
	{
		echo '#!/bin/sh'
		echo "echo >> $work/starts"
		cat
	} > "$work/qemu"
	chmod +x "$work/qemu"
	: > "$work/starts"
	PIPEWATCH_QEMU=$work/qemu guest -k 6.1 "$@" -- true
	starts=$(wc -l < "$work/starts")
}

plan 22

mkdir -p "$work/dir/sub"
cp /usr/bin/curl "$work/dir/program"
echo deep > "$work/dir/sub/file"
# shellcheck disable=SC2016 # the guest's own variables
guest -k 6.1 -n 2 -f "$work/dir" -f "$work/dir/." -a marker=7 \
	-c 'echo first; exit 3' -c 'echo to stderr >&2; exit 4' -c 'printf unended' \
	-- 'nproc; pwd; grep -o marker=7 /proc/cmdline; cat dir/sub/file sub/file;
	./program --version > /dev/null && echo runs; seq 1 20000 | md5sum
	for fs in /sys/fs/cgroup /sys/fs/bpf /sys/kernel/tracing /sys/kernel/debug; do
		awk -v fs=$fs "\$2 == fs { print \$3 }" /proc/mounts
	done'
is "every command is run, with all its output; the first failure is the status" "$(outcome)" \
	"first to stderr unended2 /t marker=7 deep deep runs $(
		seq 1 20000 | md5sum) cgroup2 bpf tracefs debugfs, status 3"

guest -k 6.1 -i -n 2 -- 'nproc; date +%Y; exit 0'
is "counting instructions: one CPU, virtual time" "$(outcome)" "1 2025, status 0"

guest -k 6.1 -- 'echo before; sleep 1; echo c > /proc/sysrq-trigger; sleep 9'
is "a panic under the command is a death" "$(outcome)" "before, status 126"
is "its console is shown" "$(grep -c 'Kernel panic - not syncing: sysrq' "$work/err")" 1
is "it is not tried again" "$(grep -c again "$work/err")" 0

guest -k 6.1 -S -n 2 -t 280 -f "$work/dir" -- 'systemctl is-system-running --wait; pwd; cat dir/sub/file;
	runuser -u user -- id -un; systemctl is-active multi-user.target; exit 5'
is "with systemd" "$(outcome)" "running /t deep user active, status 5"

fake_qemu <<< 'exit 1'
is "a guest that never starts is tried three times" "$starts, $(outcome)" "3, , status 126"
fake_qemu <<< 'echo @@GUEST-START@@; echo once; exit 1'
is "one that started is tried once" "$starts, $(outcome)" "1, once, status 126"
fake_qemu << END
[ \$(wc -l < $work/starts) = 1 ] || printf '@@GUEST-START@@\nfine\n@@GUEST-STATUS=0@@\n'
END
is "one that starts at the second try is good" "$starts, $(outcome)" "2, fine, status 0"
is "and the first try is told" "$(grep -c 'died before the command started, again' "$work/err")" 1
fake_qemu <<< 'printf "boot\n@@GUEST-START@@\nx\n@@GUEST-STATUS=12@@\n@@GUEST-STATUS=0@@y\n"'
is "a mark within a line is output" "$starts, $(outcome)" "1, x @@GUEST-STATUS=0@@y, status 12"

fake_qemu -t 5 <<< 'printf "@@GUEST-START@@\nbefore\n"; exec sleep 100'
is "a timeout keeps the output" "$starts, $(outcome)" "1, before, status 124"
is "and is named" "$(grep -c 'guest: timeout after 5 s' "$work/err")" 1

for arguments in "" "-k 6.1" "-- true" "-k 0.1 -- true" "-k 6.1 -n none -- true" \
	"-k 6.1 -t 0 -- true" "-k 6.1 -f /nonexistent -- true" "-k 6.1 -x -- true" "-k"; do
	# shellcheck disable=SC2086 # several words
	guest $arguments
	is "wrong usage: guest $arguments" "$(outcome), $(grep -c . "$work/err" | sed 's/[1-9].*/told/')" \
		", status 125, told"
done

done_testing
