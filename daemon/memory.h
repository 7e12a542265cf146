/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the process keeps of its memory. */
#ifndef PIPEWATCH_MEMORY_H
#define PIPEWATCH_MEMORY_H

/* Before anything large is allocated: its memory is to be given back when it is freed. */
void memory_prepare(void);

/* When started: gives back what only the start needed. */
void memory_release(void);

#endif
