/* SPDX-License-Identifier: MIT */
/* Addresses: from names, to text, compared, in networks. IPv4 written as IPv6 counts as IPv4. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "net/int.h"

#define MAPPED_BITS 96u
#define HOST_MAX    256 /* a name and its terminator, RFC 1035 and a scope */

static bool is_mapped(const struct nd_addr *a)
{
	return a->u.sa.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&a->u.in6.sin6_addr);
}

void nd_addr_unmap(struct nd_addr *a)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = a->u.in6.sin6_port };

	if (!is_mapped(a))
		return;
	memcpy(&in.sin_addr, a->u.in6.sin6_addr.s6_addr + 12, 4);
	a->u.in = in;
	a->len = sizeof(in);
}

void nd_addr_set_port(struct nd_addr *a, uint16_t port)
{
	if (a->u.sa.sa_family == AF_INET6)
		a->u.in6.sin6_port = htons(port);
	else
		a->u.in.sin_port = htons(port);
}

uint16_t nd_addr_port(const struct nd_addr *a)
{
	return ntohs(a->u.sa.sa_family == AF_INET6 ? a->u.in6.sin6_port : a->u.in.sin_port);
}

/* The 16 bytes of the address, IPv4 as mapped. */
static void bytes_of(const struct nd_addr *a, uint8_t ret[16])
{
	if (a->u.sa.sa_family == AF_INET6) {
		memcpy(ret, a->u.in6.sin6_addr.s6_addr, 16);
		return;
	}
	memset(ret, 0, 10);
	ret[10] = ret[11] = 0xff;
	memcpy(ret + 12, &a->u.in.sin_addr, 4);
}

bool nd_addr_equal(const struct nd_addr *a, const struct nd_addr *b)
{
	uint8_t x[16], y[16];
	uint32_t m = 0, n = 0;

	bytes_of(a, x);
	bytes_of(b, y);
	if (a->u.sa.sa_family == AF_INET6)
		m = a->u.in6.sin6_scope_id;
	if (b->u.sa.sa_family == AF_INET6)
		n = b->u.in6.sin6_scope_id;
	return memcmp(x, y, 16) == 0 && nd_addr_port(a) == nd_addr_port(b) && (m == n || !m || !n);
}

bool nd_addr_any(const struct nd_addr *a)
{
	struct nd_addr plain = *a;

	nd_addr_unmap(&plain);
	if (plain.u.sa.sa_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&plain.u.in6.sin6_addr);
	return plain.u.in.sin_addr.s_addr == htonl(INADDR_ANY);
}

/* "%eth0" behind a link-local address, its number when the interface has gone. */
static void scope_text(const struct nd_addr *a, char *ret, size_t size)
{
	char name[IF_NAMESIZE];
	uint32_t scope = a->u.in6.sin6_scope_id;

	ret[0] = '\0';
	if (a->u.sa.sa_family != AF_INET6 || !scope)
		return;
	if (if_indextoname(scope, name))
		(void)snprintf(ret, size, "%%%s", name); /* both are bounded by the caller's room */
	else
		(void)snprintf(ret, size, "%%%u", scope);
}

const char *nd_addr_text(const struct nd_addr *a, bool with_port, char *buf, size_t size)
{
	struct nd_addr plain = *a;
	char host[INET6_ADDRSTRLEN] = "?", scope[IF_NAMESIZE + 2];
	bool six;

	nd_addr_unmap(&plain);
	six = plain.u.sa.sa_family == AF_INET6;
	if (six)
		(void)inet_ntop(AF_INET6, &plain.u.in6.sin6_addr, host, sizeof(host)); /* or "?" */
	else if (plain.u.sa.sa_family == AF_INET)
		(void)inet_ntop(AF_INET, &plain.u.in.sin_addr, host, sizeof(host));
	scope_text(&plain, scope, sizeof(scope));
	/* a small buffer gets a cut text, as documented for no caller */
	if (!with_port)
		(void)snprintf(buf, size, "%s%s", host, scope);
	else
		(void)snprintf(buf, size, six ? "[%s%s]:%u" : "%s%s:%u", host, scope,
			       nd_addr_port(&plain));
	return buf;
}

static int fail_resolve(int gai, const char *host, enum nd_af af, struct nd_err *err)
{
	const char *kind = af == ND_AF_IPV4 ? "IPv4 " : af == ND_AF_IPV6 ? "IPv6 " : "";

	switch (gai) {
	case EAI_NONAME:
	case EAI_FAIL:
#ifdef EAI_NODATA
	case EAI_NODATA:
#endif
#ifdef EAI_ADDRFAMILY
	case EAI_ADDRFAMILY:
#endif
		return nd_fail(err, -ENOENT, "'%.255s': no such host, or it has no %saddress", host,
			       kind);
	case EAI_AGAIN:
		return nd_fail(err, -EAGAIN, "'%.255s': the name server does not answer", host);
	case EAI_MEMORY:
		return nd_fail(err, -ENOMEM, "'%.255s': out of memory", host);
	case EAI_SYSTEM:
		return nd_sysfail(err, "'%.255s'", host);
	default:
		return nd_fail(err, -EINVAL, "'%.255s': %s", host, gai_strerror(gai));
	}
}

/* All addresses of this host: IPv6 carries IPv4 too, where there is IPv6. */
static void wildcard(uint64_t port, enum nd_af af, struct nd_addr *ret)
{
	int fd = -1;

	*ret = (struct nd_addr){ 0 };
	if (af != ND_AF_IPV4)
		fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		(void)close(fd); /* it was only a question */
	if (fd >= 0 || af == ND_AF_IPV6) {
		ret->u.in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6 };
		ret->len = sizeof(ret->u.in6);
	} else {
		ret->u.in = (struct sockaddr_in){ .sin_family = AF_INET };
		ret->len = sizeof(ret->u.in);
	}
	nd_addr_set_port(ret, (uint16_t)port);
}

static int look_up(const char *host, enum nd_af af, bool passive, struct addrinfo **ret)
{
	static const int family[ND_AF_MAX] = { AF_UNSPEC, AF_INET, AF_INET6 };
	struct addrinfo hints = { .ai_family = family[af], .ai_socktype = SOCK_STREAM };
	char bare[HOST_MAX];
	size_t n = strlen(host);

	if (passive)
		hints.ai_flags = AI_PASSIVE;
	if (n >= 2 && host[0] == '[' && host[n - 1] == ']') {
		host++;
		n -= 2;
	}
	if (n == 0 || n >= sizeof(bare))
		return EAI_NONAME;
	memcpy(bare, host, n);
	bare[n] = '\0';
	return getaddrinfo(bare, NULL, &hints, ret);
}

/* NOLINTNEXTLINE(readability-function-size): the question has that many parts */
int nd_addr_resolve(const char *host, uint64_t port, enum nd_af af, bool passive,
		    struct nd_addr *ret, size_t room, size_t *ret_n, struct nd_err *err)
{
	struct addrinfo *list = NULL, *it;
	size_t n = 0;
	int gai;

	if (port > UINT16_MAX || room == 0 || (unsigned)af >= ND_AF_MAX)
		return nd_fail(err, -EINVAL, "port %llu is outside 0..65535",
			       (unsigned long long)port);
	if (passive && (!host || !host[0] || strcmp(host, "*") == 0)) {
		wildcard(port, af, ret);
		*ret_n = 1;
		return 0;
	}
	if (!host)
		return nd_fail(err, -EINVAL, "no host is given");
	gai = look_up(host, af, passive, &list);
	if (gai)
		return fail_resolve(gai, host, af, err);
	for (it = list; it && n < room; it = it->ai_next) {
		if (it->ai_addrlen > sizeof(ret[n].u.ss) ||
		    (it->ai_family != AF_INET && it->ai_family != AF_INET6))
			continue;
		ret[n] = (struct nd_addr){ .len = it->ai_addrlen };
		memcpy(&ret[n].u.ss, it->ai_addr, it->ai_addrlen);
		nd_addr_set_port(&ret[n], (uint16_t)port);
		n++;
	}
	freeaddrinfo(list);
	if (n == 0)
		return fail_resolve(EAI_NONAME, host, af, err);
	*ret_n = n;
	return 0;
}

static void clear_behind(struct nd_cidr *c)
{
	unsigned i;

	for (i = c->bits; i < 128; i++)
		c->bytes[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
}

int nd_cidr_parse(const char *text, struct nd_cidr *ret, struct nd_err *err)
{
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	char host[INET6_ADDRSTRLEN];
	struct nd_cidr c = { .bits = 128 };
	uint64_t bits, most = 128;

	if (n < sizeof(host)) {
		memcpy(host, text, n);
		host[n] = '\0';
	} else {
		host[0] = '\0';
	}
	if (inet_pton(AF_INET, host, c.bytes + 12) == 1) {
		c.bytes[10] = c.bytes[11] = 0xff;
		most = 32;
	} else if (inet_pton(AF_INET6, host, c.bytes) != 1) {
		return nd_fail(err, -EINVAL,
			       "'%.80s' is no network: 192.0.2.0/24 and 2001:db8::/32 are", text);
	}
	if (slash) {
		if (nd_parse_number(slash + 1, ND_UNIT_COUNT, &bits) < 0 || bits > most)
			return nd_fail(err, -EINVAL, "'%.80s': the prefix is outside 0..%llu", text,
				       (unsigned long long)most);
		c.bits = (unsigned)(bits + 128 - most);
	}
	clear_behind(&c);
	*ret = c;
	return 0;
}

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(a, b, whole) != 0)
		return false;
	return rest == 0 || (uint8_t)((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

bool nd_cidr_holds(const struct nd_cidr *c, const struct nd_addr *a)
{
	static const uint8_t mapped[16] = { [10] = 0xff, 0xff };
	uint8_t bytes[16];

	bytes_of(a, bytes);
	/* "::/0" means IPv6: an IPv4 client is let in by an IPv4 rule only */
	if (same_bits(bytes, mapped, MAPPED_BITS) &&
	    (c->bits < MAPPED_BITS || !same_bits(c->bytes, mapped, MAPPED_BITS)))
		return false;
	return same_bits(c->bytes, bytes, c->bits);
}
