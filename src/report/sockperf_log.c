/* SPDX-License-Identifier: MIT */
/* sockperf's full log, which is as long as the test, and its histogram. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "report/int.h"
#include "report/sockperf.h"

#define DASHES      "------------------------------\n"
#define PIECE_BYTES (64u << 10)
#define BINS_MAX    1000u
#define BAR_COLUMNS 50u

/* ---- the log */

struct log {
	const struct nd_sprep *f;
	struct nd_str text;
	int fd;
	int error;
	uint64_t at;      /* index of the next row */
	uint64_t zero_ns; /* what times are told from */
};

static void flush(struct log *l, size_t least)
{
	if (l->text.len < least || l->error)
		return;
	if (!nd_str_ok(&l->text))
		l->error = -ENOMEM;
	else if (l->text.len > 0)
		l->error = nd_write_all(l->fd, nd_str_text(&l->text), l->text.len);
	nd_str_reset(&l->text);
}

static void put_parameters(const struct nd_sprep *f, struct nd_str *out)
{
	const struct nd_face *c = &f->face;
	uint64_t messages = nd_face_u64(c, "messages");
	uint64_t burst = nd_face_u64(c, "burst");

	nd_str_add(out, DASHES "test was performed using the following parameters:");
	if (messages == 0)
		nd_str_addf(out, " --mps=%llu", (unsigned long long)nd_sprep_rate_of(f));
	nd_str_addf(out, " --burst=%llu", (unsigned long long)burst);
	if (messages == 0)
		nd_str_addf(out, " --reply-every=%llu",
			    (unsigned long long)nd_face_u64(c, "reply_every"));
	nd_str_addf(out, " --msg-size=%llu", (unsigned long long)nd_face_u64(c, "message_bytes"));
	if (messages)
		nd_str_addf(out, " --number-of-packets=%llu", (unsigned long long)messages);
	else
		nd_str_addf(out, " --time=%llu", (unsigned long long)nd_face_u64(c, "time_s"));
	nd_str_addf(out, "%s\n" DASHES, nd_face_bool(c, "full_rtt") ? " --full-rtt" : "");
}

static void put_seconds(struct log *l, uint64_t at_ns)
{
	uint64_t ns = at_ns - ND_MIN(l->zero_ns, at_ns);

	nd_str_addf(&l->text, "%llu.%09llu", (unsigned long long)(ns / ND_NS_PER_S),
		    (unsigned long long)(ns % ND_NS_PER_S));
}

static void put_row(void *user, const struct nd_sample *at)
{
	struct log *l = user;

	if (l->error)
		return;
	nd_str_addf(&l->text, "%llu, ", (unsigned long long)l->at++);
	put_seconds(l, at->tx_ns);
	nd_str_add(&l->text, ", ");
	put_seconds(l, at->rx_ns);
	nd_str_addf(&l->text, ", %.3f\n", (double)(at->rx_ns - at->tx_ns) / l->f->ns_per_unit);
	flush(l, PIECE_BYTES);
}

uint64_t nd_sprep_first_ns(const struct nd_sprep *f)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < f->r->samples_n; i++) {
		struct nd_sample one;

		if (nd_samples_read(f->r->samples[i], 0, &one, 1) == 1)
			least = ND_MIN(least, one.tx_ns);
	}
	return least;
}

/* A server's statistics, and what they are of. */
static int write_server(struct log *l, const struct nd_sprep *f)
{
	int r = 0;

	l->f = f;
	l->at = 0;
	nd_sprep_statistics(f, true, &l->text);
	if (!nd_sprep_has_statistics(f))
		return 0;
	nd_str_addf(&l->text, DASHES "packet, txTime(sec), rxTime(sec), %s(usec)\n",
		    nd_face_bool(&f->face, "full_rtt") ? "rtt" : "latency");
	for (size_t i = 0; r == 0 && i < f->r->samples_n; i++) {
		struct nd_samples *s = nd_samples_of(f->r->samples[i], f->server);

		r = s ? nd_exact_walk(s, &f->cut, put_row, l, NULL) : 0;
	}
	nd_str_add(&l->text, DASHES);
	nd_sprep_histogram(f, true, &l->text);
	return r;
}

static int write_rows(struct log *l)
{
	struct nd_sprep one = *l->f;
	int r = 0;

	put_parameters(&one, &l->text);
	if (one.received == 0)
		nd_str_add(&l->text, ND_SP_NO_ANSWER);
	else
		nd_sprep_total(&one, &l->text);
	l->zero_ns = nd_sprep_first_ns(&one);
	if (one.received > 0)
		do
			r = write_server(l, &one);
		while (r == 0 && nd_sprep_next(&one));
	flush(l, 0);
	return r < 0 ? r : l->error;
}

/* What is no ordinary file is written into. */
static int open_log(const char *name, char **ret_temporary)
{
	struct stat st;
	nd_auto_free char *temporary = NULL;
	int fd;

	if (stat(name, &st) == 0 && !S_ISREG(st.st_mode)) {
		fd = open(name, O_WRONLY | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	if (asprintf(&temporary, "%s.XXXXXX", name) < 0) {
		temporary = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	(void)fchmod(fd, 0644); /* it is readable to us at least */
	*ret_temporary = nd_take_ptr(temporary);
	return fd;
}

int nd_sprep_log(const struct nd_sprep *f, const char *name, struct nd_err *err)
{
	struct log l = { .f = f };
	nd_auto_free char *temporary = NULL;
	int r = l.fd = open_log(name, &temporary);

	if (r >= 0 && f->mode != ND_SPREP_TP) /* which leaves an empty file */
		r = write_rows(&l);
	nd_str_done(&l.text);
	if (l.fd >= 0 && close(l.fd) < 0 && r >= 0)
		r = -errno;
	if (r >= 0 && temporary && rename(temporary, name) < 0)
		r = -errno;
	if (r < 0 && temporary)
		(void)unlink(temporary); /* it may not be there */
	errno = r < 0 ? -r : 0;
	return r < 0 ? nd_sysfail(err, "writing %.200s", name) : 0;
}

/* ---- the histogram */

struct bins {
	const struct nd_sprep *f;
	uint64_t width, low, high, n; /* us */
	uint64_t *v;                  /* owned: below, n bins, above */
	double least, most;
};

static void add_value(void *user, const struct nd_sample *at)
{
	struct bins *b = user;
	double us = (double)(at->rx_ns - at->tx_ns) / b->f->ns_per_unit;

	b->least = us < b->least ? us : b->least;
	b->most = us > b->most ? us : b->most;
	if (us < (double)b->low)
		b->v[0]++;
	else if (us >= (double)b->high)
		b->v[b->n + 1]++;
	else
		b->v[1 + (uint64_t)(us - (double)b->low) / b->width]++;
}

static void put_bin(const struct bins *b, uint64_t i, bool in_log, uint64_t scale,
		    struct nd_str *out)
{
	nd_auto_str name = { 0 };
	uint64_t from = b->low + (i - 1) * b->width, to = from + b->width;
	bool outside = i == 0 || i == b->n + 1;

	if (b->v[i] == 0)
		return;
	if (i == 0)
		nd_str_addf(&name, "%.0f-%llu", b->least, (unsigned long long)b->low);
	else if (outside)
		nd_str_addf(&name, "%llu-%.0f", (unsigned long long)b->high, b->most);
	else if (in_log)
		nd_str_addf(&name, "%llu", (unsigned long long)from);
	else
		nd_str_addf(&name, "%llu-%llu", (unsigned long long)from, (unsigned long long)to);
	if (in_log) {
		nd_str_addf(out, "%-22s %llu\n", nd_str_text(&name), (unsigned long long)b->v[i]);
		return;
	}
	nd_str_addf(out, "%-20s ", nd_str_text(&name));
	nd_str_addc(out, '#', (size_t)((b->v[i] + scale - 1) / scale));
	nd_str_add(out, outside ? " (outliers)\n" : "\n");
}

static void put_bins(const struct bins *b, bool in_log, struct nd_str *out)
{
	uint64_t most = 1, scale;

	for (uint64_t i = 0; i < b->n + 2; i++)
		most = ND_MAX(most, b->v[i]);
	scale = (most + BAR_COLUMNS - 1) / BAR_COLUMNS;
	if (in_log)
		nd_str_addf(out,
			    "histogram was built using the following parameters: "
			    "--h_bin_size_us=%llu --h_lower_range_us=%llu "
			    "--h_upper_range_us=%llu\n" DASHES "bin (usec)            frequency\n",
			    (unsigned long long)b->width, (unsigned long long)b->low,
			    (unsigned long long)b->high);
	else if (scale > 1)
		nd_str_addf(out,
			    "[Histogram] Display scaled to fit on screen (Key: '#' = up to %llu "
			    "samples)\n",
			    (unsigned long long)scale);
	else
		nd_str_add(out, "[Histogram] Display to scale\n");
	if (!in_log)
		nd_str_add(out, "bin (usec)           frequency\n");
	for (uint64_t i = 0; i < b->n + 2; i++)
		put_bin(b, i, in_log, scale, out);
	if (in_log)
		nd_str_add(out, DASHES);
}

void nd_sprep_histogram(const struct nd_sprep *f, bool in_log, struct nd_str *out)
{
	struct bins b = { .f = f,
			  .width = nd_face_u64(&f->face, "bin_us"),
			  .low = nd_face_u64(&f->face, "bin_low_us"),
			  .high = nd_face_u64(&f->face, "bin_high_us"),
			  .least = 1e300 };

	if (b.width == 0 || b.high <= b.low || !nd_sprep_has_statistics(f))
		return;
	b.n = ND_MIN((b.high - b.low + b.width - 1) / b.width, BINS_MAX);
	b.high = ND_MIN(b.high, b.low + b.n * b.width);
	b.v = calloc(b.n + 2, sizeof(*b.v));
	for (size_t i = 0; b.v && i < f->r->samples_n; i++) {
		const struct nd_samples *s = nd_samples_of(f->r->samples[i], f->server);

		if (s && nd_exact_walk(s, &f->cut, add_value, &b, NULL) < 0)
			out->failed = true;
	}
	if (b.v)
		put_bins(&b, in_log, out);
	free(b.v);
}
