/* SPDX-License-Identifier: MIT */
/* netserver inside a session: on its own, or beside the native server. One port, any number of clients at once. */
#ifndef ND_SESSION_NETSERVER_H
#define ND_SESSION_NETSERVER_H

#include "plan/netperf.h"
#include "session/int.h"

struct nd_netserver;
struct nd_netdoor;

/* One control connection: any number of tests, one after the other. */
struct nd_guest {
	struct nd_test test;
	struct nd_netserver *server; /* borrowed */
	struct nd_guest *next, *prev;
	struct nd_plan plan;
	uint64_t number, tests; /* in the log */

	/* the data socket of the test in hand */
	const struct nd_transport *transport;
	int fd;                 /* owned; -1: none, or it is the run's */
	bool is_heard;          /* the dialog knows that data has come */
	struct nd_watch *watch; /* of it, until then */
};

struct nd_netserver {
	/* set by the owner */
	struct nd_plan *plan; /* borrowed; .face says the rest */
	struct nd_loop *loop;
	const struct nd_here *here;
	const struct nd_sink *sink;
	bool lenient; /* ports that cannot be had are named, the others are served */
	void (*ended)(void *user, enum nd_ending ending,
		      const struct nd_err *err); /* from the loop */
	void *user;

	/* its own */
	const struct nd_dialect *dialect;
	struct nd_netdoor *doors; /* owned */
	unsigned door_n, open_n;
	struct nd_guest *guests; /* owned, newest first */
	unsigned guest_n;
	uint64_t numbers;
	struct nd_timer *pause;
	bool one_by_one, once; /* guests come one after the other; the first is the last */
	bool is_stopping, is_ended;
};

/** nd_netserver_bind() - the listening ports, before there is a loop. A process may go to the background behind it.
 * nd_netserver_done() after a failure, too. */
ND_MUST_CHECK int nd_netserver_bind(struct nd_netserver *v, struct nd_err *err);
/** nd_netserver_open() - begin to serve. */
ND_MUST_CHECK int nd_netserver_open(struct nd_netserver *v, struct nd_err *err);
/** nd_netserver_stop() - end what runs; ended() follows. */
void nd_netserver_stop(struct nd_netserver *v, const char *reason);
void nd_netserver_done(struct nd_netserver *v);
/** nd_netserver_left() - a guest has gone. */
void nd_netserver_left(struct nd_netserver *v);

/* guest.c */
/** nd_guest_new() - serve a control connection. Takes @fd. */
void nd_guest_new(struct nd_netserver *v, int fd);
void nd_guest_free(struct nd_guest *g);

/* datasock.c: data sockets that are made before a run. */
/** nd_datasock_facts() - what the system says of a socket. @peer: where it goes, or NULL. */
ND_MUST_CHECK int nd_datasock_facts(int fd, const struct nd_addr *peer, struct nd_socket_facts *ret,
				    struct nd_err *err);
/** nd_datasock_serve() - the data socket of a server's plan, whose congestion control is forgotten where there is none of
 * that name; @control: the client's address. */
ND_MUST_CHECK int nd_datasock_serve(struct nd_plan *plan, const struct nd_addr *control,
				    int *ret_fd, struct nd_err *err);
/** nd_netclient_begin() - complete a client's plan of netperf; other plans stay as they are. */
ND_MUST_CHECK int nd_netclient_begin(struct nd_plan *plan, struct nd_err *err);
/** nd_netclient_source() - a control connection from a port of its own. @from: the source address, or empty. Return: 1
 * when @from is to be used, 0 when nothing was asked. */
ND_MUST_CHECK int nd_netclient_source(const struct nd_plan *plan, const struct nd_addr *to,
				      struct nd_addr *from, struct nd_err *err);
/** nd_netclient_socket() - what a client's data socket will be like. @peer: of the control connection, or empty; then
 * where data goes. */
ND_MUST_CHECK int nd_netclient_socket(struct nd_plan *plan, struct nd_addr *peer,
				      struct nd_socket_facts *ret, struct nd_err *err);
/** nd_netclient_explain() - why there is no control connection. @to: one of the server's addresses, or NULL: there is
 * none. @err: holds the cause. In the words that scripts look for. */
void nd_netclient_explain(const struct nd_plan *plan, const struct nd_addr *to, int error,
			  struct nd_err *err);
/** nd_netclient_tell() - what is shown beside the report, if that was asked. */
void nd_netclient_tell(const struct nd_plan *plan, const struct nd_result *r);
/** nd_datasock_claim() - a datagram waits: nobody but its sender is heard any more. */
void nd_datasock_claim(int fd);

#endif
