/* SPDX-License-Identifier: MIT */
/* The list of transports. */
#include <string.h>

#include "net/int.h"

static const struct nd_transport *const transports[] = {
#define X(name) &nd_transport_##name,
#include "net/transports.def"
#undef X
};

const struct nd_transport *nd_transport_at(size_t n)
{
	return n < ND_COUNTOF(transports) ? transports[n] : NULL;
}

const struct nd_transport *nd_transport_find(const char *name)
{
	size_t i;

	for (i = 0; name && i < ND_COUNTOF(transports); i++)
		if (strcmp(transports[i]->name, name) == 0)
			return transports[i];
	return NULL;
}

const char *nd_transport_names(size_t n, const char **ret_help)
{
	if (n >= ND_COUNTOF(transports))
		return NULL;
	if (ret_help)
		*ret_help = transports[n]->help;
	return transports[n]->name;
}
