/* SPDX-License-Identifier: MIT */
/* Private to the faces of netperf and netserver: what the words leave behind, and what is made of it. */
#ifndef ND_PERSONA_NETPERF_H
#define ND_PERSONA_NETPERF_H

#include "persona/int.h"
#include "plan/netperf.h"

#define ND_NETPERF_PORT "12865"

/* Two values of one option, as typed; what is not given stays as it was. */
struct nd_np_two {
	int64_t first, second;
};

struct nd_np_words {
	const char *first, *second; /* NULL: not given */
};

/* What the rows write into. Pairs are of two things at one end or of one thing at both: settle() sorts them into .n. */
struct nd_netperf_line {
	struct nd_netperf n;
	struct nd_plan *plan;
	const char *test; /* -t */
	struct nd_np_words host, local, ports, fill;
	struct nd_np_two local_align, remote_align, local_offset, remote_offset, width;
	struct nd_np_two iterations, level, burst, interval_ns, bound, priority, tos;
	struct nd_np_two server_ports; /* netserver: first and last */
	bool ipv4, ipv6, has_iterations, has_level, has_debug, has_port;
	bool wants_version, no_effect;
	int64_t banner, verbosity, wait_s;
	const char *format;
	/* the test's own words */
	struct nd_np_words test_host, test_local, cc;
	struct nd_np_two local_bufs, remote_bufs, turn, send, recv, client_ports, data;
	int64_t test_width, route, first_burst, timeout_s, mss, pacing, ttl;
	bool test_ipv4, test_ipv6;
	const char *way, *transport, *kind; /* OMNI: -d -T -t */
};

extern const struct nd_opt_set nd_netperf_set, nd_netperf_test_set, nd_netperf_old_set,
	nd_netserver_set;

/** nd_netperf_make_line() - nothing is asked yet. NULL: no memory. */
void *nd_netperf_make_line(struct nd_plan *plan);
int nd_netperf_settle(struct nd_plan *plan, void *target, const struct nd_strv *operands,
		      struct nd_err *err);
int nd_netserver_settle(struct nd_plan *plan, void *target, const struct nd_strv *operands,
			struct nd_err *err);

/** nd_netperf_words() - the words as single options with their values behind the letter, stray ones left out; those
 * behind "--" by the test's own rows, unknown ones told and left out. -ENOMEM. */
ND_MUST_CHECK int nd_netperf_words(struct nd_words *w);
/** nd_netperf_asks() - is @letter among the options of the words so made? @behind: those of the test. */
bool nd_netperf_asks(const struct nd_words *w, char letter, bool behind);
/** nd_netperf_test_find() - by its name, whatever its case; ND_NP_TESTS: there is none. */
enum nd_netperf_test nd_netperf_test_find(const char *name);
/** nd_netperf_is_old() - does it have the words of the older tests? */
bool nd_netperf_is_old(enum nd_netperf_test test);

/* ---- netperf_values.c: .parse of rows */

#define ND_NP_PARSE(name) \
	int nd_np_parse_##name(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
/* "x" is both, or the first alone ("first"); "x,", ",y", "x,y" */
ND_NP_PARSE(sizes); /* struct nd_np_two */
ND_NP_PARSE(first_sizes);
ND_NP_PARSE(tos);
ND_NP_PARSE(first_times); /* ns, ms when there is no unit */
ND_NP_PARSE(words);       /* struct nd_np_words */
ND_NP_PARSE(first_words);
ND_NP_PARSE(size); /* int64_t */
ND_NP_PARSE(rate); /* double, or "auto" */
ND_NP_PARSE(unit);
ND_NP_PARSE(interim);
ND_NP_PARSE(phrase);
ND_NP_PARSE(nothing);
ND_NP_PARSE(selection);
ND_NP_PARSE(text);
#undef ND_NP_PARSE

/** nd_np_refuse() - a sentence, and @code for the end. -EINVAL. */
int nd_np_refuse(struct nd_netperf_line *l, int code, struct nd_err *err, const char *fmt, ...)
	ND_PRINTF(4, 5);
/** nd_np_read_size() - a decimal number; K M G behind it are powers of 1024, k m g of 1000. @name: for sentences. */
ND_MUST_CHECK int nd_np_read_size(struct nd_netperf_line *l, const char *name, const char *text,
				  int64_t *ret, struct nd_err *err);
/** nd_np_read_port() - 0..65535. */
ND_MUST_CHECK int nd_np_read_port(struct nd_netperf_line *l, const char *name, const char *text,
				  uint64_t *ret, struct nd_err *err);
/** nd_np_family() - of the word behind a host's comma. */
ND_MUST_CHECK int nd_np_family(struct nd_netperf_line *l, const char *name, const char *text,
			       enum nd_af *ret, struct nd_err *err);

/* ---- netperf_test.c */

/** nd_netperf_settle_test() - what the test's own words mean. */
ND_MUST_CHECK int nd_netperf_settle_test(struct nd_netperf_line *l, const struct nd_strv *words,
					 struct nd_err *err);

/* ---- netperf_fill.c */

/** nd_netperf_fill() - from .n to the plan. */
ND_MUST_CHECK int nd_netperf_fill(struct nd_netperf_line *l, struct nd_err *err);

/** nd_netperf_fill_server() - netserver's plan: what it runs comes with each request. */
void nd_netperf_fill_server(struct nd_netperf_line *l);

/* Their manual pages. */
void nd_netperf_man(struct nd_str *out);
void nd_netserver_man(struct nd_str *out);

#endif
