# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Part of run.sh: cases of a bus that comes and goes, and of whose the name on it is.

closed='4 The bus at ADDRESS is not available: the connection was closed; still trying.'
absent='4 The bus at ADDRESS is not available: it is not there or does not answer; still trying.'
taken='4 The name org.pipewatch1 on the bus at ADDRESS belongs to another program; still trying.'
mute='4 The bus at ADDRESS is not available: it does not answer; still trying.'
nonsense='4 The bus at ADDRESS is not available: it answers nonsense; still trying.'

# belongs_to OWNER: what is told at the start
belongs_to() {
	echo "3 The name org.pipewatch1 on the bus at ADDRESS belongs to $1, probably another pipewatchd. Stop that, or start this one with --bus none."
}

case_restart() {
	kill_bus
	within $patience log_is 0 "$closed"
	start_bus
	is 'a bus that comes back: the name is there' 0 "$(within $patience has_name; echo $?)"
	is 'and serves' 's "running"' "$(property State)"
	within $patience log_is 0 "$ours"
	is 'each change is told once' "$ours"$'\n'"$closed"$'\n'"$ours" "$(logs 0)"

	kill_bus
	rm -f "$work/bus"
	sleep 3
	start_bus
	is 'after a longer absence too' 0 "$(within $patience has_name; echo $?)"
}

case_stopped() {
	local owner_before

	owner_before=$(owner)
	kill -STOP $bus_pid
	is 'a stopped bus: the loop goes on' ok "$(ask 0 'state degraded Stopped.')"
	ask 0 changed >/dev/null
	sleep 1.1
	is 'after a signal too' ok "$(ask 0 'state running Still.')"
	ask 0 changed >/dev/null
	is 'and so does it with more' ok "$(ask 0 changed)"
	start_server 1
	within $patience log_is 1 "$absent"
	is 'a server that starts meanwhile says what is wrong' "$absent" "$(logs 1)"
	is 'and goes on' ok "$(ask 1 changed)"
	stop_server 1
	kill -CONT $bus_pid
	is 'the name is still ours' "$owner_before" "$(within $patience has_name; owner)"
	is 'and there is nothing to tell' "$ours" "$(logs 0)"
	kill -STOP $bus_pid
	ask 0 'state degraded Stopped again.' >/dev/null
	ask 0 changed >/dev/null
	stop_server 0
	kill -CONT $bus_pid
}

case_absent() {
	kill_bus
	rm -f "$work/bus"
	start_server 1
	within $patience log_is 1 "$absent"
	sleep 1
	is 'no bus at the start is told once' "$absent" "$(logs 1)"
	stop_server 0
	start_bus
	is 'the name is there when the bus is' 0 "$(within $patience has_name; echo $?)"
	within $patience log_is 1 "$ours"
	is 'and told' "$absent"$'\n'"$ours" "$(logs 1)"
}

# Those whose log is the word.
log_of() {
	for i in 1 2 3; do
		if log_is $i "$1"; then
			echo $i
		fi
	done
}

all_told() {
	for i in 1 2 3; do
		[ -n "$(logs $i)" ] || return 1
	done
}

case_taken() {
	local first

	start_server 1
	end_server 1 69 'a name that is taken at the start: it leaves'
	is 'and says whose it is' "$(belongs_to "process ${server_pids[0]}")" "$(logs 1)"
	is 'the first keeps it' "$ours" "$(logs 0)"

	# Later in life a second one waits.
	kill_bus
	start_server 1
	within $patience log_is 1 "$absent"
	kill -STOP "${server_pids[1]}"
	start_bus
	within $patience has_name
	kill -CONT "${server_pids[1]}"
	is 'a name that was taken meanwhile is told' 0 "$(within $patience log_is 1 "$taken"; echo $?)"
	is 'and waited for' ok "$(ask 1 changed)"
	stop_server 0
	is 'when the first goes, the second gets it' 0 "$(within $patience log_is 1 "$ours"; echo $?)"
	is 'each change is told once' "$absent"$'\n'"$taken"$'\n'"$ours" "$(logs 1)"
	stop_server 1

	# None of them finds the name taken before it asks for it.
	kill -STOP $bus_pid
	start_server 1
	start_server 2
	start_server 3
	kill -CONT $bus_pid
	within $patience all_told
	first=$(log_of "$ours")
	is 'of three that start at once, one gets the name' 1 "$(wc -w <<<"$first")"
	for i in 1 2 3; do
		[ $i = "$first" ] && continue
		end_server $i 69 'another leaves'
		is 'and says whose it is' "$(belongs_to "process ${server_pids[$first]}")" "$(logs $i)"
	done
}

# odd NAME STATUS LOG ANSWER...: how server 1 ends on a bus that answers so; "on": it goes on
odd() {
	local name=$1 status=$2 log=$3

	shift 3
	rm -f "$work/bus"
	python3 "$here/fakebus.py" "$work/bus" "$@" >"$work/fakebus" &
	bus_pid=$!
	within $patience test -S "$work/bus"
	start_server 1
	within $patience log_is 1 "${log##*$'\n'}"
	is "$name: it is told" "$log" "$(logs 1)"
	if [ "$status" == on ]; then
		is "$name: it goes on" ok "$(ask 1 changed)"
		stop_server 1
	else
		end_server 1 "$status" "$name: it leaves"
	fi
	kill_bus
}

case_odd() {
	stop_server 0
	kill_bus
	odd 'whose the name is, is not known' 69 "$(belongs_to 'another program')" \
		RequestName=u:3 GetConnectionUnixProcessID=e:UnixProcessIdUnknown
	odd 'whose the name is, is not answered' 69 "$(belongs_to 'another program')" \
		RequestName=u:3 GetConnectionUnixProcessID=-
	odd 'the name is free again' on "$ours" RequestName=u:3,u:1 GetConnectionUnixProcessID=e:NameHasNoOwner
	odd 'the bus ends just then' on "$closed"$'\n'"$taken" RequestName=u:3 GetConnectionUnixProcessID=x
	odd 'the bus answers nonsense' on "$nonsense" RequestName=s:yes
	odd 'the bus does not answer' on "$absent" RequestName=-
	odd 'the bus does not say hello' on "$absent" Hello=-
	odd 'the bus hangs up at once' on "$mute" Hello=x
}

case_refused() {
	kill_bus
	start_bus '<deny own="org.pipewatch1"/>'
	start_server 1
	within $patience grep -q refuses "$work/out.1"
	sleep 1
	is 'a name that is refused is told once' \
		'4 The bus at ADDRESS refuses the name org.pipewatch1: Connection ":1.X" is not allowed to own the service "org.pipewatch1" due to security policies in the configuration file; is its policy file installed?' \
		"$(logs 1 | sed 's/:1\.[0-9]*/:1.X/')"
}
