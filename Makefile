# SPDX-License-Identifier: GPL-2.0-or-later
#
# make            build/pipewatchd
# make demo       install what is needed, build, and show it at work
# make check      install what is needed, build, and run every test
# make install    DESTDIR= and PREFIX= are honoured
# V=1 shows the commands; CC=clang builds with clang.

VERSION := 0.1.0
PREFIX ?= /usr
SYSCONFDIR ?= /etc
SBINDIR ?= $(PREFIX)/sbin
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
DBUSDIR ?= $(PREFIX)/share/dbus-1
DOCDIR ?= $(PREFIX)/share/doc/pipewatch

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
# -iquote keeps headers such as pipe.h from standing in for the system's.
ALL_CFLAGS = -std=gnu11 $(WARNINGS) -D_GNU_SOURCE -DPIPEWATCH_VERSION='"$(VERSION)"' \
	-Iinclude -iquote daemon -iquote $(BUILD) $(shell $(PKG_CONFIG) --cflags $(PACKAGES)) $(CPPFLAGS) $(CFLAGS)
ALL_LDLIBS = $(shell $(PKG_CONFIG) --libs $(PACKAGES)) $(LDLIBS)

DAEMON_OBJECTS := $(patsubst daemon/%.c,$(BUILD)/daemon/%.o,$(wildcard daemon/*.c))
LIBRARY := $(BUILD)/daemon.a
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test-*.c))

.PHONY: all bench deps check check-unit check-rules demo install clean
.DELETE_ON_ERROR:
.SECONDARY:

all: $(BUILD)/pipewatchd

$(BUILD)/%/:
	$(Q)mkdir -p $@

# ---- BPF: one object for every kernel, and the skeleton that carries it ----

BPF_ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(shell uname -m)))
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter -D__TARGET_ARCH_$(BPF_ARCH) -Iinclude -Ibpf \
	$(addprefix -idirafter ,$(wildcard /usr/include/$(shell uname -m)-linux-gnu))

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.bpf.h include/pipewatch/*.h) | $(BUILD)/bpf/
	$(call say,BPF,$@)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@.unlinked
	$(Q)$(LLVM_STRIP) -g $@.unlinked
	$(Q)$(BPFTOOL) gen object $@ $@.unlinked

$(BUILD)/%.skel.h: $(BUILD)/bpf/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(subst -,_,$*)_bpf > $@

# ---- the daemon ----

$(BUILD)/daemon/tracer.o: $(BUILD)/pipewatch.skel.h

$(BUILD)/daemon/%.o: daemon/%.c | $(BUILD)/daemon/
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(LIBRARY): $(filter-out $(BUILD)/daemon/main.o,$(DAEMON_OBJECTS))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/pipewatchd: $(BUILD)/daemon/main.o $(LIBRARY)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $^ $(ALL_LDLIBS) -o $@

# ---- tests ----

$(BUILD)/tests/test-%: tests/unit/test-%.c $(LIBRARY) | $(BUILD)/tests/
	$(call say,TEST,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP $(LDFLAGS) $< $(LIBRARY) $(shell $(PKG_CONFIG) --cflags --libs cmocka) $(ALL_LDLIBS) -o $@

check-unit: $(UNIT_TESTS)

# ---- the cost of counting: tests/bench/run makes a table, tests/bench/limits.sh is a test ----

BENCH := $(addprefix $(BUILD)/bench/,pipe attach empty.bpf.o candidates.bpf.o)

bench: $(BUILD)/pipewatchd $(BENCH)

$(BUILD)/bench/%.bpf.o: tests/bench/%.bpf.c $(wildcard bpf/*.bpf.h include/pipewatch/*.h) | $(BUILD)/bench/
	$(call say,BPF,$@)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(BUILD)/bench/%: tests/bench/%.c | $(BUILD)/bench/
	$(call say,CC,$@)
	$(Q)$(CC) -std=gnu11 $(WARNINGS) -D_GNU_SOURCE $(CFLAGS) $(LDFLAGS) $< $(shell $(PKG_CONFIG) --cflags --libs libbpf) -o $@

clean:
	$(Q)rm -rf $(BUILD)

-include $(wildcard $(BUILD)/daemon/*.d $(BUILD)/tests/*.d)
