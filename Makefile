# SPDX-License-Identifier: GPL-2.0-or-later
#
# make            build/pipewatchd and build/pipewatchctl
# make demo       install what is needed, build, and show it at work
# make check      install what is needed, build, and run every test
# make bench      measure what watching costs, on every kernel
# make fuzz       feed every parser with made-up input for SECONDS=60 each
# make soak       MINUTES of churn in a guest with ten thousand processes
# make install    DESTDIR= and PREFIX= are honoured; configuration goes to /etc
# make deb        a Debian package, in build/deb
# V=1 shows the commands; CC=clang builds with clang.

VERSION := 0.1.0
PREFIX ?= /usr
SBINDIR ?= $(PREFIX)/sbin
BINDIR ?= $(PREFIX)/bin
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
DBUSDIR ?= $(PREFIX)/share/dbus-1
# dbus-daemon reads policies below /usr and /etc only.
DBUSPOLICYDIR ?= $(if $(filter /usr,$(PREFIX)),$(DBUSDIR),/etc/dbus-1)/system.d
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
DOCDIR ?= $(PREFIX)/share/doc/pipewatch
MANDIR ?= $(PREFIX)/share/man
CONFDIR := /etc/pipewatch

ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
LLVM_STRIP ?= llvm-strip
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PKG_CONFIG ?= pkg-config
BUILD ?= build

ifneq ($(V),1)
Q := @
say = @printf '  %-7s %s\n' '$(1)' '$(2)'
endif

PACKAGES := libbpf libelf libsystemd libmicrohttpd inih zlib json-c libcap-ng
WARNINGS := -Wall -Wextra -Werror -Wmissing-prototypes -Wstrict-prototypes -Wshadow -Wundef
CFLAGS ?= -O2 -g
DAEMON_FOLDERS := daemon $(patsubst %/,%,$(wildcard daemon/*/))
# -iquote keeps headers such as pipe.h from standing in for the system's.
ALL_CFLAGS = -std=gnu11 $(WARNINGS) -D_GNU_SOURCE -DPIPEWATCH_VERSION='"$(VERSION)"' \
	-Iinclude $(addprefix -iquote ,$(DAEMON_FOLDERS)) -iquote $(BUILD) $(shell $(PKG_CONFIG) --cflags $(PACKAGES)) $(CPPFLAGS) $(CFLAGS)
ALL_LDLIBS = $(shell $(PKG_CONFIG) --libs $(PACKAGES)) -lm -pthread $(LDLIBS)

# The client knows the bus and its own headers, nothing of the daemon.
CTL_PACKAGES := libsystemd json-c smartcols
CTL_CFLAGS = -std=gnu11 $(WARNINGS) -D_GNU_SOURCE -DPIPEWATCH_VERSION='"$(VERSION)"' \
	-Iinclude -iquote ctl $(shell $(PKG_CONFIG) --cflags $(CTL_PACKAGES)) $(CPPFLAGS) $(CFLAGS)
CTL_LDLIBS = $(shell $(PKG_CONFIG) --libs $(CTL_PACKAGES)) -lm $(LDLIBS)

DAEMON_OBJECTS := $(patsubst daemon/%.c,$(BUILD)/daemon/%.o,$(wildcard daemon/*.c daemon/*/*.c))
LIBRARY := $(BUILD)/daemon.a
CTL_OBJECTS := $(patsubst ctl/%.c,$(BUILD)/ctl/%.o,$(wildcard ctl/*.c))
CTL_LIBRARY := $(BUILD)/ctl.a
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test-*.c)) \
	$(patsubst tests/ctl/%.c,$(BUILD)/tests/ctl/%,$(wildcard tests/ctl/test-*.c))

.PHONY: all bench deb deps soak check check-bench check-fuzzers check-loads check-unit check-rules demo faults fuzz install clean
.DELETE_ON_ERROR:
.SECONDARY:

all: $(BUILD)/pipewatchd $(BUILD)/pipewatchctl

$(BUILD)/%/:
	$(Q)mkdir -p $@

# ---- BPF: one object for every kernel, and the skeleton that carries it ----

# What the compiler builds for, which need not be what it runs on.
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
# As libbpf calls it.
BPF_ARCH_x86_64 := x86
BPF_ARCH_aarch64 := arm64
BPF_ARCH_powerpc64le := powerpc
BPF_ARCH_riscv64 := riscv
BPF_ARCH_s390x := s390
BPF_ARCH := $(or $(BPF_ARCH_$(MACHINE)),$(MACHINE))
# What is built does not depend on where: BTF holds the names of sources.
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter -D__TARGET_ARCH_$(BPF_ARCH) -Iinclude -Ibpf \
	-ffile-prefix-map=$(CURDIR)=. \
	$(addprefix -idirafter ,$(wildcard /usr/include/$(MACHINE)-linux-gnu))

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.bpf.h include/pipewatch/*.h) | $(BUILD)/bpf/
	$(call say,BPF,$@)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@.unlinked
	$(Q)$(LLVM_STRIP) -g $@.unlinked
	$(Q)$(BPFTOOL) gen object $@ $@.unlinked

$(BUILD)/%.skel.h: $(BUILD)/bpf/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(subst -,_,$*)_bpf > $@

# ---- the daemon ----

$(BUILD)/daemon/counting/tracer.o: $(BUILD)/pipewatch.skel.h
$(BUILD)/daemon/costs/burst-pairs.o: $(BUILD)/burst.skel.h
$(BUILD)/daemon/sampling/sampler.o: $(BUILD)/sampler.skel.h

# The Makefile holds the version and the flags.
$(BUILD)/daemon/%.o: daemon/%.c Makefile
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(LIBRARY): $(filter-out $(BUILD)/daemon/main.o,$(DAEMON_OBJECTS))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/pipewatchd: $(BUILD)/daemon/main.o $(LIBRARY)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $^ $(ALL_LDLIBS) -o $@

# ---- the client ----

$(BUILD)/ctl/%.o: ctl/%.c Makefile | $(BUILD)/ctl/
	$(call say,CC,$@)
	$(Q)$(CC) $(CTL_CFLAGS) -MMD -MP -c $< -o $@

$(CTL_LIBRARY): $(filter-out $(BUILD)/ctl/main.o,$(CTL_OBJECTS))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/pipewatchctl: $(BUILD)/ctl/main.o $(CTL_LIBRARY)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CTL_CFLAGS) $(LDFLAGS) $^ $(CTL_LDLIBS) -o $@

# ---- installation ----

install: $(BUILD)/pipewatchd $(BUILD)/pipewatchctl
	$(call say,INSTALL,$(DESTDIR)$(SBINDIR)/pipewatchd)
	$(Q)install -D -m 755 $< $(DESTDIR)$(SBINDIR)/pipewatchd
	$(Q)install -D -m 755 $(BUILD)/pipewatchctl $(DESTDIR)$(BINDIR)/pipewatchctl
	$(Q)install -D -m 644 ctl/pipewatchctl.bash $(DESTDIR)$(COMPLETIONDIR)/pipewatchctl
	$(Q)install -d $(DESTDIR)$(UNITDIR)
	$(Q)sed 's|/usr/sbin/|$(SBINDIR)/|' units/pipewatchd.service > $(DESTDIR)$(UNITDIR)/pipewatchd.service
	$(Q)chmod 644 $(DESTDIR)$(UNITDIR)/pipewatchd.service
	$(Q)install -m 644 units/pipewatchd.socket $(DESTDIR)$(UNITDIR)/
	$(Q)install -D -m 644 units/pipewatch.sysusers $(DESTDIR)$(SYSUSERSDIR)/pipewatch.conf
	$(Q)install -D -m 644 units/org.pipewatch1.conf $(DESTDIR)$(DBUSPOLICYDIR)/org.pipewatch1.conf
	$(Q)install -D -m 644 units/org.pipewatch1.service \
		$(DESTDIR)$(DBUSDIR)/system-services/org.pipewatch1.service
	$(Q)install -D -m 644 -t $(DESTDIR)$(DOCDIR) README.md LICENSE
	$(Q)$(foreach page,$(wildcard man/*),install -D -m 644 -t $(DESTDIR)$(MANDIR)/man$(patsubst .%,%,$(suffix $(page))) $(page) &&) :
	$(Q)install -d $(DESTDIR)$(CONFDIR)/pipewatch.conf.d
	@# What an administrator has changed stays.
	$(Q)test -e $(DESTDIR)$(CONFDIR)/pipewatch.conf || \
		install -m 644 units/pipewatch.conf $(DESTDIR)$(CONFDIR)/pipewatch.conf

# ---- the Debian package ----

# Built from a copy, which is without what this tree has been used for. It is built as any other program
# would build it: nothing of this make reaches it. Its tests have been run or can be, with "make check".
DEB := $(BUILD)/deb
DEB_SOURCE := $(DEB)/pipewatch-$(VERSION)

deb: deps
	$(call say,DEB,$(DEB)/)
	$(Q)rm -rf $(DEB) && mkdir -p $(DEB_SOURCE)
	$(Q)git ls-files -co --exclude-standard -z | tar -c --null --ignore-failed-read -T - | tar -x -C $(DEB_SOURCE)
	$(Q)cd $(DEB_SOURCE) && env -u BUILD -u CC -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u VERSION \
		DEB_BUILD_OPTIONS="$(or $(DEB_BUILD_OPTIONS),nocheck)" dpkg-buildpackage -us -uc > ../log 2>&1 || \
		{ tail -n 30 ../log >&2; exit 1; }

# ---- tests ----

# For tests that decide which allocations of the library fail.
WRAPS := -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=reallocarray
wraps = $(if $(shell grep -s '"oom.h"' $<),$(WRAPS))

$(BUILD)/tests/test-%: tests/unit/test-%.c $(LIBRARY) | $(BUILD)/tests/
	$(call say,TEST,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP $(LDFLAGS) $(wraps) $< $(LIBRARY) $(shell $(PKG_CONFIG) --cflags --libs cmocka) $(ALL_LDLIBS) -o $@

$(BUILD)/tests/bus-server: tests/bus/server.c $(LIBRARY) | $(BUILD)/tests/
	$(call say,TEST,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP $(LDFLAGS) $< $(LIBRARY) $(ALL_LDLIBS) -o $@

$(BUILD)/tests/ctl/test-%: tests/ctl/test-%.c $(CTL_LIBRARY) | $(BUILD)/tests/ctl/
	$(call say,TEST,$@)
	$(Q)$(CC) $(CTL_CFLAGS) -MMD -MP $(LDFLAGS) $< $(CTL_LIBRARY) $(shell $(PKG_CONFIG) --cflags --libs cmocka) $(CTL_LDLIBS) -o $@

$(BUILD)/tests/ctl/service: tests/ctl/service.c | $(BUILD)/tests/ctl/
	$(call say,TEST,$@)
	$(Q)$(CC) $(CTL_CFLAGS) -MMD -MP $(LDFLAGS) $< $(CTL_LDLIBS) -o $@

# Without shared libraries where that is possible: a guest starts them hundreds of times.
$(BUILD)/tests/load/occupy: LOAD_LIBS = $(shell $(PKG_CONFIG) --libs libbpf)
LOADS := $(patsubst tests/load/%.c,$(BUILD)/tests/load/%,$(wildcard tests/load/*.c))

$(BUILD)/tests/load/%: tests/load/%.c | $(BUILD)/tests/load/
	$(call say,TEST,$@)
	$(Q)$(CC) -std=gnu11 $(WARNINGS) -D_GNU_SOURCE $(CFLAGS) -MMD -MP $(LDFLAGS) $< -pthread -lm $(or $(LOAD_LIBS),-static) -o $@

check-loads: $(LOADS)

# Built by tests/fuzz/run, which has a compiler and flags of its own for them and for the library.
FUZZERS := $(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz/%,$(wildcard tests/fuzz/*.c))

$(BUILD)/tests/fuzz/%: tests/fuzz/%.c $(LIBRARY) | $(BUILD)/tests/fuzz/
	$(call say,FUZZER,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP $(LDFLAGS) -fsanitize=fuzzer $< $(LIBRARY) $(ALL_LDLIBS) -o $@

check-fuzzers: $(FUZZERS)

fuzz: deps
	+$(Q)BUILD=$(abspath $(BUILD)) CLANG=$(CLANG) tests/fuzz/run $(or $(SECONDS),60)

$(BUILD)/tests/faults/preload.so: tests/faults/preload.c | $(BUILD)/tests/faults/
	$(call say,TEST,$@)
	$(Q)$(CC) -std=gnu11 $(WARNINGS) -D_GNU_SOURCE $(CFLAGS) -fno-builtin -fPIC -shared $< -ldl -o $@

# Writes tests/faults/FAULTS.md anew.
faults: all $(BUILD)/tests/faults/preload.so
	$(Q)BUILD=$(abspath $(BUILD)) tests/faults/gather

check-unit: $(UNIT_TESTS)

check-rules: all
	$(Q)BUILD=$(abspath $(BUILD)) tests/run tests/rules/rules.sh tests/rules/test-rules.sh

deps:
	$(Q)tests/deps

# Anew, because what was looked up before the packages were installed may have changed.
remake = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

# Tests find what was built by BUILD in their environment. The sum of all results is the last line.
check: deps
	+$(Q)$(remake) all check-bench check-unit check-loads deb $(BUILD)/tests/bus-server $(BUILD)/tests/ctl/service \
		$(BUILD)/tests/faults/preload.so
	$(Q)BUILD=$(abspath $(BUILD)) tests/run -j 2 -f tests/suites \
		"tests/bus/run.sh $(BUILD)/tests/bus-server" $(UNIT_TESTS)

# Not part of "make check": MINUTES of churn beside ten thousand processes, on the kernel KERNEL.
MINUTES ?= 5
KERNEL ?= 6.12

soak: deps
	+$(Q)$(remake) all check-loads
	$(Q)BUILD=$(abspath $(BUILD)) PIPEWATCH_MINUTES=$(MINUTES) PIPEWATCH_SECONDS=$$(($(MINUTES) * 60 + 400)) \
		tests/vm/suite soak $(KERNEL)

demo: deps
	+$(Q)$(remake) all
	$(Q)BUILD=$(abspath $(BUILD)) tests/demo/demo

# ---- what watching costs: a table in $(BUILD)/bench.md; some of it is tested by "make check" ----

# What measures by itself, and what shows the measuring parts of the daemon.
BENCH_ALONE := pipe attach
BENCH_LIBRARY := ab-truth burst-truth sample
BENCH_BPF := empty.bpf.o candidates.bpf.o

bench: deps
	+$(Q)$(remake) check-bench
	$(Q)BUILD=$(abspath $(BUILD)) tests/bench/run

check-bench: $(BUILD)/pipewatchd $(addprefix $(BUILD)/bench/,$(BENCH_ALONE) $(BENCH_LIBRARY) $(BENCH_BPF))

$(BUILD)/bench/%.bpf.o: tests/bench/%.bpf.c $(wildcard bpf/*.bpf.h include/pipewatch/*.h) | $(BUILD)/bench/
	$(call say,BPF,$@)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(BENCH_LIBRARY:%=$(BUILD)/bench/%): $(LIBRARY)

$(BUILD)/bench/%: tests/bench/%.c | $(BUILD)/bench/
	$(call say,BENCH,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP $(LDFLAGS) $(filter %.c %.a,$^) -Wl,--as-needed $(ALL_LDLIBS) -o $@

clean:
	$(Q)rm -rf $(BUILD)

-include $(wildcard $(BUILD)/daemon/*.d $(BUILD)/daemon/*/*.d $(BUILD)/ctl/*.d $(BUILD)/tests/*.d $(BUILD)/tests/ctl/*.d \
	$(BUILD)/tests/fuzz/*.d $(BUILD)/tests/load/*.d $(BUILD)/bench/*.d)
