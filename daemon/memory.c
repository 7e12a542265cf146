// SPDX-License-Identifier: GPL-2.0-or-later
#include "memory.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* A block of this size is the kernel's again as soon as it is freed. */
#define LARGE_BYTES (128 * 1024)

void memory_prepare(void)
{
	/* By default the first large block that is freed raises both limits to its own size. */
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	mallopt(M_TRIM_THRESHOLD, LARGE_BYTES);
}

/* Code and constants are read again from the file when they are needed; a segment that has been
 * written to would not be. */
static int object_release(struct dl_phdr_info *info, size_t size, void *userdata)
{
	const uintptr_t page = sysconf(_SC_PAGESIZE);

	(void)size;
	(void)userdata;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
		uintptr_t end = begin + segment->p_memsz;

		if (segment->p_type != PT_LOAD || segment->p_flags & PF_W)
			continue;
		/* The last page can be that of the next segment. */
		begin = (begin + page - 1) & ~(page - 1);
		end &= ~(page - 1);
		if (begin < end)
			madvise((void *)begin, end - begin, MADV_DONTNEED);
	}
	return 0;
}

void memory_release(void)
{
	/* Reading the kernel's types takes ten times the memory of what is kept of them. */
	malloc_trim(0);
	/* Half of what is resident of us and the libraries was needed only for linking and setting
	 * up. */
	dl_iterate_phdr(object_release, NULL);
}
