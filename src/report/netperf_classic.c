/* SPDX-License-Identifier: MIT */
/* The banner and rows that netperf prints unless told otherwise; scripts count their lines and columns. */
#include <stdlib.h>
#include <string.h>

#include "report/int.h"
#include "report/netperf.h"

#define LL(v) ((long long)(v))

/* ---- banner */

static void name_and_port(struct nd_str *out, const char *name, const char *any, int64_t port,
			  bool ipv6)
{
	bool is_any = !strcmp(name, any);
	const char *address = is_any ? ipv6 ? "::" : "0.0.0.0" : name;

	/* the address in brackets only where it is short: so does the original */
	if (strlen(address) > 7 ||
	    (!strchr(address, ':') && strspn(address, "0123456789.") < strlen(address)))
		address = "";
	nd_report_clean(out, name);
	nd_str_addf(out, " (%s) port %lld AF_INET%s", address, LL(port), ipv6 ? "6" : "");
}

void nd_nprep_banner(const struct nd_nprep *f, bool ipv6, struct nd_str *out)
{
	const char *any = ipv6 ? "::0" : "0.0.0.0";
	const char *from =
		nd_face_str(&f->face, "data_local") ?: nd_face_str(&f->face, "local_host");
	bool pinned = f->local.bound >= 0 || f->remote.bound >= 0;

	nd_str_add(out, f->test->title);
	if (f->test->kind == ND_NPREP_OMNI)
		nd_str_addf(out, " %s TEST", f->direction);
	nd_str_add(out, " from ");
	name_and_port(out, from ?: any, any, f->source_port, ipv6);
	nd_str_add(out, " to ");
	name_and_port(out, f->dest, any, f->dest_port, ipv6);
	if (f->level > 0)
		nd_str_addf(out, " : +/-%3.3f%% @ %lld%% conf. %s", f->width_asked / 2,
			    LL(f->level),
			    nd_face_bool(&f->face, "result_only") ? " on result only" : "");
	nd_str_add(out, nd_face_bool(&f->face, "nodelay") ? " : nodelay" : "");
	nd_str_add(out, nd_face_bool(&f->face, "copy_avoidance") ? " : copy avoidance" : "");
	nd_str_add(out, nd_face_bool(&f->face, "no_control") ? " : no control" : "");
	nd_str_add(out, " : demo");
	if (strstr(f->test->title, "REQUEST/RESPONSE"))
		nd_str_addf(out, " : first burst %lld", LL(f->burst));
	nd_str_addf(out, "%s\n", pinned ? " : cpu bind" : "");
}

/* ---- what all rows have in common */

static bool has_cpu(const struct nd_nprep *f)
{
	return f->local_cpu || f->remote_cpu;
}

static void unsettled(const struct nd_nprep *f, struct nd_str *out)
{
	if (f->level == 0 || !f->r->repeats || nd_repeats_agree(f->r->repeats))
		return;
	nd_str_addf(out,
		    "!!! WARNING\n"
		    "!!! Desired confidence was not achieved within the specified iterations.\n"
		    "!!! This implies that there was variability in the test environment that\n"
		    "!!! must be investigated before going further.\n"
		    "!!! Confidence intervals: Throughput      : %3.3f%%\n"
		    "!!!                       Local CPU util  : %3.3f%%\n"
		    "!!!                       Remote CPU util : %3.3f%%\n\n",
		    f->rate_width, f->local_cpu_width, f->remote_cpu_width);
}

/* -v 0: one number. */
static void single(const struct nd_nprep *f, double rate, struct nd_str *out)
{
	bool wide = f->test->kind != ND_NPREP_PACKETS;
	bool branded = wide && f->test->kind != ND_NPREP_CRR;
	const struct nd_nprep_end *e = f->local_cpu ? &f->local : &f->remote;

	if (!has_cpu(f))
		nd_str_addf(out, "%7.2f", rate);
	else
		nd_str_addf(out, "%6.*f", wide ? 3 : 2, e->demand);
	if (has_cpu(f) && f->test->kind != ND_NPREP_CRR)
		nd_str_addf(out, " %s", e->method);
	if (branded) {
		nd_str_add(out, " ");
		nd_report_clean(out, f->brand);
	}
	nd_str_add(out, "\n");
}

static void end_row(const struct nd_nprep *f, struct nd_str *out)
{
	nd_report_clean(out, f->brand);
	nd_str_add(out, "\n");
}

/* ---- TCP, one way */

static void stream_titles(const struct nd_nprep *f, struct nd_str *out)
{
	const char *unit = nd_nprep_unit_name(f, false);

	if (!has_cpu(f)) {
		nd_str_addf(out,
			    "Recv   Send    Send                          \n"
			    "Socket Socket  Message  Elapsed              \n"
			    "Size   Size    Size     Time     Throughput  \n"
			    "bytes  bytes   bytes    secs.    %s/sec  \n\n",
			    unit);
		return;
	}
	nd_str_addf(
		out,
		"Recv   Send    Send                          Utilization       Service Demand\n"
		"Socket Socket  Message  Elapsed              %s\n"
		"Size   Size    Size     Time     Throughput  local    remote   local   remote\n"
		"bytes  bytes   bytes    secs.    %-8.8s/s  %% %s      %% %s      us/KB   us/KB\n\n",
		f->sends ? "Send     Recv     Send    Recv" : "Recv     Send     Recv    Send",
		unit, f->local.method, f->remote.method);
}

static void stream_rows(const struct nd_nprep *f, struct nd_str *out)
{
	const struct nd_nprep_end *tx = f->sends ? &f->local : &f->remote;
	const struct nd_nprep_end *rx = f->sends ? &f->remote : &f->local;

	nd_str_addf(out, "%6lld %6lld %6lld    %-6.2f   ", LL(rx->rcvbuf), LL(tx->sndbuf),
		    LL(tx->send_bytes), f->elapsed_s);
	if (has_cpu(f))
		nd_str_addf(out, "  %7.2f   %-6.2f   %-6.2f   %-6.3f  %-6.3f ", f->result_rate,
			    f->local.cpu, f->remote.cpu, f->local.demand, f->remote.demand);
	else
		nd_str_addf(out, "%7.2f   ", f->result_rate);
	end_row(f, out);
}

static void stream_more(const struct nd_nprep *f, struct nd_str *out)
{
	const struct nd_nprep_end *l = &f->local, *r = &f->remote;
	bool tx = f->sends;

	nd_str_addf(out,
		    "\nAlignment      Offset         Bytes    Bytes       %s   Bytes    %s\n"
		    "Local  Remote  Local  Remote  Xfered   Per                 Per\n"
		    "%s             %s (avg)          %s (avg)\n"
		    "%5lld   %5lld  %5lld   %5lld ",
		    tx ? "Sends" : "Recvs", tx ? "Recvs" : "Sends",
		    tx ? "Send   Recv    Send   Recv" : "Recv   Send    Recv   Send",
		    tx ? "Send" : "Recv", tx ? "Recv" : "Send",
		    LL(tx ? l->send_align : l->recv_align), LL(tx ? r->recv_align : r->send_align),
		    LL(tx ? l->send_offset : l->recv_offset),
		    LL(tx ? r->recv_offset : r->send_offset));
	if (f->test->is_old)
		nd_str_addf(out, "%6.4g", (double)r->bytes);
	else
		nd_str_addf(out, "%6lld", LL(tx ? r->bytes : l->bytes));
	nd_str_addf(out, "  %6.2f    %6lld   %6.2f %6lld\n",
		    tx ? l->bytes_per_send : l->bytes_per_recv, LL(tx ? l->sends : l->recvs),
		    tx ? r->bytes_per_recv : r->bytes_per_send, LL(tx ? r->recvs : r->sends));
	nd_str_addf(out, "\nMaximum\nSegment\nSize (bytes)\n%6lld\n", LL(f->mss));
}

/* ---- UDP, one way */

static void packets_titles(const struct nd_nprep *f, struct nd_str *out)
{
	const char *unit = nd_nprep_unit_name(f, false);

	if (!has_cpu(f))
		nd_str_addf(out,
			    "Socket  Message  Elapsed      Messages                \n"
			    "Size    Size     Time         Okay Errors   Throughput\n"
			    "bytes   bytes    secs            #      #   %s/sec\n\n",
			    unit);
	else
		nd_str_addf(
			out,
			"Socket  Message  Elapsed      Messages                   CPU      Service\n"
			"Size    Size     Time         Okay Errors   Throughput   Util     Demand\n"
			"bytes   bytes    secs            #      #   %s/sec %% %s%s     us/KB\n\n",
			unit, f->local.method, f->remote.method);
}

static void packets_rows(const struct nd_nprep *f, struct nd_str *out)
{
	const struct nd_nprep_end *tx = &f->local, *rx = &f->remote;
	int decimals = has_cpu(f) ? 1 : 2;

	nd_str_addf(out, "%6lld  %6lld   %-7.2f   %7lld %6lld    %7.*f", LL(tx->sndbuf),
		    LL(tx->send_bytes), f->elapsed_s, LL(tx->sends), LL(tx->failed_sends), decimals,
		    tx->send_rate);
	if (has_cpu(f))
		nd_str_addf(out, "     %-6.2f   %-6.3f", tx->cpu, tx->demand);
	nd_str_addf(out, "\n%6lld           %-7.2f   %7lld           %7.*f", LL(rx->rcvbuf),
		    f->elapsed_s, LL(rx->recvs), decimals, rx->recv_rate);
	if (has_cpu(f))
		nd_str_addf(out, "     %-6.2f   %-6.3f", rx->cpu, rx->demand);
	nd_str_add(out, "\n\n");
}

/* ---- requests and responses */

static void turns_titles(const struct nd_nprep *f, struct nd_str *out)
{
	bool crr = f->test->kind == ND_NPREP_CRR, trans = crr || f->counts_transactions;
	const char *unit = nd_nprep_unit_name(f, false);
	const char *kind = trans ? "us/Tr   us/Tr" : "us/KB   us/KB";

	nd_str_add(out, "Local /Remote\n");
	if (!has_cpu(f) && trans)
		nd_str_add(out, "Socket Size   Request  Resp.   Elapsed  Trans.\n"
				"Send   Recv   Size     Size    Time     Rate         \n"
				"bytes  Bytes  bytes    bytes   secs.    per sec   \n\n");
	else if (!has_cpu(f))
		nd_str_addf(out,
			    "Socket Size   Request  Resp.   Elapsed  \n"
			    "Send   Recv   Size     Size    Time     Throughput \n"
			    "bytes  Bytes  bytes    bytes   secs.    %s/sec   \n\n",
			    unit);
	if (!has_cpu(f))
		return;
	nd_str_addf(out,
		    "Socket Size   Request Resp.  Elapsed %-6s   CPU    CPU    S.dem   S.dem\n"
		    "Send   Recv   Size    Size   Time    %-8.8s local  remote local   remote\n"
		    "bytes  bytes  bytes   bytes  secs.   per sec  ",
		    trans ? "Trans." : "Tput", trans ? "Rate" : unit);
	if (crr)
		nd_str_addf(out, "%%      %%      %s\n\n", kind);
	else
		nd_str_addf(out, "%% %s    %% %s    %s\n\n", f->local.method, f->remote.method,
			    kind);
}

static void turns_rows(const struct nd_nprep *f, struct nd_str *out)
{
	const struct nd_nprep_end *l = &f->local, *r = &f->remote;
	bool crr = f->test->kind == ND_NPREP_CRR;

	nd_str_addf(out, "%-6lld %-6lld ", LL(l->sndbuf), LL(l->rcvbuf));
	if (has_cpu(f))
		nd_str_addf(out, "%-6lld  %-6lld %-6.2f  %-6.2f  %s%-6.2f %-6.2f %-6.3f  %-6.3f%s",
			    LL(f->request_bytes), LL(f->response_bytes), f->elapsed_s,
			    f->result_rate, crr || f->datagram ? " " : "", l->cpu, r->cpu,
			    l->demand, r->demand, crr ? "" : " ");
	else
		nd_str_addf(out, "%-6lld   %-6lld  %-6.2f   %7.2f   ", LL(f->request_bytes),
			    LL(f->response_bytes), f->elapsed_s, f->result_rate);
	if (crr)
		nd_str_add(out, "\n");
	else
		end_row(f, out);
	nd_str_addf(out, "%-6lld %-6lld\n", LL(r->sndbuf), LL(r->rcvbuf));
}

static void turns_more(const struct nd_nprep *f, struct nd_str *out)
{
	const struct nd_nprep_end *l = &f->local, *r = &f->remote;

	if (f->test->kind == ND_NPREP_CRR) {
		nd_str_addf(out,
			    "\nAlignment      Offset\nLocal  Remote  Local  Remote\n"
			    "Send   Recv    Send   Recv\n%5lld  %5lld   %5lld  %5lld\n",
			    LL(l->send_align), LL(f->test->is_old ? r->recv_offset : r->recv_align),
			    LL(l->send_offset), LL(r->recv_offset));
		return;
	}
	if (f->datagram)
		return;
	/* the second number is an offset in the original, too */
	nd_str_addf(out,
		    "Alignment      Offset         RoundTrip  Trans    Throughput\n"
		    "Local  Remote  Local  Remote  Latency    Rate     %s/s\n"
		    "Send   Recv    Send   Recv    usec/Tran  per sec  Outbound   Inbound\n"
		    "%5lld  %5lld   %5lld  %5lld   %-6.3f   %-6.3f %-6.3f    %-6.3f\n",
		    nd_nprep_unit_name(f, false), LL(l->send_align), LL(r->recv_offset),
		    LL(l->send_offset), LL(r->recv_offset), f->rt_latency_us, f->transaction_rate,
		    nd_nprep_bytes_rate(f, f->transaction_rate * (double)f->request_bytes),
		    nd_nprep_bytes_rate(f, f->transaction_rate * (double)f->response_bytes));
}

/* ---- histogram */

#define DECADES 8

/* What was timed; how it is spelt differs from test to test in the original, too. */
static const char *histogram_of(const struct nd_nprep *f)
{
	if (f->sends != f->recvs && !f->connects) {
		if (f->recvs)
			return "\n\nHistogram of time spent in recv() call.\n";
		return f->datagram ? "\nHistogram of time spent in send() call\n"
				   : "\n\nHistogram of time spent in send() call.\n";
	}
	return f->datagram && f->test->kind == ND_NPREP_RR
		       ? "\nHistogram of request/reponse times.\n"
		       : "\nHistogram of request/response times\n";
}

void nd_nprep_histogram(const struct nd_nprep *f, struct nd_str *out)
{
	static const char *const names[DECADES] = { "UNIT_USEC", "TEN_USEC", "HUNDRED_USEC",
						    "UNIT_MSEC", "TEN_MSEC", "HUNDRED_MSEC",
						    "UNIT_SEC",  "TEN_SEC" };
	const struct nd_list *list = f->part ? &f->part->rtt_tenths : NULL;
	const struct nd_rtt_tenth *row = list ? list->v : NULL;
	uint64_t n[DECADES][10] = { 0 }, beyond = 0, total = 0;

	if (!row || list->n == 0)
		return;
	for (uint64_t i = 0; i < list->n; i++) {
		total += row[i].count;
		if (row[i].decade < DECADES)
			n[row[i].decade][row[i].tenth % 10] += row[i].count;
		else
			beyond += row[i].count;
	}
	nd_str_add(out, histogram_of(f));
	for (unsigned d = 0; d < DECADES; d++) {
		nd_str_addf(out, "%-14s", names[d]);
		for (unsigned t = 0; t < 10; t++)
			nd_str_addf(out, ": %4llu", (unsigned long long)n[d][t]);
		nd_str_add(out, "\n");
	}
	nd_str_addf(out, ">100_SECS: %llu\nHIST_TOTAL:      %llu\n", (unsigned long long)beyond,
		    (unsigned long long)total);
}

/* ---- several flows in one process: our own addition */

static void skew(const struct nd_nprep *f, struct nd_str *out)
{
	const struct nd_direction *d = f->r->directions.n ? f->r->directions.v : NULL;

	if (nd_face_u64(&f->face, "parallel") < 2 || !d)
		return;
	nd_str_addf(out, "%llu flows", (unsigned long long)d->flows);
	if (d->start_skew_ms >= 0)
		nd_str_addf(out, ", started within %.3f ms", d->start_skew_ms);
	nd_str_add(out, "\n");
}

/* Stages of the ledger, in words that follow a number. */
static const char *place_of(const char *stage)
{
	static const struct {
		const char *stage, *words;
	} places[] = {
		{ "queueing discipline", "in the sender's queueing discipline" },
		{ "interface out", "at the sender's interface" },
		{ "interface in", "at the receiver's interface" },
		{ "backlog of a CPU", "in the receiver's backlog" },
		{ "fragments missing", "for fragments that did not come" },
		{ "no such port", "at no such port" },
		{ "checksum", "by their checksums" },
		{ "receive buffer full", "in receive buffers" },
		{ "between, or not seen", "where no counter saw them" },
	};

	for (size_t i = 0; i < ND_COUNTOF(places); i++)
		if (!strcmp(stage, places[i].stage))
			return places[i].words;
	return NULL;
}

/* Our own addition: where datagrams were lost, by the counters of both ends as far as they are told. */
static void lost(const struct nd_nprep *f, struct nd_str *out)
{
	bool asked = nd_face_bool(&f->face, "losses") || nd_face_u64(&f->face, "parallel") > 1;
	const struct nd_direction *d = f->r->directions.n ? f->r->directions.v : NULL;
	const struct nd_ledger_row *row = d ? d->ledger.v : NULL;
	uint64_t refused = d && d->loss.refused != ND_UNKNOWN ? d->loss.refused : 0;

	if (!asked || !d || !f->r->server || d->loss.lost == ND_UNKNOWN)
		return;
	nd_str_addf(out, "%llu lost", (unsigned long long)d->loss.lost);
	for (uint64_t i = 0; i < d->ledger.n; i++) {
		const char *place = row[i].stage ? place_of(row[i].stage) : NULL;

		if (!place || row[i].lost_here == ND_UNKNOWN || row[i].lost_here == 0)
			continue;
		nd_str_addf(out, ", %llu %s", (unsigned long long)row[i].lost_here, place);
		if (row[i].note && !strncmp(row[i].note, "maybe", 5))
			nd_str_addf(out, " (%s)", row[i].note);
	}
	if (refused)
		nd_str_addf(out, "; %llu more refused by the sender's socket",
			    (unsigned long long)refused);
	nd_str_add(out, "\n");
}

/* ---- all */

void nd_nprep_more(const struct nd_nprep *f, struct nd_str *out)
{
	if (f->test->kind == ND_NPREP_STREAM)
		stream_more(f, out);
	else if (f->test->kind == ND_NPREP_RR || f->test->kind == ND_NPREP_CRR)
		turns_more(f, out);
	nd_nprep_histogram(f, out);
}

static void mss(const struct nd_nprep *f, struct nd_str *out)
{
	if (f->banner && f->verbosity > 0)
		nd_str_add(out, "Maximum\nSegment\nSize (bytes)\n\n");
	nd_str_addf(out, "%lld ", LL(f->mss));
	end_row(f, out);
}

void nd_nprep_classic(const struct nd_nprep *f, struct nd_str *out)
{
	enum nd_nprep_kind kind = f->test->kind;
	bool packets = kind == ND_NPREP_PACKETS, stream = kind == ND_NPREP_STREAM;

	unsettled(f, out);
	if (kind == ND_NPREP_MSS) {
		mss(f, out);
		return;
	}
	if (f->verbosity <= 0) {
		single(f, packets ? f->local.send_rate : f->result_rate, out);
		return;
	}
	if (f->banner)
		(packets ? packets_titles : stream ? stream_titles : turns_titles)(f, out);
	(packets ? packets_rows : stream ? stream_rows : turns_rows)(f, out);
	if (packets)
		lost(f, out);
	skew(f, out);
	if (f->verbosity > 1)
		nd_nprep_more(f, out);
}
