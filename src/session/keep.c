/* SPDX-License-Identifier: MIT */
/* A result that outlives its test, where a session has several. */
#include <string.h>

#include "session/int.h"

/* Buckets are the test's. Without memory the figures stay, and the log lacks them. */
static void keep_buckets(struct nd_hist_view *v, struct nd_arena *a)
{
	uint64_t *own = v->n ? nd_arena_alloc(a, v->n, sizeof(*own)) : NULL;

	if (!own) {
		*v = (struct nd_hist_view){ .min_ns = UINT64_MAX };
		return;
	}
	memcpy(own, v->v, v->n * sizeof(*own));
	v->v = own;
}

void nd_session_keep(struct nd_result *kept, struct nd_result *r)
{
	const struct nd_direction *d = r->directions.v;

	nd_result_done(kept);
	*kept = *r;
	kept->samples = NULL;
	kept->samples_n = 0;
	for (uint64_t i = 0; i < kept->directions.n; i++) {
		if (!d[i].latency)
			continue;
		keep_buckets(&d[i].latency->service_hist, &kept->arena);
		keep_buckets(&d[i].latency->response_hist, &kept->arena);
	}
	nd_result_init(r);
}

void nd_session_cut_short(struct nd_result *kept, const char *what, const struct nd_err *err)
{
	const char *reason = nd_arena_printf(&kept->arena, "%s: %s", what, err->text);

	kept->partial = true;
	kept->partial_reason = reason ? reason : what;
}
