# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# guest.sh KERNEL PART...: runs in the guest, as root: unpacks the installation, makes it known, as a
# package would, and runs the parts. Each says in a line "Results: N" how many it has.

. ./tap.sh

kernel=$1
shift
dropins=/run/systemd/system/pipewatchd.service.d
settings=/etc/pipewatch/pipewatch.conf.d
http=http://127.0.0.1:10057

# What has been waited for in vain, and perhaps is in every run.
too_late() {
	echo "# too late: $*" >&2
	return 1
}

# within SECONDS COMMAND [ARG]...: until it succeeds; ten times as long on a machine that is slow or busy
within() {
	deadline=$(($(date +%s) + $1 * 10))
	shift
	until "$@" > /dev/null 2>&1; do
		[ "$(date +%s)" -lt $deadline ] || too_late "$@" || return
		sleep 0.2
	done
}

# The same, of a figure that changes: within_is SECONDS WANTED COMMAND [ARG]...
within_is() {
	deadline=$(($(date +%s) + $1 * 10))
	wanted=$2
	shift 2
	until [ "$("$@" 2> /dev/null)" = "$wanted" ]; do
		[ "$(date +%s)" -lt $deadline ] || too_late "$@" || return
		sleep 0.2
	done
}

property() {
	systemctl show -P "$1" pipewatchd.service
}

state() {
	echo "$(property ActiveState), $(property SubState)"
}

# Why and how often it ended: what systemd knows of the last run.
ending() {
	echo "$(property ActiveState), $(property Result), status $(property ExecMainStatus)," \
		"$(property NRestarts) restarts"
}

# What the present or the last run logged.
journal() {
	journalctl --sync
	journalctl -q -o cat "_SYSTEMD_INVOCATION_ID=$(property InvocationID)"
}

# What was logged about it, also by systemd, in this and in earlier runs.
journal_of_unit() {
	journalctl --sync
	journalctl -q -o cat -u pipewatchd
}

# An emulated machine takes many times longer to count: with the default budget not even the loads of
# a test would be counted exactly to the end.
ample_budget() {
	printf '[Measurement]\nBudget=100\n' | setting 10-budget
}

# as USER COMMAND [ARG]...
as() {
	as_user=$1
	shift
	runuser -u "$as_user" -- "$@"
}

scrape() {
	curl -sS --max-time 100 "$http/metrics"
}

# What is served, or how curl failed (7: refused).
answers() {
	curl -s --max-time 100 -o /dev/null -w '%{http_code}' "${1:-$http}/-/ready" || echo " curl $?"
}

# sample SERIES: its value among the samples on standard input; nothing where it is absent.
sample() {
	awk -v series="$1" 'index($0, series " ") == 1 { print substr($0, length(series) + 2) }'
}

# writes UNIT COMM: on anonymous pipes, as counted
writes() {
	scrape | sample "pipewatch_pipe_writes_total{unit=\"$1\",comm=\"$2\",pipe=\"anonymous\"}"
}

# Those that count, of all programs that there are, and those of either that the kernel has. It also has
# those that time, to be attached for a moment now and then, where the clock is good enough.
every_program="cgroup_made pipe_read_exit pipe_write_exit process_exec process_exit process_free process_move \
process_rename"
programs() {
	./bpftool prog list | sed -n 's/^[0-9]*: tracing  *name \([^ ]*\) .*/\1/p' | sort | paste -sd ' '
}

counting_programs() {
	programs | tr ' ' '\n' | grep -E '^(pipe|process|cgroup)_' | paste -sd ' '
}

# The bus name asked for without starting the service.
bus_state() {
	busctl --auto-start=no get-property org.pipewatch1 /org/pipewatch1 org.pipewatch1.Manager State
}

# exposed_at_most LIMIT: by systemd's rating of the service as it is configured
exposed_at_most() {
	exposure=$(systemd-analyze security --no-pager pipewatchd | sed -n 's/.*Overall exposure.*: \([0-9.]*\) .*/\1/p')
	ok "systemd-analyze security: exposure $exposure of at most $1" \
		awk -v e="$exposure" -v limit="$1" 'BEGIN { exit !(e > 0 && e <= limit) }'
}

# The capabilities of every thread of the daemon, all in a line where they are the same.
capabilities() {
	for task in "/proc/$(property MainPID)"/task/*; do
		sed -n 's/^Cap\(Inh\|Prm\|Eff\|Bnd\|Amb\):\t0*/\1=/p' "$task/status" | paste -sd ' '
	done | sort -u
}

dropin() {
	mkdir -p $dropins
	{
		echo "[Service]"
		cat
	} > "$dropins/$1.conf"
	systemctl daemon-reload
}

setting() {
	mkdir -p $settings
	cat > "$settings/$1.conf"
}

# Stopped, as installed, and with no memory of earlier starts. An emulated machine on a busy one may
# need longer than the unit gives it.
afresh() {
	systemctl stop pipewatchd.socket pipewatchd.service 2> /dev/null
	rm -rf "$dropins" "${settings:?}"/*
	echo TimeoutStartSec=300s | dropin slow
	systemctl reset-failed pipewatchd.service 2> /dev/null
}

total=0
for part; do
	results=$(sed -n 's/^# Results: //p' "$part.sh")
	total=$((total + results))
done
plan $total

tar -C / --no-overwrite-dir -xf stage.tar
systemd-sysusers > sysusers 2>&1
systemctl daemon-reload
busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus ReloadConfig

for part; do
	read -r begin _ < /proc/uptime
	afresh
	. "./$part.sh"
	read -r end _ < /proc/uptime
	echo "# $part: from $begin to $end s"
done
done_testing
