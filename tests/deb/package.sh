#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What "make deb" made: what it holds and how it was built; and that it comes out the same, byte by
# byte, in another place, without a network, and without anything of the kernel to look at.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
build=${BUILD:-$top/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 143' TERM
export LC_ALL=C

version=$(sed -n 's/^VERSION := //p' "$top/Makefile")
deb=$build/deb/pipewatch_${version}_$(dpkg --print-architecture).deb
[ -e "$deb" ] || {
	echo "Bail out! no package: make deb"
	exit 1
}
dpkg-deb -x "$deb" "$work/package"
daemon=$work/package/usr/sbin/pipewatchd

# quiet_make ARG...: as nobody's child.
quiet_make() {
	env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$top" --no-print-directory BUILD="$build" "$@" \
		> "$work/log" 2>&1 || cat "$work/log"
}

# files DIRECTORY: names of files, wherever units are, and compressed or not.
files() {
	(cd "$1" && find . -type f -printf '%P\n' | sed -E 's|^(usr/)?lib/systemd|lib/systemd|; s|\.gz$||' | sort)
}

# The packages of a field of debian/control, of its first paragraph, one a line.
field() {
	awk -v field="$1:" '/^$/ { exit } /^[^ #]/ { on = $1 == field } on' "$top/debian/control" |
		sed 's/^[A-Z][^:]*://' | tr ',' '\n' | sed -E 's/[(<].*//; s/ //g; /^$/d' | sort
}

plan 15

is "lintian has nothing to say" "$(lintian --allow-root "$build"/deb/*.changes 2>&1)" ""
is "it has the version of the Makefile" "$(dpkg-deb -f "$deb" Version)" "$version"
is "so has the daemon in it" "$("$daemon" --version | head -n 1)" "pipewatchd $version"
quiet_make install DESTDIR="$work/stage" PREFIX=/usr
is "it holds what is installed, and what Debian wants" "$(files "$work/package")" "$(
	(
		files "$work/stage" | grep -v '/LICENSE$'
		printf 'usr/share/doc/pipewatch/%s\n' changelog copyright
	) | sort
)"
is "the configuration is the administrator's" "$(dpkg-deb -I "$deb" conffiles)" /etc/pipewatch/pipewatch.conf
is "what building takes is what tests/packages says" "$(field Build-Depends |
	grep -vE '^(debhelper-compat|dh-sequence-.*|libcmocka-dev)$')" \
	"$(sed '1,/^# building$/d; /^$/,$d' "$top/tests/packages" | grep -vE '^(gcc|libc6-dev|make)$' | sort)"

# What the flags of dpkg-buildflags leave behind.
is "position-independent" "$(readelf -hW "$daemon" | awk '/Type:/ { print $2 }')" DYN
is "bound at the start" "$(readelf -dW "$daemon" | grep -oE '\<(BIND_)?NOW\>' | sort -u | paste -sd ' ')" "BIND_NOW NOW"
is "relocations read-only" "$(readelf -lW "$daemon" | grep -c GNU_RELRO)" 1
is "stack protected" "$(readelf --dyn-syms -W "$daemon" | grep -oE '__stack_chk_fail' | sort -u)" __stack_chk_fail
is "fortified" "$(readelf --dyn-syms -W "$daemon" | grep -o __snprintf_chk | sort -u)" __snprintf_chk

# A later day, another place and user's habits. Over /sys nothing of the kernel can be seen.
mkdir -p "$work/elsewhere"
# shellcheck disable=SC2016 # the inner shell's
unshare --map-root-user --mount --net env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u BUILD TZ=Asia/Tokyo LC_ALL=C.UTF-8 \
	DEB_BUILD_OPTIONS=nocheck sh -c 'mount -t tmpfs none /sys && ls /sys && cd "$1" && umask 077 &&
	dpkg-source -x "$2" tree > log 2>&1 && cd tree && dpkg-buildpackage -us -uc -b >> ../log 2>&1' \
	- "$work/elsewhere" "$build/deb/pipewatch_$version.dsc" > "$work/sys"
result "built from its source elsewhere, without a network" || tail -n 20 "$work/elsewhere/log" | sed 's/^/# /'
is "and without a kernel" "$(cat "$work/sys")" ""
is "the package is the same" "$(sha256sum < "$work/elsewhere/${deb##*/}")" "$(sha256sum < "$deb")"
is "so are the symbols for debugging" "$(sha256sum < "$work/elsewhere/pipewatch-dbgsym_${deb##*/pipewatch_}")" \
	"$(sha256sum < "$build/deb/pipewatch-dbgsym_${deb##*/pipewatch_}")"
done_testing
