/* SPDX-License-Identifier: MIT */
/* sockperf's playback file: an instant and a length on each line. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "base/num.h"
#include "persona/sockperf.h"

#define FILE_BYTES    (64u << 20)
#define MESSAGE_BYTES 64000u

static size_t skip_blanks(const char *p)
{
	return strspn(p, " \t\r");
}

static int bad_line(uint64_t number, const char *line, const char *why, struct nd_err *err)
{
	return nd_fail(err, -EINVAL, "--data-file: line %llu: '%.80s' %s",
		       (unsigned long long)number, line, why);
}

/* "SECONDS, BYTES" */
static int read_line(const char *line, uint64_t number, uint64_t after_ns, struct nd_playback *ret,
		     struct nd_err *err)
{
	const char *p = line + skip_blanks(line);
	double seconds;
	size_t n = nd_parse_prefix_double(p, &seconds);

	p += n;
	p += skip_blanks(p);
	if (n == 0 || *p != ',')
		return bad_line(number, line, "is not SECONDS, BYTES", err);
	p++;
	p += skip_blanks(p);
	n = nd_parse_prefix_u64(p, &ret->bytes);
	if (n == 0 || p[n + skip_blanks(p + n)])
		return bad_line(number, line, "is not SECONDS, BYTES", err);
	if (ret->bytes < ND_SOCKPERF_HEADER || ret->bytes > MESSAGE_BYTES)
		return bad_line(number, line, "has no length of 14..64000 bytes", err);
	if (!(seconds > 0) || seconds * 1e9 > (double)ND_MAX_NS)
		return bad_line(number, line, "has no time above 0 and within a day", err);
	ret->at_ns = (uint64_t)(seconds * 1e9 + 0.5);
	if (ret->at_ns <= after_ns)
		return bad_line(number, line, "is not later than the line before it", err);
	return 0;
}

/* An upper bound. */
static uint64_t lines_in(const char *text)
{
	uint64_t n = 1;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

static int read_lines(struct nd_sockperf_line *l, char *text, struct nd_err *err)
{
	struct nd_playback *v = l->n.schedule.v;
	char *rest = text, *line;
	uint64_t n = 0, number = 0;
	int r = 0;

	while (r == 0 && (line = strsep(&rest, "\n"))) {
		const char *from = line + skip_blanks(line);

		number++;
		if (!*from || *from == '#')
			continue;
		r = read_line(from, number, n ? v[n - 1].at_ns : 0, &v[n], err);
		n += r == 0;
	}
	l->n.schedule.n = n;
	if (r == 0 && n == 0)
		r = nd_fail(err, -EINVAL, "--data-file: there is no message in it");
	return r;
}

int nd_sockperf_playback(struct nd_sockperf_line *l, struct nd_err *err)
{
	nd_auto_free char *text = NULL;
	size_t n = 0;
	int r;

	if (!l->n.data_file)
		return nd_fail(err, -EINVAL, "--data-file must be used with playback mode");
	r = nd_read_file(l->n.data_file, FILE_BYTES, &text, &n, err);
	if (r < 0)
		return nd_wrap(err, -EINVAL, "--data-file");
	if (nd_list_new(&l->plan->arena, &l->n.schedule, lines_in(text),
			sizeof(struct nd_playback)) < 0)
		return nd_fail(err, -ENOMEM, "out of memory");
	return read_lines(l, text, err);
}
