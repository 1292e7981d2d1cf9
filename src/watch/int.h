/* SPDX-License-Identifier: MIT */
/* Shared inside watch/: one interval as rows, what is kept of all of them, and the layouts. */
#ifndef ND_WATCH_INT_H
#define ND_WATCH_INT_H

#include <termios.h>
#include <time.h>

#include "base/json.h"
#include "base/str.h"
#include "os/detail.h"
#include "os/os.h"
#include "watch/watch.h"

/* ---- one interval */

struct nd_watch_row {
	const struct nd_nic *nic; /* borrowed: differences */
	bool known;               /* it was there at both ends, and no count ran backwards */
	bool gone;                /* it is not there any more; nothing else is known */
	uint64_t drops, errors;   /* all kinds and both ways */
	uint64_t speed_mbps;      /* ND_UNKNOWN */
	double util_percent;      /* of the busier way; NAN without a speed */
};

struct nd_watch_view {
	double seconds;                    /* true length */
	struct timespec at;                /* its end, wall clock */
	uint64_t number;                   /* from 1 on */
	const struct nd_os_sample *diff;   /* borrowed */
	const struct nd_os_detail *detail; /* borrowed */
	struct nd_watch_row *row;          /* owned */
	size_t rows;
	struct nd_nic *gone;   /* owned: names of rows that are gone */
	struct nd_str verdict; /* sentences, one a line: what limits now; owned */
};

/** nd_watch_rate() - per second; NAN: unknown. */
double nd_watch_rate(const struct nd_watch_view *v, uint64_t count);
/** nd_watch_sum() - of two counts, each of which may be unknown. */
uint64_t nd_watch_sum(uint64_t a, uint64_t b);
/** nd_watch_cpu_share() - part of a CPU's time, 0..1; NAN. */
double nd_watch_cpu_share(const struct nd_cpu_times *t, uint64_t part_ns);
/** nd_watch_judge() - fill v->verdict. */
void nd_watch_judge(struct nd_watch_view *v);

/* ---- all intervals */

enum nd_watch_metric {
	ND_WATCH_RX_PPS,
	ND_WATCH_TX_PPS,
	ND_WATCH_RX_BYTES,
	ND_WATCH_TX_BYTES,
	ND_WATCH_DROPS,
	ND_WATCH_ERRORS,
	ND_WATCH_UTIL,
	ND_WATCH_METRICS
};

/* One interface's past. Idle intervals at both ends are left out of the figures. */
struct nd_watch_past {
	uint64_t ifindex;
	char name[64];
	uint64_t speed_mbps;
	size_t idle;            /* intervals without a packet since the last busy one */
	double idle_seconds;    /* their length */
	size_t n, stride, skip; /* values kept: every stride-th */
	double *value;          /* owned, [n][ND_WATCH_METRICS] */
	double seconds;         /* of the intervals that count */
	double total[ND_WATCH_METRICS], least[ND_WATCH_METRICS], most[ND_WATCH_METRICS];
	/* sar's: all intervals */
	double all_seconds;
	double all[8];
	double spark[64]; /* the last bytes/s, both ways; a ring */
	size_t sparks;
};

struct nd_watch_all {
	struct nd_watch_past *past; /* owned */
	size_t n;
};

ND_MUST_CHECK int nd_watch_add(struct nd_watch_all *all, const struct nd_watch_view *v);
void nd_watch_all_done(struct nd_watch_all *all);
/** nd_watch_values() - average, least, most and 95th percentile of the intervals that count. False: there are none. */
bool nd_watch_values(const struct nd_watch_past *p, double ret[4][ND_WATCH_METRICS]);
/** nd_watch_sar_counts() - what sar has a column for, in its order; ND_UNKNOWN where it is not told. */
void nd_watch_sar_counts(const struct nd_nic *n, uint64_t ret[8]);
/** nd_watch_util() - of a link, in percent. NAN without a speed. */
double nd_watch_util(double rx_bytes, double tx_bytes, uint64_t speed_mbps);

extern const char *const nd_watch_stat_names[4]; /* average min max p95 */

/* ---- layouts */

struct nd_watch_head {
	const char *hostname, *kernel, *machine;
	uint64_t cpus;
	time_t started;
	const struct nd_os *os; /* for nd_os_unread() */
};

struct nd_watch_writer {
	void (*begin)(const struct nd_watch_ask *ask, const struct nd_watch_head *h,
		      struct nd_str *out);
	void (*view)(const struct nd_watch_ask *ask, const struct nd_watch_view *v,
		     const struct nd_watch_all *all, struct nd_str *out);
	void (*end)(const struct nd_watch_ask *ask, const struct nd_watch_all *all,
		    struct nd_str *out);
};

extern const struct nd_watch_writer nd_watch_text, nd_watch_sar, nd_watch_csv, nd_watch_json,
	nd_watch_sar_json, nd_watch_table;

/** nd_watch_clock() - "12:34:56", with ms where intervals are shorter than a second or no multiple of it. */
void nd_watch_clock(struct nd_str *out, const struct nd_watch_ask *ask, struct timespec at);
/** nd_watch_more() - the second block, a line each behind @before: always what is lost, the rest when asked for. */
void nd_watch_more(const struct nd_watch_ask *ask, const struct nd_watch_view *v,
		   const char *before, struct nd_str *out);
/** nd_watch_more_json() - the same as members. */
void nd_watch_more_json(const struct nd_watch_ask *ask, const struct nd_watch_view *v,
			struct nd_json *j);
/** nd_watch_number() - @width columns, right-justified, "-" if it is NAN. */
void nd_watch_number(struct nd_str *out, double v, int width, int decimals);
const char *nd_watch_nic_name(const struct nd_watch_view *v, uint64_t ifindex);

/** nd_terminal_keep() - what is written to the terminal @fd is shown, whatever keys are pressed meanwhile.
 * False: nothing was changed; else @ret is for nd_terminal_restore(). */
bool nd_terminal_keep(int fd, struct termios *ret);
/** nd_terminal_restore() - behind what was written last, which is shown first. */
void nd_terminal_restore(int fd, const struct termios *was);

#endif
