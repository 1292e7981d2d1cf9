/* SPDX-License-Identifier: MIT */
/* The lists of backends and of ways to move bytes. */
#include <string.h>

#include "engine/int.h"

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

const struct nd_engine *nd_engine_auto(uint32_t flows)
{
	return flows <= 1 ? &nd_engine_blocking : &nd_engine_epoll;
}

const struct nd_xfer *nd_xfer_at(size_t n)
{
	return n < ND_COUNTOF(xfers) ? xfers[n] : NULL;
}

const struct nd_xfer *nd_xfer_find(const char *name, bool datagram)
{
	size_t i;

	for (i = 0; name && i < ND_COUNTOF(xfers); i++)
		if ((datagram ? xfers[i]->datagram : xfers[i]->stream) &&
		    strcmp(xfers[i]->name, name) == 0)
			return xfers[i];
	return NULL;
}
