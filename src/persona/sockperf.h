/* SPDX-License-Identifier: MIT */
/* Private to sockperf's face: what the words leave behind, and what is made of it. */
#ifndef ND_PERSONA_SOCKPERF_H
#define ND_PERSONA_SOCKPERF_H

#include "persona/int.h"
#include "plan/sockperf.h"

/* What the rows write into. */
struct nd_sockperf_line {
	struct nd_sockperf n;
	struct nd_plan *plan;
	const char *address;
	uint64_t port, lls_us, connect_ms;
	bool has_address, has_port, has_messages, has_time, has_rate, has_burst, has_message_bytes;
	bool toggles_nodelay, has_lls, has_tos, has_iomux, has_client_port;
	bool loops; /* --recv_looping_num is not 1 */
	struct nd_multicast multicast;
	struct nd_list targets; /* struct nd_target */
	uint64_t streams;       /* of a feed file's, those of TCP: the first ones */
};

extern const struct nd_opt_set nd_sockperf_sets[ND_SP_MODES];

/** nd_sockperf_make_line() - nothing is asked yet. NULL: no memory. */
void *nd_sockperf_make_line(struct nd_plan *plan);
int nd_sockperf_settle(struct nd_plan *plan, void *target, const struct nd_strv *operands,
		       struct nd_err *err);
/** nd_sockperf_fill() - from the words to the plan. */
ND_MUST_CHECK int nd_sockperf_fill(struct nd_sockperf_line *l, struct nd_err *err);
/** nd_sockperf_show() - one more address for the report. */
ND_MUST_CHECK int nd_sockperf_show(struct nd_sockperf_line *l, const char *host, uint64_t port,
				   bool tcp, struct nd_err *err);
/** nd_sockperf_feed() - addresses of -f into .targets. */
ND_MUST_CHECK int nd_sockperf_feed(struct nd_sockperf_line *l, struct nd_err *err);
/** nd_sockperf_playback() - messages of --data-file into .n.schedule. */
ND_MUST_CHECK int nd_sockperf_playback(struct nd_sockperf_line *l, struct nd_err *err);
/** nd_sockperf_man() - the manual page. */
void nd_sockperf_man(struct nd_str *out);

#endif
