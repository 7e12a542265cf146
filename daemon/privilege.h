/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attaching needs capabilities, running does not. */
#ifndef PIPEWATCH_PRIVILEGE_H
#define PIPEWATCH_PRIVILEGE_H

/*
 * Gives up every capability, for good: effective, permitted, inheritable, ambient, and the bounding
 * set where that is permitted. What is attached stays attached, and maps can still be read. Returns
 * 0 or -errno.
 */
int privilege_drop(void);

#endif
