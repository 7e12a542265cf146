/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names that others rely on: bus, port, exit codes. Included by the daemon, its client and the
 * tests.
 */
#ifndef PIPEWATCH_API_H
#define PIPEWATCH_API_H

#define PIPEWATCH_BUS_NAME	"org.pipewatch1"
#define PIPEWATCH_BUS_PATH	"/org/pipewatch1"
#define PIPEWATCH_BUS_INTERFACE "org.pipewatch1.Manager"

#define PIPEWATCH_ERROR_NO_SUCH_PROCESS "org.pipewatch1.Error.NoSuchProcess"
#define PIPEWATCH_ERROR_NOT_MEASURED	"org.pipewatch1.Error.NotMeasured"
#define PIPEWATCH_ERROR_FAILED		"org.pipewatch1.Error.Failed"

#define PIPEWATCH_DEFAULT_LISTEN "127.0.0.1:10057"
#define PIPEWATCH_CONFIG_FILE	 "/etc/pipewatch/pipewatch.conf"

/* sysexits(3) values, so that systemd-analyze exit-status names them. */
enum pipewatch_exit {
	PIPEWATCH_EXIT_OK = 0,
	PIPEWATCH_EXIT_USAGE = 64,
	PIPEWATCH_EXIT_UNAVAILABLE = 69, /* this kernel cannot do it, or another daemon runs */
	PIPEWATCH_EXIT_INTERNAL = 70,
	PIPEWATCH_EXIT_OS = 71,
	PIPEWATCH_EXIT_NOT_PERMITTED = 77,
	PIPEWATCH_EXIT_CONFIG = 78,
};

#endif
