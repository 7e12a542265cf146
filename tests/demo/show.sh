# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# show.sh native|systemd DIRECTORY: the demonstration itself, on this machine in the present
# directory, or in a guest with systemd. DIRECTORY has the workload. Lines that begin with @ are
# for the program "render".

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
		echo "   $1: $2 expected, $3 counted."
	else
		echo "   $1: $2 expected, but ${3:-nothing} counted. THIS IS WRONG."
		failures=$((failures + 1))
	fi
}

# patiently COMMAND [ARG]...: until it succeeds
patiently() {
	tries=0
	until "$@" > /dev/null 2>&1; do
		tries=$((tries + 1))
		if [ $tries -gt 600 ]; then
			echo "Waited a minute for: $*. THIS IS WRONG."
			exit 1
		fi
		sleep 0.1
	done
}

# What is started here, and how it is asked, in either mode: start, workload, bus ARGUMENT..., $http.

if [ "$mode" = systemd ]; then
	http=http://127.0.0.1:10057
	output=/run/demo
	mkdir $output
	tar -C / --no-overwrite-dir -xf stage.tar
	systemd-sysusers 2> /dev/null
	systemctl daemon-reload
	busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus ReloadConfig

	start() {
		run systemctl start pipewatchd || exit
		run systemctl --no-pager status pipewatchd |
			sed -n '/^\$/p; s/^ *\(Active\|Status\|Tasks\|Memory\): /   \1: /p'
	}

	# Each stays for a while, as services do, so that it can be looked at.
	workload() {
		systemd-run -q --unit="$1" sh -c "cd $output && $2; touch done.$1; exec sleep 600" || exit
	}

	bus() {
		busctl "$@"
	}
else
	# Any free port, and a bus that nobody else is on.
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	http=http://127.0.0.1:$port
	output=$PWD
	address=unix:path=$PWD/bus
	cat > bus.conf <<- END
		<busconfig>
		  <listen>$address</listen>
		  <auth>EXTERNAL</auth>
		  <policy context="default">
		    <allow send_destination="*" eavesdrop="true"/>
		    <allow eavesdrop="true"/>
		    <allow own="*"/>
		  </policy>
		</busconfig>
	END
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
		echo "\$ pipewatchd --config=/dev/null --bus=$address --listen=127.0.0.1:$port &"
		pipewatchd --config=/dev/null --bus="$address" --listen="127.0.0.1:$port" 2> pipewatchd.log &
		children="$children $!"
		patiently curl -fs "$http/-/ready"
		patiently bus --auto-start=no status org.pipewatch1
		cat pipewatchd.log
	}

	workload() {
		sh -c "$2; touch done.$1; exec sleep 600" &
		children="$children $!"
	}

	bus() {
		busctl --address="$address" "$@"
	}
fi

echo
echo "Before Linux 6.15, every read of a pipe updates its access time and every write its modification"
echo "time, though nobody looks at them. Does this kernel, and who makes it do so?"

title "What this kernel does"
run pipewatchd --check || failures=1

title "Counting"
start

title "Two things that use pipes"
echo "\$ seq $lines | log-filter | wc -l       # a shell script that reads line by line"
echo "\$ make -j8 -f jobs.mk                  # 240 tiny jobs; make's jobserver is a pipe"
workload log-pipeline "seq $lines | $files/log-filter | wc -l > lines"
workload build "mkdir built && make -s -j8 -f $files/jobs.mk DIRECTORY=$output/built > make.log 2>&1"
patiently test -e "$output/done.log-pipeline"
patiently test -e "$output/done.build"
[ "$(cat "$output/lines")" -eq $lines ] || failures=1
[ "$(find "$output/built" -type f | wc -l)" = 240 ] || failures=1

title "Who it was: org.pipewatch1.Manager.ListProcesses on D-Bus, the first eight"
printf '@processes %s\n' "$(bus --json=short call org.pipewatch1 /org/pipewatch1 org.pipewatch1.Manager ListProcesses u 8)"
printf '@groups %s\n' "$(bus --json=short call org.pipewatch1 /org/pipewatch1 org.pipewatch1.Manager ListGroups u 100000)"

title "The same for Prometheus, some of it"
echo "\$ curl $http/metrics"
curl -sS "$http/metrics" > metrics || failures=1
grep -E -e '^pipewatch_(pipe_reads|pipe_writes|metadata_updates)_total.*comm="(make|log-filter)",pipe="anon' \
	-e '^pipewatch_(lost|kernel_path.*anon.*[ac].?m?time)' metrics
# Whatever there was for it to read, it read byte by byte.
expect "Reads by log-filter" "$(seq $lines | wc -c)" "$(awk '/^pipewatch_pipe_reads_total.*comm="log-filter"/ {
	n += $NF } END { print n }' metrics)"
expect "Its writes" $lines "$(awk '/^pipewatch_pipe_writes_total.*comm="log-filter"/ { n += $NF } END { print n }' metrics)"

title "The bus, for a first look"
echo "\$ busctl introspect org.pipewatch1 /org/pipewatch1 org.pipewatch1.Manager"
bus introspect org.pipewatch1 /org/pipewatch1 org.pipewatch1.Manager > introspected || failures=1
cut -c 1-100 introspected | sed 's/ *$//'

exit $((failures > 0))
