/* SPDX-License-Identifier: MIT */
/* The list of traffic shapes. */
#include <string.h>

#include "load/int.h"

static const struct nd_load *const loads[] = {
#define X(name) &nd_load_##name,
#include "load/loads.def"
#undef X
};

const struct nd_load *nd_load_at(size_t n)
{
	return n < ND_COUNTOF(loads) ? loads[n] : NULL;
}

const struct nd_load *nd_load_find(const char *name)
{
	size_t i;

	for (i = 0; name && i < ND_COUNTOF(loads); i++)
		if (strcmp(loads[i]->name, name) == 0)
			return loads[i];
	return NULL;
}

const char *nd_load_names(size_t n, const char **ret_help)
{
	/* the last ones: only other tools' languages know how to agree on them */
	if (n >= ND_COUNTOF(loads) || loads[n]->connects || loads[n]->halves > 1)
		return NULL;
	if (ret_help)
		*ret_help = loads[n]->help;
	return loads[n]->name;
}
