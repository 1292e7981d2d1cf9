/* SPDX-License-Identifier: MIT */
/* Numbers for people. */
#ifndef ND_RESULT_SCALE_H
#define ND_RESULT_SCALE_H

#include "base/field.h"
#include "base/str.h"

/** nd_scaled_text() - add "9.412 Gbit/s", "1.20 ms", "87.1 %"; "unknown" when it is not finite. */
void nd_scaled_text(struct nd_str *out, double value, enum nd_measure m);

#endif
