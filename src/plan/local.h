/* SPDX-License-Identifier: MIT */
/* What the verbs that look at this machine were asked: plan->face of watch, irq and doctor. */
#ifndef ND_PLAN_LOCAL_H
#define ND_PLAN_LOCAL_H

#include "base/arena.h"

/* Where such a verb reads and writes. */
struct nd_local_place {
	const char *root; /* "": this machine; else a copied tree */
	int out_fd;
	bool tty; /* .out_fd is a terminal */
};

enum nd_local_format {
	ND_LOCAL_TEXT,
	ND_LOCAL_CSV,
	ND_LOCAL_JSON,
	ND_LOCAL_JSON_LINES,
};

#define ND_MIN_WATCH_NS (100ull * ND_NS_PER_MS)

struct nd_watch_ask {
	struct nd_strv names; /* interfaces, or patterns of them; empty: all */
	uint64_t interval_ns;
	uint64_t samples; /* 0: until interrupted */
	enum nd_local_format format;
	bool sar;     /* text and JSON as `sar -n DEV` and `sadf -j` have them */
	bool verbose; /* queues, CPUs, interrupts, protocols */
	bool quiet;   /* only what is told at the end */
	bool plain;   /* lines on a terminal, too */
};

enum nd_irq_action { ND_IRQ_SHOW, ND_IRQ_SPREAD, ND_IRQ_RESTORE };

struct nd_irq_ask {
	enum nd_irq_action action;
	const char *name;    /* of the interface */
	const char *cpus;    /* use these, in this order; NULL: those near the interface */
	const char *exclude; /* but not these; NULL: none */
	uint64_t stride;     /* every so many-th of them; 0: one thread of each core first */
	bool all_nodes;      /* CPUs far from the interface, too */
	bool apply;          /* write; else only tell */
	bool no_xps;         /* leave the choice of transmit queues alone */
	const char *state;   /* where the settings before are kept; NULL: /run/netdyno-irq-NAME */
	enum nd_local_format format;
};

struct nd_plan;

struct nd_doctor_ask {
	const char *host; /* NULL: this machine alone */
	const char *nic;  /* NULL: that of the way to .host, or of the default route */
	uint64_t port;
	bool ipv4, ipv6;
	struct nd_strv also; /* other tools' servers here, as for serve */
	bool all;            /* what is in order is told, too */
	enum nd_local_format format;
	struct nd_plan *tcp,
		*udp; /* short tests against .host; ended by whoever runs this. NULL: none */
};

#endif
