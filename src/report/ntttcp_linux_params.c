/* SPDX-License-Identifier: MIT */
/* What -V of NTttcp for Linux says before the test: the settings, one a line. */
#include <stdarg.h>
#include <string.h>

#include "report/int.h"
#include "report/ntttcp.h"

#define RULE "---------------------------------------------------------\n"

/* "label:", tabs, and the value behind a blank. */
static ND_PRINTF(4, 5) void item(struct nd_str *out, const char *label, unsigned tabs,
				 const char *fmt, ...)
{
	nd_auto_str text = { 0 };
	va_list ap;

	va_start(ap, fmt);
	nd_str_vaddf(&text, fmt, ap);
	va_end(ap);
	out->failed = out->failed || !nd_str_ok(&text);
	nd_str_addf(out, "%s:", label);
	nd_str_addc(out, '\t', tabs);
	nd_str_addc(out, ' ', 1);
	nd_report_clean(out, nd_str_text(&text));
	nd_str_addc(out, '\n', 1);
}

static unsigned long long number(const struct nd_face *f, const char *key)
{
	return nd_face_u64(f, key);
}

static const char *address(const struct nd_face *f, const char *key)
{
	const char *text = nd_face_str(f, key);

	if (text)
		return text;
	return nd_face_bool(f, "ipv6") ? "::" : "0.0.0.0";
}

/* Whole seconds, or a word for none. */
static void seconds(struct nd_str *out, const struct nd_face *f, const char *label, const char *key,
		    const char *none)
{
	unsigned long long s = number(f, key) / 1000;

	if (s)
		item(out, label, 2, "%llu", s);
	else
		item(out, label, 2, "%s", none);
}

static void roles(const struct nd_face *f, bool sender, struct nd_str *out)
{
	nd_str_add(out, sender ? "*** sender role\n" : "*** receiver role\n");
	if (nd_face_bool(f, "daemon"))
		nd_str_add(out, "*** run as daemon\n");
	if (!sender && nd_face_bool(f, "epoll"))
		nd_str_add(out, "*** use epoll()\n");
	if (!sender && nd_face_bool(f, "hold"))
		nd_str_add(out, "*** hold receiver always running\n");
	if (!sender && nd_face_bool(f, "multi"))
		item(out, "multiple clients", 2, "yes");
	if (sender && nd_face_bool(f, "last"))
		item(out, "last client", 3, "yes");
	if (nd_face_bool(f, "no_sync"))
		nd_str_add(out, "*** no sender/receiver synch\n");
}

static void places(const struct nd_face *f, bool sender, struct nd_str *out)
{
	int64_t cpu = nd_face_i64(f, "cpu");

	if (sender)
		item(out, "connections", 3, "%llu X %llu X %llu", number(f, "ports"),
		     number(f, "threads_per_port"), number(f, "conns_per_thread"));
	else
		item(out, "ports", 4, "%llu", number(f, "ports"));
	if (cpu < 0)
		item(out, "cpu affinity", 3, "*");
	else
		item(out, "cpu affinity", 3, "%lld", (long long)cpu);
	item(out, "server address", 3, "%s", address(f, "server_address"));
	if (sender)
		item(out, "client address", 3, "%s", address(f, "client_address"));
	item(out, "domain", 4, "%s", nd_face_bool(f, "ipv6") ? "IPv6" : "IPv4");
	item(out, "protocol", 3, "%s", nd_face_bool(f, "udp") ? "UDP" : "TCP");
	item(out, "server port starting at", 1, "%llu", number(f, "base_port"));
	if (sender && number(f, "source_port"))
		item(out, "client source port starting at", 1, "%llu", number(f, "source_port"));
}

static void sizes(const struct nd_face *f, bool sender, struct nd_str *out)
{
	item(out, sender ? "sender socket buffer (bytes)" : "receiver socket buffer (bytes)", 1,
	     "%llu", number(f, "io_bytes"));
	if (number(f, "bandwidth_bps"))
		item(out, "bandwidth limit (bits/sec)", 1, "%llu", number(f, "bandwidth_bps"));
	if (number(f, "fq_bps"))
		item(out, "fq rate limit (bits/sec)", 1, "%llu", number(f, "fq_bps"));
	item(out, "tcp nodelay", 1, "%s", nd_face_bool(f, "nodelay") ? "yes" : "no");
	seconds(out, f, "test warm-up (sec)", "warmup_ms", "no");
	seconds(out, f, "test duration (sec)", "time_ms", "continuous");
	seconds(out, f, "test cool-down (sec)", "cooldown_ms", "no");
}

static void wishes(const struct nd_face *f, struct nd_str *out)
{
	/* clang-format off */
	static const struct { const char *label, *key; unsigned tabs; } texts[] = {
		{ "show packets for", "nic", 2 },
		{ "show device interrupts for", "interrupts", 1 },
		{ "capture console output to:", "log_file", 1 },
		{ "save output to xml file:", "xml_file", 1 },
		{ "save output to json file:", "json_file", 1 },
	};

	/* clang-format on */
	size_t i;

	item(out, "show system tcp retransmit", 1, "%s",
	     nd_face_bool(f, "tcp_retrans") ? "yes" : "no");
	for (i = 0; i < ND_COUNTOF(texts); i++)
		if (nd_face_str(f, texts[i].key))
			item(out, texts[i].label, texts[i].tabs, "%s",
			     nd_face_str(f, texts[i].key));
	item(out, "quiet mode", 3, "%s", nd_face_bool(f, "quiet") ? "enabled" : "disabled");
	item(out, "verbose mode", 3, "%s", nd_face_bool(f, "verbose") ? "enabled" : "disabled");
}

void nd_ntrep_linux_params(const struct nd_face *face, struct nd_str *out)
{
	bool sender = nd_face_bool(face, "sender");

	roles(face, sender, out);
	places(face, sender, out);
	sizes(face, sender, out);
	wishes(face, out);
	nd_str_add(out, RULE);
}
