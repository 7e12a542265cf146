# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# What is not permitted: one message that names the cause, the right exit status, and what can be
# had all the same.
. ./tap.sh
. ./daemon.sh

cap_sys_resource=24 cap_perfmon=38 cap_bpf=39

# refused NAME CAUSE [CONFINEMENT]...: as --mode exact, and as --check.
refused() {
	name=$1 cause=$2
	shift 2
	confine "$@" ./pipewatchd --bus none --mode exact > /tmp/out 2>&1
	is "$name: refused" "$?, $(grep -c . /tmp/out) line" "77, 1 line"
	ok "$name: for a cause" grep -qE "$cause" /tmp/out || sed 's/^/# /' /tmp/out
	confine "$@" ./pipewatchd --check > /tmp/out 2> /tmp/err
	is "$name: --check" "$?, $(grep -cE "^Why not: .*$cause" /tmp/out)" "77, 1"
	is "$name: --check has the verdict" "$(awk '$1 == "anonymous" && $2 == "atime" && $3 ~ /^(paid|removed|unknown)$/ {
		print $3 }' /tmp/out)" $anonymous
}

# Before 5.11 maps count as locked memory.
case $(uname -r) in
5.10.*) counts_memory=true ;;
*) counts_memory=false ;;
esac
if $counts_memory; then
	plan 37
else
	plan 34
fi
refused "no capabilities" "lacks CAP_BPF and CAP_PERFMON" -u 1000
refused "CAP_BPF alone" "lacks CAP_PERFMON" -u 1000 -c $cap_bpf
refused "CAP_PERFMON alone" "lacks CAP_BPF:" -u 1000 -c $cap_perfmon
refused "a PID namespace of its own" "PID namespace of its own" /bin/unshare -pf
refused "seccomp" "seccomp filter forbids bpf\(2\) \(EPERM\)" -s errno
refused "deadly seccomp" "seccomp filter kills callers of bpf\(2\)" -s kill

if $counts_memory; then
	refused "locked memory" "RLIMIT_MEMLOCK allows 64 KiB" -u 1000 -c $cap_bpf -c $cap_perfmon -m 65536
else
	confine -u 1000 -c $cap_bpf -c $cap_perfmon -m 65536 ./pipewatchd --check > /tmp/out 2>&1
	is "locked memory: no matter" $? 0
fi

start_confined() {
	confine "$@" ./pipewatchd --bus none --mode auto > /tmp/daemon.log 2>&1 &
	daemon=$!
	await 10057 $daemon
}
start_confined -u 1000
load -n 10 -c lost
scrape
is "auto without capabilities: degraded" "$(metric 'pipewatch_state{state="degraded"}') \
$(metric 'pipewatch_mode{mode="off"}')" "1 1"
is "no counts" "$(grep -cE '^pipewatch_(pipe|metadata_(updates|cpu)|coverage|lost|tracked|unattributed|map)_' $metrics)" 0
is "the verdict" "$(metric "pipewatch_kernel_path{pipe=\"anonymous\",kind=\"atime\",state=\"$anonymous\"}")" 1
is "one message" "$(grep -c . /tmp/daemon.log) $(grep -c 'lacks CAP_BPF and CAP_PERFMON' /tmp/daemon.log)" "1 1"
stop_daemon
is "it ends well" "$daemon_status" 0

# Samples can be had there, and are read when all privileges that this does not take have been given up.
unshare -pf ./pipewatchd --bus none > /tmp/daemon.log 2>&1 &
daemon=$!
await 10057 $daemon
scrape
is "auto in a PID namespace of its own: degraded" "$(metric 'pipewatch_state{state="degraded"}') \
$(metric 'pipewatch_mode{mode="profile"}')" "1 1"
killall pipewatchd
wait $daemon
is "it ends well" $? 0

start_confined -u 1000 -c $cap_bpf -c $cap_perfmon -c $cap_sys_resource
load -n 10 -s 3 -c unprivileged
scrape
counted "the capabilities suffice, for an ordinary user" unprivileged anonymous 10 30 10 30
# Both are needed to attach again, for bursts.
kept=000000c000000000
is "all that is not needed is given up" "$(awk '/^Cap(Inh|Prm|Eff|Amb)/ { print $2 }' /proc/$daemon/status)" \
	"0000000000000000
$kept
$kept
0000000000000000"
stop_daemon
done_testing
