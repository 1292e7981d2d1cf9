/* SPDX-License-Identifier: MIT */
/*
 * The figures that omni output can be made of, by the names users select them with. A heading's lines stand
 * between bars. What the machines are is no longer told by netperf 2.7 either: "Deprecated" is its word.
 */
#include <string.h>
#include <strings.h>

#include "report/int.h"
#include "report/netperf_select.h"

/* clang-format off */
#define AT(type, member) .offset = (uint32_t)ND_FIELD_OF(type, struct nd_nprep, member)
#define ARRAY(member)    .offset = (uint32_t)offsetof(struct nd_nprep, member)
#define I(n, h, member)           { .name = (n), .head = (h), .kind = ND_NPSEL_COUNT, AT(int64_t, member) }
#define F(n, h, member, decimals) { .name = (n), .head = (h), .kind = ND_NPSEL_REAL, AT(double, member), .places = (decimals) }
#define S(n, h, member)           { .name = (n), .head = (h), .kind = ND_NPSEL_TEXT, AT(const char *, member) }
#define Q(n, h, member)           { .name = (n), .head = (h), .kind = ND_NPSEL_QUOTED, AT(const char *, member) }
#define A(n, h, member)           { .name = (n), .head = (h), .kind = ND_NPSEL_ARRAY, ARRAY(member) }
#define X(n, h, member)           { .name = (n), .head = (h), .kind = ND_NPSEL_HEX, AT(int64_t, member) }
#define C(n, h, words)            { .name = (n), .head = (h), .kind = ND_NPSEL_WORD, .word = (words) }
static const struct nd_npsel rows[] = {
	C("OUTPUT_NONE", " ", " "),
	S("SOCKET_TYPE", "Socket|Type", socket_type),
	S("PROTOCOL", "Protocol", protocol),
	A("DIRECTION", "Direction", direction),
	F("ELAPSED_TIME", "Elapsed|Time|(sec)", elapsed_s, 2),
	F("THROUGHPUT", "Throughput", result_rate, 2),
	A("THROUGHPUT_UNITS", "Throughput|Units", unit_name),
	I("LSS_SIZE_REQ", "Local|Send Socket|Size|Requested", local.sndbuf_asked),
	I("LSS_SIZE", "Local|Send Socket|Size|Initial", local.sndbuf),
	I("LSS_SIZE_END", "Local|Send Socket|Size|Final", local.sndbuf_end),
	I("LSR_SIZE_REQ", "Local|Recv Socket|Size|Requested", local.rcvbuf_asked),
	I("LSR_SIZE", "Local|Recv Socket|Size|Initial", local.rcvbuf),
	I("LSR_SIZE_END", "Local|Recv Socket|Size|Final", local.rcvbuf_end),
	I("RSS_SIZE_REQ", "Remote|Send Socket|Size|Requested", remote.sndbuf_asked),
	I("RSS_SIZE", "Remote|Send Socket|Size|Initial", remote.sndbuf),
	I("RSS_SIZE_END", "Remote|Send Socket|Size|Final", remote.sndbuf_end),
	I("RSR_SIZE_REQ", "Remote|Recv Socket|Size|Requested", remote.rcvbuf_asked),
	I("RSR_SIZE", "Remote|Recv Socket|Size|Initial", remote.rcvbuf),
	I("RSR_SIZE_END", "Remote|Recv Socket|Size|Final", remote.rcvbuf_end),
	I("LOCAL_SEND_SIZE", "Local|Send|Size", local.send_bytes),
	I("LOCAL_RECV_SIZE", "Local|Recv|Size", local.recv_bytes),
	I("REMOTE_SEND_SIZE", "Remote|Send|Size", remote.send_bytes),
	I("REMOTE_RECV_SIZE", "Remote|Recv|Size", remote.recv_bytes),
	I("REQUEST_SIZE", "Request|Size|Bytes", request_bytes),
	I("RESPONSE_SIZE", "Response|Size|Bytes", response_bytes),
	F("LOCAL_CPU_UTIL", "Local|CPU|Util|%", local.cpu, 2),
	F("LOCAL_CPU_PERCENT_USER", "Local|CPU|User|%", local.user, 2),
	F("LOCAL_CPU_PERCENT_SYSTEM", "Local|CPU|System|%", local.system, 2),
	F("LOCAL_CPU_PERCENT_IOWAIT", "Local|CPU|I/O|%", local.iowait, 2),
	F("LOCAL_CPU_PERCENT_IRQ", "Local|CPU|IRQ|%", local.irq, 2),
	F("LOCAL_CPU_PERCENT_SWINTR", "Local|CPU|swintr|%", local.softirq, 2),
	S("LOCAL_CPU_METHOD", "Local|CPU|Util|Method", local.method),
	F("LOCAL_SD", "Local|Service|Demand", local.demand, 3),
	F("REMOTE_CPU_UTIL", "Remote|CPU|Util|%", remote.cpu, 2),
	F("REMOTE_CPU_PERCENT_USER", "Remote|CPU|User|%", remote.user, 2),
	F("REMOTE_CPU_PERCENT_SYSTEM", "Remote|CPU|System|%", remote.system, 2),
	F("REMOTE_CPU_PERCENT_IOWAIT", "Remote|CPU|I/O|%", remote.iowait, 2),
	F("REMOTE_CPU_PERCENT_IRQ", "Remote|CPU|IRQ|%", remote.irq, 2),
	F("REMOTE_CPU_PERCENT_SWINTR", "Remote|CPU|swintr|%", remote.softirq, 2),
	S("REMOTE_CPU_METHOD", "Remote|CPU|Util|Method", remote.method),
	F("REMOTE_SD", "Remote|Service|Demand", remote.demand, 3),
	S("SD_UNITS", "Service|Demand|Units", demand_unit),
	I("CONFIDENCE_LEVEL", "Confidence|Level|Percent", level),
	F("CONFIDENCE_INTERVAL", "Confidence|Width|Target", width_asked, 6),
	I("CONFIDENCE_ITERATION", "Confidence|Iterations|Run", runs),
	F("THROUGHPUT_CONFID", "Throughput|Confidence|Width (%)", rate_width, 3),
	F("LOCAL_CPU_CONFID", "Local|CPU|Confidence|Width (%)", local_cpu_width, 3),
	F("REMOTE_CPU_CONFID", "Remote|CPU|Confidence|Width (%)", remote_cpu_width, 3),
	F("TRANSACTION_RATE", "Transaction|Rate|Tran/s", transaction_rate, 3),
	F("RT_LATENCY", "Round|Trip|Latency|usec/tran", rt_latency_us, 3),
	I("BURST_SIZE", "Initial|Burst|Requests", burst),
	I("LOCAL_TRANSPORT_RETRANS", "Local|Transport|Retransmissions", local.retransmits),
	I("REMOTE_TRANSPORT_RETRANS", "Remote|Transport|Retransmissions", remote.retransmits),
	I("TRANSPORT_MSS", "Transport|MSS|bytes", mss),
	F("LOCAL_SEND_THROUGHPUT", "Local|Send|Throughput", local.send_rate, 2),
	F("LOCAL_RECV_THROUGHPUT", "Local|Recv|Throughput", local.recv_rate, 2),
	F("REMOTE_SEND_THROUGHPUT", "Remote|Send|Throughput", remote.send_rate, 2),
	F("REMOTE_RECV_THROUGHPUT", "Remote|Recv|Throughput", remote.recv_rate, 2),
	I("LOCAL_CPU_BIND", "Local|CPU|Bind", local.bound),
	I("LOCAL_CPU_COUNT", "Local|CPU|Count", local.cpus),
	F("LOCAL_CPU_PEAK_UTIL", "Local|Peak|Per CPU|Util %", local.peak, 2),
	I("LOCAL_CPU_PEAK_ID", "Local|Peak|Per CPU|ID", local.peak_id),
	C("LOCAL_CPU_MODEL", "Local|CPU|Model", "Deprecated"),
	C("LOCAL_CPU_FREQUENCY", "Local|CPU|Frequency|MHz", "0"),
	I("REMOTE_CPU_BIND", "Remote|CPU|Bind", remote.bound),
	I("REMOTE_CPU_COUNT", "Remote|CPU|Count", remote.cpus),
	F("REMOTE_CPU_PEAK_UTIL", "Remote|Peak|Per CPU|Util %", remote.peak, 2),
	I("REMOTE_CPU_PEAK_ID", "Remote|Peak|Per CPU|ID", remote.peak_id),
	C("REMOTE_CPU_MODEL", "Remote|CPU|Model", "Deprecated"),
	C("REMOTE_CPU_FREQUENCY", "Remote|CPU|Frequency|MHz", "0"),
	I("SOURCE_PORT", "Source|Port", source_port),
	S("SOURCE_ADDR", "Source|Address", source),
	I("SOURCE_FAMILY", "Source|Family", source_family),
	I("DEST_PORT", "Destination|Port", dest_port),
	S("DEST_ADDR", "Destination|Address", dest),
	I("DEST_FAMILY", "Destination|Family", dest_family),
	I("LOCAL_SEND_CALLS", "Local|Send|Calls", local.sends),
	I("LOCAL_RECV_CALLS", "Local|Recv|Calls", local.recvs),
	F("LOCAL_BYTES_PER_RECV", "Local|Bytes|Per|Recv", local.bytes_per_recv, 2),
	F("LOCAL_BYTES_PER_SEND", "Local|Bytes|Per|Send", local.bytes_per_send, 2),
	I("LOCAL_BYTES_SENT", "Local|Bytes|Sent", local.tx_bytes),
	I("LOCAL_BYTES_RECVD", "Local|Bytes|Received", local.rx_bytes),
	I("LOCAL_BYTES_XFERD", "Local|Bytes|Xferred", local.bytes),
	I("LOCAL_SEND_OFFSET", "Local|Send|Offset", local.send_offset),
	I("LOCAL_RECV_OFFSET", "Local|Recv|Offset", local.recv_offset),
	I("LOCAL_SEND_ALIGN", "Local|Send|Alignment", local.send_align),
	I("LOCAL_RECV_ALIGN", "Local|Recv|Alignment", local.recv_align),
	I("LOCAL_SEND_WIDTH", "Local|Send|Width", local.send_width),
	I("LOCAL_RECV_WIDTH", "Local|Recv|Width", local.recv_width),
	C("LOCAL_SEND_DIRTY_COUNT", "Local|Send|Dirty|Count", "-1"),
	C("LOCAL_RECV_DIRTY_COUNT", "Local|Recv|Dirty|Count", "-1"),
	C("LOCAL_RECV_CLEAN_COUNT", "Local|Recv|Clean|Count", "-1"),
	I("LOCAL_NODELAY", "Local|NODELAY", local.nodelay),
	I("LOCAL_CORK", "Local|Cork", local.cork),
	I("REMOTE_SEND_CALLS", "Remote|Send|Calls", remote.sends),
	I("REMOTE_RECV_CALLS", "Remote|Recv|Calls", remote.recvs),
	F("REMOTE_BYTES_PER_RECV", "Remote|Bytes|Per|Recv", remote.bytes_per_recv, 2),
	F("REMOTE_BYTES_PER_SEND", "Remote|Bytes|Per|Send", remote.bytes_per_send, 2),
	I("REMOTE_BYTES_SENT", "Remote|Bytes|Sent", remote.tx_bytes),
	I("REMOTE_BYTES_RECVD", "Remote|Bytes|Received", remote.rx_bytes),
	I("REMOTE_BYTES_XFERD", "Remote|Bytes|Xferred", remote.bytes),
	I("REMOTE_SEND_OFFSET", "Remote|Send|Offset", remote.send_offset),
	I("REMOTE_RECV_OFFSET", "Remote|Recv|Offset", remote.recv_offset),
	I("REMOTE_SEND_ALIGN", "Remote|Send|Alignment", remote.send_align),
	I("REMOTE_RECV_ALIGN", "Remote|Recv|Alignment", remote.recv_align),
	I("REMOTE_SEND_WIDTH", "Remote|Send|Width", remote.send_width),
	I("REMOTE_RECV_WIDTH", "Remote|Recv|Width", remote.recv_width),
	C("REMOTE_SEND_DIRTY_COUNT", "Remote|Send|Dirty|Count", "-1"),
	C("REMOTE_RECV_DIRTY_COUNT", "Remote|Recv|Dirty|Count", "-1"),
	C("REMOTE_RECV_CLEAN_COUNT", "Remote|Recv|Clean|Count", "-1"),
	I("REMOTE_NODELAY", "Remote|NODELAY", remote.nodelay),
	I("REMOTE_CORK", "Remote|Cork", remote.cork),
	C("LOCAL_SYSNAME", "Local|Sysname", "Deprecated"),
	C("LOCAL_SYSTEM_MODEL", "Local|System|Model", "Deprecated"),
	C("LOCAL_RELEASE", "Local|Release", "Deprecated"),
	C("LOCAL_VERSION", "Local|Version", "Deprecated"),
	C("LOCAL_MACHINE", "Local|Machine", "Deprecated"),
	C("REMOTE_SYSNAME", "Remote|Sysname", "Deprecated"),
	C("REMOTE_SYSTEM_MODEL", "Remote|System|Model", "Deprecated"),
	C("REMOTE_RELEASE", "Remote|Release", "Deprecated"),
	C("REMOTE_VERSION", "Remote|Version", "Deprecated"),
	C("REMOTE_MACHINE", "Remote|Machine", "Deprecated"),
	C("LOCAL_INTERFACE_NAME", "Local|Interface|Name", "Deprecated"),
	C("LOCAL_INTERFACE_VENDOR", "Local|Interface|Vendor", "0xfffffffe"),
	C("LOCAL_INTERFACE_DEVICE", "Local|Interface|Device", "0xfffffffe"),
	C("LOCAL_INTERFACE_SUBVENDOR", "Local|Interface|Subvendor", "0xfffffffe"),
	C("LOCAL_INTERFACE_SUBDEVICE", "Local|Interface|Subdevice", "0xfffffffe"),
	C("LOCAL_DRIVER_NAME", "Local|Driver|Name", "Deprecated"),
	C("LOCAL_DRIVER_VERSION", "Local|Driver|Version", "Deprecated"),
	C("LOCAL_DRIVER_FIRMWARE", "Local|Driver|Firmware", "Deprecated"),
	C("LOCAL_DRIVER_BUS", "Local|Driver|Bus", "Deprecated"),
	C("LOCAL_INTERFACE_SLOT", "Local|Interface|Slot", "Deprecated"),
	C("REMOTE_INTERFACE_NAME", "Remote|Interface|Name", "Deprecated"),
	C("REMOTE_INTERFACE_VENDOR", "Remote|Interface|Vendor", "0xfffffffe"),
	C("REMOTE_INTERFACE_DEVICE", "Remote|Interface|Device", "0xfffffffe"),
	C("REMOTE_INTERFACE_SUBVENDOR", "Remote|Interface|Subvendor", "0xfffffffe"),
	C("REMOTE_INTERFACE_SUBDEVICE", "Remote|Interface|Subdevice", "0xfffffffe"),
	C("REMOTE_DRIVER_NAME", "Remote|Driver|Name", "Deprecated"),
	C("REMOTE_DRIVER_VERSION", "Remote|Driver|Version", "Deprecated"),
	C("REMOTE_DRIVER_FIRMWARE", "Remote|Driver|Firmware", "Deprecated"),
	C("REMOTE_DRIVER_BUS", "Remote|Driver|Bus", "Deprecated"),
	C("REMOTE_INTERFACE_SLOT", "Remote|Interface|Slot", "Deprecated"),
	I("LOCAL_INTERVAL_USECS", "Local|Interval|Usecs", local.interval_us),
	I("LOCAL_INTERVAL_BURST", "Local|Interval|Burst", local.interval_burst),
	I("REMOTE_INTERVAL_USECS", "Remote|Interval|Usecs", remote.interval_us),
	I("REMOTE_INTERVAL_BURST", "Remote|Interval|Burst", remote.interval_burst),
	C("LOCAL_SECURITY_TYPE_ID", "Local|OS|Security|Type ID", "0"),
	C("LOCAL_SECURITY_TYPE", "Local|OS|Security|Type", "Deprecated"),
	C("LOCAL_SECURITY_ENABLED_NUM", "Local|OS|Security|Enabled Num", "0"),
	C("LOCAL_SECURITY_ENABLED", "Local|OS|Security|Enabled", "Deprecated"),
	C("LOCAL_SECURITY_SPECIFIC", "Local|OS|Security|Specific", "Deprecated"),
	C("REMOTE_SECURITY_TYPE_ID", "Remote|OS|Security|Type", "0"),
	C("REMOTE_SECURITY_TYPE", "Remote|OS|Security|Type", "Deprecated"),
	C("REMOTE_SECURITY_ENABLED_NUM", "Remote|OS|Security|Enabled", "0"),
	C("REMOTE_SECURITY_ENABLED", "Remote|OS|Security|Enabled", "Deprecated"),
	C("REMOTE_SECURITY_SPECIFIC", "Remote|OS|Security|Specific", "Deprecated"),
	Q("RESULT_BRAND", "Result|Tag", brand_quoted),
	S("UUID", "Test|UUID", uuid),
	I("MIN_LATENCY", "Minimum|Latency|Microseconds", min_us),
	I("MAX_LATENCY", "Maximum|Latency|Microseconds", max_us),
	I("P50_LATENCY", "50th|Percentile|Latency|Microseconds", p50_us),
	I("P90_LATENCY", "90th|Percentile|Latency|Microseconds", p90_us),
	I("P99_LATENCY", "99th|Percentile|Latency|Microseconds", p99_us),
	F("MEAN_LATENCY", "Mean|Latency|Microseconds", mean_us, 2),
	F("STDDEV_LATENCY", "Stddev|Latency|Microseconds", stddev_us, 2),
	I("LOCAL_SOCKET_PRIO", "Local|Socket|Priority", local.priority),
	I("REMOTE_SOCKET_PRIO", "Remote|Socket|Priority", remote.priority),
	X("LOCAL_SOCKET_TOS", "Local|Socket|TOS", local.tos),
	X("REMOTE_SOCKET_TOS", "Remote|Socket|TOS", remote.tos),
	S("LOCAL_CONG_CONTROL", "Local|Congestion|Control|Algorithm", local.cc),
	S("REMOTE_CONG_CONTROL", "Remote|Congestion|Control|Algorithm", remote.cc),
	S("LOCAL_FILL_FILE", "Local|Fill|File", local.fill_file),
	S("REMOTE_FILL_FILE", "Remote|Fill|File", remote.fill_file),
	Q("COMMAND_LINE", "Command|Line", command),
};

/* clang-format on */

const struct nd_npsel *nd_npsel_at(size_t n)
{
	return n < ND_COUNTOF(rows) ? &rows[n] : NULL;
}

const char *nd_nprep_selector(size_t n)
{
	return n < ND_COUNTOF(rows) ? rows[n].name : NULL;
}

void nd_npsel_title(const struct nd_npsel *s, struct nd_str *out)
{
	for (const char *p = s->head; *p; p++) {
		if (*p == '|')
			nd_str_addc(out, ' ', 1);
		else
			nd_str_addc(out, *p, 1);
	}
}

static bool has_title(const struct nd_npsel *s, const char *text, size_t n)
{
	nd_auto_str title = { 0 };

	nd_npsel_title(s, &title);
	return title.len == n && !strncasecmp(nd_str_text(&title), text, n);
}

const struct nd_npsel *nd_npsel_find(const char *text, size_t n)
{
	for (size_t i = 0; i < ND_COUNTOF(rows); i++)
		if (strlen(rows[i].name) == n && !strncasecmp(rows[i].name, text, n))
			return &rows[i];
	for (size_t i = 1; i < ND_COUNTOF(rows); i++)
		if (has_title(&rows[i], text, n))
			return &rows[i];
	return NULL;
}

bool nd_nprep_is_selection(const char *text)
{
	return strpbrk(text, ",;") || !strcasecmp(text, "all") ||
	       nd_npsel_find(text, strlen(text)) != NULL;
}

bool nd_npsel_value(const struct nd_npsel *s, const struct nd_nprep *f, struct nd_str *out)
{
	const void *at = (const char *)f + s->offset;
	const char *text = s->word;

	switch (s->kind) {
	case ND_NPSEL_COUNT:
		nd_str_addf(out, "%lld", (long long)*(const int64_t *)at);
		return true;
	case ND_NPSEL_REAL:
		nd_str_addf(out, "%.*f", s->places, *(const double *)at);
		return true;
	case ND_NPSEL_HEX:
		nd_str_addf(out, "0x%02x", (unsigned)*(const int64_t *)at);
		return true;
	case ND_NPSEL_TEXT:
	case ND_NPSEL_QUOTED:
		text = *(const char *const *)at;
		break;
	case ND_NPSEL_ARRAY:
		text = at;
		break;
	case ND_NPSEL_WORD:
		break;
	}
	if (text && s->kind == ND_NPSEL_QUOTED)
		nd_str_add(out, "\"");
	nd_report_clean(out, text);
	if (text && s->kind == ND_NPSEL_QUOTED)
		nd_str_add(out, "\"");
	return text != NULL;
}
