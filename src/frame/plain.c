/* SPDX-License-Identifier: MIT */
/* Nothing in the bytes: counts alone. */
#include "frame/int.h"

const struct nd_frame nd_frame_plain = {
	.name = "plain",
	.help = "nothing but payload: counts alone",
	.datagram = true,
	.stream = true,
	.prepare = nd_payload_fill,
};
