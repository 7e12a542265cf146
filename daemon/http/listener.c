// SPDX-License-Identifier: GPL-2.0-or-later
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "pipewatch/util.h"

#define UNIX_PREFIX "unix:"

static struct listener *listener_new(void)
{
	struct listener *l = calloc(1, sizeof(*l));

	if (l)
		l->fd = -1;
	return l;
}

struct listener *listener_free(struct listener *l)
{
	struct stat st;

	if (!l)
		return NULL;
	if (l->path && l->path_inode != 0 && lstat(l->path, &st) == 0 &&
	    st.st_dev == l->path_device && st.st_ino == l->path_inode)
		unlink(l->path);
	closep(&l->fd);
	free(l->address);
	free(l->path);
	free(l);
	return NULL;
}

/* Is it a socket that nobody listens on any more? */
static bool is_stale(const struct sockaddr_un *sa)
{
	_cleanup_(closep) int fd = -1;
	struct stat st;

	/* connect(2) to a file of another kind is refused, too, and that must stay. */
	if (lstat(sa->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return fd >= 0 && connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) < 0 &&
	       errno == ECONNREFUSED;
}

static int open_unix(struct listener *l, const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct stat st;

	if (path[0] != '/')
		return -EINVAL;
	if (strlen(path) >= sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	strcpy(sa.sun_path, path);
	l->path = strdup(path);
	if (!l->path)
		return -ENOMEM;

	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return -errno;
	if (bind(l->fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
		if (errno != EADDRINUSE)
			return -errno;
		if (!is_stale(&sa))
			return -EADDRINUSE;
		if (unlink(path) < 0 && errno != ENOENT)
			return -errno;
		if (bind(l->fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
			return -errno;
	}

	/* Reading is for everybody, as on loopback. Nobody can connect before listen(2). */
	if (lstat(path, &st) < 0)
		return -errno;
	l->path_device = st.st_dev;
	l->path_inode = st.st_ino;
	if (chmod(path, 0666) < 0)
		return -errno;
	return listen(l->fd, SOMAXCONN) < 0 ? -errno : 0;
}

/* Splits ADDR:PORT or [ADDR6]:PORT in place. */
static int split_host_port(char *address, char **ret_host, char **ret_port)
{
	char *colon = strrchr(address, ':');
	char *host = address;

	if (!colon || colon == address || colon[1] == '\0' ||
	    strspn(colon + 1, "0123456789") != strlen(colon + 1) || strlen(colon + 1) > 5 ||
	    atoi(colon + 1) > 65535)
		return -EINVAL;
	*colon = '\0';

	if (host[0] == '[') {
		if (colon[-1] != ']')
			return -EINVAL;
		colon[-1] = '\0';
		host++;
		if (!strchr(host, ':'))
			return -EINVAL;
	} else if (strchr(host, ':')) {
		return -EINVAL;
	}

	*ret_host = host;
	*ret_port = colon + 1;
	return 0;
}

static int open_tcp(struct listener *l)
{
	/* Numeric only: nothing here waits for a name server. */
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
	};
	_cleanup_(freep) char *copy = strdup(l->address);
	struct addrinfo *found;
	char *host, *port;
	int r;

	if (!copy)
		return -ENOMEM;
	r = split_host_port(copy, &host, &port);
	if (r < 0)
		return r;
	r = getaddrinfo(host, port, &hints, &found);
	if (r != 0)
		return r == EAI_MEMORY ? -ENOMEM : r == EAI_SYSTEM ? -errno : -EINVAL;

	l->fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* [::] leaves IPv4 alone, so that it can be listed beside 0.0.0.0. */
	if (l->fd < 0 ||
	    setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) < 0 ||
	    (found->ai_family == AF_INET6 &&
	     setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ 1 }, sizeof(int)) < 0) ||
	    bind(l->fd, found->ai_addr, found->ai_addrlen) < 0 || listen(l->fd, SOMAXCONN) < 0)
		r = -errno;

	freeaddrinfo(found);
	return r;
}

int listener_open(const char *address, struct listener **ret_listener)
{
	_cleanup_(listener_freep) struct listener *l = listener_new();
	int r;

	if (!l)
		return -ENOMEM;
	l->address = strdup(address);
	if (!l->address)
		return -ENOMEM;

	if (strncmp(address, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0)
		r = open_unix(l, address + strlen(UNIX_PREFIX));
	else
		r = open_tcp(l);
	if (r < 0)
		return r;

	*ret_listener = l;
	l = NULL;
	return 0;
}

static int socket_option(int fd, int option, int *ret)
{
	socklen_t size = sizeof(*ret);

	return getsockopt(fd, SOL_SOCKET, option, ret, &size) < 0 ? -errno : 0;
}

int listener_adopt(int fd, struct listener **ret_listener)
{
	struct listener *l;
	int r, type, listening, flags;

	r = socket_option(fd, SO_TYPE, &type);
	if (r == 0)
		r = socket_option(fd, SO_ACCEPTCONN, &listening);
	if (r < 0)
		return r;
	if (type != SOCK_STREAM || !listening)
		return -EINVAL;

	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;

	l = listener_new();
	if (!l)
		return -ENOMEM;
	l->fd = fd;
	*ret_listener = l;
	return 0;
}
