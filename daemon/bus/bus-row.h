/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes and groups as rows of D-Bus messages.
 *
 * A process is (pid, start time in usec since the epoch, comm, unit, reads, writes, bytes read,
 * bytes written, details), a group (unit, comm, live processes, reads, writes, bytes read, bytes
 * written, details). The numbers are sums over both kinds of pipe; the details have them by kind.
 * For KIND, Anonymous or Fifo, each there only if it had operations or costs. Where the kernel's
 * reads or writes are not counted, their numbers are 2^64-1 and their details absent:
 */
/* clang-format off */
/*
 *   Exited                    b   of processes: it has ended and will soon leave the list
 *   MetadataCpuSeconds        d   CPU time of all updates whose cost is known: lists are by it
 *   PipeCpuSeconds            d   CPU time in pipe operations, where it is sampled
 *   SampledAtimeCpuSeconds    d   and in updates, of the kinds that samples show
 *   SampledCmtimeCpuSeconds   d
 *   SampledFsnotifyCpuSeconds d
 *   CpuSeconds                d   of processes with the highest costs: all their own CPU time
 *   MetadataCpuShare          d   and what share of it metadata updates are
 *   KINDReads                 t
 *   KINDWrites                t
 *   KINDReadBytes             t
 *   KINDWrittenBytes          t
 *   KINDNoatimeReads          t   those of the reads that came through O_NOATIME
 *   KINDReadsStandardError    d   where the number was extrapolated
 *   KINDWritesStandardError   d
 *   KINDAtimeUpdates          t   updates, where this kernel makes them: see property Paths
 *   KINDCmtimeUpdates         t
 *   KINDAtimeCpuSeconds       d   and what they cost, where that is known: see property UnitCosts
 *   KINDCmtimeCpuSeconds      d
 *   KINDFsnotifyCpuSeconds    d   by sampling
 *   KINDReadSizes             at  operations by size, in 16 classes of 2^n .. 2^(n+1)-1 bytes; not
 *   KINDWriteSizes            at  in lists, of which they would be the greater part
 */
/* clang-format on */
#ifndef PIPEWATCH_BUS_ROW_H
#define PIPEWATCH_BUS_ROW_H

#include <systemd/sd-bus.h>

#include "snapshot.h"

#define BUS_ROW_PROCESS "(utsstttta{sv})"
#define BUS_ROW_GROUP	"(ssutttta{sv})"

/* These return 0 or more, or -errno. */
int bus_row_append_process(sd_bus_message *reply, const struct snapshot *s,
			   const struct snapshot_process *process, bool with_sizes);
int bus_row_append_group(sd_bus_message *reply, const struct snapshot *s,
			 const struct snapshot_group *group);

/* At most so many bytes of a message does the process or group number @i take; a process without
 * its sizes. */
size_t bus_row_process_bytes(const struct snapshot *s, size_t i);
size_t bus_row_group_bytes(const struct snapshot *s, size_t i);

/* And so many more do the sizes take. */
size_t bus_row_sizes_bytes(void);

#endif
