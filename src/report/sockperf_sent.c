/* SPDX-License-Identifier: MIT */
/* What sockperf's report says of messages that nobody answers, and of rates. */
#include "base/real.h"
#include "report/int.h"
#include "report/sockperf.h"

#define FRAME_BYTES 1472u /* that an Ethernet frame carries as a datagram */

/* 3.7 leaves a bracket open. */
static void put_note(const struct nd_sprep *f, struct nd_str *out)
{
	uint64_t bytes = nd_face_u64(&f->face, "message_bytes");
	uint64_t range = nd_face_u64(&f->face, "range_bytes");
	uint64_t rate = nd_face_u64(&f->face, "rate");
	nd_auto_str line = { 0 };

	if (bytes == FRAME_BYTES && !rate)
		return;
	nd_str_add(&line, "NOTE: test was performed, using ");
	if (range)
		nd_str_addf(&line, "average msg-size=%llu (+/-%llu)", (unsigned long long)bytes,
			    (unsigned long long)range);
	else
		nd_str_addf(&line, "msg-size=%llu", (unsigned long long)bytes);
	if (rate)
		nd_str_addf(&line, ", mps=%llu", (unsigned long long)rate);
	nd_str_add(&line, ". For getting maximum throughput ");
	if (!rate)
		nd_str_addf(&line, "consider using --msg-size=%u", FRAME_BYTES);
	else
		nd_str_addf(&line, "use --mps=max (and consider --msg-size=%u or --msg-size=4096%s",
			    FRAME_BYTES,
			    range && nd_face_bool(&f->face, "short_average") ? "" : ")");
	nd_str_add(out, "sockperf: ");
	nd_sprep_colour(f, ND_SP_PURPLE, nd_str_text(&line), out);
	nd_str_add(out, "\n");
}

static void put_bandwidth(const struct nd_sprep *f, double rate, uint64_t bytes, struct nd_str *out)
{
	double mega = rate * (double)bytes / (1024 * 1024);

	if (nd_face_bool(&f->face, "giga"))
		nd_str_addf(out, "sockperf: Summary: BandWidth is %.3f GBps (%.3f Gbps)\n",
			    mega / 1000, mega * 8 / 1000);
	else if (nd_face_bool(&f->face, "precise")) /* 3.7 gives them a wrong name */
		nd_str_addf(out, "sockperf: Summary: BandWidth is %.9f %cBps (%.9f %cbps)\n", mega,
			    nd_face_bool(&f->face, "short_average") ? 'G' : 'M', mega * 8,
			    nd_face_bool(&f->face, "short_average") ? 'G' : 'M');
	else
		nd_str_addf(out, "sockperf: Summary: BandWidth is %.3f MBps (%.3f Mbps)\n", mega,
			    mega * 8);
}

/* What arrived is known where the server is one of ours and tells of every flow. */
static void put_receiver(const struct nd_sprep *f, struct nd_str *out)
{
	uint64_t flows = f->flows, sent = f->told < flows ? f->told_sent : f->sent;
	double seconds = (double)f->there_ns / (double)ND_NS_PER_S;
	uint64_t lost = sent > f->there ? sent - f->there : 0;

	/* what a part of a log's flows sent is not known */
	if (f->told == 0 || (f->told < flows && flows > f->r->samples_n) ||
	    nd_face_bool(&f->face, "coloured"))
		return;
	nd_str_add(out, "sockperf: Receiver: ");
	if (f->told < flows)
		nd_str_addf(out, "told of %llu of %llu flows: ", (unsigned long long)f->told,
			    (unsigned long long)flows);
	nd_str_addf(out, "%llu of %llu messages arrived; %llu lost", (unsigned long long)f->there,
		    (unsigned long long)sent, (unsigned long long)lost);
	if (sent > 0)
		nd_str_addf(out, " (%.3f %%)", 100.0 * (double)lost / (double)sent);
	nd_str_add(out, "\n");
	if (seconds > 0)
		nd_str_addf(
			out,
			"sockperf: Receiver: %.0f [msg/sec], %.3f MBps (%.3f Mbps) in %.3f sec\n",
			(double)f->there / seconds,
			(double)f->there_bytes / seconds / (1024 * 1024),
			(double)f->there_bytes / seconds * 8 / (1024 * 1024), seconds);
}

/* A schedule that was never ahead of time. */
void nd_sprep_rate(const struct nd_sprep *f, struct nd_str *out)
{
	const struct nd_part *part;
	uint64_t waits = 0, n = 0;

	if (f->mode == ND_SPREP_PB || nd_face_u64(&f->face, "rate") == 0)
		return;
	for (unsigned i = 0; (part = nd_result_part(f->r->client, i)); i++) {
		n += part->latency != NULL;
		waits += part->latency ? part->latency->waits : 0;
	}
	if (n > 0 && waits == 0)
		nd_str_add(out,
			   "sockperf: Info: The requested message-per-second rate is too high. "
			   "Try tuning --mps or --burst arguments\n");
}

void nd_sprep_throughput(const struct nd_sprep *f, struct nd_str *out)
{
	uint64_t bytes = nd_face_u64(&f->face, "message_bytes");
	uint64_t pieces = (bytes + FRAME_BYTES - 1) / FRAME_BYTES;
	double rate = f->seconds > 0 ? nd_real_round((double)f->sent / f->seconds) : 0;

	nd_str_addf(out, "sockperf: Total of %llu messages sent in %.3f sec",
		    (unsigned long long)f->sent, f->seconds);
	if (f->skipped)
		nd_str_addf(out, " (%llu messages skipped)", (unsigned long long)f->skipped);
	nd_str_add(out, "\n\n");
	put_note(f, out);
	nd_str_addf(out, "sockperf: Summary: Message Rate is %.0f [msg/sec]", rate);
	if (pieces > 1)
		nd_str_addf(out, ", Packet Rate is about %.0f [pkt/sec] (%llu ip frags / msg)",
			    rate * (double)pieces, (unsigned long long)pieces);
	nd_str_add(out, "\n");
	put_bandwidth(f, rate, bytes, out);
	nd_sprep_rate(f, out);
	put_receiver(f, out);
}
