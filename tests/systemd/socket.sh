# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# With the socket unit the first scrape starts the service, which then needs no network.
# Results: 7

systemctl start pipewatchd.socket
is "the socket alone" "$(systemctl is-active pipewatchd.socket), $(state)" "active, inactive, dead"
is "a scrape is answered" "$(as user curl -sS --max-time 200 $http/metrics |
	sample 'pipewatch_state{state="running"}')" 1
is "by the service" "$(state)" "active, running"

afresh
# The drop-in that the socket unit recommends.
sed -n 's/^#   \(.*=.*\)/\1/p' /usr/lib/systemd/system/pipewatchd.socket | dropin network
setting listen << END
[Metrics]
Listen=
END
systemctl start pipewatchd.socket
is "without a network: a scrape is answered" "$(curl -sS --max-time 200 $http/metrics |
	sample 'pipewatch_state{state="running"}')" 1
is "it has a network of its own" \
	"$(readlink "/proc/$(property MainPID)/ns/net" | grep -vcxF "$(readlink /proc/1/ns/net)")" 1
is "every program is attached" "$(scrape | grep '^pipewatch_program_attached' |
	grep -vc ' 1$') missing, $(counting_programs)" "0 missing, $every_program"
exposed_at_most 0.9
