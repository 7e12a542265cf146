# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# show.sh native|systemd DIRECTORY: the demonstration itself, on this machine in the present
# directory, or in a guest with systemd. DIRECTORY has the workload.

mode=$1
files=$2
failures=0
lines=20000

title() {
	printf '\n== %s ==\n' "$1"
}

# Says what is run, and runs it.
run() {
	printf '$ %s\n' "$*"
	"$@"
}

# expect WHAT WANTED GOT
expect() {
	if [ "$2" = "$3" ]; then
		echo "$1: $2 expected, $3 counted."
	else
		echo "$1: $2 expected, but ${3:-nothing} counted. THIS IS WRONG."
		failures=$((failures + 1))
	fi
}

# patiently COMMAND [ARG]...: until it succeeds
patiently() {
	tries=0
	until "$@" > /dev/null 2>&1; do
		tries=$((tries + 1))
		if [ $tries -gt 600 ]; then
			echo "Still not there after a minute: $*. THIS IS WRONG."
			exit 1
		fi
		sleep 0.1
	done
}

# What is started here, and how it is asked, in either mode: start, workload, ctl ARGUMENT..., $http.

if [ "$mode" = systemd ]; then
	http=http://127.0.0.1:10057
	output=/run/demo
	mkdir $output
	tar -C / --no-overwrite-dir -xf stage.tar
	systemd-sysusers 2> /dev/null
	systemctl daemon-reload
	busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus ReloadConfig

	start() {
		printf '[Measurement]\nMode=exact\n' > /etc/pipewatch/pipewatch.conf.d/demo.conf
		run systemctl start pipewatchd || exit
		run systemctl --no-pager status pipewatchd |
			sed -n '/^\$/p; s/^ *\(Active\|Status\|Tasks\|Memory\): /   \1: /p'
	}

	# Each stays for a while, as services do, so that it can be looked at.
	workload() {
		systemd-run -q --unit="$1" sh -c "cd $output && $2; touch done.$1; exec sleep 600" || exit
	}

	ctl() {
		pipewatchctl "$@"
	}
else
	# Any free port, and a bus that nobody else is on.
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	http=http://127.0.0.1:$port
	output=$PWD
	address=unix:path=$PWD/bus
	# shellcheck source=tests/bus-config.sh
	. "$files/../bus-config.sh"
	bus_config "$address" > bus.conf
	children=
	# shellcheck disable=SC2317,SC2086 # called by the trap; several words
	cleanup() {
		kill $children 2> /dev/null
		wait
	}
	trap cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	dbus-daemon --nofork --config-file=bus.conf 2> bus.log &
	children="$children $!"

	start() {
		echo "\$ pipewatchd --config=/dev/null --mode=exact --bus=$address --listen=127.0.0.1:$port &"
		pipewatchd --config=/dev/null --mode=exact --bus="$address" --listen="127.0.0.1:$port" \
			2> pipewatchd.log &
		children="$children $!"
		patiently curl -fs "$http/-/ready"
		patiently ctl status
		cat pipewatchd.log
	}

	workload() {
		sh -c "$2; touch done.$1; exec sleep 600" &
		children="$children $!"
	}

	ctl() {
		pipewatchctl --bus="$address" "$@"
	}
fi

echo
echo "Before Linux 6.15, every read from a pipe updates its access time and every write its modification"
echo "time, though nobody looks at them. Does this kernel do so, who makes it do so, and what does it cost?"

title "Does this kernel pay?"
run pipewatchd --check || failures=$((failures + 1))

title "Starting to count"
echo "Mode exact counts every operation at any cost. The default mode keeps to a budget, which an emulated"
echo "machine soon exceeds."
start

title "Running two things that use pipes"
echo "\$ seq $lines | log-filter | wc -l       # a shell script that reads line by line"
echo "\$ make -j8 -f jobs.mk                  # 240 tiny jobs; make's jobserver is a pipe"
workload log-pipeline "seq $lines | $files/log-filter | wc -l > lines"
workload build "mkdir built && make -s -j8 -f $files/jobs.mk DIRECTORY=$output/built > make.log 2>&1"
patiently test -e "$output/done.log-pipeline"
patiently test -e "$output/done.build"
[ "$(cat "$output/lines")" -eq $lines ] || failures=$((failures + 1))
[ "$(find "$output/built" -type f | wc -l)" = 240 ] || failures=$((failures + 1))

# ask ARGUMENT...: of pipewatchctl
ask() {
	echo "\$ pipewatchctl $*"
	# Not to the terminal: there it would say no more than fits.
	ctl "$@" > said || {
		echo "THIS IS WRONG."
		failures=$((failures + 1))
	}
	cat said
}

title "Who pays?"
ask list --limit 8

# Whether what updates of KIND on anonymous pipes cost is still to be measured.
cost_missing() {
	curl -sS "$http/metrics" > metrics
	grep -q "^pipewatch_kernel_path{pipe=\"anonymous\",kind=\"$1\",state=\"paid\"} 1" metrics &&
		! grep -q "^pipewatch_metadata_unit_cost_seconds{kind=\"$1\",pipe=\"anonymous\"" metrics
}

# To find out what a write's update costs there takes a burst.
if cost_missing cmtime; then
	title "What does an update cost?"
	echo "The first burst, which times the kernel's functions, comes a minute after the start: waiting ..."
	read -r uptime rest < /proc/uptime
	end=$((${uptime%.*} + 100))
	while cost_missing cmtime; do
		read -r uptime rest < /proc/uptime
		if [ "${uptime%.*}" -ge $end ]; then
			echo "It has not come yet: this machine is busy. What follows is without the cost of writes."
			break
		fi
		sleep 1
	done
fi

title "Does it matter?"
[ "$mode" != systemd ] ||
	echo "This machine is emulated, which makes it many times slower than a real one, and pipewatchd with it."
ask status

title "What would help?"
ask remedies --limit 4

title "The same for Prometheus (excerpt)"
echo "\$ curl $http/metrics"
curl -sS "$http/metrics" > metrics || failures=$((failures + 1))
grep -E -e '^pipewatch_(pipe_reads|pipe_writes|metadata_cpu_seconds)_total.*comm="(make|log-filter)",pipe="anon' \
	-e '^pipewatch_(lost|kernel_path.*anon.*[ac].?m?time)' metrics

title "Are these counts right?"
bytes=$(seq $lines | wc -c)
echo "seq printed $bytes bytes, which log-filter read one at a time, and it wrote $lines lines."
expect "Reads by log-filter" "$bytes" "$(awk '/^pipewatch_pipe_reads_total.*comm="log-filter"/ {
	n += $NF } END { print n }' metrics)"
expect "Writes by log-filter" $lines "$(awk '/^pipewatch_pipe_writes_total.*comm="log-filter"/ { n += $NF } END { print n }' metrics)"

exit $((failures > 0))
