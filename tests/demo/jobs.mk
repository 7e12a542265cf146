# SPDX-License-Identifier: GPL-2.0-or-later
#
# A build of many tiny jobs: make -j hands out the right to run one as a byte in a pipe.
# DIRECTORY is where it builds.

parts := a b c d
files := $(foreach n,1 2 3 4 5 6,$(addprefix $n,0 1 2 3 4 5 6 7 8 9))

all: $(parts)

$(parts):
	@+$(MAKE) -s -f $(firstword $(MAKEFILE_LIST)) part part=$@

part: $(addprefix $(DIRECTORY)/$(part),$(files))

$(DIRECTORY)/%:
	@echo $* > $@

.PHONY: all part $(parts)
