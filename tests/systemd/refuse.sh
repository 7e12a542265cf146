# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# A start that cannot succeed fails once, and says why.
# Results: 10

printf '[Measurement]\nMode=sometimes\n' | setting broken
systemctl start pipewatchd 2> /dev/null
is "a broken configuration: start fails" "$?" 1
# Where another start is to come, it is not failed but activating.
is "with the status that says so, once" "$(ending)" "failed, exit-code, status 78, 0 restarts"
is "the file and the line are named" "$(journal | grep -cF "$settings/broken.conf:2: ")" 1

afresh
printf '[Measurement]\nMode=exact\n' | setting exact
printf 'CapabilityBoundingSet=\nAmbientCapabilities=\n' | dropin powerless
systemctl start pipewatchd 2> /dev/null
is "no capabilities: start fails" "$?" 1
is "with the status for it, once" "$(ending)" "failed, exit-code, status 77, 0 restarts"
is "the capabilities are named" "$(journal | grep -c 'CAP_BPF')" 1

rm $settings/exact.conf
systemctl reset-failed pipewatchd
systemctl start pipewatchd
is "in mode auto it runs all the same" "$?, $(state)" "0, active, running"
scrape > degraded
is "degraded" "$(sample 'pipewatch_state{state="degraded"}' < degraded)" 1
is "with a verdict" "$(grep -c '^pipewatch_kernel_path{pipe="anonymous",kind="[ac].*",state="\(paid\|removed\)"} 1$' degraded)" 2
is "and without zeros for what it did not count" "$(grep -cE '^pipewatch_(pipe|metadata_(updates|cpu))_' degraded)" 0
