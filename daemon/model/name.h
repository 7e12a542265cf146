/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes names from outside (comm, cgroup) safe: turns arbitrary bytes into valid UTF-8.
 */
#ifndef PIPEWATCH_NAME_H
#define PIPEWATCH_NAME_H

#include <stddef.h>

/*
 * Writes the @n_bytes at @bytes, up to the first NUL, to @ret as valid UTF-8, NUL-terminated. Valid
 * UTF-8 is kept as it is, control characters included; every other byte becomes \xNN, and so do
 * those of noncharacters such as U+FFFF, which D-Bus libraries refuse. Four characters a byte
 * always fit; in a smaller @ret_size the name ends early, never inside a character. Returns the
 * length.
 */
size_t name_render(const char *bytes, size_t n_bytes, char *ret, size_t ret_size);

/*
 * The systemd unit or container that a cgroup @path (as /proc/PID/cgroup has it, beginning with
 * '/') belongs to:
 *   /system.slice/cron.service                          cron.service
 *   /user.slice/user-0.slice/user@0.service/app.slice/a.service   user@0.service/a.service
 *   /system.slice/docker-<id>.scope/init.scope          docker-<id>.scope
 *   /docker/<id>                                        docker/<id, 12 digits>
 *   /lxc/web/system.slice/nginx.service                 lxc/web
 * Writes "" for the root and for paths without either. Returns the length, rendered as
 * name_render() does.
 */
size_t name_unit_from_cgroup(const char *path, char *ret, size_t ret_size);

#endif
