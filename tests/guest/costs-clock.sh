# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# With a clock that takes longer to read than what would be timed: nothing is timed by it, the reason is
# shown, and counting is exact as ever. For a guest with clocksource=acpi_pm.
. ./tap.sh
. ./daemon.sh

clocksources=/sys/devices/system/clocksource/clocksource0
published() {
	sed -n 's/^pipewatch_kernel_info{.*,clocksource="\([^"]*\)"} 1$/\1/p' $metrics
}

# The page says of FIFOs that nothing is timed by this clock.
refused() {
	wget -q -O /tmp/page $url/
	reason=$(tr -d '\n' < /tmp/page | sed 's/<tr>/\n/g' |
		sed -n 's|^<th>fifo</th><td>access time, on read</td>.*<td class="dim">\([^<]*acpi_pm[^<]*\)</td>.*|\1|p')
	[ -n "$reason" ]
}

# until_true COMMAND [ARG]...: until it succeeds, for five minutes at most
until_true() {
	tries=0
	until "$@" || [ $tries = 300 ]; do
		tries=$((tries + 1))
		sleep 1
	done
}

plan 10
is "the clock source" "$(cat $clocksources/current_clocksource)" acpi_pm
start_daemon
load -n 1000 -s 100 -c anonymous
load -n 1000 -s 100 -f -c fifo
# A burst would begin after a minute.
sleep 60
until_true refused
scrape
is "the clock source is published" "$(published)" acpi_pm
is "no stages" "$(grep '^pipewatch_metadata_unit_cost_seconds{' $metrics | grep -vc 'stage="whole"')" 0
is "own pipes are compared by many operations at a time" \
	"$(series pipewatch_metadata_unit_cost_seconds 'kind="atime",pipe="fifo",stage="whole"')" 1
is "by one estimator" "$(series pipewatch_metadata_unit_cost_agreement 'kind="atime",pipe="fifo",state="single"')" 1
counted "counts, anonymous" anonymous anonymous 1000 100000 1000 100000
counted "counts, fifo" fifo fifo 1000 100000 1000 100000
echo "# $reason"
ok "the page says why" [ -n "$reason" ]
other=$(tr ' ' '\n' < $clocksources/available_clocksource | grep -v -m 1 acpi_pm)
echo "$other" > $clocksources/current_clocksource
changed() {
	scrape && [ "$(published)" = "$other" ]
}
until_true changed
is "as is another one after a change" "$(published)" "$other"
stop_daemon
is "SIGTERM" "$daemon_status" 0
done_testing
