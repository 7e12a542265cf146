#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Breaks each rule of rules.sh in a copy of the tree, and sees that it is told.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# copy [SOURCE]...: a new copy as the working directory; of the daemon's sources only those named,
# since compiling them all takes a while.
copy() {
	rm -rf "${work:?}/tree"
	mkdir "$work/tree"
	cd "$root" || exit 1
	find Makefile bpf ctl daemon include tests/rules tests/tap.sh tests/unit/*.h -type f \
		-exec cp --parents -t "$work/tree" {} +
	cd "$work/tree" || exit 1
	[ $# = 0 ] || find daemon -name '*.c' | while IFS= read -r file; do
		case " $* " in
		*" ${file##*/} "*) ;;
		*) rm "$file" ;;
		esac
	done
}

# judged RULE: what the rule says of the copy.
judged() {
	ROOT=$work/tree BUILD=$work/tree/build "$here/rules.sh" "$1" > "$work/out" 2>&1
	case $? in
	0) echo kept ;;
	*) grep -q "^not ok 1 - $1:" "$work/out" && echo broken ;;
	esac
}

# breaks NAME RULE: the copy broke it.
breaks() {
	is "$2: $1" "$(judged "$2")" broken
}

# add FILE LINE: after the first lines of a C file.
add() {
	sed -i "1a $2" "$1"
}

plan 59

copy log.c
is "skeletons: as it is" "$(judged skeletons)" kept
add daemon/log.c '#include "pipewatch.skel.h"'
breaks "included by the log" skeletons
copy tracer.c burst-pairs.c sampler.c
is "skeletons: of the owners" "$(judged skeletons)" kept
add daemon/counting/tracer.c '#include "burst.skel.h"'
breaks "the tracer includes another's" skeletons
copy sampler.c
add daemon/sampling/sampler.c '#include "pipewatch.skel.h"'
breaks "another includes the tracer's" skeletons
copy burst-pairs.c
add daemon/costs/burst-pairs.c '#include "governor.skel.h"'
breaks "one that has no owner" skeletons

copy log.c
is "wire: as it is" "$(judged wire)" kept
is "publishers: as it is" "$(judged publishers)" kept
echo '	bpf_map_lookup_elem(0, NULL, NULL);' >> daemon/log.c
breaks "a map is read by the log" maps

copy accounts.c
add daemon/model/pipe.h '#include "pipewatch/wire.h"'
breaks "by way of another header" wire
copy log.c
add tests/unit/books.h '#include "pipewatch/wire.h"'
breaks "by a test" wire
copy burst.c burst-sum.c sampler.c
is "wire: of bursts and samples" "$(judged wire)" kept
add daemon/costs/burst.c '#include "pipewatch/wire.h"'
breaks "the counters' by the bursts" wire
copy sampling.c
add daemon/sampling/sampler.h '#include "pipewatch/sampler-wire.h"'
breaks "the sampler's by who books samples" wire
copy estimate.c
add daemon/costs/burst.h '#include "pipewatch/burst-wire.h"'
breaks "the bursts' by the estimate" wire

copy http-reply.c
add daemon/http/http-reply.h '#include <bpf/libbpf.h>'
breaks "by a header for HTTP" bpf

copy describe.c
add daemon/bus/describe.h '#include "accounts.h"'
breaks "the accounts, by a publisher" publishers

copy service.c
add daemon/service.h '#include "page.h"'
breaks "the service includes a publisher" service
copy bus.c
add daemon/bus/bus.c '#include "service.h"'
breaks "a publisher includes the service" service

copy cgroups.c
add daemon/host/cgroups.h '#include "tracer.h"'
breaks "the tracer, by something else" arrows
copy sampling.c
is "arrows: samples are booked" "$(judged arrows)" kept
copy calibration.c
add daemon/costs/calibration.c '#include "accounts.h"'
breaks "the accounts, by who measures" arrows
copy bus-row.c
add daemon/bus/bus-row.c '#include "calibration.h"'
breaks "the calibration, by a publisher" publishers

copy snapshot.c
is "pure: as it is" "$(judged pure)" kept
add daemon/model/snapshot.h '#include <systemd/sd-event.h>'
breaks "systemd in the snapshot" pure

copy name.c
add daemon/model/name.c '#include <zlib.h>'
breaks "a second user of zlib" libraries
copy name.c
add daemon/model/name.c '#include <cap-ng.h>'
breaks "one more who reads capabilities" libraries

copy log.c
is "cycles: as it is" "$(judged cycles)" kept
add daemon/model/pipe.h '#include "accounts.h"'
breaks "in three steps" cycles

copy name.c
echo '	fprintf(stderr, "no name");' >> daemon/model/name.c
breaks "a module that writes for itself" stderr

copy log.c
is "client: as it is" "$(judged client)" kept
add ctl/text.c '#include "snapshot.h"'
breaks "a header of the daemon, by the client" client
copy log.c
add include/pipewatch/util.h '#include "pipewatch/wire.h"'
breaks "the memory of the programs, by what both share" client
copy log.c
add ctl/status.c '#include <systemd/sd-bus.h>'
breaks "the bus, by a verb" client
copy log.c
echo 'fprintf(stderr, "x");' >> ctl/show.c
breaks "a verb that writes past what makes it harmless" client
copy log.c
printf '#include "text.h"\n' >> ctl/failure.h
printf '#include "failure.h"\n' >> ctl/text.h
breaks "a circle in the client" cycles

copy log.c
breaks "no objects" globals
mkdir -p build/daemon
for variable in 'const int v = 1;' 'static char *const v = "";'; do
	echo "$variable extern const void *u; const void *const w = &v;" |
		gcc -fPIE -c -x c - -o build/daemon/v.o
done
is "globals: constants, also of pointers" "$(judged globals)" kept
for variable in 'int v = 1;' 'static int v;' 'const char *v = "";' '__thread int v;'; do
	echo "$variable void *u(void); void *u(void) { return (void *)&v; }" |
		gcc -fPIE -c -x c - -o build/daemon/v.o
	breaks "$variable" globals
done

copy log.c
echo 'pthread_create(0);' >> daemon/log.c
breaks "a thread" threads
copy rounds.c
is "threads: the loops of A/B" "$(judged threads)" kept
echo '__thread int v;' >> daemon/costs/rounds.c
breaks "a variable of a thread" threads

copy log.c
add bpf/slot.bpf.h '#if LINUX_VERSION_CODE'
breaks "a comparison" versions

copy log.c
is "kernels: as it is" "$(judged kernels)" kept
add bpf/slot.bpf.h '#if bpf_core_field_exists(x)'
breaks "a difference among the slots" kernels

copy log.c
touch bpf/vmlinux.h
breaks "types of a kernel" generated

copy log.c
is "licence: as it is" "$(judged licence)" kept
sed -i 1d daemon/log.c
breaks "a file without" licence

copy log.c
yes '/* one more */' | head -n 600 >> daemon/log.c
breaks "a long file" length

copy log.c
printf '\t/* %93s */\n' = >> daemon/log.c
breaks "a tab and 99 columns" width

copy log.c
add daemon/log.c 'int  log_count ( void ) ;'
breaks "blanks" format

copy log.c
sed -i '/include/d' daemon/host/process.h
breaks "types that others include" headers

copy log.c
sed -i 's/ -Wmissing-prototypes//' Makefile
breaks "no warning" prototypes

copy log.c
# shellcheck disable=SC2016 # for the other script
printf '%s\n' '#!/bin/sh' '# SPDX-License-Identifier: GPL-2.0-or-later' 'cd "$1"' > tests/enter.sh
breaks "a script that goes on after a failed cd" scripts

copy log.c
add daemon/log.c "/* See http:/""/mirror.example.net/x. */"
breaks "a host" alone
copy log.c
add daemon/log.c '/* TODO */'
breaks "a note to oneself" alone

done_testing
