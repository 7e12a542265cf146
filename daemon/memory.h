/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the daemon's memory small. */
#ifndef PIPEWATCH_MEMORY_H
#define PIPEWATCH_MEMORY_H

/* To be called before anything large is allocated, so that its memory is given back when it is
 * freed. */
void memory_prepare(void);

/* To be called when started: gives back what only the start needed. */
void memory_release(void);

#endif
