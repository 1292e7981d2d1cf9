/* SPDX-License-Identifier: MIT */
/* sockperf's report, line by line as programs read it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/int.h"
#include "report/sockperf.h"

#define RED "0;31"

static const char *const modes[] = { "ping-pong", "under-load", "throughput", "playback",
				     "server" };

/* ---- figures */

static enum nd_sprep_mode mode_of(const struct nd_face *face)
{
	const char *name = nd_face_enum(face, "mode");
	size_t i = 0;

	while (i + 1 < ND_COUNTOF(modes) && strcmp(modes[i], name) != 0)
		i++;
	return (enum nd_sprep_mode)i;
}

static const struct nd_part *part_of(const struct nd_sprep *f)
{
	const struct nd_side *own = f->mode == ND_SPREP_SR ? f->r->server : f->r->client;

	return nd_result_part(own, 0);
}

static uint64_t known(uint64_t v)
{
	return v == ND_UNKNOWN ? 0 : v;
}

static void count_samples(struct nd_sprep *f)
{
	for (size_t i = 0; i < f->r->samples_n; i++) {
		struct nd_sample_counts c;

		nd_samples_counts(f->r->samples[i], &c);
		f->sent += c.sent;
		f->missed += c.missed;
		f->told += c.told;
		f->told_sent += c.told ? c.sent : 0;
		f->there += c.there;
		f->there_bytes += c.there_bytes;
		f->there_ns = ND_MAX(f->there_ns, c.there_ns);
	}
}

static void count_flows(struct nd_sprep *f)
{
	const struct nd_part *part;

	for (unsigned i = 0; (part = nd_result_part(f->r->client, i)); i++) {
		const struct nd_flow_row *row = part->flows.v;

		f->flows += part->flows.n;
		for (uint64_t k = 0; k < part->flows.n; k++)
			f->broken += row[k].error != NULL;
	}
}

/* Logs of one of those that answer each message. Return: how many. */
static size_t logs_of(const struct nd_sprep *f, uint64_t server,
		      struct nd_samples *ret[ND_RESULT_SAMPLES])
{
	size_t n = 0;

	for (size_t i = 0; i < ND_MIN(f->r->samples_n, (size_t)ND_RESULT_SAMPLES); i++) {
		ret[n] = nd_samples_of(f->r->samples[i], server);
		n += ret[n] != NULL;
	}
	return n;
}

/* Return: are there logs of that server? */
static bool count_server(struct nd_sprep *f, uint64_t server)
{
	struct nd_samples *logs[ND_RESULT_SAMPLES];
	size_t n = logs_of(f, server, logs);

	f->server = server;
	f->duplicate = 0;
	for (size_t i = 0; i < n; i++) {
		struct nd_sample_counts c;

		nd_samples_counts(logs[i], &c);
		f->duplicate += c.duplicate;
	}
	if (f->mode != ND_SPREP_TP && f->mode != ND_SPREP_SR && n > 0)
		f->error = nd_exact_of(logs, n, &f->cut, &f->e);
	return n > 0;
}

/* Of all servers. */
static uint64_t count_received(const struct nd_sprep *f)
{
	struct nd_samples *logs[ND_RESULT_SAMPLES];
	uint64_t sum = 0;
	size_t n;

	for (uint64_t k = 0; (n = logs_of(f, k, logs)) > 0; k++)
		for (size_t i = 0; i < n; i++) {
			struct nd_sample_counts c;

			nd_samples_counts(logs[i], &c);
			sum += c.received;
		}
	return sum;
}

static void choose_cut(struct nd_sprep *f)
{
	uint64_t messages = nd_face_u64(&f->face, "messages");

	if (f->mode == ND_SPREP_PB)
		return;
	if (messages == 0)
		f->cut =
			(struct nd_exact_cut){ .skip_ns = ND_SP_SKIP_NS, .tail_ns = ND_SP_TAIL_NS };
	else
		f->cut = (struct nd_exact_cut){ .first = ND_SP_SKIP_N,
						.last = ND_SP_SKIP_N + messages - 1 };
}

void nd_sprep_open(struct nd_sprep *f, const struct nd_report_cfg *cfg, const struct nd_result *r)
{
	const struct nd_part *part;

	*f = (struct nd_sprep){ .face = nd_face_of(cfg, r), .r = r };
	f->mode = mode_of(&f->face);
	f->colours = cfg->tty || nd_face_bool(&f->face, "coloured");
	f->ns_per_unit = nd_face_bool(&f->face, "full_rtt") ? 1e3 : 2e3;
	if (!r)
		return;
	count_samples(f);
	count_flows(f);
	f->received = count_received(f);
	part = part_of(f);
	if (part) {
		/* without what came behind the end: late answers, and what the server tells */
		f->seconds = part->window.seconds > 0 ? part->window.seconds : part->run.seconds;
		f->seconds = isfinite(f->seconds) ? f->seconds : 0;
		f->handled = known(part->run.rx_messages);
		if (nd_face_bool(&f->face, "skips"))
			f->skipped = known(part->run.tx_refused);
		f->corrupt = known(part->run.rx_corrupt);
	}
	choose_cut(f);
	(void)count_server(f, 0); /* a run without logs has no statistics */
}

bool nd_sprep_next(struct nd_sprep *f)
{
	return count_server(f, f->server + 1);
}

bool nd_sprep_has_statistics(const struct nd_sprep *f)
{
	return f->error == 0 && f->received > 0 && f->e.span.n > 0;
}

void nd_sprep_colour(const struct nd_sprep *f, const char *code, const char *text,
		     struct nd_str *out)
{
	if (f->colours)
		nd_str_addf(out, "\033[%sm%s\033[0m", code, text);
	else
		nd_str_add(out, text);
}

/* ---- statistics */

static double us(const struct nd_sprep *f, double ns)
{
	return ns / f->ns_per_unit;
}

static void put_average(const struct nd_sprep *f, struct nd_str *out)
{
	const struct nd_exact *e = &f->e;
	const char *what = nd_face_bool(&f->face, "full_rtt") ? "rtt" : "latency";
	double mean = us(f, e->mean_ns), error = us(f, e->error_ns);
	double level = (double)nd_face_u64(&f->face, "level");
	double z = nd_exact_normal(level / 100);
	nd_auto_str line = { 0 };

	nd_str_addf(&line, "====> avg-%s=%.3f (std-dev=%.3f", what, mean, us(f, e->stddev_ns));
	if (!nd_face_bool(&f->face, "short_average"))
		nd_str_addf(&line,
			    ", mean-ad=%.3f, median-ad=%.3f, siqr=%.3f, cv=%.3f, std-error=%.3f, "
			    "%.1f%% ci=[%.3f, %.3f]",
			    us(f, e->mean_ad_ns), us(f, e->median_ad_ns), us(f, e->siqr_ns),
			    e->mean_ns > 0 ? e->stddev_ns / e->mean_ns : 0, error, level,
			    mean - z * error, mean + z * error);
	nd_str_add(&line, ")");
	nd_str_add(out, "sockperf: ");
	nd_sprep_colour(f, ND_SP_PURPLE, nd_str_text(&line), out);
	nd_str_add(out, "\n");
}

static void put_losses(const struct nd_sprep *f, struct nd_str *out)
{
	const struct nd_exact_span *s = &f->e.span;
	nd_auto_str line = { 0 };

	nd_str_addf(&line,
		    "# dropped messages = %llu; # duplicated messages = %llu; # out-of-order "
		    "messages = %llu",
		    (unsigned long long)s->dropped, (unsigned long long)f->duplicate,
		    (unsigned long long)s->out_of_order);
	nd_str_add(out, "sockperf: ");
	if (s->dropped || f->duplicate || s->out_of_order)
		nd_sprep_colour(f, RED, nd_str_text(&line), out);
	else
		nd_str_add(out, nd_str_text(&line));
	nd_str_add(out, "\n");
}

static void put_summary(const struct nd_sprep *f, struct nd_str *out)
{
	uint64_t burst = nd_face_u64(&f->face, "burst");
	const char *what = nd_face_bool(&f->face, "full_rtt") ? "Round trip" : "Latency";

	nd_str_addf(out, "sockperf: Summary: %s", what);
	if (burst > 1)
		nd_str_addf(out, " of burst of %llu messages", (unsigned long long)burst);
	nd_str_addf(out, " is %.3f usec\n", us(f, f->e.mean_ns));
}

static void put_observations(const struct nd_sprep *f, struct nd_str *out)
{
	const struct nd_exact *e = &f->e;
	nd_auto_str total = { 0 };

	nd_str_addf(&total, "Total %llu observations", (unsigned long long)e->span.n);
	nd_str_add(out, "sockperf: ");
	nd_sprep_colour(f, ND_SP_PURPLE, nd_str_text(&total), out);
	nd_str_addf(out, "; each percentile contains %.2f observations\n", (double)e->span.n / 100);
	nd_str_addf(out, "sockperf: ---> <MAX> observation = %8.3f\n", us(f, (double)e->max_ns));
	for (unsigned i = 0; i + 1 < ND_EXACT_QUANTILES; i++)
		if (e->at_ns[i] != ND_UNKNOWN)
			nd_str_addf(out, "sockperf: ---> percentile %6.3f = %8.3f\n",
				    nd_exact_quantiles[i] * 100, us(f, (double)e->at_ns[i]));
	nd_str_addf(out, "sockperf: ---> <MIN> observation = %8.3f\n", us(f, (double)e->min_ns));
}

void nd_sprep_total(const struct nd_sprep *f, struct nd_str *out)
{
	bool counted = nd_face_u64(&f->face, "messages") > 0;

	nd_str_addf(out, "sockperf: [Total Run] RunTime=%.3f sec; ", f->seconds);
	if (counted)
		nd_str_addf(out, "Warm up packets=%u; ", ND_SP_SKIP_N);
	else
		nd_str_addf(
			out, "Warm up time=%u msec; ",
			(unsigned)(ND_SP_SKIP_NS / ND_NS_PER_MS)); /* also where nothing is cut */
	nd_str_addf(out, "SentMessages=%llu; ReceivedMessages=%llu", (unsigned long long)f->sent,
		    (unsigned long long)f->received);
	if (f->skipped)
		nd_str_addf(out, "; SkippedMessages=%llu", (unsigned long long)f->skipped);
	nd_str_add(out, "\n");
}

/* From the first message on, as in the log. */
static void put_bounds(const struct nd_sprep *f, struct nd_str *out)
{
	const struct nd_exact_span *s = &f->e.span;
	uint64_t zero_ns = ND_MIN(nd_sprep_first_ns(f), s->begin_ns);

	nd_str_addf(out, "sockperf: testStart: %.9f sec testEnd: %.9f sec\n",
		    (double)(s->begin_ns - zero_ns) / (double)ND_NS_PER_S,
		    (double)(s->end_ns - zero_ns) / (double)ND_NS_PER_S);
}

void nd_sprep_statistics(const struct nd_sprep *f, bool in_log, struct nd_str *out)
{
	const struct nd_exact_span *s = &f->e.span;
	uint64_t messages = s->last - s->first + 1;

	nd_str_addf(out, "sockperf: ========= Printing statistics for Server No: %llu\n",
		    (unsigned long long)f->server);
	if (f->error < 0) {
		nd_str_addf(out, "sockperf: ERROR: samples could not be read (errno=%d)\n",
			    -f->error);
		return;
	}
	if (s->is_empty) {
		nd_str_add(out, "sockperf: Test end before test start. Ending statistics early\n");
		return;
	}
	if (s->n == 0) {
		nd_str_add(out, "sockperf: No valid observations found. Try tune parameters: "
				"--time/--mps/--reply-every\n");
		return;
	}
	if (!in_log && nd_face_bool(&f->face, "debug"))
		put_bounds(f, out);
	nd_str_addf(out,
		    "sockperf: [Valid Duration] RunTime=%.3f sec; SentMessages=%llu; "
		    "ReceivedMessages=%llu\n",
		    (double)(s->end_ns - s->begin_ns) / (double)ND_NS_PER_S,
		    (unsigned long long)messages, (unsigned long long)s->n);
	put_average(f, out);
	put_losses(f, out);
	if (!in_log)
		put_summary(f, out);
	put_observations(f, out);
}

/* ---- the writer */

static void put_version(const struct nd_sprep *f, struct nd_str *out)
{
	const char *version = nd_face_str(&f->face, "version");
	nd_auto_str line = { 0 };

	if (nd_face_bool(&f->face, "debug"))
		nd_sprep_settings(f, out);
	nd_str_addf(&line, "== version #%s == ", version ? version : "");
	nd_str_add(out, "sockperf: ");
	nd_sprep_colour(f, ND_SP_PURPLE, nd_str_text(&line), out);
	nd_str_add(out, "\n");
}

static void put_addresses(const struct nd_sprep *f, uint64_t from, uint64_t n, struct nd_str *out)
{
	struct nd_strv list = nd_face_strv(&f->face, "addresses");

	for (uint64_t i = 0; i < n && from + i < list.n; i++) {
		nd_str_addf(out, "[%2llu] ", (unsigned long long)i);
		nd_report_clean(out, list.v[from + i]);
		nd_str_add(out, "\n");
	}
}

static const char *method_of(const struct nd_sprep *f)
{
	return nd_face_str(&f->face, "method") ?: "recvfrom";
}

static void put_pace(const struct nd_sprep *f, struct nd_str *out)
{
	if (nd_face_u64(&f->face, "pace") > 0)
		nd_str_add(out, "sockperf: succeed to set sock-SO_MAX_PACING_RATE\n");
}

/* Sockets and their buffers are told first of all. */
static bool is_sized(const struct nd_sprep *f)
{
	return nd_face_u64(&f->face, "buffer_bytes") > 0;
}

static void begin_client(const struct nd_sprep *f, struct nd_str *out)
{
	if (is_sized(f))
		put_version(f, out);
	put_pace(f, out);
	nd_str_add(out, "sockperf[CLIENT] send on:");
	if (f->mode != ND_SPREP_TP)
		nd_str_addf(out, "sockperf: using %s() to block on socket(s)\n", method_of(f));
	nd_str_add(out, "\n");
	put_addresses(f, 0, UINT64_MAX, out);
}

static void put_warm_up(const struct nd_sprep *f, struct nd_str *out)
{
	if (!nd_face_bool(&f->face, "dont_warm_up"))
		nd_str_add(out, "sockperf: Warmup stage (sending a few dummy messages)...\n");
}

/* Of a server whose threads have addresses of their own. */
static uint64_t threads_of(const struct nd_sprep *f)
{
	return ND_MAX(
		ND_MIN(nd_face_u64(&f->face, "threads"), nd_face_strv(&f->face, "addresses").n), 1);
}

/* Threads share addresses out evenly, the first ones take what remains. */
static void begin_server(const struct nd_sprep *f, struct nd_str *out)
{
	uint64_t all = nd_face_strv(&f->face, "addresses").n, threads = threads_of(f), from = 0;

	if (threads > 1)
		nd_str_addf(out, "sockperf: Running %llu threads to manage %llu sockets\n",
			    (unsigned long long)threads, (unsigned long long)all);
	put_pace(f, out);
	for (uint64_t i = 0; i < threads; i++) {
		uint64_t n = all / threads + (i < all % threads);

		nd_str_add(out, "sockperf: [SERVER] listen on:\n");
		put_addresses(f, from, n, out);
		from += n;
		put_warm_up(f, out);
		nd_str_addf(out, "sockperf: [tid %llu] using %s() to block on socket(s)\n",
			    (unsigned long long)i + 1, method_of(f));
	}
}

static void begin(const struct nd_report_cfg *cfg, struct nd_str *out)
{
	struct nd_sprep f;

	nd_sprep_open(&f, cfg, NULL);
	if (nd_face_bool(&f.face, "daemonize"))
		nd_str_add(out, "sockperf: Running as daemon\n");
	if (!is_sized(&f))
		put_version(&f, out);
}

static void put_buffers(const struct nd_sprep *f, const struct nd_progress_event *ev,
			struct nd_str *out)
{
	uint64_t asked = nd_face_u64(&f->face, "buffer_bytes");

	nd_str_addf(out, "sockperf: Socket buffers sizes of fd %d: RX: %llu Byte, TX: %llu Byte\n",
		    ev->fd, (unsigned long long)ev->rcvbuf_bytes,
		    (unsigned long long)ev->sndbuf_bytes);
	if (ND_MIN(ev->rcvbuf_bytes, ev->sndbuf_bytes) / 2 < asked)
		nd_str_addf(out,
			    "sockperf: WARNING: Failed setting receive or send socket buffer size "
			    "to %llu bytes (check 'sysctl net.core.rmem_max' value)\n",
			    (unsigned long long)asked);
}

/*
 * Whoever reads that it blocks on its sockets is answered: ports alone do not do that. Said once, by the last that
 * begins; in the background there is nobody to hear it any more by then.
 */
static bool is_ready(const struct nd_sprep *f, const struct nd_progress_event *ev,
		     struct nd_sprep_told *t)
{
	if (nd_face_bool(&f->face, "daemonize"))
		return ev->what == ND_PROG_READY;
	if (ev->what != ND_PROG_PHASE || strcmp(ev->text, "measure") != 0)
		return false;
	return t && ++t->begun == nd_face_u64(&f->face, "halves");
}

static void progress(const struct nd_report_cfg *cfg, const struct nd_progress_event *ev,
		     struct nd_str *out)
{
	struct nd_sprep f;

	nd_sprep_open(&f, cfg, NULL);
	if (f.mode == ND_SPREP_SR && is_ready(&f, ev, cfg->state)) {
		if (is_sized(&f))
			put_version(&f, out);
		begin_server(&f, out);
	} else if (f.mode != ND_SPREP_SR && ev->what == ND_PROG_FLOWS) {
		begin_client(&f, out);
		put_warm_up(&f, out);
		nd_str_add(out, "sockperf: Starting test...\n");
	} else if (ev->what == ND_PROG_SOCKET) {
		put_buffers(&f, ev, out);
	} else if (ev->what == ND_PROG_SEEN && cfg->state) {
		nd_sprep_seen(&f, cfg->state, ev->seen, out);
	}
}

static void result_server(const struct nd_sprep *f, struct nd_str *out)
{
	bool is_one = threads_of(f) == 1;

	nd_str_addf(out, "sockperf: %s\n",
		    is_one ? "Test end (interrupted by user)" : "Got signal 2 - exiting");
	if (f->handled > 0)
		nd_str_addf(out, "sockperf: Total %llu messages received and handled\n",
			    (unsigned long long)f->handled);
	else
		nd_str_add(out, "sockperf: No messages were received on the server.\n");
	nd_sprep_senders(f, out);
	nd_str_addf(out, "sockperf: %s() exit\n",
		    is_one ? "cleanupAfterLoop" : "server_select_per_thread");
}

static void put_end(const struct nd_sprep *f, struct nd_str *out)
{
	if (f->broken > 0 && f->broken < f->flows)
		nd_str_addf(
			out,
			"sockperf: WARNING: %llu of %llu connections were closed by a peer before the "
			"test's end\n",
			(unsigned long long)f->broken, (unsigned long long)f->flows);
	if (f->r->partial)
		nd_str_add(out, "sockperf: Test end (interrupted by user)\n");
	else if (f->broken > 0 && f->broken == f->flows)
		nd_str_add(out, "sockperf: ERROR: A connection was forcibly closed by a peer "
				"(errno=0 Success)\n");
	else if (nd_face_u64(&f->face, "messages") > 0)
		nd_str_add(out, "sockperf: Test end (reached packet number)\n");
	else if (f->mode != ND_SPREP_PB)
		nd_str_add(out, "sockperf: Test end (interrupted by timer)\n");
	nd_str_add(out, "sockperf: Test ended\n");
}

static void result(const struct nd_report_cfg *cfg, const struct nd_result *r, struct nd_str *out)
{
	struct nd_sprep f;

	nd_sprep_open(&f, cfg, r);
	if (cfg->state && ((const struct nd_sprep_told *)cfg->state)->is_dotted)
		nd_str_add(out, "\n");
	if (f.mode == ND_SPREP_SR) {
		result_server(&f, out);
		return;
	}
	if (f.corrupt > 0) {
		nd_str_add(out, "sockperf: ERROR: data integrity test failed (errno=0 Success)\n");
		return;
	}
	put_end(&f, out);
	if (f.mode == ND_SPREP_TP) {
		nd_sprep_throughput(&f, out);
		return;
	}
	if (f.received == 0) {
		do
			nd_str_add(out, ND_SP_NO_ANSWER);
		while (nd_sprep_next(&f));
		nd_sprep_rate(&f, out);
		return;
	}
	nd_sprep_total(&f, out);
	nd_sprep_statistics(&f, false, out);
	nd_sprep_histogram(&f, false, out);
	for (struct nd_sprep one = f; nd_sprep_next(&one);) {
		nd_sprep_statistics(&one, false, out);
		nd_sprep_histogram(&one, false, out);
	}
	if (f.missed > 0)
		nd_str_addf(out,
			    "sockperf: WARNING: %llu messages are missing from the statistics: "
			    "the temporary file for them was full, or too slow\n",
			    (unsigned long long)f.missed);
	nd_sprep_rate(&f, out);
}

static void failed(const struct nd_report_cfg *cfg, const struct nd_err *err, struct nd_str *out)
{
	char words[96];

	(void)cfg;
	if (!err->code)
		return;
	nd_str_add(out, "sockperf: ERROR: ");
	nd_report_clean(out, err->text);
	nd_str_addf(out, " (errno=%d %s)\n", -err->code,
		    nd_strerror(err->code, words, sizeof(words)));
}

static int files(const struct nd_report_cfg *cfg, const struct nd_result *r, struct nd_err *err)
{
	struct nd_sprep f;
	const char *name;

	nd_sprep_open(&f, cfg, NULL);
	name = nd_face_str(&f.face, "log");
	if (!name || !r)
		return 0;
	nd_sprep_open(&f, cfg, r);
	return nd_sprep_log(&f, name, err);
}

const struct nd_writer nd_writer_sockperf = {
	.name = "sockperf",
	.help = "as sockperf prints it",
	.of_face = true,
	.state_size = sizeof(struct nd_sprep_told),
	.begin = begin,
	.progress = progress,
	.result = result,
	.failed = failed,
	.files = files,
};
