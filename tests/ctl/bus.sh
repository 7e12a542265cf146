# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# A private bus, and on it what stands in for pipewatchd. Source this after tests/tap.sh.

# shellcheck source=tests/bus-config.sh
. "$top/tests/bus-config.sh"

build=$(realpath "${BUILD:-$top/build}")
work=$(mktemp -d)
address=unix:path=$work/bus
answers=$work/answers
ctl=$build/pipewatchctl
bus_pid=
service_pid=
# Nothing that whoever runs the test likes or has.
unset NO_COLOR TMPDIR DBUS_SESSION_BUS_ADDRESS DBUS_SYSTEM_BUS_ADDRESS XDG_RUNTIME_DIR
export TERM=xterm LC_ALL=C.UTF-8
mkdir "$answers"
trap 'stop_service; stop_bus; rm -rf "$work"' EXIT

# within SECONDS COMMAND...: runs it until it succeeds
within() {
	local end=$(($(date +%s%N) + $1 * 1000000000))
	shift
	until "$@" > /dev/null 2>&1; do
		[ "$(date +%s%N)" -lt "$end" ] || return 1
		sleep 0.05
	done
}

# start_bus [POLICY-LINE]
start_bus() {
	bus_config "$address" "$1" > "$work/bus.conf"
	dbus-daemon --nofork --config-file="$work/bus.conf" 2>> "$work/bus.log" &
	bus_pid=$!
	within 5 test -S "$work/bus"
}

stop_bus() {
	[ -z "$bus_pid" ] || kill -KILL "$bus_pid" && wait "$bus_pid" 2> /dev/null
	bus_pid=
	rm -f "$work/bus"
}

has_name() {
	busctl --address="$address" --timeout=2 call org.freedesktop.DBus /org/freedesktop/DBus \
		org.freedesktop.DBus GetNameOwner s org.pipewatch1
}

start_service() {
	"$build/tests/ctl/service" "$address" "$answers" 2>> "$work/service.log" &
	service_pid=$!
	within 5 has_name
}

stop_service() {
	[ -z "$service_pid" ] || kill -KILL "$service_pid" && wait "$service_pid" 2> /dev/null
	service_pid=
}

# record NAME: what Describe() returns from now on; manner WORD...: how calls are met
record() {
	cp "$top/tests/ctl/golden/$1.json" "$answers/describe.json"
}

manner() {
	printf '%s' "$*" > "$answers/manner"
}
