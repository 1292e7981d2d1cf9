/* SPDX-License-Identifier: MIT */
/* Questions to the kernel over a raw netlink socket, and the reading of its answers. */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/fd.h"
#include "os/int.h"

#define ANSWER_BYTES   ((size_t)32 << 10) /* the kernel fills no larger datagram with a dump */
#define QUESTION_BYTES 256u
#define PATIENCE_S     1 /* answers are made while they are asked for: silence is a defect */
#define PAD(n)         (((n) + 3) & ~(size_t)3)

bool nd_os_attr_next(const char **p, size_t *left, struct nd_os_attr *ret)
{
	struct rtattr head;

	if (*left < sizeof(head))
		return false;
	memcpy(&head, *p, sizeof(head));
	if (head.rta_len < sizeof(head) || head.rta_len > *left)
		return false;
	ret->type = head.rta_type & NLA_TYPE_MASK;
	ret->data = *p + sizeof(head);
	ret->len = head.rta_len - sizeof(head);
	if (PAD(head.rta_len) >= *left) {
		*left = 0;
		return true;
	}
	*p += PAD(head.rta_len);
	*left -= PAD(head.rta_len);
	return true;
}

uint64_t nd_os_attr_u32(const struct nd_os_attr *a)
{
	uint32_t v;

	if (a->len < sizeof(v))
		return ND_UNKNOWN;
	memcpy(&v, a->data, sizeof(v));
	return v;
}

bool nd_os_attr_find(const struct nd_os_attr *in, uint16_t type, struct nd_os_attr *ret)
{
	const char *p = in->data;
	size_t left = in->len;
	struct nd_os_attr a;

	while (nd_os_attr_next(&p, &left, &a)) {
		if (a.type != type)
			continue;
		*ret = a;
		return true;
	}
	return false;
}

void nd_os_rtnl_done(struct nd_os_rtnl *n)
{
	nd_close_p(&n->fd);
	free(n->buf);
	n->buf = NULL;
}

static int open_socket(struct nd_os_rtnl *n)
{
	struct timeval patience = { .tv_sec = PATIENCE_S };
	struct sockaddr_nl own = { .nl_family = AF_NETLINK };
	nd_auto_fd int fd = -1;

	if (n->fd >= 0)
		return 0;
	if (!n->buf)
		n->buf = malloc(ANSWER_BYTES);
	if (!n->buf)
		return -ENOMEM;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, n->protocol);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&own, sizeof(own)) < 0)
		return -errno;
	n->fd = nd_take_fd(&fd);
	return 0;
}

static int ask(struct nd_os_rtnl *n, const struct nd_os_request *q)
{
	struct nlmsghdr head = { .nlmsg_len = (uint32_t)(NLMSG_HDRLEN + q->len),
				 .nlmsg_type = q->type,
				 .nlmsg_flags = NLM_F_REQUEST | q->flags,
				 .nlmsg_seq = ++n->seq };
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	char question[QUESTION_BYTES];
	ssize_t r;

	if (head.nlmsg_len > sizeof(question))
		return -EMSGSIZE;
	memcpy(question, &head, sizeof(head));
	memcpy(question + NLMSG_HDRLEN, q->body, q->len);
	do
		r = sendto(n->fd, question, head.nlmsg_len, 0, (struct sockaddr *)&kernel,
			   sizeof(kernel));
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

/* The kernel's verdict: an errno of its own, or 0 for an acknowledgement. A dump that ends by
 * NLMSG_DONE holds one, too, since 4.16; before that, it may hold nothing. */
static int verdict(const char *body, size_t len, bool is_done)
{
	int32_t code;

	if (len < sizeof(code))
		return is_done ? 1 : -EBADMSG;
	memcpy(&code, body, sizeof(code));
	if (code == 0)
		return 1;
	return code < 0 && code >= -4095 ? code : -EBADMSG;
}

int nd_os_rtnl_walk(const char *buf, size_t len, uint32_t seq, const struct nd_os_request *q)
{
	struct nlmsghdr head;
	const char *body;
	size_t n;
	int r;

	for (; len >= NLMSG_HDRLEN; buf += n, len -= n) {
		memcpy(&head, buf, sizeof(head));
		if (head.nlmsg_len < NLMSG_HDRLEN || head.nlmsg_len > len)
			return -EBADMSG;
		n = ND_MIN(PAD((size_t)head.nlmsg_len), len);
		if (head.nlmsg_seq != seq)
			continue;
		body = buf + NLMSG_HDRLEN;
		if (head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR)
			return verdict(body, head.nlmsg_len - NLMSG_HDRLEN,
				       head.nlmsg_type == NLMSG_DONE);
		if (head.nlmsg_type < NLMSG_MIN_TYPE)
			continue;
		r = q->take(q->ctx, body, head.nlmsg_len - NLMSG_HDRLEN);
		if (r < 0)
			return r;
		/* Generic families leave the mark out of what they dump: their end is NLMSG_DONE all the same. */
		if (!(head.nlmsg_flags & NLM_F_MULTI) && !(q->flags & NLM_F_DUMP))
			return 1;
	}
	return 0;
}

/* From the kernel alone: anybody may send to a netlink port. */
static int receive(struct nd_os_rtnl *n, const struct nd_os_request *q)
{
	struct sockaddr_nl from = { 0 };
	struct iovec part = { n->buf, ANSWER_BYTES };
	struct msghdr m = {
		.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &part, .msg_iovlen = 1
	};
	ssize_t got;

	do
		got = recvmsg(n->fd, &m, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	if (from.nl_pid != 0)
		return 0;
	if (m.msg_flags & MSG_TRUNC)
		return -EMSGSIZE;
	return got ? nd_os_rtnl_walk(n->buf, (size_t)got, n->seq, q) : -EBADMSG;
}

int nd_os_rtnl_ask(struct nd_os_rtnl *n, const struct nd_os_request *q)
{
	int r = open_socket(n);

	if (r == 0)
		r = ask(n, q);
	while (r == 0)
		r = receive(n, q);
	if (r < 0)
		nd_close_p(&n->fd);
	return r < 0 ? r : 0;
}
