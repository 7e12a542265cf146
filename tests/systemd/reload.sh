# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# A reload takes a good configuration and leaves a bad one alone.
# Results: 15

# How often it has said so.
logged() {
	journal | grep -cF "$1"
}

systemctl start pipewatchd
main=$(property MainPID)
elsewhere=http://127.0.0.1:10058

setting 10-listen << END
[Metrics]
Listen=127.0.0.1:10058
END
systemctl reload pipewatchd
is "systemctl reload" "$?" 0
ok "the new address answers" within_is 10 200 answers $elsewhere
is "the old one does not" "$(answers)" "000 curl 7"
is "it is the same process" "$(state), $(property MainPID)" "active, running, $main"

printf '[Metrics]\n# What is wrong is in the third line.\nListen=nowhere\n' > $settings/20-broken.conf
systemctl reload pipewatchd
ok "a broken file is named, with the line" within_is 10 1 logged "$settings/20-broken.conf:3: "
ok "so is what becomes of it" within_is 10 1 logged "old configuration stays"
is "the configuration stays" "$(answers $elsewhere)" 200
is "the service, too" "$(state), $(property MainPID)" "active, running, $main"

rm $settings/*
systemctl reload pipewatchd
ok "a reload without the files goes back to the default" within_is 10 200 answers

# What is told on the bus: once, all that changed together, and no more as long as nothing does.
busctl monitor --json=short --match \
	"type='signal',path='/org/pipewatch1',member='PropertiesChanged'" > signals 2> monitoring &
monitor=$!
ok "the bus is listened to" within 20 grep -q Monitoring monitoring
setting 10-mode << END
[Measurement]
Mode=burst
END
systemctl reload pipewatchd
ok "a change of mode is told" within 20 grep -q '"Mode":{"type":"s","data":"burst"}' signals
# That is of the last ten seconds, after several windows.
ok "the overhead is known" within 25 sh -c "curl -sS $http/metrics | grep -q '^pipewatch_observer_overhead_ratio '"
sleep 4
kill $monitor
is "once" "$(grep -c '"Mode":' signals)" 1
# The first window makes estimates of the counts, and after a while the overhead is known: then, or at the
# same time where signals had to wait for each other.
other='Estimated|ObserverOverheadReason'
is "with the mode asked for, and the reasons" "$(grep '"Mode":' signals | grep -oE '"[A-Za-z]*":\{"type":"s"' |
	tr -cd 'A-Za-z\n' | sed 's/types$//' | grep -vxE "$other" | sort | paste -sd ' ')" \
	"ConfiguredMode CoverageReason Mode ModeReason"
is "and nothing of it again" "$(sed -n '/"Mode":/,$p' signals | tail -n +2 | grep -cvE "\"($other)\":")" 0
