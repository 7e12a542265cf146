// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ways WAY: uses a pipe in one of the less usual ways, under that name, and prints what of it has
 * to be counted, by what the system calls returned: reads, their bytes, writes, their bytes, and
 * reads through O_NOATIME.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAPACITY 65536
#define MEGABYTE (1 << 20)
#define PAGE	 4096

static const char *way;
static char data[MEGABYTE];
static int read_end, write_end;
static struct {
	long reads, read_bytes, writes, written_bytes, noatime;
} sum;

static void die(const char *what)
{
	fprintf(stderr, "ways: %s: %s: %s\n", way, what, strerror(errno));
	_exit(1);
}

/* What a call returned. */
static ssize_t did_read(ssize_t n)
{
	if (n > 0) {
		sum.reads++;
		sum.read_bytes += n;
	}
	return n;
}

static ssize_t did_write(ssize_t n)
{
	if (n > 0) {
		sum.writes++;
		sum.written_bytes += n;
	}
	return n;
}

static ssize_t get(size_t n)
{
	return did_read(read(read_end, data, n));
}

static ssize_t put(size_t n)
{
	return did_write(write(write_end, data, n));
}

static void drain(size_t n)
{
	while (get(n) > 0)
		;
}

static void nonblocking(int fd)
{
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		die("O_NONBLOCK");
}

static void pipe_open(int flags)
{
	int fds[2];

	if (pipe2(fds, flags) < 0)
		die("pipe2");
	read_end = fds[0];
	write_end = fds[1];
}

static void *drain_all(void *unused)
{
	static char sink[CAPACITY];

	(void)unused;
	while (did_read(read(read_end, sink, sizeof(sink))) > 0)
		;
	return NULL;
}

/* One write, however often it has to wait. */
static void megabyte(void)
{
	pthread_t reader;

	pthread_create(&reader, NULL, drain_all, NULL);
	if (put(MEGABYTE) != MEGABYTE)
		die("write");
	close(write_end);
	pthread_join(reader, NULL);
}

/* Each read takes one packet, and what it has no room for is lost. */
static void packets(void)
{
	pipe_open(O_DIRECT);
	for (int i = 0; i < 5; i++)
		put(100);
	for (int i = 0; i < 5; i++)
		if (get(50) != 50)
			die("read");
	if (put(2 * PAGE + 1) != 2 * PAGE + 1 || get(CAPACITY) != PAGE || get(CAPACITY) != PAGE ||
	    get(CAPACITY) != 1)
		die("a large packet");
}

static void vectors(void)
{
	struct iovec v[3] = { { data, 10 }, { data + 100, 20 }, { data + 200, 30 } };
	struct iovec nothing = { data, 0 };

	did_write(writev(write_end, v, 3));
	did_read(readv(read_end, v, 2));
	did_read(readv(read_end, v, 3));
	did_write(pwritev2(write_end, v, 3, -1, 0));
	did_read(preadv2(read_end, v, 3, -1, 0));
	/* Some kernels have it for pipes, and then not for an empty one. */
	put(60);
	if (did_read(preadv2(read_end, v, 3, -1, RWF_NOWAIT)) < 0)
		get(60);
	did_read(preadv2(read_end, v, 3, -1, RWF_NOWAIT));
	did_write(writev(write_end, &nothing, 1));
	did_write(writev(write_end, v, 0));
	did_write(pwrite(write_end, data, 1, 0));
	did_read(pread(read_end, data, 1, 0));
	nonblocking(read_end);
	did_read(readv(read_end, v, 3));
	did_read(readv(read_end, &nothing, 1));
}

/* Memory ends within what is to be written or read. */
static void faults(void)
{
	char *memory = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);

	if (memory == MAP_FAILED || munmap(memory + 2 * PAGE, PAGE) < 0)
		die("memory");
	nonblocking(read_end);
	did_write(write(write_end, memory, 3 * PAGE));
	did_write(write(write_end, memory + 2 * PAGE - 100, PAGE));
	did_write(write(write_end, memory + PAGE - 1, 2 * PAGE));
	did_read(read(read_end, memory + PAGE, 3 * PAGE));
	did_read(read(read_end, memory + 2 * PAGE - 100, 200));
	drain(3000);
}

static void on_alarm(int number)
{
	(void)number;
}

/* A signal ends a write in the middle; again and again, for the first may come too soon. */
static void signals(void)
{
	const struct itimerval often = { { .tv_usec = 50000 }, { .tv_usec = 50000 } };

	if (sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_alarm }, NULL) < 0 ||
	    setitimer(ITIMER_REAL, &often, NULL) < 0)
		die("alarm");
	if (put(3 * CAPACITY) != CAPACITY)
		die("a write that a signal ends");
	for (int i = 0; i < 3; i++)
		get(30000);
	if (get(10) != -1)
		die("a read that a signal ends");
}

/* So does the end of the last reader. */
static void unread(void)
{
	pid_t child;

	signal(SIGPIPE, SIG_IGN);
	child = fork();
	if (child == 0) {
		int filled = 0;

		while (ioctl(read_end, FIONREAD, &filled) == 0 && filled < CAPACITY)
			usleep(10000);
		_exit(0);
	}
	close(read_end);
	if (put(3 * CAPACITY) != CAPACITY || put(1) != -1)
		die("a write that is not read");
	waitpid(child, NULL, 0);
}

/* And kill(2): what was written until then counts. The parent has another name and is not asked. */
static void killed(void)
{
	pid_t child = fork();

	if (child == 0) {
		ssize_t n = write(write_end, data, MEGABYTE);

		_exit(n < 0);
	}
	prctl(PR_SET_NAME, "killer");
	close(write_end);
	for (int i = 0; i < 3; i++)
		get(50000);
	usleep(50000);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	drain(50000);
	sum.writes = 1;
	sum.written_bytes = sum.read_bytes;
	sum.reads = sum.read_bytes = 0;
}

static void resized(void)
{
	nonblocking(read_end);
	nonblocking(write_end);
	if (fcntl(write_end, F_SETPIPE_SZ, PAGE) != PAGE || put(CAPACITY) != PAGE || put(1) != -1)
		die("a small pipe");
	if (fcntl(write_end, F_SETPIPE_SZ, MEGABYTE) != MEGABYTE ||
	    put(MEGABYTE) != MEGABYTE - PAGE)
		die("a large pipe");
	drain(MEGABYTE);
}

/* One end for both, as FIFOs can be opened, and here an anonymous pipe by its link. */
static void reopened(void)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", read_end);
	fd = open(path, O_RDWR | O_NOATIME);
	if (fd < 0)
		die("open");
	did_write(write(fd, data, 10));
	sum.noatime += did_read(read(fd, data, 4)) > 0;
	get(10);
}

static void *read_thrice(void *done)
{
	for (int i = 0; i < 3; i++) {
		if (get(10) > 0 && fcntl(read_end, F_GETFL) & O_NOATIME)
			sum.noatime++;
		__atomic_add_fetch((int *)done, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

/* O_NOATIME comes and goes while a thread sleeps in read. */
static void noatime_asleep(void)
{
	pthread_t reader;
	int done = 0;

	pthread_create(&reader, NULL, read_thrice, &done);
	for (int i = 0; i < 3; i++) {
		usleep(50000);
		if (fcntl(read_end, F_SETFL, i == 1 ? O_NOATIME : 0) < 0)
			die("O_NOATIME");
		put(3);
		while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) == i)
			usleep(1000);
	}
	pthread_join(reader, NULL);
}

/* Pipes meet sockets, files and memory: what is not read or written there is not counted. */
static void spliced(void)
{
	struct iovec v = { data, PAGE };
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0)
		die("socketpair");
	put(5000);
	if (splice(read_end, NULL, sockets[0], NULL, 3000, 0) != 3000 || get(5000) != 2000 ||
	    splice(sockets[1], NULL, write_end, NULL, 3000, 0) <= 0)
		die("splice");
	nonblocking(read_end);
	drain(5000);
	if (vmsplice(write_end, &v, 1, 0) != PAGE)
		die("vmsplice");
	did_read(read(read_end, data + 2 * PAGE, CAPACITY));
}

static int write_some(void *unused)
{
	(void)unused;
	for (int i = 0; i < 4; i++)
		if (write(write_end, data, 25) != 25)
			return 1;
	return 0;
}

/* Processes that share files, memory or their parent's time. All have this name. */
static void cloned(void)
{
	static const int flags[] = {
		CLONE_FILES | CLONE_VM | CLONE_FS | CLONE_SIGHAND,
		CLONE_VFORK | CLONE_VM,
		CLONE_PARENT_SETTID,
	};
	char *stack = malloc(CAPACITY);
	int status, tid;

	for (size_t i = 0; stack && i < sizeof(flags) / sizeof(*flags); i++) {
		pid_t child = clone(write_some, stack + CAPACITY, flags[i] | SIGCHLD, NULL, &tid);

		if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
			die("clone");
		sum.writes += 4;
		sum.written_bytes += 100;
	}
}

/* io_submit(2) */
static void aio(void)
{
	struct iocb put_it = { .aio_lio_opcode = IOCB_CMD_PWRITE, .aio_nbytes = 123 };
	struct iocb get_it = { .aio_lio_opcode = IOCB_CMD_PREAD, .aio_nbytes = 100 };
	struct iocb *both[] = { &put_it, &get_it };
	struct io_event events[2];
	aio_context_t context = 0;

	put_it.aio_fildes = write_end;
	get_it.aio_fildes = read_end;
	put_it.aio_buf = get_it.aio_buf = (uintptr_t)data;
	if (syscall(SYS_io_setup, 2, &context) < 0 ||
	    syscall(SYS_io_submit, context, 2, both) != 2 ||
	    syscall(SYS_io_getevents, context, 2, 2, events, NULL) != 2)
		die("aio");
	for (int i = 0; i < 2; i++) {
		if (events[i].obj == (uintptr_t)&put_it)
			did_write(events[i].res);
		else
			did_read(events[i].res);
	}
}

/* A ring of one request at a time. */
struct ring {
	int fd;
	unsigned int setup_flags, request_flags;
	char *submissions, *completions;
	struct io_uring_sqe *requests;
	struct io_uring_params parameters;
};

static unsigned int *ring_word(char *ring, unsigned int offset)
{
	return (unsigned int *)(ring + offset);
}

static char *ring_map(const struct ring *r, size_t size, off_t offset)
{
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd,
			    offset);

	if (memory == MAP_FAILED)
		die("mmap of a ring");
	return memory;
}

static void ring_open(struct ring *r)
{
	struct io_uring_params *p = &r->parameters;

	p->flags = r->setup_flags;
	p->sq_thread_idle = 1000;
	r->fd = syscall(SYS_io_uring_setup, 1, p);
	if (r->fd < 0)
		die("io_uring_setup");
	r->submissions = ring_map(r, p->sq_off.array + p->sq_entries * sizeof(unsigned int),
				  IORING_OFF_SQ_RING);
	r->completions = ring_map(r, p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe),
				  IORING_OFF_CQ_RING);
	r->requests = (void *)ring_map(r, p->sq_entries * sizeof(*r->requests), IORING_OFF_SQES);
}

static void ring_submit(struct ring *r, int operation, int fd, const void *buffer, size_t length)
{
	const struct io_sqring_offsets *at = &r->parameters.sq_off;
	unsigned int enter = 0, tail = *ring_word(r->submissions, at->tail);

	*r->requests = (struct io_uring_sqe){ .opcode = operation,
					      .flags = r->request_flags,
					      .fd = fd,
					      .off = -1,
					      .addr = (uintptr_t)buffer,
					      .len = length };
	*ring_word(r->submissions, at->array) = 0;
	__atomic_store_n(ring_word(r->submissions, at->tail), tail + 1, __ATOMIC_SEQ_CST);
	if (r->setup_flags & IORING_SETUP_SQPOLL)
		enter = IORING_ENTER_SQ_WAKEUP;
	if (syscall(SYS_io_uring_enter, r->fd, 1, 0, enter, NULL, 0) < 0)
		die("io_uring_enter");
}

static ssize_t ring_result(struct ring *r)
{
	const struct io_cqring_offsets *at = &r->parameters.cq_off;
	unsigned int *head = ring_word(r->completions, at->head);
	struct io_uring_cqe *results = (void *)(r->completions + at->cqes);
	ssize_t result;

	while (*head == __atomic_load_n(ring_word(r->completions, at->tail), __ATOMIC_SEQ_CST))
		if (syscall(SYS_io_uring_enter, r->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0 &&
		    errno != EINTR)
			die("io_uring_enter");
	result = results[*head & *ring_word(r->completions, at->ring_mask)].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_SEQ_CST);
	return result;
}

static void uring(unsigned int setup_flags, unsigned int request_flags)
{
	struct ring r = { .setup_flags = setup_flags, .request_flags = request_flags };
	struct iovec v = { data, 70 };

	ring_open(&r);
	ring_submit(&r, IORING_OP_WRITE, write_end, data, 100);
	did_write(ring_result(&r));
	ring_submit(&r, IORING_OP_READ, read_end, data, 60);
	did_read(ring_result(&r));
	ring_submit(&r, IORING_OP_READV, read_end, &v, 1);
	did_read(ring_result(&r));
	ring_submit(&r, IORING_OP_WRITEV, write_end, &v, 1);
	did_write(ring_result(&r));
	get(70);
	/* One that has to wait. */
	ring_submit(&r, IORING_OP_READ, read_end, data, 60);
	usleep(50000);
	put(9);
	did_read(ring_result(&r));
	put(CAPACITY);
	ring_submit(&r, IORING_OP_WRITE, write_end, data, 100);
	usleep(50000);
	get(CAPACITY);
	did_write(ring_result(&r));
	get(CAPACITY);
	if (sum.read_bytes != sum.written_bytes)
		die("not all was read");
}

static void uring_plain(void)
{
	uring(0, 0);
}

static void uring_workers(void)
{
	uring(0, IOSQE_ASYNC);
}

static void uring_polled(void)
{
	uring(IORING_SETUP_SQPOLL, 0);
}

static const struct {
	const char *name;
	void (*go)(void);
} ways[] = {
	{ "megabyte", megabyte },
	{ "packets", packets },
	{ "vectors", vectors },
	{ "faults", faults },
	{ "signals", signals },
	{ "unread", unread },
	{ "killed", killed },
	{ "resized", resized },
	{ "reopened", reopened },
	{ "noatime-asleep", noatime_asleep },
	{ "spliced", spliced },
	{ "cloned", cloned },
	{ "aio", aio },
	{ "uring", uring_plain },
	{ "uring-workers", uring_workers },
	{ "uring-polled", uring_polled },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(argv[1], ways[i].name))
			continue;
		way = ways[i].name;
		prctl(PR_SET_NAME, way);
		pipe_open(0);
		ways[i].go();
		printf("%ld %ld %ld %ld %ld\n", sum.reads, sum.read_bytes, sum.writes,
		       sum.written_bytes, sum.noatime);
		return 0;
	}
	fprintf(stderr, "usage: ways WAY, one of");
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		fprintf(stderr, " %s", ways[i].name);
	fprintf(stderr, "\n");
	return 64;
}
