/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading files of one line, as sysfs has them. */
#ifndef PIPEWATCH_SYSFS_H
#define PIPEWATCH_SYSFS_H

#include <stddef.h>

/* The kernel's source of time: tsc, kvm-clock, hpet, acpi_pm, ... */
#define SYSFS_CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

/* The first line of the file at @path, without its end; "" where it cannot be read. */
void sysfs_read(const char *path, char *ret, size_t size);

#endif
