/* SPDX-License-Identifier: MIT */
/* netperf's messages: layouts as rows, and what they say by their kind. */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "dialect/netperf.h"

/* ---- layouts ---- */

/* clang-format off */
#define N(f)      { #f, ND_BIN_BE, 4, (uint32_t)ND_FIELD_OF(uint64_t, S, f), 0, NULL }
#define D(f)      { #f, ND_BIN_BE, 8, (uint32_t)ND_FIELD_OF(uint64_t, S, f), 0, NULL }
#define T(f, n)   { #f, ND_BIN_BYTES, n, (uint32_t)ND_FIELD_OF(uint8_t[n], S, f), 0, NULL }
#define GAP(n)    { "zero", ND_BIN_ZERO, n, 0, 0, NULL }
#define END       { NULL, ND_BIN_ZERO, 0, 0, 0, NULL }

#define S struct nd_np_request
#define HEAD N(type), N(cpu)
static const struct nd_bin_row omni_ask[] = {
	HEAD,
	N(sndbuf), N(send_bytes), N(send_align), N(send_offset), N(send_width), N(request),
	N(rcvbuf), N(recv_bytes), N(recv_align), N(recv_offset), N(recv_width), N(response),
	N(flags), N(cpu_rate), N(length), N(recv_avoid), N(send_avoid), N(send_dirty), N(recv_dirty), N(recv_clean),
	N(port), N(family), N(kind), N(protocol), N(direction), N(client_port), N(burst), N(interval_us),
	T(client_ip, 16), T(server_ip, 16), N(priority), N(tos), T(cc, 16), T(file, 32), GAP(444), N(more), END
};
static const struct nd_bin_row stream_ask[] = {
	HEAD,
	N(sndbuf), N(rcvbuf), N(recv_bytes), N(recv_align), N(recv_offset), N(nodelay), N(measure), N(cpu_rate),
	N(length), N(recv_avoid), N(send_avoid), N(recv_dirty), N(recv_clean), N(port), N(family), GAP(588), END
};
static const struct nd_bin_row maerts_ask[] = {
	HEAD,
	N(sndbuf), N(rcvbuf), N(send_bytes), N(send_align), N(send_offset), N(nodelay), N(measure), N(cpu_rate),
	N(length), N(recv_avoid), N(send_avoid), N(send_dirty), N(recv_clean), N(port), N(family), GAP(588), END
};
static const struct nd_bin_row rr_ask[] = {
	HEAD,
	N(rcvbuf), N(sndbuf), N(recv_align), N(recv_offset), N(send_align), N(send_offset), N(request), N(response),
	N(nodelay), N(measure), N(cpu_rate), N(length), N(recv_avoid), N(send_avoid), N(port), N(family), GAP(584), END
};
static const struct nd_bin_row udp_stream_ask[] = {
	HEAD,
	N(rcvbuf), N(recv_bytes), GAP(4), N(recv_align), N(recv_offset), GAP(4), N(measure), N(cpu_rate), N(length),
	N(recv_avoid), N(send_avoid), N(port), N(family), GAP(596), END
};
#undef HEAD
#undef S

#define S struct nd_np_response
#define HEAD N(type), N(error)
static const struct nd_bin_row omni_answer[] = {
	HEAD,
	N(rcvbuf), N(recv_bytes), N(recv_width), N(sndbuf), N(send_bytes), N(send_width), N(flags), N(cpu_rate),
	N(length), N(recv_avoid), N(send_avoid), N(port), N(burst), N(interval_us), N(mhz), N(security), N(priority),
	N(tos), GAP(576), END
};
static const struct nd_bin_row stream_answer[] = {
	HEAD,
	N(rcvbuf), N(recv_bytes), N(nodelay), N(measure), N(length), N(sndbuf), N(port), N(cpu_rate), N(recv_avoid),
	N(send_avoid), GAP(608), END
};
static const struct nd_bin_row maerts_answer[] = {
	HEAD,
	N(rcvbuf), N(send_bytes), N(nodelay), N(measure), N(length), N(sndbuf), N(port), N(cpu_rate), N(recv_avoid),
	N(send_avoid), GAP(608), END
};
static const struct nd_bin_row rr_answer[] = {
	HEAD,
	N(rcvbuf), N(nodelay), N(measure), N(length), N(sndbuf), N(port), N(cpu_rate), N(recv_avoid), N(send_avoid),
	GAP(612), END
};
static const struct nd_bin_row udp_stream_answer[] = {
	HEAD,
	N(rcvbuf), N(sndbuf), N(measure), N(length), N(port), N(cpu_rate), N(recv_avoid), N(send_avoid), GAP(616), END
};
#undef S

#define S struct nd_np_results
static const struct nd_bin_row omni_results[] = {
	HEAD,
	N(rx_high), N(rx_low), N(rx_calls), N(rcvbuf), N(tx_high), N(tx_low), N(tx_calls), N(sndbuf), N(failed),
	N(transactions), N(elapsed), N(cpu), N(user), N(system), N(iowait), N(irq), N(softirq), N(demand), N(method),
	N(cpus), N(peak_id), N(peak), GAP(16), N(retransmits), GAP(160), T(cc, 16), GAP(336),
	N(more), N(own_drops), N(buffer_drops), N(no_port), N(checksum), N(backlog_drops), N(nic_drops), END
};
static const struct nd_bin_row stream_results[] = {
	HEAD,
	D(bytes), N(rx_calls), N(elapsed), N(cpu), N(demand), N(method), N(cpus), N(rcvbuf), N(sndbuf), GAP(608), END
};
static const struct nd_bin_row maerts_results[] = {
	HEAD,
	D(bytes), N(tx_calls), N(elapsed), N(cpu), N(demand), N(method), N(cpus), GAP(616), END
};
static const struct nd_bin_row rr_results[] = {
	HEAD,
	N(volume), N(rx_calls), N(transactions), N(elapsed), N(cpu), N(demand), N(method), N(cpus), GAP(616), END
};
static const struct nd_bin_row udp_stream_results[] = {
	HEAD,
	N(rx_calls), N(volume), N(elapsed), N(cpu), N(method), N(cpus), GAP(624), END
};
#undef HEAD
#undef S
#undef N
#undef D
#undef T
#undef GAP
#undef END

#define LAYOUTS(x)                                                                                                 \
	static const struct nd_bin_layout x##_ask_l = { #x " request", NULL, x##_ask, sizeof(struct nd_np_request) }, \
		x##_answer_l = { #x " response", NULL, x##_answer, sizeof(struct nd_np_response) },                    \
		x##_results_l = { #x " results", NULL, x##_results, sizeof(struct nd_np_results) }
LAYOUTS(omni);
LAYOUTS(stream);
LAYOUTS(maerts);
LAYOUTS(rr);
LAYOUTS(udp_stream);
#undef LAYOUTS

#define ENDS(x) &x##_ask_l, &x##_answer_l, &x##_results_l
#define BOTH    (ND_NP_SEND | ND_NP_RECV)
static const struct nd_np_kind kinds[] = {
	{ ND_NP_OMNI_ASK,       ENDS(omni),       0,          false, false, true },
	{ ND_NP_STREAM_ASK,     ENDS(stream),     ND_NP_RECV, false, false, false },
	{ ND_NP_CC_ASK,         ENDS(rr),         0,          false, true,  false },
	{ ND_NP_RR_ASK,         ENDS(rr),         BOTH,       false, false, false },
	{ ND_NP_UDP_STREAM_ASK, ENDS(udp_stream), ND_NP_RECV, true,  false, false },
	{ ND_NP_UDP_RR_ASK,     ENDS(rr),         BOTH,       true,  false, false },
	{ ND_NP_CRR_ASK,        ENDS(rr),         BOTH,       false, true,  false },
	{ ND_NP_MAERTS_ASK,     ENDS(maerts),     ND_NP_SEND, false, false, false },
};
#undef BOTH
#undef ENDS

/* clang-format on */

const struct nd_np_kind *nd_np_kind_find(uint64_t type)
{
	for (size_t i = 0; i < ND_COUNTOF(kinds); i++) {
		if (kinds[i].type == type)
			return &kinds[i];
	}
	return NULL;
}

/* ---- words ---- */

uint32_t nd_np_word(const uint8_t *message, unsigned index)
{
	const uint8_t *p = message + 4 * (size_t)index;

	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

void nd_np_put_word(uint8_t *message, unsigned index, uint32_t word)
{
	for (unsigned i = 0; i < 4; i++)
		message[4 * index + i] = (uint8_t)(word >> (24 - 8 * i));
}

uint32_t nd_np_from_double(double value)
{
	float f = (float)value;
	uint32_t bits;

	_Static_assert(sizeof(f) == sizeof(bits), "floats are words");
	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

double nd_np_to_double(uint64_t bits)
{
	uint32_t word = (uint32_t)bits;
	float f;

	memcpy(&f, &word, sizeof(f));
	return isfinite(f) && f >= 0 ? (double)f : (double)NAN;
}

int64_t nd_np_signed(uint64_t word)
{
	return (int32_t)(uint32_t)word;
}

uint64_t nd_np_unsigned(int64_t value)
{
	return (uint32_t)(int32_t)ND_MAX(ND_MIN(value, INT32_MAX), INT32_MIN);
}

/* ---- whole messages ---- */

int nd_np_put(const struct nd_bin_layout *l, const void *from, uint8_t *message)
{
	int r = nd_bin_encode(l, from, message, ND_NP_BYTES);

	return r < 0 ? r : 0;
}

/* Every layout is as long as a message, and has no constants. */
static void get(const struct nd_bin_layout *l, const uint8_t *message, void *ret)
{
	(void)nd_bin_decode(l, message, ND_NP_BYTES, ret);
}

/* The old kinds say in their type, or not at all, what the later one says in words of its own. */
static void fill_in(const struct nd_np_kind *k, struct nd_np_request *r)
{
	if (k->says_all)
		return;
	r->direction = k->direction;
	r->kind = k->datagram ? 2 : 1;
	r->protocol = k->datagram ? 17 : 6;
	r->flags = ND_NP_ROUTE | (r->nodelay ? (uint64_t)ND_NP_NODELAY : 0) |
		   (r->measure ? (uint64_t)ND_NP_MEASURE : 0) |
		   (k->connects ? (uint64_t)ND_NP_CONNECT : 0);
	if (k->direction == ND_NP_RECV && r->recv_bytes == 0)
		r->recv_bytes = ND_NP_NONE;
	if (k->direction == ND_NP_SEND && r->send_bytes == 0)
		r->send_bytes = ND_NP_NONE;
}

void nd_np_get_request(const struct nd_np_kind *k, const uint8_t *message,
		       struct nd_np_request *ret)
{
	*ret = (struct nd_np_request){ .sndbuf = ND_NP_NONE,
				       .rcvbuf = ND_NP_NONE,
				       .send_bytes = ND_NP_NONE,
				       .recv_bytes = ND_NP_NONE,
				       .request = ND_NP_NONE,
				       .response = ND_NP_NONE,
				       .priority = ND_NP_NONE,
				       .tos = ND_NP_NONE };
	get(k->ask, message, ret);
	fill_in(k, ret);
}

void nd_np_get_response(const struct nd_np_kind *k, const uint8_t *message,
			struct nd_np_response *ret)
{
	*ret = (struct nd_np_response){ .recv_bytes = ND_NP_NONE,
					.send_bytes = ND_NP_NONE,
					.priority = ND_NP_NONE,
					.tos = ND_NP_NONE };
	get(k->answer, message, ret);
	if (!k->says_all)
		ret->flags = (ret->nodelay ? (uint64_t)ND_NP_NODELAY : 0) |
			     (ret->measure ? (uint64_t)ND_NP_MEASURE : 0);
}

static void set_volume(uint64_t bytes, uint64_t *high, uint64_t *low)
{
	*high = bytes >> 32;
	*low = bytes & UINT32_MAX;
}

void nd_np_get_results(const struct nd_np_kind *k, const uint8_t *message,
		       struct nd_np_results *ret)
{
	uint64_t bytes;
	double real;

	*ret = (struct nd_np_results){ .retransmits = ND_NP_NONE };
	get(k->results, message, ret);
	if (k->says_all)
		return;
	bytes = ret->volume;
	memcpy(&real, &ret->bytes, sizeof(real));
	if (real >= 1 && real < 9e18)
		bytes = (uint64_t)real;
	if (k->direction == ND_NP_SEND)
		set_volume(bytes, &ret->tx_high, &ret->tx_low);
	else
		set_volume(bytes, &ret->rx_high, &ret->rx_low);
}

/* ---- addresses ---- */

static void turn_words(uint8_t out[16], const uint8_t from[16])
{
	for (unsigned i = 0; i < 16; i++)
		out[i] = from[i ^ 3u];
}

void nd_np_put_ip(uint8_t out[16], const uint8_t *address, bool ipv6)
{
	memset(out, 0, 16);
	if (ipv6)
		turn_words(out, address);
	else
		memcpy(out, address, 4);
}

bool nd_np_ip_text(const uint8_t from[16], bool ipv6, char *ret, size_t size)
{
	static const uint8_t none[16];
	uint8_t address[16];

	if (!memcmp(from, none, ipv6 ? 16 : 4))
		return false;
	if (ipv6)
		turn_words(address, from);
	else
		memcpy(address, from, sizeof(address));
	return inet_ntop(ipv6 ? AF_INET6 : AF_INET, address, ret, (socklen_t)size) != NULL;
}

/* ---- for people ---- */

/* A real server sends the type of its answers with its results too, bytes turned around. */
static const struct nd_bin_layout *layout_of(uint32_t type, const struct nd_np_kind **ret_kind)
{
	uint32_t turned = __builtin_bswap32(type);

	for (uint32_t back = 0; back < 3; back++) {
		*ret_kind = type >= back ? nd_np_kind_find(type - back) : NULL;
		if (*ret_kind)
			return back == 0   ? (*ret_kind)->ask
			       : back == 1 ? (*ret_kind)->answer
					   : (*ret_kind)->results;
	}
	*ret_kind = turned > 0 ? nd_np_kind_find(turned - 1) : NULL;
	return *ret_kind ? (*ret_kind)->results : NULL;
}

void nd_np_print(const uint8_t *data, size_t n, struct nd_str *out)
{
	const struct nd_np_kind *k;
	const struct nd_bin_layout *l;
	uint32_t type;

	union {
		struct nd_np_request ask;
		struct nd_np_response answer;
		struct nd_np_results results;
	} u = { 0 };

	if (n < ND_NP_BYTES)
		return;
	type = nd_np_word(data, 0);
	l = layout_of(type, &k);
	if (l && nd_bin_decode(l, data, n, &u) > 0) {
		nd_bin_print(l, &u, out);
		return;
	}
	nd_str_addf(out, "type %u", type);
	for (unsigned i = 1; i < 4 && type != ND_NP_PASSPHRASE; i++)
		nd_str_addf(out, " %08x", nd_np_word(data, i));
}
