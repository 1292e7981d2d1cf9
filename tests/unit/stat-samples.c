/* SPDX-License-Identifier: MIT */
/* Instants of messages, in memory and in the file, and exact statistics against a sorted list. */

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdlib.h>

#include "base/time.h"
#include "stat/exact.h"

static struct nd_samples *make(uint64_t every)
{
	struct nd_samples *s = NULL;

	assert_int_equal(nd_samples_new(every, &s), 0);
	return s;
}

static void tells_who_answers_apart(void **state)
{
	static const uint8_t key[3][ND_SENDER_KEY] = { { 1 }, { 2 }, { 3 } };
	struct nd_samples *s = make(1), *second;
	struct nd_sample_counts c;
	struct nd_sample v[4];

	(void)state;
	assert_int_equal(nd_samples_share(s, 2), 0);
	second = nd_samples_of(s, 1);
	assert_non_null(second);
	assert_null(nd_samples_of(s, 2));
	for (uint64_t i = 1; i <= 3; i++)
		assert_int_equal(nd_samples_send(s, i * 100), i);
	nd_samples_unsend(s, 1);
	assert_true(nd_samples_answer_by(s, key[1], 1, 110));
	assert_true(nd_samples_answer_by(s, key[0], 1, 120));
	assert_true(nd_samples_answer_by(s, key[0], 2, 230));
	assert_true(nd_samples_answer_by(s, key[0], 2, 240));  /* again */
	assert_false(nd_samples_answer_by(s, key[2], 2, 250)); /* a third one */
	assert_false(nd_samples_answer_by(s, key[1], 3, 260)); /* not sent */
	nd_samples_counts(s, &c);
	assert_int_equal(c.sent, 2);
	assert_int_equal(c.received, 1);
	assert_int_equal(c.duplicate, 0);
	assert_int_equal(c.alien, 2);
	nd_samples_counts(second, &c);
	assert_int_equal(c.sent, 2);
	assert_int_equal(c.received, 2);
	assert_int_equal(c.duplicate, 1);
	assert_int_equal(nd_samples_read(second, 0, v, 4), 2);
	assert_int_equal(v[1].tx_ns, 200);
	assert_int_equal(v[1].rx_ns, 230);
	nd_samples_free(s);
}

static void counts_answers(void **state)
{
	struct nd_samples *s = make(2);
	struct nd_sample_counts c;
	struct nd_sample v[4];

	(void)state;
	for (uint64_t i = 1; i <= 7; i++)
		assert_int_equal(nd_samples_send(s, i * 100), i);
	assert_false(nd_samples_asks(s, 3));
	assert_true(nd_samples_answer(s, 2, 250));
	assert_true(nd_samples_answer(s, 2, 260)); /* again */
	assert_true(nd_samples_answer(s, 6, 650));
	assert_false(nd_samples_answer(s, 3, 700)); /* not asked */
	assert_false(nd_samples_answer(s, 8, 700)); /* not sent */
	assert_false(nd_samples_answer(s, 0, 700));
	nd_samples_counts(s, &c);
	assert_int_equal(c.sent, 7);
	assert_int_equal(c.kept, 3);
	assert_int_equal(c.received, 2);
	assert_int_equal(c.duplicate, 1);
	assert_int_equal(c.alien, 3);
	assert_int_equal(nd_samples_read(s, 0, v, 4), 3);
	assert_int_equal(v[0].tx_ns, 200);
	assert_int_equal(v[0].rx_ns, 250);
	assert_int_equal(v[1].rx_ns, 0);
	assert_int_equal(nd_samples_read(s, 3, v, 4), 0);
	nd_samples_unsend(s, 2);
	nd_samples_counts(s, &c);
	assert_int_equal(c.sent, 5);
	assert_int_equal(c.kept, 2);
	nd_samples_free(s);
}

/* Settled entries: all of a call's or none, in order, through the file. */
static void keeps_settled_ones(void **state)
{
	enum { PAIRS = 1200000, ROOM = 1 << 20 };

	struct nd_samples *s = make(1);
	struct nd_sample_counts c;
	struct nd_sample v[1000];
	uint64_t at = 0;
	ssize_t n;

	(void)state;
	for (uint64_t i = 0; i < PAIRS; i++) {
		nd_samples_put(s, (struct nd_sample[]){ { 2 * i, 0 }, { 2 * i + 1, 7 } }, 2);
		if (i % 50000 == 0 && i < PAIRS / 2)
			nd_samples_drain(s);
	}
	while ((n = nd_samples_read(s, at, v, ND_COUNTOF(v))) > 0)
		for (ssize_t i = 0; i < n; i++, at++)
			assert_true(v[i].tx_ns == at && v[i].rx_ns == at % 2 * 7);
	nd_samples_counts(s, &c);
	assert_int_equal(c.kept, at);
	assert_true(c.missed > 0 && c.missed % 2 == 0 && at > ROOM);
	assert_int_equal(c.kept + c.missed, 2 * PAIRS);
	assert_int_equal(c.received, c.sent);
	nd_samples_free(s);
}

static void keeps_all_in_a_file(void **state)
{
	enum { N = 3500000 };

	struct nd_samples *s = make(1);
	struct nd_sample v[1000];
	uint64_t at = 0;
	ssize_t n;

	(void)state;
	for (uint64_t i = 1; i <= N; i++) {
		assert_int_equal(nd_samples_send(s, i * 10), i);
		assert_true(nd_samples_answer(s, i, i * 10 + 3));
		if (i % 100000 == 0)
			nd_samples_drain(s);
	}
	while ((n = nd_samples_read(s, at, v, ND_COUNTOF(v))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			at++;
			assert_int_equal(v[i].tx_ns, at * 10);
			assert_int_equal(v[i].rx_ns, at * 10 + 3);
		}
	}
	assert_int_equal(n, 0);
	assert_int_equal(at, N);
	nd_samples_free(s);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void near(double a, double b)
{
	assert_true(fabs(a - b) <= 1e-9 * fabs(b) + 1e-6);
}

static void agrees_with_a_sorted_list(void **state)
{
	enum { N = 12345 };

	static uint64_t v[N], apart[N];
	struct nd_samples *s = make(1);
	uint64_t seed = nd_now_ns() | 1, x = seed, median, middle;
	struct nd_exact_cut cut = { 0 };
	struct nd_exact e;
	double sum = 0, squares = 0, away = 0;

	(void)state;
	print_message("seed %llu\n", (unsigned long long)seed);
	for (uint64_t i = 0; i < N; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		v[i] = 1 + (x >> 20) % (x % 100 == 0 ? 5000000 : 20000);
		(void)nd_samples_send(s, i * 10000000 + 1);
		assert_true(nd_samples_answer(s, i + 1, i * 10000000 + 1 + v[i]));
		sum += (double)v[i];
	}
	assert_int_equal(nd_exact_of(&s, 1, &cut, &e), 0);
	assert_int_equal(e.span.n, N);
	assert_int_equal(e.span.dropped + e.span.out_of_order, 0);
	qsort(v, N, sizeof(v[0]), compare);
	for (unsigned i = 0; i + 1 < ND_EXACT_QUANTILES; i++)
		assert_int_equal(e.at_ns[i], v[(size_t)floor(0.5 + nd_exact_quantiles[i] * N) - 1]);
	median = v[(N - 1) / 2];
	for (unsigned i = 0; i < N; i++) {
		apart[i] = v[i] > median ? v[i] - median : median - v[i];
		squares += ((double)v[i] - sum / N) * ((double)v[i] - sum / N);
		away += fabs((double)v[i] - sum / N);
	}
	qsort(apart, N, sizeof(apart[0]), compare);
	middle = apart[(N - 1) / 2];
	near(e.mean_ns, sum / N);
	near(e.stddev_ns, sqrt(squares / (N - 1)));
	near(e.mean_ad_ns, away / N);
	near(e.median_ad_ns, 1.48260221851 * (double)middle);
	assert_int_equal(e.min_ns, v[0]);
	assert_int_equal(e.max_ns, v[N - 1]);
	nd_samples_free(s);
}

struct rows {
	uint64_t *v, n;
};

static void keep_row(void *user, const struct nd_sample *at)
{
	struct rows *r = user;

	r->v[r->n++] = at->rx_ns - at->tx_ns;
}

/* Two logs, most of each in its file: the rows that a full log has give the same figures. Some messages are lost, some
 * answers come when a good many others have been sent, and what was sent since then is out of order. */
static void agrees_behind_a_spill(void **state)
{
	enum { N = 1500000, LATE = 300000, LOST_AT = 1000, BEHIND = 70000 };

	struct nd_samples *s[2] = { make(1), make(1) };
	struct rows rows = { .v = malloc(2 * N * sizeof(uint64_t)) };
	const struct nd_exact_cut cut = { .skip_ns = 5000, .tail_ns = 5000 };
	struct nd_exact e;
	double sum = 0, squares = 0;

	(void)state;
	assert_non_null(rows.v);
	for (unsigned k = 0; k < 2; k++) {
		for (uint64_t i = 1; i <= N; i++) {
			(void)nd_samples_send(s[k], i * 10);
			if (i % LATE == 0) /* its answer waits for BEHIND others */
				continue;
			if (i > BEHIND && (i - BEHIND) % LATE == 0)
				assert_true(nd_samples_answer(s[k], i - BEHIND, i * 10));
			if (i % LOST_AT)
				assert_true(nd_samples_answer(s[k], i, i * 10 + 1 + i * 7 % 9));
			if (i % 65536 == 0)
				nd_samples_drain(s[k]);
		}
		assert_int_equal(nd_exact_walk(s[k], &cut, keep_row, &rows, NULL), 0);
	}
	assert_int_equal(nd_exact_of(s, 2, &cut, &e), 0);
	assert_int_equal(e.span.n, rows.n);
	/* the window begins 500 messages late and ends 500 early; nothing in it is forgotten */
	assert_int_equal(e.span.n + e.span.dropped + e.span.out_of_order, 2 * (N - 1000));
	assert_int_equal(e.span.dropped, 2 * ((N - 1000) / LOST_AT - (N - 1000) / LATE));
	assert_true(e.span.out_of_order > 2 * BEHIND);
	qsort(rows.v, rows.n, sizeof(*rows.v), compare);
	for (uint64_t i = 0; i < rows.n; i++)
		sum += (double)rows.v[i];
	for (uint64_t i = 0; i < rows.n; i++)
		squares += ((double)rows.v[i] - sum / (double)rows.n) *
			   ((double)rows.v[i] - sum / (double)rows.n);
	near(e.mean_ns, sum / (double)rows.n);
	assert_true(fabs(e.stddev_ns - sqrt(squares / (double)(rows.n - 1))) < 1e-6 * e.stddev_ns);
	for (unsigned i = 0; i + 1 < ND_EXACT_QUANTILES; i++)
		assert_int_equal(
			e.at_ns[i],
			rows.v[(size_t)floor(0.5 + nd_exact_quantiles[i] * (double)rows.n) - 1]);
	assert_int_equal(e.min_ns, rows.v[0]);
	assert_int_equal(e.max_ns, rows.v[rows.n - 1]);
	free(rows.v);
	nd_samples_free(s[0]);
	nd_samples_free(s[1]);
}

static void cuts_and_classifies(void **state)
{
	struct nd_samples *s = make(1);
	const struct nd_exact_cut cut = { .skip_ns = 100, .tail_ns = 100 };
	struct nd_exact e;

	(void)state;
	/* sent at 1000, 1100 ... 2000; window 1100..1900 */
	for (uint64_t i = 0; i <= 10; i++)
		(void)nd_samples_send(s, 1000 + i * 100);
	for (uint64_t i = 1; i <= 11; i++) {
		if (i == 4)
			continue; /* lost */
		assert_true(nd_samples_answer(s, i, i == 6 ? 1395 : 1000 + (i - 1) * 100 + 50));
	}
	assert_int_equal(nd_exact_of(&s, 1, &cut, &e), 0);
	assert_int_equal(e.span.dropped, 1);
	assert_int_equal(e.span.first, 2);
	assert_int_equal(e.span.last, 10);
	assert_int_equal(e.span.begin_ns, 1100);
	assert_int_equal(e.span.end_ns, 1950);
	assert_int_equal(e.span.out_of_order, 1);
	assert_int_equal(e.span.n, 7);
	nd_samples_free(s);
}

static void nothing_is_nothing(void **state)
{
	struct nd_samples *s = make(1), *none = make(0);
	const struct nd_exact_cut cut = { .skip_ns = 400, .tail_ns = 50 };
	struct nd_exact e;

	(void)state;
	assert_int_equal(nd_exact_of(&s, 1, &cut, &e), 0);
	assert_true(e.span.is_empty);
	assert_int_equal(nd_exact_of(&none, 1, &cut, &e), 0);
	assert_true(e.span.is_empty);
	(void)nd_samples_send(s, 1000);
	(void)nd_samples_send(s, 1010);
	assert_int_equal(nd_exact_of(&s, 1, &cut, &e), 0);
	assert_true(e.span.is_empty);
	assert_true(fabs(nd_exact_normal(0.99) - 2.5758) < 5e-4);
	assert_true(fabs(nd_exact_normal(0.95) - 1.95996) < 5e-4);
	nd_samples_free(s);
	nd_samples_free(none);
	nd_samples_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_who_answers_apart),
		cmocka_unit_test(counts_answers),
		cmocka_unit_test(keeps_all_in_a_file),
		cmocka_unit_test(keeps_settled_ones),
		cmocka_unit_test(agrees_with_a_sorted_list),
		cmocka_unit_test(cuts_and_classifies),
		cmocka_unit_test(nothing_is_nothing),
		cmocka_unit_test(agrees_behind_a_spill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
