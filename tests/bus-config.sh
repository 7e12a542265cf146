# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# A bus of the tests' own, on which everything is allowed that is not taken away again.

# bus_config ADDRESS [POLICY-LINE] [LIMIT-LINE]: the configuration of dbus-daemon, on standard output.
bus_config() {
	cat <<- END
		<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
		 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
		<busconfig>
		  <listen>$1</listen>
		  <auth>EXTERNAL</auth>
		  <policy context="default">
		    <allow send_destination="*" eavesdrop="true"/>
		    <allow eavesdrop="true"/>
		    <allow own="*"/>
		    ${2-}
		  </policy>
		  ${3-}
		</busconfig>
	END
}
