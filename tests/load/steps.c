// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process that does exactly what its arguments say, step by step. What is waited for is a file,
 * since any pipe would count.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The steps that are left, and the pipe that they are about. */
struct course {
	char **steps;
	int fds[2];
	pthread_mutex_t *lock; /* of all threads and processes */
};

static const char usage[] =
	"usage: steps STEP...\n"
	"  pipe, fifo        use a new pipe of this kind from here on (at first: pipe)\n"
	"  noatime           set O_NOATIME on its read end\n"
	"  write:N:S         write N times S bytes\n"
	"  both:N:S          N times write S bytes and read them\n"
	"  drain:S           read once, up to S bytes\n"
	"  block             read until killed\n"
	"  name:TEXT         prctl(PR_SET_NAME), with \\xNN for any byte\n"
	"  rename:TEXT       name the process, that is, its main thread\n"
	"  touch:FILE        create FILE\n"
	"  mark:FILE         append a byte to FILE\n"
	"  marks:FILE:N      wait until FILE has N bytes\n"
	"  tid:FILE          write the thread id to FILE\n"
	"  wait:FILE         wait until FILE exists\n"
	"  port:N:PID        wait until something listens on TCP port N, or end with status 3\n"
	"                    when process PID has ended\n"
	"  pid:N             end with status 3 unless this is the process id\n"
	"  thread            go on in a new thread, and wait for it here\n"
	"  desert            go on in a new thread, and end this one\n"
	"  threads:N         N threads go on, each with a pipe of its own; wait for them here\n"
	"  processes:N       the same with processes\n"
	"  fork              go on in a child, and wait for it here\n"
	"  exec:FILE         go on in FILE, which is this program by another name\n"
	"  lock, unlock      between these one thread or process at a time, of all from this start\n"
	"  sleep             until killed\n";

static _Noreturn void die(const char *step)
{
	fprintf(stderr, "steps: %s: %s\n", step, strerror(errno));
	_exit(1);
}

static void open_fifo(int fds[2])
{
	char directory[] = "/tmp/steps.XXXXXX", path[64];

	if (!mkdtemp(directory))
		die("mkdtemp");
	snprintf(path, sizeof(path), "%s/fifo", directory);
	if (mkfifo(path, 0600) < 0)
		die("mkfifo");
	fds[0] = open(path, O_RDONLY | O_NONBLOCK);
	fds[1] = open(path, O_WRONLY);
	if (fds[0] < 0 || fds[1] < 0 || fcntl(fds[0], F_SETFL, 0) < 0)
		die("fifo");
	unlink(path);
	rmdir(directory);
}

static void transfer(const struct course *c, const char *step, const char *argument)
{
	int read_too = step[0] == 'b';
	long n, size;
	char *buffer;

	if (sscanf(argument, "%ld:%ld", &n, &size) != 2 || !(buffer = calloc(1, size)))
		die(step);
	for (long i = 0; i < n; i++)
		if (write(c->fds[1], buffer, size) != size ||
		    (read_too && read(c->fds[0], buffer, size) != size))
			die(step);
	free(buffer);
}

static void drain(const struct course *c, const char *argument)
{
	size_t size = strtoul(argument, NULL, 10);
	char *buffer = malloc(size);

	if (!buffer || read(c->fds[0], buffer, size) <= 0)
		die("drain");
	free(buffer);
}

static void set_name(const char *text)
{
	char name[16] = "", *to = name;

	while (*text && to < name + sizeof(name) - 1) {
		unsigned int byte;

		if (sscanf(text, "\\x%2x", &byte) == 1)
			text += 4;
		else
			byte = *text++;
		*to++ = byte;
	}
	if (prctl(PR_SET_NAME, name) < 0)
		die("name");
}

static void make_file(const char *path, long content)
{
	char temporary[256];
	FILE *f;

	/* Whoever waits for it finds all of it. */
	snprintf(temporary, sizeof(temporary), "%s.%d", path, gettid());
	f = fopen(temporary, "w");
	if (!f || fprintf(f, "%ld\n", content) < 0 || fclose(f) || rename(temporary, path) < 0)
		die(path);
}

static void wait_file(const char *path)
{
	while (access(path, F_OK) < 0)
		usleep(5000);
}

static void mark_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

	if (fd < 0 || write(fd, "", 1) != 1)
		die(path);
	close(fd);
}

static void wait_marks(char *argument)
{
	char *n = strrchr(argument, ':');
	struct stat st;

	if (!n)
		die(argument);
	*n++ = '\0';
	while (stat(argument, &st) < 0 || st.st_size < atol(n))
		usleep(5000);
}

static void wait_port(const char *argument)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	char executable[64], path[2];
	int port, pid, fd, r;

	if (sscanf(argument, "%d:%d", &port, &pid) != 2)
		die(argument);
	/* Which a zombie has not. */
	snprintf(executable, sizeof(executable), "/proc/%d/exe", pid);
	address.sin_port = htons(port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (;;) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		r = connect(fd, (struct sockaddr *)&address, sizeof(address));
		close(fd);
		if (r == 0)
			return;
		if (readlink(executable, path, sizeof(path)) < 0)
			_exit(3);
		usleep(20000);
	}
}

/* Only a thread of the process may do so; /proc/self is the main one. */
static void rename_process(const char *name)
{
	FILE *f = fopen("/proc/self/comm", "w");

	if (!f || fputs(name, f) < 0 || fclose(f) < 0)
		die("rename");
}

static void *course_run(void *argument);

static pthread_t start_thread(const struct course *c)
{
	struct course *copy = malloc(sizeof(*copy));
	pthread_t thread;

	if (!copy)
		die("thread");
	*copy = *c;
	errno = pthread_create(&thread, NULL, course_run, copy);
	if (errno)
		die("thread");
	return thread;
}

static void run_threads(struct course *c, int n)
{
	pthread_t *threads = calloc(n, sizeof(*threads));

	if (!threads)
		die("threads");
	for (int i = 0; i < n; i++) {
		if (pipe(c->fds) < 0)
			die("threads");
		threads[i] = start_thread(c);
	}
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	exit(0);
}

static void run_processes(struct course *c, int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("processes");
		if (pid == 0) {
			if (pipe(c->fds) < 0)
				die("processes");
			return;
		}
	}
	while (wait(NULL) > 0)
		;
	exit(0);
}

static void run_child(void)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0)
		return;
	if (waitpid(pid, &status, 0) < 0)
		die("fork");
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void go_on_in(const struct course *c, char *file)
{
	char **arguments = c->steps - 1;

	arguments[0] = file;
	execv(file, arguments);
	die(file);
}

static void step_run(struct course *c, const char *text)
{
	char step[256], *argument, byte;
	pthread_t thread;

	/* Other threads may have the same step to run. */
	snprintf(step, sizeof(step), "%s", text);
	argument = strchr(step, ':');
	if (argument)
		*argument++ = '\0';
	if (!strcmp(step, "pipe") && pipe(c->fds) == 0)
		return;
	if (!strcmp(step, "fifo"))
		open_fifo(c->fds);
	else if (!strcmp(step, "noatime") && fcntl(c->fds[0], F_SETFL, O_NOATIME) == 0)
		return;
	else if (argument && (!strcmp(step, "write") || !strcmp(step, "both")))
		transfer(c, step, argument);
	else if (argument && !strcmp(step, "drain"))
		drain(c, argument);
	else if (!strcmp(step, "block"))
		while (read(c->fds[0], &byte, 1) < 1)
			;
	else if (argument && !strcmp(step, "name"))
		set_name(argument);
	else if (argument && !strcmp(step, "touch"))
		make_file(argument, 0);
	else if (argument && !strcmp(step, "rename"))
		rename_process(argument);
	else if (argument && !strcmp(step, "port"))
		wait_port(argument);
	else if (argument && !strcmp(step, "mark"))
		mark_file(argument);
	else if (argument && !strcmp(step, "marks"))
		wait_marks(argument);
	else if (argument && !strcmp(step, "tid"))
		make_file(argument, gettid());
	else if (argument && !strcmp(step, "wait"))
		wait_file(argument);
	else if (argument && !strcmp(step, "pid"))
		atoi(argument) == getpid() ? (void)0 : _exit(3);
	else if (!strcmp(step, "thread")) {
		thread = start_thread(c);
		pthread_join(thread, NULL);
		exit(0);
	} else if (!strcmp(step, "desert")) {
		start_thread(c);
		syscall(SYS_exit, 0);
	} else if (argument && !strcmp(step, "threads"))
		run_threads(c, atoi(argument));
	else if (argument && !strcmp(step, "processes"))
		run_processes(c, atoi(argument));
	else if (!strcmp(step, "fork"))
		run_child();
	else if (argument && !strcmp(step, "exec"))
		go_on_in(c, argument);
	else if (!strcmp(step, "lock"))
		pthread_mutex_lock(c->lock);
	else if (!strcmp(step, "unlock"))
		pthread_mutex_unlock(c->lock);
	else if (!strcmp(step, "sleep"))
		for (;;)
			pause();
	else
		die(step);
}

static void *course_run(void *argument)
{
	struct course *c = argument;

	while (*c->steps)
		step_run(c, *c->steps++);
	return NULL;
}

static pthread_mutex_t *make_lock(void)
{
	pthread_mutex_t *lock = mmap(NULL, sizeof(*lock), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attributes;

	if (lock == MAP_FAILED)
		die("lock");
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(lock, &attributes);
	return lock;
}

int main(int argc, char **argv)
{
	struct course c = { .steps = argv + 1, .lock = make_lock() };

	if (argc < 2) {
		fputs(usage, stderr);
		return 64;
	}
	if (pipe(c.fds) < 0)
		die("pipe");
	course_run(&c);
	return 0;
}
