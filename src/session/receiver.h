/* SPDX-License-Identifier: MIT */
/* A tool's receiver inside a session: on its own (`ntttcp -r`), or beside the native server. */
#ifndef ND_SESSION_RECEIVER_H
#define ND_SESSION_RECEIVER_H

#include "session/int.h"

struct nd_port;

/* A data socket that came; its number in the test is its place in the list. */
struct nd_arrival {
	int fd;         /* -1: given to the run */
	unsigned index; /* of the port it came to */
};

/* A data connection whose first byte is waited for. */
struct nd_ear {
	struct nd_receiver *receiver; /* borrowed */
	int fd;                       /* owned while there is a watch */
	unsigned port_class, index;
	uint64_t at_ns; /* when it came */
	struct nd_watch *watch;
};

#define ND_EARS 64

struct nd_receiver {
	/* set by the owner */
	struct nd_plan *plan; /* borrowed; .dialect names the language */
	struct nd_loop *loop;
	const struct nd_here *here;
	const struct nd_sink *sink;
	bool lenient; /* a port that cannot be had is named, the others are served */
	bool hold;    /* test after test */
	void (*finished)(void *user, struct nd_result *r);
	void *finished_user;
	void (*ended)(void *user, enum nd_ending ending,
		      const struct nd_err *err); /* from the loop */
	void *user;

	/* its own */
	const struct nd_dialect *dialect;
	const struct nd_port_class *plan_ports;
	const char *transports[2]; /* of its data ports: for streams, for datagrams; NULL: none */
	uint64_t stream_bytes;     /* one read, as planned */
	struct nd_ear ears[ND_EARS];
	unsigned ear_at;
	bool is_started; /* the run: data is its own affair */
	struct nd_test test;
	struct nd_live *live;
	struct nd_phases *phases;
	struct nd_port *ports; /* owned; the listening ones */
	unsigned port_n;
	struct nd_routes routes;  /* one for each mapping: its CPU */
	struct nd_arrival *flows; /* owned */
	uint64_t flow_n, given_n;
	struct nd_timer *pause;
	bool is_stopping, is_ended;
	uint64_t fd_limit;
	bool is_short; /* of descriptors, in this test: it was said */
	enum nd_ending ending;
	struct nd_err err;
};

/** nd_receiver_open() - begin the first dialog and listen on every port it asks for. nd_receiver_done() after
 * a failure, too. */
ND_MUST_CHECK int nd_receiver_open(struct nd_receiver *v, struct nd_err *err);
/** nd_receiver_is_idle() - nobody has come for a test yet. */
bool nd_receiver_is_idle(const struct nd_receiver *v);
/** nd_receiver_stop() - end the test that runs; ended() follows. */
void nd_receiver_stop(struct nd_receiver *v, const char *reason);
void nd_receiver_done(struct nd_receiver *v);

/* ports.c: listening ports. */
/** nd_ports_open() - all that the dialog asks for. One that cannot be had is an error, unless @v is lenient. */
ND_MUST_CHECK int nd_ports_open(struct nd_receiver *v, struct nd_err *err);
void nd_ports_done(struct nd_receiver *v);
/** nd_ports_renew() - for another test: what the last one left at datagram ports is thrown away, all are watched. */
void nd_ports_renew(struct nd_receiver *v);
/** nd_ports_give_datagrams() - copies of the datagram sockets become flows of the test; they are not watched then. */
void nd_ports_give_datagrams(struct nd_receiver *v);
/** nd_ports_are_called() - some connection waits at a data port, not yet accepted. */
bool nd_ports_are_called(const struct nd_receiver *v);
/** nd_ports_are_near_limit() - descriptor @fd is one of the last, which a run that is not set up yet will need. */
bool nd_ports_are_near_limit(const struct nd_receiver *v, int fd);
/** nd_ports_mapping() - which of the plan's targets data port number @index belongs to; -1: none. */
int nd_ports_mapping(const struct nd_receiver *v, unsigned index);

/* arrivals.c: data sockets. */
ND_MUST_CHECK int nd_arrivals_add(struct nd_receiver *v, int fd, unsigned index);
/** nd_arrivals_give() - all that came and has not been given, to the run if there is one. */
void nd_arrivals_give(struct nd_receiver *v);
/** nd_arrivals_renew() - for another run: those that were given went with the last one, those that ended are of no
 * use. Return: how many are left. */
uint64_t nd_arrivals_renew(struct nd_receiver *v);
void nd_arrivals_forget(struct nd_receiver *v);
/** nd_arrivals_hear() - tell the dialog when the first byte comes. @fd stays the caller's. */
void nd_arrivals_hear(struct nd_receiver *v, int fd, unsigned port_class, unsigned index);
/** nd_arrivals_started() - the run has begun, or is over: nobody is listened to any more. */
void nd_arrivals_started(struct nd_receiver *v, bool started);

#endif
