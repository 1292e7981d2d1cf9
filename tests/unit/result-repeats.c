/* SPDX-License-Identifier: MIT */
/* How well repeated runs agree, and the figures of one. */
#include <cmocka.h>
#include <math.h>

#include "result-fixture.h"
#include "result/repeats.h"

static void close_to(double v, double want)
{
	if (fabs(v - want) > fabs(want) * 1e-6 + 1e-9)
		fail_msg("%.9g is not %.9g", v, want);
}

/* clang-format off */
static const struct {
	uint64_t level;
	double per_s[5];
	unsigned runs;
	double width;  /* 2 t s / (sqrt(n) mean), s with n - 1 */
} widths[] = {
	{ 99, { 100 },                     1, 0 },
	{ 95, { 90, 110 },                 2, 2.5412 },
	{ 99, { 90, 110 },                 2, 12.7314 },
	{ 95, { 90, 100, 110 },            3, 0.496867641 },
	{ 99, { 99, 100, 101, 100, 100 },  5, 0.0291182527 },
	{ 99, { 5, 5, 5, 5, 5 },           5, 0 },
	{ 99, { 0, 0, 0 },                 3, 0 },
};

/* clang-format on */

static void test_widths(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(widths); i++) {
		struct nd_repeats s = { .level = widths[i].level, .asked_width = 0.05 };

		for (unsigned k = 0; k < widths[i].runs; k++) {
			const struct nd_repeat_figures f = { .per_s = widths[i].per_s[k],
							     .client_cpu = -1,
							     .server_cpu = -1 };

			nd_repeats_add(&s, &f);
		}
		close_to(nd_repeats_width(&s, &s.per_s), widths[i].width);
		close_to(nd_repeats_width(&s, &s.client_cpu), 0);
		assert_int_equal(nd_repeats_agree(&s),
				 widths[i].runs > 1 && widths[i].width <= 0.05);
	}
}

static void test_cpu_counts(void **state)
{
	struct nd_repeats all = { .level = 95, .asked_width = 0.05 };
	struct nd_repeats some = { .level = 95, .asked_width = 0.05, .result_only = true };

	(void)state;
	for (unsigned k = 0; k < 40; k++) { /* more than the table of quantiles has */
		const struct nd_repeat_figures f = { .per_s = 7, .client_cpu = k % 2 ? 10 : 90 };

		nd_repeats_add(&all, &f);
		nd_repeats_add(&some, &f);
	}
	assert_false(nd_repeats_agree(&all));
	assert_true(nd_repeats_agree(&some));
	close_to(all.client_cpu.mean, 50);
	close_to(nd_repeats_width(&all, &all.client_cpu), 2 * 2.042 * 40 / sqrt(39) / 50);
}

static void test_figures(void **state)
{
	static const struct fix fix = { .verb = "stream",
					.load = "rr",
					.transport = "tcp",
					.flows = 1,
					.message_bytes = 1,
					.transactions = true };
	struct nd_repeat_ask ask = { .transactions = true, .client_cpu = true };
	struct nd_repeat_figures f;
	struct nd_result r;

	(void)state;
	fix_make(&fix, &r);
	r.client->machine.user_cores = 1;
	r.client->machine.system_cores = 2;
	r.client->machine.irq_cores = r.client->machine.softirq_cores = 0.5;
	r.client->machine.steal_cores = 0.5;
	r.client->machine.idle_cores = 3.5;
	r.client->machine.iowait_cores = 0.5;
	nd_repeat_figures(&r, &ask, &f);
	close_to(f.elapsed_s, 11.25);
	close_to(f.per_s, 45000 * 11 / 11.25);
	close_to(f.client_cpu, 100 * 5.0 / 8);
	close_to(f.client_demand, f.client_cpu * 1e4 * f.client_cpus / f.per_s);
	close_to(f.server_cpu, -1);
	close_to(f.server_demand, -1);
	/* bytes: what the server received and sent */
	ask = (struct nd_repeat_ask){ .server_cpu = true };
	r.server->machine.steal_cores = (double)NAN; /* tells only how busy it was */
	r.server->machine.busy_cores = 2;
	nd_repeat_figures(&r, &ask, &f);
	close_to(f.per_s, 2 * 45000 * 11 / 11.25);
	close_to(f.server_cpu, 100 * 2.0 / f.server_cpus);
	close_to(f.server_demand, f.server_cpu * 1e4 * f.server_cpus / (f.per_s / 1024));
	nd_result_done(&r);
	nd_result_init(&r);
	nd_repeat_figures(&r, &ask, &f);
	close_to(f.per_s, 0);
	close_to(f.client_cpu, -1);
	nd_result_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_widths),
					    cmocka_unit_test(test_cpu_counts),
					    cmocka_unit_test(test_figures) };

	return cmocka_run_group_tests_name("result-repeats", tests, NULL, NULL);
}
