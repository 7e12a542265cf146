# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# Whose operations they are: exec, new names, reused ids, namespaces, names that hurt.
. ./tap.sh
. ./daemon.sh

writes() {
	metric "pipewatch_pipe_writes_total{unit=\"\",comm=\"$1\",pipe=\"${2-anonymous}\"}"
}

plan 43
for name in after moved late inner; do
	ln -s steps /t/$name
done
start_daemon --mode exact
show_shell

# exec, with a scrape before it.
steps name:early write:5:10 touch:/tmp/e1 wait:/tmp/e2 exec:./after write:7:10 touch:/tmp/e3 sleep &
process=$!
until_file /tmp/e1
scrape
is "before exec" "$(writes early) $(writes after)" "5 absent"
touch /tmp/e2
until_file /tmp/e3
scrape
is "after exec both names have their own" "$(writes early) $(writes after)" "5 7"
is "it is still one process" "$(metric pipewatch_tracked_processes)" 2
kill -9 $process
wait $process
scrape
is "after its end, too" "$(writes early) $(writes after)" "5 7"

steps name:forker write:2:10 fork exec:./moved write:9:10
scrape
is "a child that execs at once" "$(writes forker) $(writes moved)" "2 9"

# exec by a thread that is not the main one gives it the process id.
steps name:thrower thread write:5:1 touch:/tmp/t1 wait:/tmp/t2 exec:./late write:7:1 touch:/tmp/t3 sleep &
process=$!
until_file /tmp/t1
scrape
is "before exec by a thread" "$(writes thrower) $(writes late)" "5 absent"
touch /tmp/t2
until_file /tmp/t3
scrape
is "after exec by a thread" "$(writes thrower) $(writes late)" "5 7"
is "the thread's claim is gone" "$(claims)" 2
kill -9 $process
wait $process
scrape
is "the claims of both are gone" "$(claims)" 1
# Without a scrape between, what its threads did before may be under either name.
steps write:1:1 thread write:5:1 exec:./late write:7:1
scrape
is "without a scrape between" "$(($(total pipewatch_pipe_writes_total 'comm="late"') + \
	$(total pipewatch_pipe_writes_total 'comm="steps"')))" 20

# The name is the main thread's, though it uses no pipes.
steps name:old thread write:3:1 touch:/tmp/r1 wait:/tmp/r2 rename:new write:4:1 touch:/tmp/r3 wait:/tmp/r4 &
process=$!
until_file /tmp/r1
scrape
is "a name of the main thread" "$(writes old) $(writes new)" "3 absent"
touch /tmp/r2
until_file /tmp/r3
scrape
is "its new name" "$(writes old) $(writes new)" "3 4"
touch /tmp/r4
wait $process
steps name:main thread write:2:1 name:worker write:4:1
scrape
is "the name of another thread does not matter" "$(writes main) $(writes worker)" "6 absent"

# The main thread has a claim for a FIFO, the other one for an anonymous pipe.
rm -f /tmp/r?
steps name:old-2 fifo write:1:1 pipe thread write:3:1 touch:/tmp/r1 wait:/tmp/r2 rename:new-2 write:4:1 touch:/tmp/r3 wait:/tmp/r4 &
process=$!
until_file /tmp/r1
scrape
touch /tmp/r2
until_file /tmp/r3
scrape
is "a new name, the main thread uses the other kind" "$(writes old-2) $(writes new-2) $(writes old-2 fifo)" \
	"3 4 1"
touch /tmp/r4
wait $process

# A main thread that ends before the others.
rm -f /tmp/r?
steps name:deserted write:2:1 desert touch:/tmp/r1 wait:/tmp/r2 write:3:1 touch:/tmp/r3 wait:/tmp/r4 &
process=$!
until_file /tmp/r1
sleep 2
scrape
tracked=$(metric pipewatch_tracked_processes)
touch /tmp/r2
until_file /tmp/r3
scrape
is "the main thread ends before the others" "$(writes deserted)" 5
is "the process is tracked all the while" "$tracked $(metric pipewatch_tracked_processes)" "2 2"
touch /tmp/r4
wait $process
scrape
is "until it ends" "$(metric pipewatch_tracked_processes)" 1

# run_as_pid PID STEP...: a process with this very id.
run_as_pid() {
	wanted=$1
	shift
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		echo $((wanted - 1)) > /proc/sys/kernel/ns_last_pid
		steps pid:"$wanted" "$@"
		[ $? = 3 ] || return
	done
	echo "# no process got the id $wanted"
}

run_as_pid 20000 name:first write:3:5 fifo write:1:1
run_as_pid 20000 name:second write:4:5 fifo write:2:1
run_as_pid 20000 name:third write:6:5
scrape
is "a process id used three times between two scrapes" \
	"$(writes first) $(writes second) $(writes third) $(writes first fifo) $(writes second fifo)" "3 4 6 1 2"
run_as_pid 20000 name:second write:1:5
scrape
is "and once more" "$(writes first) $(writes second) $(writes third)" "3 5 6"
# What the kernel does late about the first must not be held against the second.
run_as_pid 20000 name:late-first write:1:1
run_as_pid 20000 name:late-second write:1:1 touch:/tmp/l1 wait:/tmp/l2 write:1:1 touch:/tmp/l3 sleep &
late=$!
until_file /tmp/l1
usleep 500000
scrape
touch /tmp/l2
until_file /tmp/l3
scrape
is "a process id used again at once" "$(writes late-first) $(writes late-second)" "1 2"
is "the second one goes on" "$(metric pipewatch_tracked_processes) $(claims)" "2 2"
killall -9 steps
wait $late
# The id of a thread becomes that of a process.
steps name:threaded thread write:2:1 tid:/tmp/tid
read -r tid < /tmp/tid
run_as_pid "$tid" name:heir write:5:1
scrape
is "a thread's id used by a process" "$(writes threaded) $(writes heir)" "2 5"

steps name:holder write:1:1 touch:/tmp/h1 sleep &
holder=$!
until_file /tmp/h1
scrape
# 16384 apart: the same place in the table.
run_as_pid $(((holder + 16384) % 32768)) name:neighbour write:5:1 fifo write:6:1
scrape
is "two threads that want the same slot" "$(writes holder) $(writes neighbour) $(writes neighbour fifo)" "1 5 6"
is "one of them is left" "$(claims)" 2
kill -9 $holder
wait $holder

unshare -pf ./inner write:8:2
scrape
is "in a PID namespace" "$(writes inner)" 8

# What it did before it has moved stays where it was.
mkdir /sys/fs/cgroup/elsewhere.service
steps name:mover write:3:1 touch:/tmp/m1 wait:/tmp/m2 write:4:1 touch:/tmp/m3 wait:/tmp/m4 &
process=$!
until_file /tmp/m1
scrape
echo $process > /sys/fs/cgroup/elsewhere.service/cgroup.procs
touch /tmp/m2
until_file /tmp/m3
scrape
is "a process that moves to another control group" \
	"$(writes mover) $(metric 'pipewatch_pipe_writes_total{unit="elsewhere.service",comm="mover",pipe="anonymous"}')" "3 4"
touch /tmp/m4
wait $process

# What a name may hold: what is written, and how it is shown in a label.
hurt() {
	ok "runs under the name $1" steps "name:$1" write:2:1
	scrape
	is "is shown" "$(writes "$2")" "$3"
}
hurt 'a\x0ab' 'a\nb' 2
hurt 'say "x"' 'say \"x\"' 2
hurt 'back\x5cslash' 'back\\slash' 2
hurt '{brace="1"}' '{brace=\"1\"}' 2
hurt '\xff\xfe' '\\xff\\xfe' 2
hurt '' '' 2
is "all other series are there" "$(writes early) $(writes inner)" "5 8"
steps 'name:tab\x09 \x01 mark' write:3:1
steps 'name:(other)' write:4:1
steps 'name:fifteen bytes!!and more' write:6:1
scrape
is "a tab and a control character" "$(total pipewatch_pipe_writes_total 'comm="tab')" 3
counted "a process that calls itself (other)" "(other)" anonymous 0 0 4 4
counted "a long name" "fifteen bytes!!" anonymous 0 0 6 6

stop_daemon
is "the daemon ends well" "$daemon_status, $(cat /tmp/daemon.log)" "0, "
# For whoever started this guest and has a parser.
sed 's/^/# metrics: /' $metrics
done_testing
