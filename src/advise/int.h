/* SPDX-License-Identifier: MIT */
/* Shared inside advise/: facts, checks as rows, findings. */
#ifndef ND_ADVISE_INT_H
#define ND_ADVISE_INT_H

#include "base/str.h"
#include "advise/advise.h"
#include "net/net.h"
#include "os/detail.h"
#include "os/os.h"

/* Of a machine: this one, or the peer as far as it tells. ND_UNKNOWN, NULL, NAN, -1: not known. */
struct nd_doctor_facts {
	struct nd_host_facts host;
	struct nd_nic_facts nic;
	struct nd_nic_limits limits;
	uint64_t irqs_receiving, irqs_shared, irqs_far;
	int irqbalance; /* 1 runs, 0 not, -1 unknown */
	uint64_t budget, busy_poll;
	uint64_t tcp_rmem_max, tcp_wmem_max, udp_mem_pages;
	uint64_t fd_hard_limit;
	uint64_t conntrack_count, conntrack_max;
	uint64_t idle_latency_us; /* of the deepest idle state that is not switched off */
	double steal_ratio, throttled_ratio;
	struct nd_firewall firewall;
	/* since boot */
	uint64_t rx_missed, rx_dropped, backlog_dropped, squeezed, udp_rcvbuf_errors;
};

/** nd_doctor_blank() - nothing is known. */
void nd_doctor_blank(struct nd_doctor_facts *f);
/** nd_doctor_gather() - of this machine, @nic may be NULL. Strings in @a. */
ND_MUST_CHECK int nd_doctor_gather(struct nd_os *os, const char *nic, struct nd_arena *a,
				   struct nd_doctor_facts *ret);

enum nd_verdict {
	ND_VERDICT_UNKNOWN, /* nothing to judge */
	ND_VERDICT_FINE,
	ND_VERDICT_NOTE, /* may matter */
	ND_VERDICT_WARN, /* spoils results */
};

struct nd_check {
	const char *key, *title; /* key: stable */
	const char *why, *mend;  /* sentences; for NOTE and WARN */
	const char *source;      /* who tells; for UNKNOWN */
	bool of_peer;            /* what a peer tells is enough to judge it, too */
	enum nd_verdict (*judge)(const struct nd_doctor_facts *f,
				 struct nd_str *out); /* adds the finding */
};

/** nd_check_at() - the n-th check; NULL: no more. */
const struct nd_check *nd_check_at(size_t n);
extern const struct nd_check nd_checks_nic[], nd_checks_host[]; /* end with .key NULL */

struct nd_finding {
	const char *where; /* "here", "path", "peer" */
	const char *key, *title, *why, *mend;
	enum nd_verdict verdict;
	const char *text;
};

/* All that was found. */
struct nd_findings {
	struct nd_arena *arena; /* borrowed */
	struct nd_finding *v;   /* owned */
	size_t n;
	bool failed;
};

/** nd_findings_add() - append @f, its text copied into the arena; no memory sets .failed. */
void nd_findings_add(struct nd_findings *all, const struct nd_finding *f);
/** nd_findings_done() - free the list; texts are the arena's. */
void nd_findings_done(struct nd_findings *all);
/** nd_findings_count() - how many have this @verdict. */
size_t nd_findings_count(const struct nd_findings *all, enum nd_verdict verdict);
/** nd_doctor_judge() - every check (of a peer: those that can be) over @f. */
void nd_doctor_judge(const struct nd_doctor_facts *f, bool is_peer, struct nd_findings *all);

/* ---- the way to a host */

/* What the largest packets do. */
struct nd_path {
	bool answers_echo;
	uint64_t asked_bytes;  /* the interface's MTU */
	uint64_t passed_bytes; /* largest that was answered; ND_UNKNOWN */
	uint64_t told_bytes;   /* what a router said; ND_UNKNOWN: none did */
	char router[64];       /* who said so */
	uint64_t rtt_ns;       /* least; ND_UNKNOWN */
};

/** nd_path_probe() - echo requests that must not be fragmented. -EPERM: no socket for them. */
ND_MUST_CHECK int nd_path_probe(const struct nd_addr *to, uint64_t mtu_bytes, struct nd_path *ret,
				struct nd_err *err);
/** nd_path_judge() - its sentence. */
enum nd_verdict nd_path_judge(const struct nd_path *p, struct nd_str *out);

/** nd_doctor_host() - path, ports, clocks, and the peer's own facts. -EINVAL: no such host. */
ND_MUST_CHECK int nd_doctor_host(const struct nd_doctor_ask *ask,
				 const struct nd_doctor_facts *here, const struct nd_addr *to,
				 struct nd_findings *all, struct nd_err *err);

/* ---- layouts */

/** nd_doctor_text() - lines for people, added to @out. */
void nd_doctor_text(const struct nd_doctor_ask *ask, const struct nd_findings *all,
		    struct nd_str *out);
/** nd_doctor_json() - the same as one JSON object. */
void nd_doctor_json(const struct nd_doctor_ask *ask, const struct nd_findings *all,
		    struct nd_str *out);

#endif
