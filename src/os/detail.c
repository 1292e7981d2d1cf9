/* SPDX-License-Identifier: MIT */
/* Queues, interrupts by CPU and drivers' limits of several interfaces at one instant, and what came between two. */
#include <errno.h>
#include <linux/genetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/time.h"
#include "os/detail.h"
#include "os/int.h"

#define FIRST_ROWS 16u
#define ROWS_MAX   65536u
#define LINES_MAX  4096u

/* The generic family "netdev" (Linux 6.9); the headers of older systems lack it. */
#define NETDEV_QSTATS_GET 12
#define QSTATS_IFINDEX    1
#define QSTATS_TYPE       2
#define QSTATS_QUEUE      3
#define QSTATS_SCOPE      4
#define QSTATS_RX_PACKETS 8
#define QSTATS_RX_BYTES   9
#define QSTATS_TX_PACKETS 10
#define QSTATS_TX_BYTES   11
#define QSTATS_RX_DROPS   13
#define QSTATS_TX_DROPS   24 /* by the hardware */
#define SCOPE_QUEUE       1

struct taking {
	struct nd_os *os;
	const struct nd_os_sample *sample;
	bool (*wanted)(void *user, const char *name);
	void *user;
	struct nd_os_detail *ret;
	uint64_t ifindex; /* of ethtool's answers */
	bool has_queues;  /* netdev told of this one's */
};

/* Room for one more of @n rows. NULL: no memory. */
static void *room(void *rows, uint32_t n, size_t size)
{
	bool full = n == 0 || (n >= FIRST_ROWS && !(n & (n - 1)));

	if (n >= ROWS_MAX)
		return NULL;
	return full ? realloc(rows, ND_MAX(FIRST_ROWS, n * 2) * size) : rows;
}

static struct nd_queue_count *add_queue(struct nd_os_detail *d)
{
	struct nd_queue_count *rows = room(d->queue, d->queues, sizeof(*rows));

	if (!rows)
		return NULL;
	d->queue = rows;
	nd_os_blank(&rows[d->queues], sizeof(*rows));
	return &rows[d->queues++];
}

static struct nd_queue_count *find_queue(struct nd_os_detail *d, uint64_t ifindex, bool is_tx,
					 uint64_t queue)
{
	uint32_t i;

	for (i = d->queues; i-- > 0;)
		if (d->queue[i].ifindex == ifindex && d->queue[i].is_tx == is_tx &&
		    d->queue[i].queue == queue)
			return &d->queue[i];
	return NULL;
}

/* ---- netdev */

static uint64_t attr_number(const struct nd_os_attr *a)
{
	uint64_t v;

	if (a->len < sizeof(v))
		return nd_os_attr_u32(a);
	memcpy(&v, a->data, sizeof(v));
	return v;
}

static int take_family(void *ctx, const char *body, size_t len)
{
	const char *p = body + GENL_HDRLEN;
	size_t left = len - GENL_HDRLEN;
	struct nd_os *os = ctx;
	struct nd_os_attr a;

	if (len < GENL_HDRLEN)
		return -EBADMSG;
	while (nd_os_attr_next(&p, &left, &a))
		if (a.type == CTRL_ATTR_FAMILY_ID && a.len >= sizeof(os->netdev_family))
			memcpy(&os->netdev_family, a.data, sizeof(os->netdev_family));
	return 0;
}

static void find_family(struct nd_os *os)
{
	static const char name[] = "netdev";

	struct {
		struct genlmsghdr head;
		uint16_t len, type;
		char name[8];
	} body = { .head = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 },
		   .len = 4 + sizeof(name),
		   .type = CTRL_ATTR_FAMILY_NAME };

	struct nd_os_request q = { .type = GENL_ID_CTRL,
				   .body = &body,
				   .len = sizeof(body),
				   .take = take_family,
				   .ctx = os };

	os->netdev_asked = true;
	memcpy(body.name, name, sizeof(name));
	if (os->is_machine && nd_os_rtnl_ask(&os->genl, &q) < 0)
		os->netdev_family = 0; /* no such family */
}

static void take_qstat(struct nd_queue_count *q, const struct nd_os_attr *a)
{
	switch (a->type) {
	case QSTATS_RX_PACKETS:
	case QSTATS_TX_PACKETS:
		q->packets = attr_number(a);
		break;
	case QSTATS_RX_BYTES:
	case QSTATS_TX_BYTES:
		q->bytes = attr_number(a);
		break;
	case QSTATS_RX_DROPS:
	case QSTATS_TX_DROPS:
		q->drops = attr_number(a);
		break;
	default:
		break;
	}
}

int nd_os_take_qstats(void *ctx, const char *body, size_t len)
{
	const char *p = body + GENL_HDRLEN;
	size_t left = len - GENL_HDRLEN;
	struct nd_queue_count *q;
	struct nd_os_attr a;

	if (len < GENL_HDRLEN)
		return -EBADMSG;
	q = add_queue(ctx);
	if (!q)
		return -ENOMEM;
	while (nd_os_attr_next(&p, &left, &a)) {
		if (a.type == QSTATS_IFINDEX)
			q->ifindex = attr_number(&a);
		else if (a.type == QSTATS_TYPE)
			q->is_tx = attr_number(&a);
		else if (a.type == QSTATS_QUEUE)
			q->queue = attr_number(&a);
		else
			take_qstat(q, &a);
	}
	return 0;
}

/* All interfaces' queues in one question; those that are not wanted go out again. */
static int ask_netdev(struct taking *t)
{
	struct {
		struct genlmsghdr head;
		uint16_t len, type;
		uint32_t scope;
	} body = { .head = { .cmd = NETDEV_QSTATS_GET, .version = 1 },
		   .len = 8,
		   .type = QSTATS_SCOPE,
		   .scope = SCOPE_QUEUE };

	struct nd_os_request q = { .flags = NLM_F_DUMP,
				   .body = &body,
				   .len = sizeof(body),
				   .take = nd_os_take_qstats,
				   .ctx = t->ret };
	int r;

	if (!t->os->netdev_asked)
		find_family(t->os);
	q.type = t->os->netdev_family;
	if (!q.type)
		return 0;
	r = nd_os_rtnl_ask(&t->os->genl, &q);
	if (r < 0)
		t->ret->queues = 0;
	else if (t->ret->queues)
		t->ret->queue_source = "netdev";
	return r == -ENOMEM ? r : 0;
}

static const struct nd_nic *nic_of(const struct taking *t, uint64_t ifindex)
{
	uint32_t i;

	for (i = 0; i < t->sample->nics; i++)
		if (t->sample->nic[i].ifindex == ifindex)
			return &t->sample->nic[i];
	return NULL;
}

static bool is_wanted(const struct taking *t, const char *name)
{
	return !t->wanted || t->wanted(t->user, name);
}

static void keep_wanted(struct taking *t)
{
	const struct nd_nic *nic;
	uint32_t i, n = 0;

	for (i = 0; i < t->ret->queues; i++) {
		nic = nic_of(t, t->ret->queue[i].ifindex);
		if (nic && is_wanted(t, nic->name))
			t->ret->queue[n++] = t->ret->queue[i];
	}
	t->ret->queues = n;
}

/* ---- ethtool */

static int take_limit(struct taking *t, const char *name, uint64_t value)
{
	struct nd_limit_count *rows = room(t->ret->limit, t->ret->limits, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	t->ret->limit = rows;
	rows = &rows[t->ret->limits++];
	*rows = (struct nd_limit_count){ .ifindex = t->ifindex, .count = value };
	(void)snprintf(rows->name, sizeof(rows->name), "%s", name); /* cut: for people */
	return 0;
}

static bool is_limit(const char *name)
{
	static const char *const ends[] = { "_allowance_exceeded", "rx_out_of_buffer",
					    "rx_no_buffer_count", "rx_missed_errors",
					    "rx_alloc_fail" };

	size_t n = strlen(name), i;

	for (i = 0; i < ND_COUNTOF(ends); i++)
		if (n >= strlen(ends[i]) && !strcmp(name + n - strlen(ends[i]), ends[i]))
			return true;
	return false;
}

static int take_ethtool(void *ctx, const char *name, uint64_t value)
{
	struct taking *t = ctx;
	struct nd_queue_count *q;
	uint64_t queue = 0;
	bool is_tx = false;
	char what = 0;

	if (is_limit(name))
		return take_limit(t, name, value);
	if (t->has_queues || !nd_os_queue_counter(name, &is_tx, &queue, &what))
		return 0;
	q = find_queue(t->ret, t->ifindex, is_tx, queue);
	if (!q) {
		q = add_queue(t->ret);
		if (!q)
			return -ENOMEM;
		q->ifindex = t->ifindex;
		q->is_tx = is_tx;
		q->queue = queue;
		t->ret->queue_source = "ethtool";
	}
	if (what == 'p')
		q->packets = value;
	else if (what == 'b')
		q->bytes = value;
	else
		q->drops = value;
	return 0;
}

static bool has_queues(const struct nd_os_detail *d, uint64_t ifindex)
{
	uint32_t i;

	for (i = 0; i < d->queues; i++)
		if (d->queue[i].ifindex == ifindex && d->queue[i].packets != ND_UNKNOWN)
			return true;
	return false;
}

static int ask_ethtool(struct taking *t, const struct nd_nic *nic)
{
	const struct nd_os_ethtool to = { .ctx = t, .take = take_ethtool };
	int r;

	t->ifindex = nic->ifindex;
	t->has_queues = has_queues(t->ret, nic->ifindex);
	r = nd_os_ethtool(t->os, nic->name, &to);
	return r == -ENOMEM ? r : 0;
}

/* ---- interrupts */

static int take_header(struct nd_os_detail *d, const char *text)
{
	struct nd_os_word w;
	uint64_t cpu;

	while (nd_os_word(&text, &w)) {
		if (w.len < 4 || memcmp(w.at, "CPU", 3) != 0)
			continue;
		cpu = nd_os_word_u64((struct nd_os_word){ w.at + 3, w.len - 3 });
		if (cpu >= ND_OS_CPUS_MAX)
			continue;
		if (!d->cpu) {
			d->cpu = malloc(ND_OS_CPUS_MAX * sizeof(*d->cpu));
			if (!d->cpu)
				return -ENOMEM;
		}
		if (d->cpus < ND_OS_CPUS_MAX)
			d->cpu[d->cpus++] = (uint32_t)cpu;
	}
	return 0;
}

static int add_irq(struct nd_os_detail *d, const struct nd_irq_count *row, const uint64_t *counts)
{
	struct nd_irq_count *rows = room(d->irq, d->irqs, sizeof(*rows));
	uint64_t *more;

	if (!rows)
		return -ENOMEM;
	d->irq = rows;
	more = realloc(d->irq_cpu, ((size_t)d->irqs + 1) * d->cpus * sizeof(*more));
	if (!more)
		return -ENOMEM;
	d->irq_cpu = more;
	memcpy(more + (size_t)d->irqs * d->cpus, counts, d->cpus * sizeof(*more));
	rows[d->irqs++] = *row;
	return 0;
}

/* Interrupts of all wanted interfaces; /proc/interrupts is read once behind it. */
static size_t owners(struct taking *t, struct nd_os_line_owner *ret, size_t max)
{
	uint32_t lines[LINES_MAX], i;
	size_t n = 0, k, got;

	for (i = 0; i < t->sample->nics; i++) {
		const struct nd_nic *nic = &t->sample->nic[i];

		if (!is_wanted(t, nic->name) ||
		    (t->os->is_machine &&
		     nd_os_fact_u64(t->os, "sys/class/net/%s/ifindex", nic->name) != nic->ifindex))
			continue;
		got = nd_os_nic_lines(t->os, nic->name, lines, ND_COUNTOF(lines));
		for (k = 0; k < got && n < max; k++)
			ret[n++] = (struct nd_os_line_owner){ lines[k], nic->ifindex };
	}
	return n;
}

static int take_line(struct nd_os_detail *d, const char *line, const struct nd_os_line_owner *owner,
		     size_t n, uint64_t *counts)
{
	struct nd_irq_count row = { .count = 0 };
	struct nd_os_word name;
	uint32_t number;
	size_t used, i, k;

	used = nd_os_irq_line(line, &number, &name, counts, d->cpus);
	for (i = 0; used && i < n; i++)
		if (owner[i].line == number)
			break;
	if (!used || i == n)
		return 0;
	for (k = used; k < d->cpus; k++)
		counts[k] = ND_UNKNOWN;
	for (k = 0; k < used; k++)
		row.count += counts[k] == ND_UNKNOWN ? 0 : counts[k];
	row.ifindex = owner[i].ifindex;
	row.number = number;
	if (name.len) /* a line may end behind its counts */
		memcpy(row.name, name.at, ND_MIN(name.len, sizeof(row.name) - 1));
	return add_irq(d, &row, counts);
}

int nd_os_parse_irqs(const char *text, const struct nd_os_line_owner *owner, size_t n,
		     struct nd_os_detail *d)
{
	uint64_t counts[ND_OS_CPUS_MAX];
	const char *line;
	int r = take_header(d, text);

	for (line = nd_os_line(text); r == 0 && d->cpus && line; line = nd_os_line(line))
		r = take_line(d, line, owner, n, counts);
	return r;
}

static int ask_interrupts(struct taking *t)
{
	struct nd_os_line_owner owner[LINES_MAX];
	size_t n = owners(t, owner, ND_COUNTOF(owner));
	const char *text = n ? nd_os_text(t->os, ND_OS_INTERRUPTS) : NULL;

	return text ? nd_os_parse_irqs(text, owner, n, t->ret) : 0;
}

/* ---- all of it */

int nd_os_detail(struct nd_os *os, const struct nd_os_sample *s,
		 bool (*wanted)(void *user, const char *name), void *user, struct nd_os_detail *ret)
{
	struct nd_os_detail d = { .at_ns = nd_now_ns() };
	struct taking t = { .os = os, .sample = s, .wanted = wanted, .user = user, .ret = &d };
	int r = ask_netdev(&t);
	uint32_t i;

	keep_wanted(&t);
	for (i = 0; r == 0 && i < s->nics; i++)
		if (is_wanted(&t, s->nic[i].name))
			r = ask_ethtool(&t, &s->nic[i]);
	if (r == 0)
		r = ask_interrupts(&t);
	if (r < 0) {
		nd_os_detail_done(&d);
		return r;
	}
	*ret = d;
	return 0;
}

void nd_os_detail_done(struct nd_os_detail *d)
{
	if (!d)
		return;
	free(d->queue);
	free(d->irq);
	free(d->limit);
	free(d->cpu);
	free(d->irq_cpu);
	*d = (struct nd_os_detail){ 0 };
}

/* ---- differences */

static void *copy(const void *from, size_t bytes, bool *failed)
{
	void *p = bytes ? malloc(bytes) : NULL;

	if (p)
		memcpy(p, from, bytes);
	else if (bytes)
		*failed = true;
	return p;
}

static void since_queues(const struct nd_os_detail *then, struct nd_os_detail *d)
{
	const struct nd_queue_count *was;
	uint32_t i, k;

	for (i = 0; i < d->queues; i++) {
		struct nd_queue_count *q = &d->queue[i];

		was = NULL;
		for (k = 0; !was && k < then->queues; k++) /* the same place, nearly always */
			if (then->queue[(i + k) % then->queues].ifindex == q->ifindex &&
			    then->queue[(i + k) % then->queues].is_tx == q->is_tx &&
			    then->queue[(i + k) % then->queues].queue == q->queue)
				was = &then->queue[(i + k) % then->queues];
		if (was && (nd_os_fell_too_far(q->packets, was->packets) ||
			    nd_os_fell_too_far(q->bytes, was->bytes)))
			was = NULL; /* it began anew: none of its counts is to be believed */
		q->packets = was ? nd_os_delta(q->packets, was->packets) : ND_UNKNOWN;
		q->bytes = was ? nd_os_delta(q->bytes, was->bytes) : ND_UNKNOWN;
		q->drops = was ? nd_os_delta(q->drops, was->drops) : ND_UNKNOWN;
	}
}

/* Rows stand where they stood, nearly always: there it is looked first. */
static const struct nd_limit_count *limit_then(const struct nd_os_detail *then,
					       const struct nd_limit_count *row, uint32_t at)
{
	const struct nd_limit_count *was;
	uint32_t k;

	for (k = 0; k < then->limits; k++) {
		was = &then->limit[(at + k) % then->limits];
		if (was->ifindex == row->ifindex && !strcmp(was->name, row->name))
			return was;
	}
	return NULL;
}

static void since_limits(const struct nd_os_detail *then, struct nd_os_detail *d)
{
	const struct nd_limit_count *was;
	uint32_t i;

	for (i = 0; i < d->limits; i++) {
		was = limit_then(then, &d->limit[i], i);
		d->limit[i].count = was ? nd_os_delta(d->limit[i].count, was->count) : ND_UNKNOWN;
	}
}

/* Counts by CPU. NULL: it was not there. */
static const uint64_t *irq_then(const struct nd_os_detail *then, const struct nd_irq_count *row,
				uint32_t at)
{
	uint32_t k, place;

	for (k = 0; k < then->irqs; k++) {
		place = (at + k) % then->irqs;
		if (then->irq[place].number == row->number &&
		    !strcmp(then->irq[place].name, row->name))
			return then->irq_cpu + (size_t)place * then->cpus;
	}
	return NULL;
}

/* CPUs that came or went change the columns: that interval is not told. */
static void since_irqs(const struct nd_os_detail *then, struct nd_os_detail *d)
{
	bool same = then->cpus == d->cpus &&
		    (!d->cpus || !memcmp(then->cpu, d->cpu, d->cpus * sizeof(*d->cpu)));
	const uint64_t *was;
	uint64_t *counts, sum, v;
	uint32_t i, c;

	for (i = 0; i < d->irqs; i++) {
		counts = d->irq_cpu + (size_t)i * d->cpus;
		was = same ? irq_then(then, &d->irq[i], i) : NULL;
		sum = 0;
		for (c = 0; c < d->cpus; c++) {
			v = was ? nd_os_delta(counts[c], was[c]) : ND_UNKNOWN;
			counts[c] = v;
			sum = sum == ND_UNKNOWN || v == ND_UNKNOWN ? ND_UNKNOWN : sum + v;
		}
		d->irq[i].count = sum;
	}
}

int nd_os_detail_since(const struct nd_os_detail *now, const struct nd_os_detail *then,
		       struct nd_os_detail *ret)
{
	struct nd_os_detail d = *now;
	bool failed = false;

	d.at_ns = now->at_ns >= then->at_ns ? now->at_ns - then->at_ns : ND_UNKNOWN;
	d.queue = copy(now->queue, now->queues * sizeof(*d.queue), &failed);
	d.irq = copy(now->irq, now->irqs * sizeof(*d.irq), &failed);
	d.limit = copy(now->limit, now->limits * sizeof(*d.limit), &failed);
	d.cpu = copy(now->cpu, now->cpus * sizeof(*d.cpu), &failed);
	d.irq_cpu = copy(now->irq_cpu, (size_t)now->irqs * now->cpus * sizeof(*d.irq_cpu), &failed);
	if (failed) {
		nd_os_detail_done(&d);
		return -ENOMEM;
	}
	since_queues(then, &d);
	since_limits(then, &d);
	since_irqs(then, &d);
	*ret = d;
	return 0;
}

uint64_t nd_os_detail_busiest(const struct nd_os_detail *d, uint32_t irq)
{
	uint64_t most = 0, cpu = ND_UNKNOWN, v;
	uint32_t c;

	for (c = 0; irq < d->irqs && c < d->cpus; c++) {
		v = d->irq_cpu[(size_t)irq * d->cpus + c];
		if (v != ND_UNKNOWN && v > most) {
			most = v;
			cpu = d->cpu[c];
		}
	}
	return cpu;
}
