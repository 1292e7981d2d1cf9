/* SPDX-License-Identifier: MIT */
/* The times of a latency test as a log of HdrHistogram, for tools that merge, compare and plot such logs. */
#include <math.h>

#include "report/int.h"
#include "stat/hdr.h"

/* @prefix: in front of each tag. */
static void put_times(const struct nd_latency *l, const char *prefix, double start_s,
		      double length_s, struct nd_str *out)
{
	nd_auto_str response = { 0 };
	nd_auto_str service = { 0 };

	nd_str_addf(&response, "%sresponse", prefix);
	nd_str_addf(&service, "%sservice", prefix);
	start_s = isfinite(start_s) ? start_s : 0;
	length_s = isfinite(length_s) ? length_s : 0;
	if (l->response_hist.count &&
	    nd_hdr_line(out, nd_str_text(&response), start_s, length_s, &l->response_hist) < 0)
		out->failed = true;
	if (nd_hdr_line(out, nd_str_text(&service), start_s, length_s, &l->service_hist) < 0)
		out->failed = true;
	out->failed = out->failed || !nd_str_ok(&response) || !nd_str_ok(&service);
}

static void hdr_result(const struct nd_report_cfg *cfg, const struct nd_result *r,
		       struct nd_str *out)
{
	const struct nd_direction *d = r->directions.v;
	bool any = false;

	(void)cfg; /* every writer gets it */
	nd_hdr_header(out, "netdyno", r->started_unix_ms == ND_UNKNOWN ? 0 : r->started_unix_ms);
	for (uint64_t i = 0; i < r->directions.n; i++) {
		if (!d[i].latency)
			continue;
		put_times(d[i].latency, "", d[i].window_start_s, d[i].sender_window_s, out);
		any = true;
	}
	/* of a run before this one, by that one's clock */
	if (r->loaded && r->loaded->idle && any && r->loaded->idle != d[0].latency)
		put_times(r->loaded->idle, "idle-", r->loaded->idle_start_s,
			  r->loaded->idle_window_s, out);
	if (!any)
		nd_str_add(out, "# no times: this test does not measure requests and answers\n");
}

/* Remarks of the format: that the test goes on is seen while it does. */
static void hdr_progress(const struct nd_report_cfg *cfg, const struct nd_progress_event *ev,
			 struct nd_str *out)
{
	(void)cfg; /* every writer gets it */
	if (ev->what != ND_PROG_INTERVAL || !isfinite(ev->interval->end_s))
		return;
	nd_str_addf(out, "#[Interval: %.3f s to %.3f s, ", ev->interval->start_s,
		    ev->interval->end_s);
	nd_report_clean(out, ev->interval->phase);
	nd_str_add(out, "]\n");
}

const struct nd_writer nd_writer_hdr = {
	.name = "hdr",
	.help = "HdrHistogram's log of response and service times, in ns",
	.progress = hdr_progress,
	.result = hdr_result,
};
