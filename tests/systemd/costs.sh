# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# What updates cost, measured from within the sandbox; sampling as the README grants it.
# Results: 16

timed() {
	scrape | grep -qE '^pipewatch_metadata_unit_cost_seconds\{kind="atime",pipe="fifo",stage="update"\} [1-9]'
}

links() {
	./bpftool link list | grep -c '^[0-9]'
}

attached() {
	scrape | grep -c '^pipewatch_program_attached{.* 1$'
}

described() {
	busctl --json=short call org.pipewatch1 /org/pipewatch1 org.pipewatch1.Manager Describe | sed 's/\\"/"/g'
}

# On a slow machine a burst takes more than its share of the default budget, and the next one, if nothing comes of
# the first, would be put off for minutes.
ample_budget
systemctl start pipewatchd
main=$(property MainPID)
# At once, where the machine is fast enough for it, or with the first burst.
ok "own pipes are compared" within 100 sh -c "curl -sS $http/metrics |
	grep -qE '^pipewatch_metadata_unit_cost_seconds\{kind=\"atime\",pipe=\"fifo\",stage=\"(whole|update)\"\} [1-9]'"
# After a minute; loading what times takes most of another on a slow machine.
ok "a burst ends, attached by a child" within 100 timed
timed || described | grep -o '"reason":"[^"]*"' | sort -u | sed 's/^/# /'
# As a process that has ended it may wait for the next one.
ok "and ends" within 20 sh -c "! ps --no-headers -o stat --ppid $main | grep -qv Z"
is "and met no limit" "$(cat "/sys/fs/cgroup$(property ControlGroup)/pids.events" | paste -sd ,)" \
	"max 0"
is "it is the same process" "$(property MainPID)" "$main"
within_is 20 "$(attached)" links
is "nothing is attached but what counts" "$(links)" "$(attached)"
described > description
sed -n 's/.*"sampling_reason":"\([^"]*\)".*/# \1/p' description
ok "why nothing is sampled" grep -qE '"sampling":false,"sampling_reason":"[^"]*CAP_(SYSLOG|SYS_ADMIN)' description
is "no CPU time in pipe operations then" "$(scrape | grep -c '^pipewatch_pipe_cpu_seconds')" 0
is "it had nothing to say but this" "$(journal | sed 's/ on the bus at .* is / is /')" \
	"The name org.pipewatch1 is ours."

systemctl stop pipewatchd
sed -n '/^    \[Service\]$/,/^$/s/^    \(.*=.*\)/\1/p' /usr/share/doc/pipewatch/README.md | dropin sampling
exposed_at_most 2.2
systemctl start pipewatchd
described > description
is "with what the README grants, it is sampled" \
	"$(grep -o '"sampling":[a-z][a-z]*\(,"sampling_reason":"[^"]*"\)*' description)" '"sampling":true'
is "every program that counts is attached, too" "$(scrape | grep '^pipewatch_program_attached' |
	grep -vc ' 1$') missing, $(counting_programs)" "0 missing, $every_program"
# The bounding set is what it could have, and nothing gives it more: NoNewPrivileges=.
is "the capabilities are given up again, by all threads" "$(capabilities)" \
	"Inh= Prm=c000000000 Eff=c000000000 Bnd=c000200000 Amb="
is "so are the addresses of functions" "$(readlink "/proc/$(property MainPID)/fd/0")" /dev/null
systemd-run -q --unit=busy /t/load -n 1000000 -s 100 -c busy -w
ok "a busy service has CPU time in pipe operations" within 60 sh -c "curl -sS $http/metrics |
	grep -qE '^pipewatch_pipe_cpu_seconds_total\{unit=\"busy.service\",comm=\"busy\"\} [0-9.e-]*[1-9]'"
systemctl kill -s KILL busy

systemctl stop pipewatchd
network=$(sed -n 's/^#   \(.*=.*\)/\1/p' /usr/lib/systemd/system/pipewatchd.socket)
echo "$network" | dropin network
exposed_at_most 1.3
