# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# What services do is counted exactly, under their names: the sandbox leaves /proc and the control
# groups visible.
# Results: 9

# counts COMM PIPE: all series of that name and kind of pipe, as "unit reads writes bytes bytes".
counts() {
	scrape | sed -nE "s/^pipewatch_pipe_(.*)_total\{unit=\"(.*)\",comm=\"$1\",pipe=\"$2\"\} (.*)/\2 \1=\3/p" |
		paste -sd ' '
}

# reads UNIT COMM PIPE: by a load the last of its operations
reads() {
	scrape | sample "pipewatch_pipe_reads_total{unit=\"$1\",comm=\"$2\",pipe=\"$3\"}"
}

# updates UNIT COMM PIPE: "atime cmtime"
updates() {
	scrape > now
	for kind in atime cmtime; do
		sample "pipewatch_metadata_updates_total{unit=\"$1\",comm=\"$2\",pipe=\"$3\",kind=\"$kind\"}" < now
	done | paste -sd ' '
}

case $kernel in
5.* | 6.*) paid=1 ;;
*) paid= ;;
esac

ample_budget
systemctl start pipewatchd

systemd-run -q --unit=alive /t/load -n 1000 -s 100 -c lives -w
within_is 20 1000 reads alive.service lives anonymous
u=alive.service
is "a service" "$(counts lives anonymous)" \
	"$u reads=1000 $u writes=1000 $u read_bytes=100000 $u written_bytes=100000"
is "its metadata updates" "$(updates $u lives anonymous)" "${paid:+1000 1000}"

systemd-run -q --unit=other-user --uid=user /t/load -n 300 -s 7 -c theirs -f -w
within_is 20 300 reads other-user.service theirs fifo
u=other-user.service
is "another user's service, on FIFOs" "$(counts theirs fifo)" \
	"$u reads=300 $u writes=300 $u read_bytes=2100 $u written_bytes=2100"
is "their metadata updates, paid everywhere" "$(updates $u theirs fifo)" "300 300"

main=$(systemctl show -P MainPID alive)
is "by process, on the bus" "$(busctl call org.pipewatch1 /org/pipewatch1 org.pipewatch1.Manager \
	GetProcess u "$main" | sed 's/^([a-z{}]*) \([0-9]*\) [0-9]* \(.*\) [0-9]* "Exited".*/\1 \2/')" \
	"$main \"lives\" \"alive.service\" 1000 1000 100000 100000"

systemctl stop alive
within_is 10 inactive systemctl is-active alive
is "a service that has ended keeps its counts" "$(counts lives anonymous)" \
	"alive.service reads=1000 alive.service writes=1000 alive.service read_bytes=100000 \
alive.service written_bytes=100000"

# Its control group was gone before anybody looked, but not before its name was noted.
systemd-run -q --wait --unit=brief /t/load -n 2000 -s 50 -c brief
u=brief.service
is "a service over before anybody looked" "$(counts brief anonymous)" \
	"$u reads=2000 $u writes=2000 $u read_bytes=100000 $u written_bytes=100000"

systemd-run -q --wait --unit=brief-again /t/load -n 2000 -s 50 -c brief
is "and again" "$(scrape | awk '/^pipewatch_pipe_writes_total\{.*comm="brief"/ { n += $NF } END { print n }')" 4000
is "nothing was lost" "$(scrape | grep -E '^pipewatch_(lost|unattributed)' | paste -sd ' ')" \
	'pipewatch_lost_updates_total{reason="recursion"} 0 pipewatch_unattributed_operations_total 0'
systemctl stop other-user
