/* SPDX-License-Identifier: MIT */
/*
 * The kernel's end of an io_uring, for counting: what is submitted completes at once, and receives go on as long as
 * there are buffers. The ring itself is real, but the kernel is never entered.
 */
#if ND_HAVE_URING
#	include <errno.h>
#	include <liburing.h>

#	include "cost.h"

enum { ARMED = 64, PER_ROUND = 32 };

/* Receives that stand, one per flow, and the buffers they take from. */
static struct {
	struct {
		uint64_t data;
		int fd;
		bool on;
	} armed[ARMED];

	const struct io_uring_buf_ring *bufs;
	uint32_t mask;
	uint16_t taken;
	uint32_t turn; /* whose is first in the next round */
} ring;

/* NOLINTBEGIN(readability-identifier-naming, bugprone-reserved-identifier, cert-dcl37-c, cert-dcl51-cpp) */
/* clang-format off */
int __real_io_uring_submit(struct io_uring *r);
int __real_io_uring_submit_and_wait(struct io_uring *r, unsigned n);
int __real_io_uring_submit_and_get_events(struct io_uring *r);
int __real_io_uring_submit_and_wait_timeout(struct io_uring *r, struct io_uring_cqe **c, unsigned n,
					    struct __kernel_timespec *t, sigset_t *s);
int __real_io_uring_register_buf_ring(struct io_uring *r, struct io_uring_buf_reg *reg, unsigned flags);
int __real_io_uring_unregister_buf_ring(struct io_uring *r, int group);
int __wrap_io_uring_submit(struct io_uring *r);
int __wrap_io_uring_submit_and_wait(struct io_uring *r, unsigned n);
int __wrap_io_uring_submit_and_get_events(struct io_uring *r);
int __wrap_io_uring_submit_and_wait_timeout(struct io_uring *r, struct io_uring_cqe **c, unsigned n,
					    struct __kernel_timespec *t, sigset_t *s);
int __wrap_io_uring_register_buf_ring(struct io_uring *r, struct io_uring_buf_reg *reg, unsigned flags);
int __wrap_io_uring_unregister_buf_ring(struct io_uring *r, int group);
/* clang-format on */

#	define INLINE static inline __attribute__((always_inline))

INLINE void complete(struct io_uring *r, uint64_t data, int res, uint32_t flags)
{
	unsigned tail = *r->cq.ktail;
	struct io_uring_cqe *c = &r->cq.cqes[tail & *r->cq.kring_mask];

	c->user_data = data;
	c->res = res;
	c->flags = flags;
	*r->cq.ktail = tail + 1;
}

INLINE void arm(const struct io_uring_sqe *s)
{
	for (unsigned i = 0; i < ARMED; i++) {
		if (ring.armed[i].on)
			continue;
		ring.armed[i].on = true;
		ring.armed[i].data = s->user_data;
		ring.armed[i].fd = s->fd;
		return;
	}
}

INLINE void cancel(struct io_uring *r, const struct io_uring_sqe *s)
{
	for (unsigned i = 0; i < ARMED; i++) {
		if (!ring.armed[i].on || ring.armed[i].data != s->addr)
			continue;
		ring.armed[i].on = false;
		complete(r, s->addr, -ECANCELED, 0);
	}
	complete(r, s->user_data, 0, 0);
}

INLINE void take(struct io_uring *r, const struct io_uring_sqe *s)
{
	switch (s->opcode) {
	case IORING_OP_SEND:
		cost_kernel_operations(1);
		complete(r, s->user_data, (int)s->len, 0);
		break;
	case IORING_OP_SEND_ZC: /* and the pages are free at once */
		cost_kernel_operations(1);
		complete(r, s->user_data, (int)s->len, IORING_CQE_F_MORE);
		complete(r, s->user_data, 0, IORING_CQE_F_NOTIF);
		break;
	case IORING_OP_RECV:
		arm(s);
		break;
	case IORING_OP_ASYNC_CANCEL:
		cancel(r, s);
		break;
	default: /* a poll for waking up: that does not come */
		break;
	}
}

/* One buffer for each flow in turn. */
INLINE void give(struct io_uring *r)
{
	for (unsigned i = 0; i < PER_ROUND && ring.bufs; i++) {
		unsigned at = ring.turn++ % ARMED;
		const struct io_uring_buf *b = &ring.bufs->bufs[ring.taken & ring.mask];
		size_t n = cost_kernel.datagram ? cost_kernel.datagram : b->len;

		if (!ring.armed[at].on)
			continue;
		if (ring.taken == ring.bufs->tail || cost_kernel.left == 0)
			return;
		if (cost_kernel.datagram)
			cost_kernel_datagram(ring.armed[at].fd, b->addr);
		cost_kernel_operations(1);
		ring.taken++;
		complete(r, ring.armed[at].data, (int)n,
			 (uint32_t)b->bid << IORING_CQE_BUFFER_SHIFT | IORING_CQE_F_BUFFER |
				 IORING_CQE_F_MORE);
	}
}

INLINE int enter(struct io_uring *r)
{
	unsigned n = r->sq.sqe_tail - r->sq.sqe_head;

	for (; r->sq.sqe_head != r->sq.sqe_tail; r->sq.sqe_head++)
		take(r, &r->sq.sqes[r->sq.sqe_head & *r->sq.kring_mask]);
	*r->sq.khead = *r->sq.ktail = r->sq.sqe_tail;
	give(r);
	return (int)n;
}

int __wrap_io_uring_submit(struct io_uring *r)
{
	return cost_kernel.on ? enter(r) : __real_io_uring_submit(r);
}

int __wrap_io_uring_submit_and_wait(struct io_uring *r, unsigned n)
{
	return cost_kernel.on ? enter(r) : __real_io_uring_submit_and_wait(r, n);
}

int __wrap_io_uring_submit_and_get_events(struct io_uring *r)
{
	return cost_kernel.on ? enter(r) : __real_io_uring_submit_and_get_events(r);
}

int __wrap_io_uring_submit_and_wait_timeout(struct io_uring *r, struct io_uring_cqe **c, unsigned n,
					    struct __kernel_timespec *t, sigset_t *s)
{
	return cost_kernel.on ? enter(r) : __real_io_uring_submit_and_wait_timeout(r, c, n, t, s);
}

int __wrap_io_uring_register_buf_ring(struct io_uring *r, struct io_uring_buf_reg *reg,
				      unsigned flags)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): that is how it came */
	ring.bufs = (const struct io_uring_buf_ring *)(uintptr_t)reg->ring_addr;
	ring.mask = reg->ring_entries - 1;
	ring.taken = 0;
	for (unsigned i = 0; i < ARMED; i++)
		ring.armed[i].on = false;
	return __real_io_uring_register_buf_ring(r, reg, flags);
}

int __wrap_io_uring_unregister_buf_ring(struct io_uring *r, int group)
{
	ring.bufs = NULL;
	return __real_io_uring_unregister_buf_ring(r, group);
}

/* NOLINTEND(readability-identifier-naming, bugprone-reserved-identifier, cert-dcl37-c, cert-dcl51-cpp) */
#endif
