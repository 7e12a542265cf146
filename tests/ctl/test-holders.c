// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "holders.h"
#include "pipewatch/util.h"

/* Lines of @h about the pipe behind @fd. */
static size_t about(const struct holders *h, int fd, const struct holder *ret[4])
{
	struct stat st;
	size_t n = 0;

	assert_int_equal(fstat(fd, &st), 0);
	for (size_t i = 0; i < h->n; i++)
		if (h->list[i].device == st.st_dev && h->list[i].inode == st.st_ino) {
			assert_true(n < 4);
			ret[n++] = &h->list[i];
		}
	return n;
}

static pid_t start_child(const int fds[2], bool keeps_write)
{
	pid_t pid;
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "ev\033il\n");
		close(fds[keeps_write ? 0 : 1]);
		close(ready[0]);
		close(ready[1]);
		for (;;)
			pause();
	}
	close(ready[1]);
	/* The end comes when the child has closed its own. */
	assert_int_equal(read(ready[0], &byte, 1), 0);
	close(ready[0]);
	return pid;
}

static void test_both_ends(void **state)
{
	const struct holder *found[4];
	struct holders h = {};
	int fds[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	child = start_child(fds, true);
	close(fds[1]);

	assert_int_equal(holders_find("/proc", (uint32_t)getpid(), true, &h), 0);
	assert_int_equal(about(&h, fds[0], found), 2);
	assert_int_equal(found[0]->pid, getpid());
	assert_true(found[0]->reads);
	assert_false(found[0]->writes);
	assert_false(found[0]->fifo);
	assert_false(found[0]->noatime);
	assert_int_equal(found[1]->pid, child);
	assert_false(found[1]->reads);
	assert_true(found[1]->writes);
	assert_string_equal(found[1]->comm, "ev\\u001bil\\u000a");
	/* Of one pipe after another. */
	assert_ptr_equal(found[1], found[0] + 1);
	holders_clear(&h);

	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(holders_find("/proc", (uint32_t)getpid(), true, &h), 0);
	assert_int_equal(about(&h, fds[0], found), 1);
	holders_clear(&h);
	close(fds[0]);
}

static void test_noatime_and_fifo(void **state)
{
	char directory[] = "/tmp/test-holders-XXXXXX", path[64];
	const struct holder *found[4];
	struct holders h = {};
	int fds[2], again, fifo;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
	again = open(path, O_RDONLY | O_NOATIME);
	assert_true(again >= 0);
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/fifo", directory);
	assert_int_equal(mkfifo(path, 0600), 0);
	fifo = open(path, O_RDWR);
	assert_true(fifo >= 0);

	assert_int_equal(holders_find("/proc", (uint32_t)getpid(), true, &h), 0);
	assert_int_equal(about(&h, fds[0], found), 1);
	assert_true(found[0]->reads);
	assert_true(found[0]->writes);
	assert_true(found[0]->noatime);
	assert_int_equal(about(&h, fifo, found), 1);
	assert_true(found[0]->fifo);
	assert_true(found[0]->reads);
	assert_true(found[0]->writes);
	assert_false(found[0]->noatime);
	holders_clear(&h);

	unlink(path);
	rmdir(directory);
	close(fifo);
	close(again);
	close(fds[0]);
	close(fds[1]);
}

static void test_none(void **state)
{
	struct holders h = { .n = 7 };

	(void)state;
	assert_int_equal(holders_find("/proc", UINT32_MAX, true, &h), -ENOENT);
	assert_int_equal(holders_find("/nowhere", 1, true, &h), -ENOENT);
	assert_int_equal(h.n, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ends),
		cmocka_unit_test(test_noatime_and_fifo),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
