/* SPDX-License-Identifier: MIT */
/* A toy language and small sockets for the tests of ctl/. */
#ifndef ND_TESTS_CTL_KIT_H
#define ND_TESTS_CTL_KIT_H

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "ctl/ctl.h"

#define TOY_MAX 1000u

/* A message is 'm', two digits of 256 for the length behind them, and that many bytes. */
static inline ssize_t toy_message_bytes(const uint8_t *data, size_t n, unsigned port_class)
{
	size_t length;

	(void)port_class;
	if (n > 0 && data[0] != 'm')
		return -EBADMSG;
	if (n < 3)
		return 0;
	length = 3u + ((size_t)data[1] << 8 | data[2]);
	if (length > TOY_MAX)
		return -EMSGSIZE;
	return n < length ? 0 : (ssize_t)length;
}

/* "m" begins a control message, "FLOW" and a digit a data flow, anything else is alien. */
static inline void toy_claim(const uint8_t *data, size_t n, bool datagram, struct nd_claim *ret)
{
	static const char word[] = "FLOW";
	size_t same = n < 4 ? n : 4;

	(void)datagram;
	*ret = (struct nd_claim){ .kind = ND_CLAIM_ALIEN };
	if (n > 0 && data[0] == 'm') {
		ret->kind = n < 3 ? ND_CLAIM_MORE : ND_CLAIM_CONTROL;
	} else if (!memcmp(data, word, same)) {
		ret->kind = n < 5 ? ND_CLAIM_MORE : ND_CLAIM_FLOW;
		ret->flow = n < 5 ? 0 : (uint64_t)(data[4] - '0');
		ret->used = 5;
	}
}

static const struct nd_dialect toy = {
	.name = "toy",
	.message_max = TOY_MAX,
	.message_bytes = toy_message_bytes,
	.claim = toy_claim,
};

static inline size_t toy_message(uint8_t *ret, char fill, size_t n)
{
	ret[0] = 'm';
	ret[1] = (uint8_t)(n >> 8);
	ret[2] = (uint8_t)n;
	memset(ret + 3, fill, n);
	return n + 3;
}

/* A loopback socket that listens, and its address. */
static inline int kit_listen(int type, struct nd_addr *ret)
{
	int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	*ret = (struct nd_addr){ .len = sizeof(ret->u.in) };
	ret->u.in.sin_family = AF_INET;
	ret->u.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, &ret->u.sa, ret->len), 0);
	assert_int_equal(getsockname(fd, &ret->u.sa, &ret->len), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 4096), 0);
	return fd;
}

static inline int kit_connect(int type, const struct nd_addr *to)
{
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, &to->u.sa, to->len), 0);
	return fd;
}

static inline void kit_give_up(void *user)
{
	(void)user;
	fail_msg("nothing happened within 20 s");
}

/* Run the loop, but not for ever. */
static inline void kit_run(struct nd_loop *l)
{
	struct nd_timer *t;
	struct nd_err err = { 0 };

	assert_int_equal(nd_timer_new(l, kit_give_up, NULL, &t), 0);
	nd_timer_set(t, nd_now_ns() + 20 * ND_NS_PER_S);
	if (nd_loop_run(l, &err) < 0)
		fail_msg("%s", err.text);
	nd_timer_free(t);
}

#endif
