/* SPDX-License-Identifier: MIT */
/* The lists of backends and of ways to move bytes. */
#include <string.h>

#include "engine/int.h"

#if ND_HAVE_URING
enum { MANY_FLOWS = 16 };
#endif

static const struct nd_engine *const engines[] = {
#define X(name) &nd_engine_##name,
#include "engine/engines.def"
#undef X
};

static const struct nd_xfer *const xfers[] = {
#define X(name) &nd_xfer_##name,
#include "engine/xfers.def"
#undef X
};

const struct nd_engine *nd_engine_at(size_t n)
{
	return n < ND_COUNTOF(engines) ? engines[n] : NULL;
}

const struct nd_engine *nd_engine_find(const char *name)
{
	size_t i;

	for (i = 0; name && i < ND_COUNTOF(engines); i++)
		if (strcmp(engines[i]->name, name) == 0)
			return engines[i];
	return NULL;
}

const char *nd_engine_lacks(const char *name)
{
	return strcmp(name, "uring") == 0 && !nd_engine_find(name) ? "liburing" : NULL;
}

const char *nd_engine_names(size_t n, const char **ret_help)
{
	if (n >= ND_COUNTOF(engines))
		return NULL;
	if (ret_help)
		*ret_help = engines[n]->help;
	return engines[n]->name;
}

#if ND_HAVE_URING
/* Many small messages: one call for all flows saves a quarter to a half of the CPU from 16
 * flows on, and costs with four. Bulk is copied at the same price, and waits for fewer
 * completions with epoll. */
static bool suits_uring(const struct nd_io *io)
{
	unsigned i;

	if (io->flow_count < MANY_FLOWS || io->wait || io->plan->busy_poll_us)
		return false;
	for (i = 0; i < io->lane_count; i++) {
		const struct nd_lane *l = &io->lanes[i];

		if (!l->load->round_trips || l->load->connects || l->load->halves > 1 ||
		    (l->transport->caps & ND_NET_DATAGRAM) || strcmp(l->tx->name, "copy") != 0 ||
		    strcmp(l->rx->name, "copy") != 0)
			return false;
	}
	return nd_uring_is_new();
}
#endif

const struct nd_engine *nd_engine_auto(const struct nd_io *io)
{
	if (io->flow_count <= 1)
		return &nd_engine_blocking;
#if ND_HAVE_URING
	if (suits_uring(io))
		return &nd_engine_uring;
#endif
	return &nd_engine_epoll;
}

const struct nd_xfer *nd_xfer_at(size_t n)
{
	return n < ND_COUNTOF(xfers) ? xfers[n] : NULL;
}

const struct nd_xfer *nd_xfer_find(const char *name, bool sends, bool datagram)
{
	size_t i;

	for (i = 0; name && i < ND_COUNTOF(xfers); i++)
		if (xfers[i]->sends == sends &&
		    (datagram ? xfers[i]->datagram : xfers[i]->stream) &&
		    strcmp(xfers[i]->name, name) == 0)
			return xfers[i];
	return NULL;
}

static bool is_named_before(size_t i)
{
	size_t j;

	for (j = 0; j < i; j++)
		if (xfers[j]->sends == xfers[i]->sends &&
		    strcmp(xfers[j]->name, xfers[i]->name) == 0)
			return true;
	return false;
}

static const char *names(bool sends, size_t n, const char **ret_help)
{
	size_t i;

	for (i = 0; i < ND_COUNTOF(xfers); i++) {
		if (xfers[i]->sends != sends || xfers[i]->answer || xfers[i]->hidden ||
		    is_named_before(i) || n-- > 0)
			continue;
		if (ret_help)
			*ret_help = xfers[i]->help;
		return xfers[i]->name;
	}
	return NULL;
}

const char *nd_xfer_tx_names(size_t n, const char **ret_help)
{
	return names(true, n, ret_help);
}

const char *nd_xfer_rx_names(size_t n, const char **ret_help)
{
	return names(false, n, ret_help);
}
