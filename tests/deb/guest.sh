# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# guest.sh VERSION NEXT LIBRARY...: runs in the guest, as root: installs, uses, upgrades and purges.

. ./tap.sh

version=$1
next=$2
shift 2
http=http://127.0.0.1:10057
export DEBIAN_FRONTEND=noninteractive LC_ALL=C

# apt is quiet unless something is wrong.
apt() {
	apt-get -qq -y -o Dpkg::Use-Pty=0 "$@" > apt.log 2>&1
	echo "$?$(grep -iE '^(W|E|dpkg|warning|failed|job for|unknown|invoke)' apt.log)"
}

property() {
	systemctl show -P "$1" pipewatchd.service
}

bus_property() {
	busctl get-property org.pipewatch1 /org/pipewatch1 org.pipewatch1.Manager "$1" 2>&1
}

journal() {
	journalctl --sync
	journalctl -q -o cat "_SYSTEMD_INVOCATION_ID=$(property InvocationID)" | sed 's/ on the bus at .* is / is /'
}

scrape() {
	curl -sS --max-time 60 $http/metrics
}

# The value of a series.
sample() {
	scrape | awk -v series="$1" 'index($0, series " ") == 1 { print substr($0, length(series) + 2) }'
}

attached() {
	./bpftool prog list | grep -c '^[0-9]*: tracing '
}

# Everything there is, but for what is not on the disk, logs, and what apt and dpkg keep for
# themselves: modes, owners and what is in it. Of accounts, with their backups, those of others.
accounts="/etc/passwd /etc/shadow /etc/group /etc/gshadow"
tree() {
	find / -xdev -path /t -prune -o -path /tmp -prune -o -path /var/tmp -prune -o -path /var/log -prune -o \
		-path /var/cache -prune -o -path /var/lib/apt -prune -o -path /var/lib/dpkg -prune -o \
		-printf '%p %y %m %u %g %l\n' | sort
	find /etc /var/lib/systemd -xdev -type f \
		-not -name 'passwd*' -not -name 'shadow*' -not -name 'group*' -not -name 'gshadow*' -exec md5sum {} +
	grep -v '^pipewatch:' $accounts
	ls -d /run/pipewatch /var/cache/pipewatch /var/lib/dpkg/info/* 2>&1
}

plan 45

# The image is without what people read, but no Debian is without its directories.
mkdir -p /usr/share/doc /usr/share/man/man1 /usr/share/man/man5 /usr/share/man/man7 /usr/share/man/man8 \
	/usr/share/bash-completion/completions
echo "deb [trusted=yes] file:/t/repository ./" > /etc/apt/sources.list
is "(the libraries are not there)" "$(apt update) $(apt purge "$@") $(ls /lib/*/libbpf.so* 2> /dev/null)" "0 0 "
tree > before

# ---- installed ----

is "apt install" "$(apt install "./pipewatch_${version}_amd64.deb")" 0
is "the libraries came with it" "$(dpkg-query -W -f '${db:Status-Status} ' "$@")" "installed installed installed "
is "every file that the package names exists" \
	"$(dpkg -L pipewatch | grep -v '/usr/share/doc' | while read -r file; do
		[ -e "$file" ] || echo "$file"
	done)" ""
is "and is as it was packed" "$(dpkg --verify pipewatch | grep -v /usr/share/doc)" ""
is "every path that its manual pages name exists" \
	"$(zcat /usr/share/man/man*/*pipewatch*.gz | sed -nE 's/^\.(It )?Pa (\/[^ *]*)( .*)?$/\2/p' | sort -u > paths
		while read -r file; do
			[ -e "$file" ] || echo "$file"
		done < paths)" ""
is "it runs" "$(property ActiveState), $(property SubState), $(property NRestarts) restarts" "active, running, 0 restarts"
is "and will after a boot; its socket is for those who choose so" \
	"$(systemctl is-enabled pipewatchd.service pipewatchd.socket | paste -sd ' '), $(systemctl is-active pipewatchd.socket)" \
	"enabled disabled, inactive"
is "it had its name on the bus at once" "$(journal)" "The name org.pipewatch1 is ours."
is "systemd finds no fault with the units" \
	"$(systemd-analyze verify pipewatchd.service pipewatchd.socket 2>&1)" ""

# ---- used ----

systemctl start pipewatchd
is "systemctl start" "$?, $(property ActiveState)" "0, active"
is "curl: the version" "$(scrape | sed -n 's/^pipewatch_build_info{version="\([^"]*\)".*} /\1 /p')" "$version 1"
is "curl: the state" "$(sample 'pipewatch_state{state="running"}')" 1
systemd-run -q --unit=alive /t/load -n 1000 -s 100 -c lives -w
for _ in $(seq 100); do
	[ "$(sample 'pipewatch_pipe_writes_total{unit="alive.service",comm="lives",pipe="anonymous"}')" != 1000 ] || break
	sleep 0.2
done
pipeline=$(systemctl show -P MainPID alive.service)
is "curl: what a service did" "$(sample 'pipewatch_pipe_writes_total{unit="alive.service",comm="lives",pipe="anonymous"}')" 1000
for user in root user; do
	runuser -u $user -- busctl --xml-interface introspect org.pipewatch1 /org/pipewatch1 > xml
	is "busctl introspect, as $user" "$(grep -v '^$' xml)" "$(grep -v '^$' introspection.xml)"
	is "pipewatchd --check, as $user, names the kernel" \
		"$(runuser -u $user -- pipewatchd --check | head -n 1)" "Kernel $(uname -r) ($(uname -m))"
	is "pipewatchctl status, as $user" "$(runuser -u $user -- pipewatchctl status > status; echo $?; grep -c "$version" status)" "0
1"
	is "pipewatchctl top, as $user" "$(runuser -u $user -- pipewatchctl top -n 2 -d 0.5 | grep -c '^Host: ')" 2
	is "pipewatchctl show, as $user" "$(runuser -u $user -- pipewatchctl show "$pipeline" | awk '$1 == "anonymous" { print $2, $3 }' |
		paste -sd ' ')" "reads 1,000 writes 1,000"
done

# ---- upgraded ----

echo "# changed" >> /etc/pipewatch/pipewatch.conf
printf '[Metrics]\nMaxGroups=77\n' > /etc/pipewatch/pipewatch.conf.d/own.conf
earlier=$(property MainPID)
is "apt install of a later version" "$(apt install "./pipewatch_${next}_amd64.deb")" 0
is "it runs, and not for a failure" "$(property ActiveState), $(property NRestarts) restarts" "active, 0 restarts"
ok "it has been restarted" test "$(property MainPID)" != "$earlier"
is "it is the later one" "$(bus_property Version)" "s \"$next\""
is "its configuration has been kept" "$(tail -n 1 /etc/pipewatch/pipewatch.conf) $(pipewatchd --check-config |
	grep MaxGroups=)" "# changed MaxGroups=77"
is "it had its name on the bus at once, again" "$(journal)" "The name org.pipewatch1 is ours."

# ---- by its socket ----

systemctl stop pipewatchd
systemctl -q enable --now pipewatchd.socket
is "with its socket a scrape starts it" "$(sample 'pipewatch_state{state="running"}')" 1
ok "(it is attached)" test "$(attached)" -gt 0

# ---- removed, while it runs ----

is "apt remove" "$(apt remove pipewatch)" 0
is "it does not run" "$(pgrep -c pipewatchd), $(property LoadState)" "0, not-found"
is "nothing listens" "$(curl -s $http/; echo $?)" 7
is "the bus knows no such name" "$(bus_property State)" \
	"Failed to get property State on interface org.pipewatch1.Manager: The name org.pipewatch1 was not provided by any .service files"
is "nothing is attached" "$(attached)" 0
# And the links of what is enabled, which are systemd's to keep and lead nowhere now.
is "nothing is left but the configuration" "$(find / -xdev -path /t -prune -o -path /tmp -prune -o -path /var/lib -prune -o \
	-path /var/cache -prune -o -path /var/log -prune -o -name '*pipewatch*' -not -xtype l -print | sort)" \
	"/etc/pipewatch
/etc/pipewatch/pipewatch.conf
/etc/pipewatch/pipewatch.conf.d"

# ---- installed again, where the administrator has masked it, and purged ----

systemctl -q mask pipewatchd.service
is "apt install where it is masked" "$(apt install "./pipewatch_${next}_amd64.deb")" 0
is "it does not start" "$(pgrep -c pipewatchd), $(property LoadState), $(systemctl is-active pipewatchd.service)" \
	"0, masked, inactive"
is "its configuration is still the administrator's" "$(tail -n 1 /etc/pipewatch/pipewatch.conf) $(pipewatchd --check-config |
	grep MaxGroups=)" "# changed MaxGroups=77"
is "apt purge" "$(apt purge --autoremove pipewatch)" 0
is "the mask is the administrator's, too" "$(readlink /etc/systemd/system/pipewatchd.service; systemctl -q unmask pipewatchd.service)" \
	/dev/null
tree > after
is "nothing is left, but for the user" "$(diff before after)" ""
is "who can do nothing" "$(getent passwd pipewatch | cut -d : -f 2,5-) $(getent shadow pipewatch | cut -d : -f 2)" \
	"x:Pipe Metadata Cost Accounting:/:/usr/sbin/nologin !*"
done_testing
