/* SPDX-License-Identifier: MIT */
/* What a session tells while it runs: an event stream that writers render. */
#ifndef ND_RESULT_PROGRESS_H
#define ND_RESULT_PROGRESS_H

#include "result/result.h"

enum nd_progress {
	ND_PROG_LISTENING, /* .text: where */
	ND_PROG_CONNECTED, /* .text: to whom */
	ND_PROG_PHASE,     /* .text: phase name */
	ND_PROG_INTERVAL,  /* .interval, .direction, .from_receiver, .datagram, .transactions */
	ND_PROG_WARNING,   /* .text */
	ND_PROG_READY,     /* receiver: every port listens; sender: flows are about to be opened */
	ND_PROG_FLOWS,     /* all flows are open: .count, .microseconds it took */
	ND_PROG_NOTE,      /* .text: what a user should know, no reason for concern */
	ND_PROG_DETAIL,    /* .text: for those who asked for more */
	ND_PROG_SEEN,      /* .seen: from a diary */
	ND_PROG_SOCKET,    /* tools that show them: .fd, and its buffers as the system has them */
	ND_PROG_MAX
};

struct nd_progress_event {
	enum nd_progress what;
	const char *text;
	const char *direction; /* label; NULL when the test has only one */
	const struct nd_interval_joint *interval;
	bool from_receiver; /* interval figures are the receiver's */
	bool datagram, transactions;
	bool packets; /* messages count, not their bytes */
	bool alone;   /* there is one direction only */
	uint64_t count, microseconds;
	const struct nd_diary_entry *seen;
	int fd;
	uint64_t sndbuf_bytes, rcvbuf_bytes;
};

/* Where a session sends its events; called on the main thread only. */
struct nd_sink {
	void (*progress)(void *user, const struct nd_progress_event *ev);
	void *user;
};

#endif
