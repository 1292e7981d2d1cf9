/* SPDX-License-Identifier: MIT */
/* The list of frames. */
#include <string.h>

#include "frame/int.h"

static const struct nd_frame *const frames[] = {
#define X(name) &nd_frame_##name,
#include "frame/frames.def"
#undef X
};

const struct nd_frame *nd_frame_at(size_t n)
{
	return n < ND_COUNTOF(frames) ? frames[n] : NULL;
}

const struct nd_frame *nd_frame_find(const char *name)
{
	size_t i;

	for (i = 0; name && i < ND_COUNTOF(frames); i++)
		if (strcmp(frames[i]->name, name) == 0)
			return frames[i];
	return NULL;
}

const char *nd_frame_names(size_t n, const char **ret_help)
{
	if (n >= ND_COUNTOF(frames))
		return NULL;
	if (ret_help)
		*ret_help = frames[n]->help;
	return frames[n]->name;
}
