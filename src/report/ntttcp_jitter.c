/* SPDX-License-Identifier: MIT */
/* The CSV file of NTttcp's -jm: a row for each packet that a receiver got, behind those of earlier tests. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "report/int.h"
#include "report/ntttcp.h"

#define HEADER      "packet_num,send_count,send_freq,recv_count,recv_freq\n"
#define PIECE_BYTES (64u << 10)
#define PACKETS     512u

static int flush(int fd, struct nd_str *text)
{
	int r = nd_str_ok(text) ? nd_write_all(fd, nd_str_text(text), text->len) : -ENOMEM;

	nd_str_reset(text);
	return r;
}

/* Number and frequency in one entry, the sender's clock and ours in the next. */
static void put_row(const struct nd_sample *v, struct nd_str *out)
{
	nd_str_addf(out, "%llu,%llu,%llu,%llu,%llu\n", (unsigned long long)v[0].tx_ns,
		    (unsigned long long)v[1].tx_ns, (unsigned long long)v[0].rx_ns,
		    (unsigned long long)v[1].rx_ns, (unsigned long long)ND_NS_PER_S);
}

static int put_rows(const struct nd_samples *s, int fd, struct nd_str *text)
{
	struct nd_sample v[2 * PACKETS];
	uint64_t at = 0;
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = nd_samples_read(s, at, v, ND_COUNTOF(v))) != 0) {
		if (n < 2) /* they come in pairs */
			return n < 0 ? (int)n : -EIO;
		at += (uint64_t)n / 2 * 2;
		for (ssize_t i = 0; i + 1 < n; i += 2)
			put_row(&v[i], text);
		if (text->len >= PIECE_BYTES)
			r = flush(fd, text);
	}
	return r;
}

int nd_ntrep_jitter(const struct nd_result *r, const char *path, struct nd_err *err)
{
	nd_auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	nd_auto_str text = { 0 };
	uint64_t missed = 0;
	struct stat st;
	int e = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		return nd_sysfail(err, "writing %.200s", path);
	if (st.st_size == 0)
		nd_str_add(&text, HEADER);
	for (size_t i = 0; e == 0 && i < r->samples_n; i++) {
		struct nd_sample_counts c;

		nd_samples_counts(r->samples[i], &c);
		missed += c.missed / 2;
		e = put_rows(r->samples[i], fd, &text);
	}
	if (e == 0)
		e = flush(fd, &text);
	errno = -e;
	if (e < 0)
		return nd_sysfail(err, "writing %.200s", path);
	return missed ? nd_fail(err, -ENOSPC,
				"%.200s lacks %llu packets, which came faster than they could be kept",
				path, (unsigned long long)missed)
		      : 0;
}
