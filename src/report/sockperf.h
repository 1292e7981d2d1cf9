/* SPDX-License-Identifier: MIT */
/* Private to sockperf's report: what its lines are made of. */
#ifndef ND_REPORT_SOCKPERF_H
#define ND_REPORT_SOCKPERF_H

#include "report/face.h"
#include "stat/exact.h"

#define ND_SP_SKIP_NS (400 * ND_NS_PER_MS) /* cut from the beginning of a test by time */
#define ND_SP_TAIL_NS (50 * ND_NS_PER_MS)
#define ND_SP_SKIP_N  8000u /* messages, of a test by number */
#define ND_SP_TAIL_N  1000u
#define ND_SP_PURPLE  "2;35" /* of what is to be seen first */

#define ND_SP_NO_ANSWER "sockperf: No messages were received from the server. Is the server down?\n"

/* --mps=max: what room is made for. */
#define ND_SP_PING_MAX 600000u
#define ND_SP_RATE_MAX 10000000u

enum nd_sprep_mode { ND_SPREP_PP, ND_SPREP_UL, ND_SPREP_TP, ND_SPREP_PB, ND_SPREP_SR };

/* A run's figures. */
struct nd_sprep {
	struct nd_face face;
	const struct nd_result *r;
	enum nd_sprep_mode mode;
	bool colours;
	double seconds;     /* of the whole run */
	double ns_per_unit; /* .. / this is us */
	uint64_t sent, received, duplicate;
	uint64_t missed, told, there, there_bytes, there_ns; /* as in struct nd_sample_counts */
	uint64_t told_sent;     /* of the logs of which something is told */
	uint64_t skipped;       /* that a full socket did not take */
	uint64_t handled;       /* a server's messages */
	uint64_t flows, broken; /* a client's; those that ended before the test */
	uint64_t corrupt;       /* bytes of answers that differ from what was sent */
	struct nd_exact_cut cut;
	uint64_t server; /* of those that answer each message: whose .duplicate and .e these are */
	struct nd_exact e;
	int error; /* negative errno: statistics could not be made */
};

/* Between one line and the next. */
struct nd_sprep_told {
	uint64_t rows;
	uint64_t begun; /* runs of a server */
	bool is_dotted; /* a line of dots is open */
};

/** nd_sprep_open() - @r NULL: only what the command line says. */
void nd_sprep_open(struct nd_sprep *f, const struct nd_report_cfg *cfg, const struct nd_result *r);
/** nd_sprep_has_statistics() - is there at least one observation? */
bool nd_sprep_has_statistics(const struct nd_sprep *f);
/** nd_sprep_colour() - @text between the escapes of @code, where colours are wanted. */
void nd_sprep_colour(const struct nd_sprep *f, const char *code, const char *text,
		     struct nd_str *out);
/** nd_sprep_rate_of() - messages a second, as logs and -d tell them. */
uint64_t nd_sprep_rate_of(const struct nd_sprep *f);
/** nd_sprep_next() - go on to the figures of the next server. False: there is none. */
bool nd_sprep_next(struct nd_sprep *f);
/** nd_sprep_total() - [Total Run], of all servers. */
void nd_sprep_total(const struct nd_sprep *f, struct nd_str *out);
/** nd_sprep_settings() - those of -d, one on a line. */
void nd_sprep_settings(const struct nd_sprep *f, struct nd_str *out);
/** nd_sprep_statistics() - a server's lines to MIN. @in_log: without the summary line. */
void nd_sprep_statistics(const struct nd_sprep *f, bool in_log, struct nd_str *out);
/** nd_sprep_throughput() - what was sent, and what of it arrived. */
void nd_sprep_throughput(const struct nd_sprep *f, struct nd_str *out);
/** nd_sprep_rate() - a line where a schedule was never ahead of time. */
void nd_sprep_rate(const struct nd_sprep *f, struct nd_str *out);
/** nd_sprep_first_ns() - the first message of all, with which times in the log begin. UINT64_MAX: there is none. */
uint64_t nd_sprep_first_ns(const struct nd_sprep *f);
/** nd_sprep_log() - the full log, streamed. Return: 0, negative errno with @err. */
ND_MUST_CHECK int nd_sprep_log(const struct nd_sprep *f, const char *name, struct nd_err *err);
/** nd_sprep_histogram() - bars behind the statistics (@in_log: as rows of the log). */
void nd_sprep_histogram(const struct nd_sprep *f, bool in_log, struct nd_str *out);
/** nd_sprep_seen() - one entry of a diary. */
void nd_sprep_seen(const struct nd_sprep *f, struct nd_sprep_told *t,
		   const struct nd_diary_entry *e, struct nd_str *out);
/** nd_sprep_senders() - a server's: what is missing of each client, at the end. */
void nd_sprep_senders(const struct nd_sprep *f, struct nd_str *out);

#endif
