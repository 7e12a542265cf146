/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads on pipes, a short round at a time.
 */
#ifndef PIPEWATCH_CTL_LOAD_H
#define PIPEWATCH_CTL_LOAD_H

#define LOAD_MESSAGE_BYTES 100

enum load {
	LOAD_FILL,	/* one process fills the pipe and drains it */
	LOAD_PING_PONG, /* two processes and one message to and fro */
	LOAD_FAN_IN,	/* many writers, one reader */
	LOAD_MESSAGING, /* a group of senders, each of which writes to each of the receivers */
	LOADS,
};

enum load_pipe {
	LOAD_ANONYMOUS,
	LOAD_FIFO,
	LOAD_NOATIME, /* anonymous, with O_NOATIME on the read end */
	LOAD_PIPES,
};

extern const char *const load_names[LOADS];
extern const char *const load_pipe_names[LOAD_PIPES];

/* Messages of one round. */
unsigned int load_messages(enum load load);

/* Runs a round: the time of a message, written and read, in seconds. Returns 0 or -errno. */
int load_round(enum load load, enum load_pipe pipe, double *ret_seconds);

#endif
