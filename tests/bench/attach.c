// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * attach OBJECT NAME COMMAND: attaches the programs NAME_read and NAME_write of OBJECT to this
 * kernel's pipe functions while COMMAND runs in a shell.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

static _Noreturn void die(const char *what, const char *name)
{
	perror("attach");
	fprintf(stderr, "attach: %s %s failed\n", what, name);
	exit(1);
}

static const char *hook_of(const char *program)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool anon, read = strstr(program, "_read");

	if (!btf)
		die("reading", "the kernel's BTF");
	anon = btf__find_by_name_kind(btf, "anon_pipe_read", BTF_KIND_FUNC) > 0;
	btf__free(btf);
	if (anon)
		return read ? "anon_pipe_read" : "anon_pipe_write";
	return read ? "pipe_read" : "pipe_write";
}

static bool is_one_of(const char *program, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(program, name, length) &&
	       (!strcmp(program + length, "_read") || !strcmp(program + length, "_write"));
}

static void check_lost(struct bpf_object *object)
{
	int fd = bpf_object__find_map_fd_by_name(object, "lost");
	uint64_t lost;
	uint32_t key = 0;

	if (fd < 0)
		return;
	if (bpf_map_lookup_elem(fd, &key, &lost) < 0)
		die("reading", "lost");
	if (lost > 0) {
		fprintf(stderr, "attach: %llu operations were lost\n", (unsigned long long)lost);
		exit(1);
	}
}

int main(int argc, char *argv[])
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct bpf_object *object;
	struct bpf_program *program;
	int attached = 0;

	if (argc != 4) {
		fprintf(stderr, "usage: attach OBJECT NAME COMMAND\n");
		return 64;
	}
	/* 5.10 counts the memory of maps against it. */
	setrlimit(RLIMIT_MEMLOCK, &unlimited);

	object = bpf_object__open(argv[1]);
	if (!object)
		die("opening", argv[1]);
	bpf_object__for_each_program(program, object)
	{
		const char *name = bpf_program__name(program);
		bool wanted = is_one_of(name, argv[2]);

		bpf_program__set_autoload(program, wanted);
		if (wanted && bpf_program__set_attach_target(program, 0, hook_of(name)) < 0)
			die("aiming", name);
	}
	if (bpf_object__load(object) < 0)
		die("loading", argv[1]);
	bpf_object__for_each_program(program, object)
	{
		if (!bpf_program__autoload(program))
			continue;
		if (!bpf_program__attach(program))
			die("attaching", bpf_program__name(program));
		attached++;
	}
	if (attached != 2) {
		fprintf(stderr, "attach: %s has %d programs called %s_read or %s_write, not 2\n",
			argv[1], attached, argv[2], argv[2]);
		return 1;
	}
	if (system(argv[3]) != 0)
		return 1;
	check_lost(object);
	return 0;
}
