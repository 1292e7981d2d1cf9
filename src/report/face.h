/* SPDX-License-Identifier: MIT */
/* Settings of another tool's face, by key: its writers need no more of them than these rows. */
#ifndef ND_REPORT_FACE_H
#define ND_REPORT_FACE_H

#include "report/report.h"

struct nd_face {
	const void *at;               /* borrowed; NULL: no face */
	const struct nd_table *table; /* describes it */
};

/** nd_face_of() - the result's face, else the report's. @r may be NULL. */
struct nd_face nd_face_of(const struct nd_report_cfg *cfg, const struct nd_result *r);

/* What the face does not say is 0, false, NULL, or an empty list. */
uint64_t nd_face_u64(const struct nd_face *f, const char *key); /* ND_UNKNOWN is 0, too */
int64_t nd_face_i64(const struct nd_face *f, const char *key);
bool nd_face_bool(const struct nd_face *f, const char *key);
const char *nd_face_str(const struct nd_face *f, const char *key);
/** nd_face_f64() - NAN where it is not said. */
double nd_face_f64(const struct nd_face *f, const char *key);
/** nd_face_enum() - its name; "" where there is none. */
const char *nd_face_enum(const struct nd_face *f, const char *key);
/** nd_face_group() - the settings inside @key, which is a group of them. */
struct nd_face nd_face_group(const struct nd_face *f, const char *key);
struct nd_strv nd_face_strv(const struct nd_face *f, const char *key);

#endif
