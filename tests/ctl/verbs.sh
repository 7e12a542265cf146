#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What each verb prints of recorded descriptions, as text and as JSON, and how it fails. With
# GOLDEN=write the texts are written anew, to be looked at.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
# shellcheck source=tests/ctl/bus.sh
. "$top/tests/ctl/bus.sh"
golden=$top/tests/ctl/golden

run() {
	"$ctl" --bus "$address" "$@" 2>&1
}

# What it says and its exit code, in a line of at most so many seconds.
fails() {
	timeout -k 1 "$1" "$ctl" --bus "${bus:-$address}" "${@:2}" > "$work/stdout" 2> "$work/stderr"
	echo "$? $(wc -c < "$work/stdout") $(sed "s|$work|WORK|g" "$work/stderr")"
}

# verb NAME RECORD VERB...: its text is golden/NAME-RECORD.txt
verb() {
	local file=$golden/$1-$2.txt name="$1 of $2"
	record "$2"
	shift 2
	run "$@" > "$work/text"
	echo "exit status $?" >> "$work/text"
	[ "${GOLDEN:-}" != write ] || cp "$work/text" "$file"
	is "$name" "$(cat "$work/text")" "$(cat "$file")"
}

# json NAME RECORD PYTHON VERB...: the expression is true of what it prints (j) and the record (d)
json() {
	record "$2"
	run "${@:4}" --json > "$work/json"
	is "$1" "$(python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
j = json.load(open(sys.argv[2]))
def close(a, b): return abs(a - b) <= 1e-12 * max(abs(a), abs(b))
def sums(r): return sum(v for p in ("anonymous", "fifo") for k, v in r.get(p, {}).items() if k.endswith("_cpu_seconds"))
print(eval(sys.argv[3]))' "$golden/$2.json" "$work/json" "$3" 2>&1)" True
}

# Bytes that no terminal is to see: controls but for newline, C1, and what turns text around.
harmful() {
	python3 -c '
import sys
text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
bad = [c for c in text if c != "\n" and (c < " " or "\x7f" <= c <= "\x9f"
       or c in "\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
       or "\ud800" <= c <= "\udfff")]
print(len(bad), end="")'
}

plan 123
start_bus ''
start_service
: > "$answers/manner"
cp "$golden/metrics.txt" "$answers/"

# ---- texts ----

# The last one is a real daemon's, on Debian 12 with a pipeline of a shell.
for recorded in full burst old uncounted recorded; do
	verb status $recorded status
	verb list $recorded list
done
verb groups full groups
verb remedies burst remedies
verb remedies old remedies
verb groups recorded groups
verb remedies recorded remedies
verb show recorded show "$(python3 -c "import json; print(json.load(open('$golden/recorded.json'))['processes'][0]['pid'])")"
verb show full show 4294967295
verb show burst show 186
verb top full top -n 1 -d 0.1
rm -f "$answers/calls"
is "metrics are passed on as they are" "$(run metrics | cmp - "$golden/metrics.txt" && echo same)" same

record full
is "a status fits a screen, with the prompt" "$(TERM=dumb "$top/tests/ctl/terminal.py" 80 24 "$ctl" --bus "$address" status | awk '{ if (length($0) > 80) wide++ } END { print NR < 24, wide + 0 }')" "1 0"
record burst
is "and where much is missing" "$(TERM=dumb "$top/tests/ctl/terminal.py" 80 24 "$ctl" --bus "$address" status | awk '{ if (length($0) > 80) wide++ } END { print NR < 24, wide + 0; print }')" "1 0
  8 figures: see pipewatchctl status --json."
is "in a larger window it says more" "$(TERM=dumb "$top/tests/ctl/terminal.py" 80 25 "$ctl" --bus "$address" status | tail -n 2)" \
	"  All operations: Operations are counted in windows.
  And 7 more: see pipewatchctl status --json."
is "and elsewhere all" "$(run status | grep -c 'see pipewatchctl')" 0
record full
is "a limit" "$(run list --limit 2 | tr -s ' ' | sed 's,^ ,,' | tail -n 3)" \
	"$(run list | tr -s ' ' | sed -n '3s,^ ,,p')
* has ended
And 2 more; --limit 0 shows all."

python3 - "$golden/full.json" > "$answers/describe.json" <<-'END'
	import json, sys
	d = json.load(open(sys.argv[1]))
	d["processes"] = []; d["groups"] = []; d["remedies"] = {}; d["totals"] = {}
	print(json.dumps(d))
END
sed -i 's/"counting": true/"counting": false/' "$answers/describe.json"
is "none that sampling has found" "$(run list; run groups; run show $$)" \
	"Operations are not counted, and sampling has not found a process in one since
pipewatchd started.
Operations are not counted, and sampling has not found a process in one since
pipewatchd started.
pipewatchctl: Nothing is known of process $$: operations are not counted, and sampling has not found it in one since pipewatchd started."
is "whether that matters is not known then" "$(run status | grep -A 1 '^Does it matter')" "Does it matter?
  That is not known: what processes do is not counted."
sed -i 's/"counting": false/"counting": true/' "$answers/describe.json"
is "no processes" "$(run list)" "No process has used a pipe since pipewatchd started."
is "no groups" "$(run groups)" "No process has used a pipe since pipewatchd started."
is "no remedies" "$(run remedies)" "No remedy is known to save anything here."

# ---- JSON: the same numbers ----

json "status as JSON" full 'all(j[k] == d[k] for k in d if k not in ("groups", "processes", "processes_omitted")) and "processes" not in j and j["top_payer"]["pid"] == 185 and j["best_remedy"] == "kernel" and close(j["metadata_cpu_ratio"], sums(d["totals"]) / 1000)' status
json "status of an old daemon" old 'j["version"] == "9.8.7" and "metadata_cpu_seconds" not in j and len(j["not_measured"]) == 5' status
json "list as JSON" full '[{k: v for k, v in p.items() if k != "metadata_cpu_seconds"} for p in j["processes"]] == d["processes"] and all(close(p["metadata_cpu_seconds"], sums(p)) for p in j["processes"]) and j["omitted"] == 0' list
json "list as JSON, with a limit" full 'j["processes"][0]["pid"] == 185 and len(j["processes"]) == 1 and j["omitted"] == 3' list --limit 1
json "numbers beyond 53 bits" full 'j["processes"][2]["fifo"]["writes"] == 18446744073709551615 and j["processes"][3]["fifo"]["written_bytes"] == 9223372036854775808' list
json "groups as JSON" full '[{k: v for k, v in g.items() if k != "metadata_cpu_seconds"} for g in j["groups"]] == d["groups"]' groups
json "what a cost does not include, as JSON" recorded '[p.get("metadata_cpu_excludes") for p in j["processes"]] == [None, ["cmtime"]] and "metadata_cpu_seconds" not in j["processes"][1]' list
json "of all" recorded 'j["metadata_cpu_excludes"] == ["cmtime"]' status
json "of nothing" full '"metadata_cpu_excludes" not in j' status
json "show as JSON" full 'all(j[k] == v for k, v in d["processes"][1].items()) and j["pipe_ends_reason"] == "The process has ended." and j["best_remedy"] == "kernel"' show 186
json "remedies as JSON" burst '{k: v["saved_cpu_seconds"] for k, v in j["host"]["remedies"].items()} == d["remedies"] and close(j["host"]["remedies"]["noatime"]["cpu_seconds_per_second"], d["remedies"]["noatime"] / 1000) and j["watchers"] == d["watchers"] and [p["pid"] for p in j["processes"]] == [185, 186, 2000] and j["processes"][2]["comm"] == d["processes"][2]["comm"]' remedies
json "metrics as JSON" full '[s["value"] for m in j["metrics"] if m["name"] == "pipewatch_pipe_writes_total" for s in m["samples"] if s["labels"].get("comm") == "writer"] == [1000]' metrics
is "all of them" "$(python3 -c 'import json, sys; print(sum(len(m["samples"]) for m in json.load(open(sys.argv[1]))["metrics"]))' "$work/json")" \
	"$(grep -vc '^#' "$golden/metrics.txt")"
is "each with a type and help" "$(python3 -c 'import json, sys; print(sum("type" not in m or "help" not in m for m in json.load(open(sys.argv[1]))["metrics"]))' "$work/json")" 0

# Two seconds lie between them.
stop_service
start_service
cp "$golden/full.json" "$answers/describe.1.json"
cp "$golden/later.json" "$answers/describe.2.json"
json "top as JSON" later 'j["seconds"] == 2 and [p["pid"] for p in j["processes"]] == [2000, 185, 3000] and j["processes"][0]["metadata_cpu_ratio"] == 0.125 and j["processes"][0]["metadata_cpu_share"] == 0.25 and j["processes"][1]["reads_per_second"] == 10000 and j["host"]["reads_per_second"] == 12000' top -n 1 -d 0.1
stop_service
start_service
verb top later top -n 1 -d 0.1
rm -f "$answers"/describe.?.json
python3 - "$golden/full.json" > "$answers/describe.json" <<-'END'
	import json, sys
	print(json.dumps(dict(json.load(open(sys.argv[1])), measured_seconds=0)))
END
is "top of a daemon that has just started" "$(fails 5 top -n 1 -d 0.1)" "69 0 pipewatchctl: pipewatchd has only just started, so there are no rates yet. Try again."
is "on a screen it goes on" "$("$top/tests/ctl/terminal.py" 80 24 "$ctl" --bus "$address" top -n 2 -d 0.1 > "$work/text"; echo "$? $(grep -o 'only just started' "$work/text" | sort -u)")" "0 only just started"
record full
is "a line a round" "$(run top -n 3 -d 0.1 --json | wc -l)" 3

record recorded
run list > "$work/text"
run list --json > "$work/json"
is "the table has the numbers of the JSON" "$(python3 - "$work/json" "$work/text" <<-'END'
	import json, sys
	j = json.load(open(sys.argv[1]))["processes"]
	rows = [line.split() for line in open(sys.argv[2])][1:1 + len(j)]
	def total(p, key): return sum(p.get(pipe, {}).get(key, 0) for pipe in ("anonymous", "fifo"))
	for p, row in zip(j, rows):
	    wanted = [str(p["pid"]), p["comm"], p["unit"], f'{total(p, "reads"):,}', f'{total(p, "writes"):,}']
	    updates = f'{total(p, "atime_updates") + total(p, "cmtime_updates"):,}'
	    cost = p.get("metadata_cpu_seconds")
	    print(row[:5] == wanted, row[6] == updates, row[7] == (f"{cost * 1e6:.2f}" if cost is not None else "-"))
END
)" "True True True
True True True"

# Thousands of processes, as on a large machine.
python3 - "$golden/full.json" > "$answers/describe.json" <<-'END'
	import json, sys
	d = json.load(open(sys.argv[1]))
	d["processes"] = [dict(d["processes"][0], pid=1000 + i) for i in range(5000)]
	print(json.dumps(d))
END
is "a huge list" "$(run list | awk 'NR == 2 || NR == 21 { print $1 } END { print }'; run list --json | python3 -c 'import json, sys; p = json.load(sys.stdin)["processes"]; print(len(p), p[4999]["pid"], sep="\n")')" \
	"1000
1019
And 4,980 more; --limit 0 shows all.
5000
5999"

# ---- names that are no friends of a terminal ----

python3 - "$golden/full.json" > "$answers/describe.json" <<-'END'
	import json, sys
	d = json.load(open(sys.argv[1]))
	names = ["".join(map(chr, range(a, a + 8))) for a in (0x1, 0x9, 0x11, 0x18, 0x7f, 0x87, 0x8f, 0x97, 0x98)]
	names += ["\x1b[2J\x1b]0;x\x07", "\u202eabc\u2066", "\u061c\u200f\u2028\ufeff", "\"\\'`$(x)", "\\x1b[2J", "\u6f22\u5b57"]
	p = d["processes"][0]
	d["processes"] = [dict(p, comm=n, pid=1000 + i, unit=n) for i, n in enumerate(names)]
	d["groups"] = [dict(d["groups"][0], comm=n, unit=n) for n in names]
	d["watchers"] = [dict(pid=1, comm=n, watches=1) for n in names]
	for key in ("version", "state_reason", "mode", "mode_reason", "state"):
	    d[key] = "\x1b[31m\x9b\u202e\n"
	d["kernel"]["release"] = d["paths"]["fifo"]["atime"]["reason"] = d["paths"]["fifo"]["atime"]["state"] = "\x1b\x07"
	print(json.dumps(d))
END
for each in status list groups remedies 'show 1009' 'top -n 1 -d 0.1' metrics; do
	# shellcheck disable=SC2086 # words
	is "${each%% *}: no control byte" "$(NO_COLOR=1 TERM=dumb "$top/tests/ctl/terminal.py" 80 24 "$ctl" --bus "$address" $each | harmful)" 0
done
is "top on a screen: no sequence but its own" "$("$top/tests/ctl/terminal.py" 80 24 "$ctl" --bus "$address" top -n 2 -d 0.2 |
	sed $'s/\033\\[\\(H\\|J\\|K\\|2J\\|?1049[hl]\\|?25[hl]\\|?7[hl]\\|[0-9]*m\\)//g' | tr -d '\r' | harmful)" 0
for each in list status; do
	is "$each as JSON: no control byte" "$(run $each --json | harmful)" 0
done
is "but the names themselves" "$(run list --json | python3 -c 'import json, sys; print([p["comm"] for p in json.load(sys.stdin)["processes"]][9] == "\x1b[2J\x1b]0;x\x07")')" True
is "columns stay straight" "$(run list | sed 1d | iconv -t ASCII//TRANSLIT | sed 's/?/??/g' | awk '{ print index($0, "108,894,000") }' | sort -u | wc -l)" 1
is "ASCII where the terminal knows no more" "$(LC_ALL=C run list | LC_ALL=C grep -c '[^ -~]')" 0
record full
is "colours on a terminal" "$("$top/tests/ctl/terminal.py" 80 24 "$ctl" --bus "$address" status | grep -o $'\033\[31mpaid\033\[0m' | wc -l)" 6
is "none with NO_COLOR" "$(NO_COLOR=1 "$top/tests/ctl/terminal.py" 80 24 "$ctl" --bus "$address" status | grep -c $'\033')" 0
is "none in a pipe" "$(run status | grep -c $'\033')" 0
record burst
is "a number of a process is never cut off" "$(TERM=dumb "$top/tests/ctl/terminal.py" 60 24 "$ctl" --bus "$address" remedies | grep -oE '^(host|group|pid [0-9]+) ' | paste -sd '|')" \
	"host |group |group |group |pid 185 |pid 186 |pid 2000 "
is "an odd name does not take the room of units" "$(TERM=dumb "$top/tests/ctl/terminal.py" 90 24 "$ctl" --bus "$address" list | awk '$1 == 185 || $1 == 2000 { print $2, $3 }')" \
	'log-filter log-pipel
evil\u001b[31m\u000a docker/01'
python3 - "$golden/full.json" > "$answers/describe.json" <<-'END'
	import json, sys
	print(json.dumps({"version": json.load(open(sys.argv[1]))["version"]}))
END
is "a daemon that tells nothing but its version" "$(run status | head -n 1)" "pipewatchd 1.2.3 on Linux of an unknown release (unknown machine)"
record full
for each in status list groups remedies 'show 185' 'top -n 1 -d 0.1' metrics; do
	# shellcheck disable=SC2086 # words
	is "${each%% *} in 20 columns, without TERM" "$(env -u TERM "$top/tests/ctl/terminal.py" 20 5 "$ctl" --bus "$address" $each > "$work/text"; echo "$? $(wc -l < "$work/text" | sed 's/[0-9]*[1-9][0-9]*/some/') $(grep -c $'\033' "$work/text")")" "0 some 0"
done
is "a status breaks its lines there" "$(env -u TERM "$top/tests/ctl/terminal.py" 20 500 "$ctl" --bus "$address" status | awk 'length($0) > 20' | tr -d ' ' | paste -sd ' ')" \
	"log-pipeline.service)"
is "top in a window of one character" "$("$top/tests/ctl/terminal.py" 1 1 "$ctl" --bus "$address" top -n 2 -d 0.1 > "$work/text"; echo $?)" 0
is "top without a keyboard" "$("$top/tests/ctl/terminal.py" 80 24 sh -c '"$@" < /dev/null' - "$ctl" --bus "$address" top -n 2 -d 0.1 > "$work/text"; echo "$? $(grep -c 'q quit' "$work/text" | sed 's/[1-9].*/some/')")" "0 some"
is "as wide as the terminal" "$(NO_COLOR=1 "$top/tests/ctl/terminal.py" 60 24 "$ctl" --bus "$address" remedies | awk 'length($0) > 60' | wc -l)" 0

# ---- failures ----

# Where nobody reads any more it ends as others do: by the signal, or where that is ignored with an error.
record full
is "a pipe that nobody reads" "$(for each in status list 'top -n 3 -d 0.1' metrics 'list --json' --help; do
	# shellcheck disable=SC2086 # words
	python3 - "$ctl" --bus "$address" $each <<-'END'
		import os, subprocess, sys
		r, w = os.pipe()
		os.close(r)
		for restore in True, False:
		    done = subprocess.run(sys.argv[1:], stdout=w, stderr=subprocess.PIPE, restore_signals=restore, check=False)
		    print(done.returncode, done.stderr.decode(), end="")
	END
done | sort | uniq -c | tr -s ' ')" " 6 -13 71 pipewatchctl: Writing the output failed: Broken pipe."
is "a full disk for more than a buffer" "$("$ctl" --bus "$address" metrics 2>&1 > /dev/full; echo $?)" "pipewatchctl: Writing the output failed: No space left on device.
71"
is "nobody of that number" "$(fails 5 show 4000000000)" "69 0 pipewatchctl: There is no process 4000000000. One that has ended is listed for another minute; what it did stays in its group (\"pipewatchctl groups\")."
for each in 0 4294967296 99999999999999999999999 abc 5x +5 ' 5' ''; do
	is "show '$each'" "$(fails 5 show "$each" | head -n 1)" "64 0 pipewatchctl: show $each is not valid; expected a PID"
done
is "show -1" "$(fails 5 show -1 | head -n 1 | sed 's,[^ ]*/,,')" "64 0 pipewatchctl: invalid option -- '1'"
is "show without a number, or with two" "$(fails 5 show | head -n 1; fails 5 show 1 2 | head -n 1)" \
	'64 0 pipewatchctl: show needs a PID; "pipewatchctl list" has them
64 0 pipewatchctl: unexpected argument "2"'
is "a process without pipes" "$(fails 5 show $$)" "69 0 pipewatchctl: Process $$ has not used a pipe since pipewatchd started."
manner old
is "an old daemon" "$(fails 5 list)" "69 0 pipewatchctl: The running pipewatchd is 0.0.7 and has no Describe(), which pipewatchctl 0.1.0 needs. If a newer one is installed, restart it (sudo systemctl restart pipewatchd); otherwise upgrade it."
manner number
is "something else of that name" "$(fails 5 list)" "70 0 pipewatchctl: What answers to org.pipewatch1 on the bus at unix:path=WORK/bus is not pipewatchd: Describe() did not return a string."
manner
echo nonsense > "$answers/describe.json"
is "no JSON" "$(fails 5 status)" "70 0 pipewatchctl: What answers to org.pipewatch1 is not a pipewatchd that pipewatchctl 0.1.0 understands: its description is not JSON, or names no version."
manner error org.pipewatch1.Error.Failed $'The figures\033[2J cannot be read'
is "an error of the daemon" "$(fails 5 status)" '71 0 pipewatchctl: pipewatchd cannot answer Describe(): The figures\u001b[2J cannot be read (org.pipewatch1.Error.Failed).'
manner error org.freedesktop.DBus.Error.AccessDenied No.
is "not permitted" "$(fails 5 groups | cut -c 1-66)" "77 0 pipewatchctl: The bus does not permit this user to ask pipewa"
manner hang
is "bench does not wait for a daemon that hangs" "$(timeout -k 1 7 "$ctl" --bus "$address" bench --seconds 1 | tail -n 1)" \
	"No pipewatchd answers on the bus: if none runs, the figures are of pipes alone."
stop_service
is "no daemon" "$(fails 5 status | cut -c 1-110)" "69 0 pipewatchctl: pipewatchd is not running: nobody owns org.pipewatch1 on the bus at unix:path=WORK/bus (The"
is "and how to start it" "$(fails 5 status | grep -c 'sudo systemctl start pipewatchd')" 1
kill -STOP "$bus_pid"
is "a bus that does not answer" "$(fails 8 status)" "69 0 pipewatchctl: The bus at unix:path=WORK/bus did not answer within 5 seconds. Is the address right? Without --bus the system bus is used."
kill -CONT "$bus_pid"
stop_bus
is "no bus" "$(fails 5 status)" "69 0 pipewatchctl: There is no bus at unix:path=WORK/bus (No such file or directory). Is the address right? Without --bus the system bus is used."
bus=nonsense
is "no address" "$(fails 5 status)" "64 0 pipewatchctl: \"nonsense\" is not the address of a bus. Use system, session, or an address such as unix:path=/run/dbus/system_bus_socket."
bus=session
is "no session" "$(fails 5 status | cut -c 1-60)" "69 0 pipewatchctl: There is no session bus: neither DBUS_SES"
unset bus
is "wrong usage" "$(fails 5 nonsense | head -n 1)" "64 0 pipewatchctl: unknown verb \"nonsense\"; the verbs are status, top, list, show, groups, remedies, check, bench and metrics"
is "a full disk" "$("$ctl" --help 2>&1 > /dev/full; echo $?)" "pipewatchctl: Writing the output failed: No space left on device.
71"

# ---- without a daemon ----

"$build/pipewatchd" --check > "$work/check" 2>&1
code=$?
is "check: as the daemon has it" "$("$ctl" check > "$work/text" 2>&1; echo $?; grep -v ns "$work/text")" "$code
$(grep -v ns "$work/check")"
is "check as JSON" "$("$ctl" check --json > "$work/json"; python3 - "$work/json" "$code" <<-'END'
	import json, sys
	j = json.load(open(sys.argv[1]))
	print(len(j["paths"]), len(j["measurable"]), len(j["costs"]), j["exit_status"] == int(sys.argv[2]),
	      all(p["state"] in ("paid", "removed", "unknown") and p["reason"] for p in j["paths"]),
	      all("seconds" in c or "reason" in c for c in j["costs"]), j["measurable"][0]["figure"])
END
)" "6 7 6 True True True reads, writes and bytes"
is "bench" "$("$ctl" --bus "$address" bench --seconds 1 > "$work/text"; echo $? "$(grep -cE '^(fill and drain|ping-pong|fan-in|messaging) ' "$work/text") $(tail -n 1 "$work/text")")" \
	"0 4 No pipewatchd answers on the bus: if none runs, the figures are of pipes alone."
is "bench where no FIFO can be made" "$(TMPDIR=$work/none "$ctl" --bus "$address" bench --seconds 1 > "$work/text"; echo $?; grep failed: "$work/text")" \
	"71
fill and drain on fifo failed: No such file or directory (FIFOs are made in
ping-pong on fifo failed: No such file or directory (FIFOs are made in TMPDIR,
fan-in on fifo failed: No such file or directory (FIFOs are made in TMPDIR, or
messaging on fifo failed: No such file or directory (FIFOs are made in TMPDIR,"
is "bench as JSON" "$("$ctl" --bus "$address" bench --seconds 1 --json > "$work/json"; python3 - "$work/json" <<-'END'
	import json, sys
	j = json.load(open(sys.argv[1]))
	print(len(j["results"]), j["pipewatchd"], all(r["rounds"] >= 3 and 0 < r["lower_quartile_seconds"]
	      <= r["median_seconds"] <= r["upper_quartile_seconds"] < 1 for r in j["results"]))
END
)" "12 {'answers': False} True"

# ---- completion ----

# complete WORD...: what bash offers for the last one
complete_() {
	bash -c '
	. "$1"
	COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2))
	_pipewatchctl
	echo "${COMPREPLY[@]}"' complete "$top/ctl/pipewatchctl.bash" "$@"
}
is "verbs are completed" "$(complete_ pipewatchctl re)" remedies
is "after options" "$(complete_ pipewatchctl --bus session li)" list
is "one verb only" "$(complete_ pipewatchctl list s)" ""
is "options" "$(complete_ pipewatchctl --j)" --json
is "those of top" "$(complete_ pipewatchctl top --c)" --count
is "and not of others" "$(complete_ pipewatchctl list --c)" ""
is "buses" "$(complete_ pipewatchctl --bus s)" "system session"
is "processes" "$(complete_ pipewatchctl show $$ | tr ' ' '\n' | grep -cx $$)" 1
is "every verb and option that there is" "$(complete_ pipewatchctl '' | wc -w) $(complete_ pipewatchctl --; complete_ pipewatchctl top --; complete_ pipewatchctl bench --)" \
	"9 --json --bus --limit --version --help --usage
--json --bus --limit --version --help --usage --groups --count --delay
--json --bus --limit --version --help --usage --seconds"

done_testing
