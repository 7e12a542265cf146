# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# What updates cost, measured from within the sandbox; sampling as the README grants it.
# Results: 12

timed() {
	scrape | grep -qE '^pipewatch_metadata_unit_cost_seconds\{kind="atime",pipe="fifo",stage="update"\} [1-9]'
}

described() {
	busctl --json=short call org.pipewatch1 /org/pipewatch1 org.pipewatch1.Manager Describe | sed 's/\\"/"/g'
}

systemctl start pipewatchd
main=$(property MainPID)
ok "own pipes are compared at once" sh -c "curl -sS $http/metrics |
	grep -qE '^pipewatch_metadata_unit_cost_seconds\{kind=\"atime\",pipe=\"fifo\",stage=\"(whole|update)\"\} [1-9]'"
ok "a burst ends, attached by a child" within 180 timed
# As a process that has ended it may wait for the next one.
ok "and ends" within 20 sh -c "! ps --no-headers -o stat --ppid $main | grep -qv Z"
is "and met no limit" "$(cat "/sys/fs/cgroup$(property ControlGroup)/pids.events" | paste -sd ,)" \
	"max 0"
is "it is the same process" "$(property MainPID)" "$main"
is "nothing is attached but what counts" "$(./bpftool link list | grep -c '^[0-9]')" \
	"$(scrape | grep -c '^pipewatch_program_attached{.* 1$')"
described > description
sed -n 's/.*"sampling_reason":"\([^"]*\)".*/# \1/p' description
ok "why nothing is sampled" grep -qE '"sampling":false,"sampling_reason":"[^"]*CAP_(SYSLOG|SYS_ADMIN)' description
is "no CPU time in pipe operations then" "$(scrape | grep -c '^pipewatch_pipe_cpu_seconds')" 0
is "it had nothing to say but this" "$(journal | sed 's/ on the bus at .* is / is /')" \
	"The name org.pipewatch1 is ours."

systemctl stop pipewatchd
dropin sampling << END
AmbientCapabilities=CAP_SYS_ADMIN CAP_SYSLOG
CapabilityBoundingSet=CAP_SYS_ADMIN CAP_SYSLOG
ProtectKernelLogs=no
ProtectKernelTunables=no
SystemCallFilter=perf_event_open
END
systemctl start pipewatchd
described > description
is "with what the README grants, it is sampled" \
	"$(grep -o '"sampling":[a-z]\+\(,"sampling_reason":"[^"]*"\)*' description)" '"sampling":true'
main=$(property MainPID)
is "the capabilities are given up again" "$(sed -n 's/^Cap\(Prm\|Eff\|Amb\):\t0*/\1=/p' "/proc/$main/status" | paste -sd ' ')" \
	"Prm=c000000000 Eff=c000000000 Amb="
systemd-run -q --unit=busy /t/load -n 1000000 -s 100 -c busy -w
ok "a busy service has CPU time in pipe operations" within 60 sh -c "curl -sS $http/metrics |
	grep -qE '^pipewatch_pipe_cpu_seconds_total\{unit=\"busy.service\",comm=\"busy\"\} [0-9.e-]*[1-9]'"
systemctl stop busy
