/* SPDX-License-Identifier: MIT */
/*
 * Shared by the reports of NTttcp, on Linux and on Windows: this end's figures in the measured window
 * as the originals count them, and the parts of their XML.
 */
#ifndef ND_REPORT_NTTTCP_H
#define ND_REPORT_NTTTCP_H

#include "report/face.h"

/* A thread of the sender, or a port of the receiver. */
struct nd_ntrep_thread {
	double bps;          /* payload bit/s in the window */
	uint64_t bytes, ios; /* whole run; ios: completed calls */
	uint64_t rtt_us_sum, rtts;
	uint64_t retransmits, cwnd_bytes; /* TCP at the end, summed over flows; ND_UNKNOWN */
	uint64_t flows;
};

/* Everything is a number here: what nobody could see is 0, because the formats know no other word. */
struct nd_ntrep {
	struct nd_face face;
	const struct nd_result *r;    /* borrowed */
	const struct nd_direction *d; /* borrowed; NULL: nothing was measured */
	const struct nd_side *own;    /* borrowed; NULL: nothing was measured */
	const struct nd_machine *m;   /* borrowed; NULL likewise */
	bool sender, udp, verbose;
	bool both_ways;                 /* -rt: what is sent and what is received counts */
	double seconds;                 /* true length of the window */
	uint64_t bytes, ios;            /* in it */
	uint64_t conns;                 /* flows that came to be */
	struct nd_ntrep_thread *thread; /* owned */
	size_t threads;
	double cores_total; /* all kinds of CPU time, in cores */
	uint64_t cores;
	uint64_t packets_sent, packets_received; /* segments or datagrams of the machine */
};

/** nd_ntrep_open() - figures of @r; everything is 0 where @r knows nothing. Return: 0 or -ENOMEM. */
ND_MUST_CHECK int nd_ntrep_open(struct nd_ntrep *f, const struct nd_report_cfg *cfg,
				const struct nd_result *r);
void nd_ntrep_done(struct nd_ntrep *f);

/* A stretch of the measured time. */
struct nd_ntrep_sample {
	double seconds;
	uint64_t bytes, ios;
};

/** nd_ntrep_sample() - the next one from @at on, which begins at 0 and is moved. Return: false behind the last. */
bool nd_ntrep_sample(const struct nd_ntrep *f, uint64_t *at, struct nd_ntrep_sample *ret);

static inline uint64_t nd_ntrep_count(uint64_t v)
{
	return v == ND_UNKNOWN ? 0 : v;
}

/** nd_ntrep_number() - 0 instead of what is no number. */
double nd_ntrep_number(double v);
/** nd_ntrep_per() - @a / @b, 0 when it is no number. */
double nd_ntrep_per(double a, double b);
/** nd_ntrep_cpu_percent() - @cores in percent of all CPU time. */
double nd_ntrep_cpu_percent(const struct nd_ntrep *f, double cores);
/** nd_ntrep_busy_percent() - what neither idled nor waited for disks. */
double nd_ntrep_busy_percent(const struct nd_ntrep *f);
/** nd_ntrep_host() - name of this machine. */
const char *nd_ntrep_host(const struct nd_ntrep *f);

/* ---- settings as both XML formats, JSON and the verbose dump show them */

enum nd_ntrep_kind {
	ND_NTREP_TEXT,    /* .arg itself */
	ND_NTREP_FLAG,    /* True or False */
	ND_NTREP_COUNT,   /* uint64_t */
	ND_NTREP_SIGNED,  /* int64_t */
	ND_NTREP_SECONDS, /* ms, shown in whole seconds */
	ND_NTREP_STRING,
	ND_NTREP_MADE, /* .make() */
};

struct nd_ntrep_setting {
	const char *xml, *json; /* names; a NULL .xml ends the list */
	enum nd_ntrep_kind kind;
	const char *arg; /* key in the face */
	void (*make)(const struct nd_ntrep *f, struct nd_str *out);
};

void nd_ntrep_setting_text(const struct nd_ntrep *f, const struct nd_ntrep_setting *s,
			   struct nd_str *out);

/* ---- XML */

struct nd_ntrep_xml {
	struct nd_str *out; /* borrowed */
	const char *eol;
	unsigned depth;
};

/** nd_ntrep_root_name() - "ntttcps" or "ntttcpr". */
const char *nd_ntrep_root_name(const struct nd_ntrep *f);
/** nd_ntrep_xml_root() - the root element with this machine's name, left open. */
void nd_ntrep_xml_root(struct nd_ntrep_xml *x, const struct nd_ntrep *f, const char *version);
void nd_ntrep_xml_settings(struct nd_ntrep_xml *x, const struct nd_ntrep *f,
			   const struct nd_ntrep_setting *s);
/** nd_ntrep_xml_open() - an element that holds others. @attribute: 'name="value"' or NULL. */
void nd_ntrep_xml_open(struct nd_ntrep_xml *x, const char *name, const char *attribute);
void nd_ntrep_xml_close(struct nd_ntrep_xml *x, const char *name);
/** nd_ntrep_xml() - an element with text. @metric may be NULL. The text is escaped. */
void nd_ntrep_xml(struct nd_ntrep_xml *x, const char *name, const char *metric, const char *fmt,
		  ...) ND_PRINTF(4, 5);

/* ---- Linux: files */

/** nd_ntrep_linux_xml(), nd_ntrep_linux_json() - the whole document. */
void nd_ntrep_linux_xml(const struct nd_ntrep *f, struct nd_str *out);
void nd_ntrep_linux_json(const struct nd_ntrep *f, struct nd_str *out);
/** nd_ntrep_linux_params() - the settings that -V puts in front. */
void nd_ntrep_linux_params(const struct nd_face *face, struct nd_str *out);
double nd_ntrep_linux_cycles(const struct nd_ntrep *f); /* per byte */
uint64_t nd_ntrep_linux_rtt_us(const struct nd_ntrep *f);

struct nd_ntrep_rate {
	const char *console, *xml;
	double per_s;
};

#define ND_NTREP_RATES 7
/** nd_ntrep_linux_rates() - the seven TCP counters of --show-tcp-retrans, per second. */
void nd_ntrep_linux_rates(const struct nd_ntrep *f, struct nd_ntrep_rate ret[ND_NTREP_RATES]);

/* ---- Windows: figures that its console and its XML share */

struct nd_ntrep_windows {
	double buffers, buffers_per_s, mb_per_s, frame_bytes;
	double avg_io_bytes, threads_avg_io_bytes;
	double softirqs_per_s, packets_per_softirq, interrupts_per_s, packets_per_interrupt;
	double cycles_per_byte, cpu_percent;
	double latency_ns, latency_min_ns, latency_max_ns;
	uint64_t retransmits, errors;
	bool has_latency, hides_threads;
	/* -jm, where the receiver's count is known */
	bool has_jitter;
	double jitter_us;
	uint64_t lost, reordered, duplicate;
	uint64_t corrupt_bytes; /* -d */
};

void nd_ntrep_windows_figures(const struct nd_ntrep *f, struct nd_ntrep_windows *ret);
void nd_ntrep_windows_xml(const struct nd_ntrep *f, struct nd_str *out);
/** nd_ntrep_jitter() - the packets that the workers of @r have kept, behind what stands in the file. */
ND_MUST_CHECK int nd_ntrep_jitter(const struct nd_result *r, const char *path, struct nd_err *err);
/** nd_ntrep_windows_settings() - "name: value" lines. */
void nd_ntrep_windows_settings(const struct nd_ntrep *f, struct nd_str *out);

#endif
