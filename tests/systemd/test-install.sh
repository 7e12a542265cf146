#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What "make install" puts where: modes, prefix, and what an administrator has changed.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
build=${BUILD:-$top/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

install_to() {
	local stage=$work/$1
	shift
	env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$top" --no-print-directory BUILD="$build" install \
		DESTDIR="$stage" "$@" > "$work/log" 2>&1 || cat "$work/log"
}

installed() {
	(cd "$work/$1" && find . -type f -printf '%m %P\n' | LC_ALL=C sort -k 2)
}

plan 8

umask 077
install_to usual
is "by default, whatever the umask" "$(installed usual)" "644 etc/pipewatch/pipewatch.conf
755 usr/bin/pipewatchctl
644 usr/lib/systemd/system/pipewatchd.service
644 usr/lib/systemd/system/pipewatchd.socket
644 usr/lib/sysusers.d/pipewatch.conf
755 usr/sbin/pipewatchd
644 usr/share/bash-completion/completions/pipewatchctl
644 usr/share/dbus-1/system-services/org.pipewatch1.service
644 usr/share/dbus-1/system.d/org.pipewatch1.conf
644 usr/share/doc/pipewatch/LICENSE
644 usr/share/doc/pipewatch/README.md
644 usr/share/man/man1/pipewatchctl.1
644 usr/share/man/man5/org.pipewatch1.5
644 usr/share/man/man5/pipewatch.conf.5
644 usr/share/man/man7/pipewatch-metrics.7
644 usr/share/man/man8/pipewatchd.8"
is "everybody may enter each directory" "$(find "$work/usual" -mindepth 1 -type d ! -perm 755)" ""
is "a place for drop-ins" "$(ls -d "$work/usual/etc/pipewatch/pipewatch.conf.d")" \
	"$work/usual/etc/pipewatch/pipewatch.conf.d"
is "the unit is that of the repository" "$(diff "$top/units/pipewatchd.service" \
	"$work/usual/usr/lib/systemd/system/pipewatchd.service")" ""

echo "# changed" > "$work/usual/etc/pipewatch/pipewatch.conf"
install_to usual
is "installed again: the configuration stays" "$(cat "$work/usual/etc/pipewatch/pipewatch.conf")" "# changed"

install_to local PREFIX=/usr/local
is "with a prefix" "$(installed local)" "644 etc/dbus-1/system.d/org.pipewatch1.conf
644 etc/pipewatch/pipewatch.conf
755 usr/local/bin/pipewatchctl
644 usr/local/lib/systemd/system/pipewatchd.service
644 usr/local/lib/systemd/system/pipewatchd.socket
644 usr/local/lib/sysusers.d/pipewatch.conf
755 usr/local/sbin/pipewatchd
644 usr/local/share/bash-completion/completions/pipewatchctl
644 usr/local/share/dbus-1/system-services/org.pipewatch1.service
644 usr/local/share/doc/pipewatch/LICENSE
644 usr/local/share/doc/pipewatch/README.md
644 usr/local/share/man/man1/pipewatchctl.1
644 usr/local/share/man/man5/org.pipewatch1.5
644 usr/local/share/man/man5/pipewatch.conf.5
644 usr/local/share/man/man7/pipewatch-metrics.7
644 usr/local/share/man/man8/pipewatchd.8"
is "the unit starts what was installed" "$(sed -n 's/^ExecStart=//p' \
	"$work/local/usr/local/lib/systemd/system/pipewatchd.service")" /usr/local/sbin/pipewatchd

install_to sbin SBINDIR=/opt/pipewatch
is "with a directory for the daemon" "$(stat -c %a "$work/sbin/opt/pipewatch/pipewatchd") $(sed -n \
	's/^ExecStart=//p' "$work/sbin/usr/lib/systemd/system/pipewatchd.service")" "755 /opt/pipewatch/pipewatchd"

done_testing
