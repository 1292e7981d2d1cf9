/* SPDX-License-Identifier: MIT */
/* Shared inside load/: the shapes. */
#ifndef ND_LOAD_INT_H
#define ND_LOAD_INT_H

#include "load/load.h"

#define X(name) extern const struct nd_load nd_load_##name;
#include "load/loads.def"
#undef X

#endif
