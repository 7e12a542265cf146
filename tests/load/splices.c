// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Moves data through pipes by all means but read(2) and write(2): each kind ROUNDS times.
 * "splices sendfile" sends a file into a pipe instead, 4096 bytes a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#define ROUNDS 10
#define SIZE   4096

static void expect(const char *what, ssize_t got)
{
	if (got == SIZE)
		return;
	fprintf(stderr, "splices: %s: %zd (%s)\n", what, got, got < 0 ? strerror(errno) : "short");
	exit(1);
}

static int file_make(void)
{
	int fd = memfd_create("splices", 0);
	char block[SIZE] = { 0 };

	if (fd < 0)
		expect("memfd_create", -1);
	expect("the file", write(fd, block, SIZE));
	return fd;
}

int main(int argc, char **argv)
{
	int file = file_make(), sink = file_make(), one[2], two[2];
	static char page[SIZE] __attribute__((aligned(SIZE)));
	struct iovec iov = { page, SIZE };
	loff_t from, to;

	if (pipe(one) < 0 || pipe(two) < 0)
		expect("pipe", -1);
	for (int i = 0; i < ROUNDS; i++) {
		from = to = 0;
		if (argc > 1 && !strcmp(argv[1], "sendfile")) {
			expect("sendfile", sendfile(one[1], file, &from, SIZE));
			expect("splice to a file", splice(one[0], NULL, sink, &to, SIZE, 0));
			continue;
		}
		expect("splice from a file", splice(file, &from, one[1], NULL, SIZE, 0));
		expect("tee", tee(one[0], two[1], SIZE, 0));
		expect("splice to a file", splice(two[0], NULL, sink, &to, SIZE, 0));
		expect("splice between pipes", splice(one[0], NULL, two[1], NULL, SIZE, 0));
		expect("vmsplice from a pipe", vmsplice(two[0], &iov, 1, 0));
		expect("vmsplice to a pipe", vmsplice(one[1], &iov, 1, 0));
		to = 0;
		expect("splice to a file", splice(one[0], NULL, sink, &to, SIZE, 0));
	}
	return 0;
}
