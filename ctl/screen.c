// SPDX-License-Identifier: GPL-2.0-or-later
#include "screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "pipewatch/clock.h"
#include "pipewatch/util.h"

/* Alternate screen, no cursor, no wrapping of lines that are too long. */
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[H\033[2J"
#define LEAVE "\033[0m\033[?7h\033[?25h\033[?1049l"

struct screen {
	struct output *o;
	struct termios before;
	bool keys; /* standard input is a terminal, whose settings are ours to change */
	sigset_t signals;
	sigset_t signals_before;
	int signal_fd;
	int epoll_fd;
};

static void write_all(const struct screen *s, const char *text, size_t n)
{
	int fd = fileno(s->o->f);

	while (n > 0) {
		ssize_t written = write(fd, text, n);

		if (written < 0 && errno == EAGAIN) {
			struct pollfd ready = { .fd = fd, .events = POLLOUT };

			poll(&ready, 1, -1);
			continue;
		}
		if (written < 0 && errno == EINTR)
			continue;
		/* A terminal that is gone says so by a signal. */
		if (written <= 0)
			return;
		text += written;
		n -= (size_t)written;
	}
}

static void take_keys(const struct screen *s)
{
	struct termios raw = s->before;

	if (!s->keys)
		return;
	/* Keys at once and unseen; signals stay. */
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

static void enter(const struct screen *s)
{
	take_keys(s);
	write_all(s, ENTER, strlen(ENTER));
}

static void leave(const struct screen *s)
{
	write_all(s, LEAVE, strlen(LEAVE));
	if (s->keys)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &s->before);
}

static int watch(struct screen *s, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int prepare(struct screen *s)
{
	static const int signals[] = { SIGWINCH, SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGTSTP,
				       SIGCONT,	 SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2 };
	int r;

	s->keys = tcgetattr(STDIN_FILENO, &s->before) == 0;
	sigemptyset(&s->signals);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&s->signals, signals[i]);
	s->signal_fd = signalfd(-1, &s->signals, SFD_CLOEXEC | SFD_NONBLOCK);
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->signal_fd < 0 || s->epoll_fd < 0)
		return -errno;
	r = watch(s, s->signal_fd);
	if (r >= 0 && s->keys)
		r = watch(s, STDIN_FILENO);
	return r;
}

static void release(struct screen *s)
{
	closep(&s->signal_fd);
	closep(&s->epoll_fd);
	free(s);
}

int screen_new(struct output *o, struct screen **ret_screen, struct failure *f)
{
	struct screen *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return failure_os(f, "Taking the screen failed", ENOMEM);
	s->o = o;
	s->signal_fd = s->epoll_fd = -1;
	r = prepare(s);
	if (r < 0) {
		release(s);
		return failure_os(f, "Taking the screen failed", r);
	}
	/* Before the screen is changed, so that no signal leaves it like that. */
	sigprocmask(SIG_BLOCK, &s->signals, &s->signals_before);
	enter(s);
	*ret_screen = s;
	return 0;
}

struct screen *screen_free(struct screen *s)
{
	if (!s)
		return NULL;
	leave(s);
	sigprocmask(SIG_SETMASK, &s->signals_before, NULL);
	release(s);
	return NULL;
}

int screen_fd(const struct screen *s)
{
	return s->epoll_fd;
}

/* Control-Z: the shell gets its screen back, and we ours when it lets us go on. */
static void stop(const struct screen *s)
{
	const struct timespec at_once = {};
	sigset_t resumed;

	leave(s);
	raise(SIGSTOP);
	sigemptyset(&resumed);
	sigaddset(&resumed, SIGCONT);
	sigtimedwait(&resumed, NULL, &at_once);
	enter(s);
}

static enum screen_event take_signal(struct screen *s)
{
	struct signalfd_siginfo info;

	if (read(s->signal_fd, &info, sizeof(info)) != sizeof(info))
		return SCREEN_NONE;
	switch (info.ssi_signo) {
	case SIGTSTP: stop(s); break;
	case SIGCONT:
		/* Stopped by a signal that we do not see: the shell has set up the keyboard. */
		take_keys(s);
		break;
	case SIGWINCH: break;
	default: return SCREEN_QUIT;
	}
	output_measure(s->o);
	return SCREEN_REDRAW;
}

static enum screen_event take_key(struct screen *s, char *ret_key)
{
	ssize_t n = read(STDIN_FILENO, ret_key, 1);

	if (n == 1)
		return SCREEN_KEY;
	/* Nobody types any more. */
	if (n == 0 || errno != EAGAIN)
		epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
	return SCREEN_NONE;
}

enum screen_event screen_wait(struct screen *s, uint64_t deadline_usec, char *ret_key)
{
	for (;;) {
		struct epoll_event event;
		uint64_t now = monotonic_usec();
		enum screen_event e;
		int timeout = deadline_usec > now ? (int)((deadline_usec - now) / 1000 + 1) : 0;
		int n = epoll_wait(s->epoll_fd, &event, 1, timeout);

		if (n < 0 && errno != EINTR)
			return SCREEN_QUIT;
		if (n == 0 && timeout == 0)
			return SCREEN_NONE;
		if (n <= 0)
			continue;
		e = event.data.fd == s->signal_fd ? take_signal(s) : take_key(s, ret_key);
		if (e != SCREEN_NONE)
			return e;
	}
}

void screen_show(struct screen *s, const char *frame)
{
	_cleanup_(freep) char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return;
	fputs("\033[H", f);
	for (unsigned int line = 0; *frame && line < s->o->height; line++) {
		size_t n = strcspn(frame, "\n");

		fprintf(f, "%s%.*s\033[K", line > 0 ? "\r\n" : "", (int)n, frame);
		frame += n + (frame[n] == '\n');
	}
	fputs("\033[J", f);
	if (fclose(f) == 0)
		write_all(s, text, size);
}
