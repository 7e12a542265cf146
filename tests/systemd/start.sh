# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# A fresh installation, started at once: it is ready when it is attached, sandboxed as the unit says,
# and anybody may look.
# Results: 18

is "systemd finds no fault with the units" \
	"$(systemd-analyze verify pipewatchd.service pipewatchd.socket 2>&1)" ""
systemctl start pipewatchd
is "systemctl start" "$?, $(state)" "0, active, running"
scrape > first
case $kernel in
5.* | 6.*) prefix='' path=paid ;;
*) prefix=anon_ path=removed ;;
esac
is "every program is attached when start returns" \
	"$(sed -n 's/^pipewatch_program_attached{program="\(.*\)",hook="\(.*\)"} /\1 \2 /p' first | sort |
		paste -sd ,)" \
	"cgroup_made cgroup_mkdir 1,pipe_read ${prefix}pipe_read 1,pipe_write ${prefix}pipe_write 1,process_exec sched_process_exec \
1,process_exit sched_process_exit 1,process_free sched_process_free 1,process_move \
cgroup_attach_task 1,process_rename task_rename 1"
is "the kernel has them" "$(counting_programs)" "$every_program"
is "it is running, and ready" "$(sample 'pipewatch_state{state="running"}' < first), $(answers)" "1, 200"
is "the verdict: anonymous pipes are $path" "$(sed -n \
	's/^pipewatch_kernel_path{pipe="anonymous",kind="\([ac].*\)",state="\(.*\)"} 1/\1 \2/p' first |
	paste -sd ,)" "atime $path,cmtime $path"

main=$(property MainPID)
is "it runs as its own user" "$(ps -o user= -p "$main")" pipewatch
is "that user has no shell and no home" "$(getent passwd pipewatch | cut -d : -f 6,7)" "/:/usr/sbin/nologin"
# What it takes to attach again, for bursts; of all threads.
kept=c000000000
is "its capabilities are those to attach" "$(capabilities)" "Inh= Prm=$kept Eff=$kept Bnd=$kept Amb="
is "it cannot get new ones" "$(sed -n 's/^\(NoNewPrivs\|Seccomp\):\t/\1 /p' "/proc/$main/status" |
	paste -sd ,)" "NoNewPrivs 1,Seccomp 2"

exposed_at_most 1.7

for user in root user; do
	as $user busctl --xml-interface introspect org.pipewatch1 /org/pipewatch1 > xml
	is "busctl introspect, as $user" "$(grep -v '^$' xml)" "$(grep -v '^$' introspection.xml)"
	is "busctl call, as $user" "$(as $user busctl get-property org.pipewatch1 /org/pipewatch1 \
		org.pipewatch1.Manager State AnonymousTimestamps | paste -sd ' ')" "s \"running\" s \"$path\""
	is "curl, as $user" "$(as $user curl -sS $http/metrics |
		sample 'pipewatch_state{state="running"}')" 1
done
is "it had nothing to say but this" "$(journal | sed 's/ on the bus at .* is / is /')" \
	"The name org.pipewatch1 is ours."
