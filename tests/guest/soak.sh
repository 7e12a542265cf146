# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# PIPEWATCH_MINUTES of churn and scrapes beside PIPEWATCH_LIVE processes that stay: at the end all is as
# it was at half time, and everything has been counted.
. ./tap.sh
. ./daemon.sh
. ./crowds.sh

minutes=${PIPEWATCH_MINUTES:-5}
live=${PIPEWATCH_LIVE:-10000}
short=500

plan 10
begin_limited --mode exact
for many in 1000 5000 $live; do
	if [ "$many" -le "$live" ]; then
		crowd $((many - ${made:-0})) 0 /tmp/live."$many" &
		crowds="${crowds-} $!"
		made=$many
		until_file /tmp/live."$many"
		scrape_cost
		sizes
		echo "# $many live: $resident KiB, a scrape takes $((spent / 1000)) us of CPU"
	fi
done

rounds=0
read -r begin _ < /proc/uptime
now=$begin
while [ $((${now%.*} - ${begin%.*})) -lt $((60 * minutes)) ]; do
	crowd 0 $short /tmp/short
	scrape
	rounds=$((rounds + 1))
	sizes
	# By then there are as many ended ones as are ever kept, and bursts are loaded.
	if [ -z "${half-}" ] && [ $((${now%.*} - ${begin%.*})) -ge $((30 * minutes)) ]; then
		half="$rounds rounds" resident_1=$resident descriptors_1=$descriptors
	fi
	[ $((rounds % 10)) != 1 ] || echo "# round $rounds, after $((${now%.*} - ${begin%.*})) s: $resident KiB"
	read -r now _ < /proc/uptime
done
cp $metrics /tmp/metrics.live

# shellcheck disable=SC2086 # words
kill $crowds
# shellcheck disable=SC2086
wait $crowds 2> /dev/null
tries=0
until scrape && grep -qxF 'pipewatch_map_entries{map="claims"} 0' $metrics || [ $tries = 100 ]; do
	tries=$((tries + 1))
	usleep 100000
done
all=$((live + rounds * short))

is "$all operations of $rounds rounds are counted" \
	"$(metrics=/tmp/metrics.live total pipewatch_pipe_writes_total)" $all
is "none is lost" "$(lost)" 0
is "none is without a name" "$(metric pipewatch_unattributed_operations_total)" 0
is "the live ones are tracked" "$(metrics=/tmp/metrics.live metric pipewatch_tracked_processes)" "$live"
ok "$resident KiB are resident, at most 16 MiB" [ "$resident" -le 16384 ]
ok "after $half it had $resident_1" [ "$resident" -le $((resident_1 + 256)) ]
is "no file is left open" "$descriptors" "$descriptors_1"
is "no claims are left" "$(claims)" 0
is "the limit of the unit was never met" "$(limits_hit)" 0
stop_daemon
is "the daemon ends well" "$daemon_status" 0
done_testing
