/* SPDX-License-Identifier: MIT */
/* One client's test at the server, from its control connection to its line in the log. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "session/int.h"
#include "session/netserver.h"

#define IDLE_DIALOGS 256 /* control connections that have not asked for anything */
#define STOP_NS      (4 * ND_NS_PER_S)
#define NEXT_NS      (5 * ND_NS_PER_S) /* from one test of a session to the next: names, greeting */

/* ---- the line in the log ---- */

static void add_rate(struct nd_str *out, double bps)
{
	static const char *const units[] = { "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s" };
	size_t u = 0;

	while (bps >= 999.5 && u + 1 < ND_COUNTOF(units)) {
		bps /= 1000;
		u++;
	}
	nd_str_addf(out, "%.*f %s", bps < 9.995 ? 2 : bps < 99.95 ? 1 : 0, bps, units[u]);
}

static void add_transport(struct nd_str *out, const char *name)
{
	for (const char *c = name ? name : "?"; *c; c++)
		nd_str_addc(out, (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c), 1);
}

/* Connections that came and went, where the end that makes them does not tell: those that we served. */
static void add_connections(struct nd_str *out, const struct nd_result *r,
			    const struct nd_direction *d)
{
	const struct nd_part *own = nd_result_part(r->server, d->workload);
	double per_s = d->transactions_per_s;

	if (isnan(per_s) && own && own->window.transactions != ND_UNKNOWN &&
	    own->window.seconds > 0)
		per_s = (double)own->window.transactions / own->window.seconds;
	if (!isnan(per_s))
		nd_str_addf(out, ", %.0f connections/s", per_s);
}

static bool is_of_connections(const struct nd_direction *d)
{
	return d->load && (strcmp(d->load, "crr") == 0 || strcmp(d->load, "cc") == 0);
}

static void add_direction(struct nd_str *out, const struct nd_result *r,
			  const struct nd_direction *d)
{
	double lost = isnan(d->loss.lost_ratio) ? d->lost_ratio : d->loss.lost_ratio;

	add_transport(out, d->transport);
	nd_str_addf(out, " %llu flow%s %s", (unsigned long long)d->flows, d->flows == 1 ? "" : "s",
		    d->label ? d->label : "");
	if (!isnan(d->window_s))
		nd_str_addf(out, ", %.1f s", d->window_s);
	if (is_of_connections(d)) {
		add_connections(out, r, d);
	} else if (d->transactional && !isnan(d->transactions_per_s)) {
		nd_str_addf(out, ", %.0f round trips/s", d->transactions_per_s);
	} else if (!isnan(d->goodput_bps)) {
		nd_str_addc(out, ',', 1);
		nd_str_addc(out, ' ', 1);
		add_rate(out, d->goodput_bps);
		nd_str_add(out, " received");
	}
	if (d->datagram && !isnan(lost))
		nd_str_addf(out, ", %.3g %% lost", 100 * lost);
}

static void log_line(const struct nd_served *c, const char *text)
{
	char peer[128];

	const char *group = nd_group_name(c);

	nd_log(ND_LOG_INFO, "test %llu from %s%s%s%s: %s", (unsigned long long)c->number,
	       nd_addr_text(&c->test.peer, false, peer, sizeof(peer)), group ? ", group '" : "",
	       group ? group : "", group ? "'" : "", text);
}

static void add_total(struct nd_str *out, const struct nd_group_total *t)
{
	nd_str_addf(out, "%llu clients %s, %llu flows", (unsigned long long)t->members,
		    t->direction, (unsigned long long)t->flows);
	if (!isnan(t->transactions_per_s)) {
		nd_str_addf(out, ", %.0f round trips/s", t->transactions_per_s);
	} else if (!isnan(t->goodput_bps)) {
		nd_str_add(out, ", ");
		add_rate(out, t->goodput_bps);
		nd_str_add(out, " received");
	}
	if (!isnan(t->lost_ratio))
		nd_str_addf(out, ", %.3g %% lost", 100 * t->lost_ratio);
	if (!isnan(t->overlap_ratio))
		nd_str_addf(out, ", windows overlap by %.1f %%", 100 * t->overlap_ratio);
	if (!isnan(t->start_skew_ms))
		nd_str_addf(out, ", began within %.3g ms", t->start_skew_ms);
}

void nd_served_group_line(const struct nd_group *g, struct nd_str *out)
{
	const struct nd_group_total *t = g->totals.v;

	nd_str_addf(out, "group '%s': ", g->name);
	for (uint64_t i = 0; i < g->totals.n; i++) {
		nd_str_add(out, i ? "; " : "");
		add_total(out, &t[i]);
	}
	if (g->partial)
		nd_str_addf(out, " (partial: %s)", g->partial_reason ? g->partial_reason : "?");
}

void nd_served_line(const struct nd_result *r, struct nd_str *out)
{
	const struct nd_direction *d = r->directions.v;

	for (uint64_t i = 0; i < r->directions.n; i++) {
		nd_str_add(out, i ? "; " : "");
		add_direction(out, r, &d[i]);
	}
	if (r->partial)
		nd_str_addf(out, " (partial: %s)",
			    r->partial_reason ? r->partial_reason : "ended early");
}

static void log_result(const struct nd_served *c, const struct nd_result *r)
{
	nd_auto_str line = { 0 };

	nd_served_line(r, &line);
	log_line(c, nd_str_text(&line));
}

/* ---- what the test asks ---- */

static unsigned count_running(const struct nd_server *s)
{
	unsigned n = 0;

	for (const struct nd_served *c = s->tests; c; c = c->next)
		n += c->is_running;
	return n;
}

/* --once answers one session, which may have several tests: a search, times without and with a load. */
static bool is_next(const struct nd_served *c)
{
	struct nd_addr a = c->server->once_peer, b = c->test.peer;

	nd_addr_set_port(&a, 0);
	nd_addr_set_port(&b, 0);
	return a.len > 0 && nd_addr_equal(&a, &b);
}

static int judge(struct nd_served *c, struct nd_err *err)
{
	const struct nd_server *s = c->server;
	const struct nd_serve *policy = &s->plan->serve;
	unsigned running = count_running(s);
	int r;

	if (s->is_stopping)
		return nd_fail(err, -ESHUTDOWN, "the server stops");
	if (policy->once && s->once_taken && !is_next(c) && !nd_group_waits_for(s, &c->plan))
		return nd_fail(err, -EBUSY, "this server answers one test only and has begun it");
	if (policy->max_tests && running >= policy->max_tests)
		return nd_fail(err, -EBUSY, "server is full: %u of %llu tests are running", running,
			       (unsigned long long)policy->max_tests);
	r = nd_plan_check(&c->plan, err);
	if (r == 0 && c->datagram_bytes)
		r = nd_plan_fits_path(&c->plan, ND_SERVER, c->datagram_bytes, err);
	if (r == 0)
		r = nd_plan_limits(&c->plan, policy, err);
	return r < 0 || !c->plan.group ? r : nd_group_join(c, err);
}

static int on_propose(void *user, struct nd_err *err)
{
	struct nd_served *c = user;
	int r;

	c->number = ++c->server->numbers;
	r = judge(c, err);
	if (r < 0)
		return r;
	if (c->test.threads_max)
		c->plan.threads = ND_MIN(c->plan.threads, c->test.threads_max); /* 0: by the CPUs */
	c->plan.pin = c->server->plan->pin;
	if (nd_plan_connects(&c->plan)) {
		c->plan.workload[0].patience_ns = ND_GREETING_NS;
		/* a worker is woken once, by the request */
		c->plan.sock.defer_accept = strcmp(c->plan.workload[0].load, "crr") == 0;
	}
	c->is_running = true;
	c->is_next = is_next(c);
	if (c->is_next) {
		nd_timer_set(c->server->patience, UINT64_MAX);
		c->server->once_peer.len = 0;
	}
	return 0;
}

/* Connections that come and go have a port of their own: the lobby would have to look at each. It is one of the next
 * behind the server's, so that a firewall can let them pass, and any other where those are taken. */
static int on_socket(void *user, struct nd_socket_facts *ret, struct nd_err *err)
{
	struct nd_served *c = user;
	uint64_t own = c->server->plan->port, at = own;
	char local[128];
	const char *host = nd_addr_text(&c->test.local, false, local, sizeof(local));
	int r;

	c->plan.bind =
		(struct nd_strv){ .v = &host, .n = 1 }; /* no address that control cannot reach */
	do {
		nd_close_p(&c->listener);
		c->plan.data_port = ++at <= UINT16_MAX ? at : 0;
		r = nd_datasock_serve(&c->plan, &c->test.peer, &c->listener, err);
		if (r == 0)
			r = nd_datasock_facts(c->listener, &c->test.peer, ret, err);
	} while (r == 0 && ret->port != at && at < UINT16_MAX && at < own + ND_CONNECT_PORTS);
	c->plan.bind = (struct nd_strv){ 0 };
	return r;
}

static void on_prepare(void *user, struct nd_run_cfg *cfg)
{
	struct nd_served *c = user;

	if (c->listener >= 0)
		nd_accepts_pin(c, cfg);
	cfg->allow = c->server->allow;
	cfg->allow_n = c->server->allow_n;
}

static void on_prepared(void *user)
{
	struct nd_served *c = user;

	c->server->once_taken = true;
	if (c->listener >= 0)
		nd_flows_listener(c);
}

static void on_start(void *user, uint64_t at_ns)
{
	struct nd_served *c = user;

	(void)at_ns;
	nd_flows_release(c);
	for (struct nd_served *o = c->server->tests; o; o = o->next) {
		if (o == c || !o->is_started || nd_group_is_same(o, c))
			continue;
		o->test.overlapped++;
		c->test.overlapped++;
	}
	c->is_started = true;
}

static void hand_over(struct nd_served *c)
{
	struct nd_server *s = c->server;
	struct nd_result r;
	struct nd_err err = { 0 };

	nd_result_init(&r);
	if (nd_outcome_result(&c->test, &r, &err) < 0) {
		log_line(c, err.text);
	} else {
		log_result(c, &r);
		if (s->finished)
			s->finished(s->finished_user, &r);
	}
	nd_result_done(&r);
}

static void on_over(void *user)
{
	struct nd_served *c = user;
	const struct nd_test *t = &c->test;

	nd_flows_release(c);
	c->is_running = c->is_started = false;
	if (c->plan.follows && t->ending == ND_END_DONE)
		c->server->once_peer = t->peer; /* its next test may come before this one is gone */
	if (t->ending == ND_END_DONE || t->ending == ND_END_PARTIAL) {
		hand_over(c);
	} else if (c->number > 0) {
		log_line(c, t->err.text);
	} else {
		char peer[128];

		nd_log(ND_LOG_DEBUG, "control connection from %s: %s",
		       nd_addr_text(&t->peer, true, peer, sizeof(peer)), t->err.text);
	}
	nd_group_over(c);
}

static void on_gather(void *user, uint64_t rtt_ns)
{
	nd_group_hold(user, rtt_ns);
}

static void on_member(void *user)
{
	nd_group_measured(user);
}

void nd_server_answered(struct nd_server *s)
{
	nd_server_stop(s, "the server has answered its test");
}

static void on_gone(void *user)
{
	struct nd_served *c = user;
	struct nd_server *s = c->server;
	bool was_it =
		s->plan->serve.once && (c->test.had_run || c->is_next) && nd_group_is_alone(c);
	bool goes_on = was_it && c->plan.follows && c->test.ending == ND_END_DONE;

	if (goes_on && s->once_peer.len > 0)
		nd_timer_set(s->patience, nd_now_ns() + NEXT_NS);
	nd_served_free(c);
	if (was_it && !goes_on)
		nd_server_answered(s);
	nd_server_may_leave(s);
}

static const struct nd_test_ops served_ops = {
	.propose = on_propose,
	.socket = on_socket,
	.prepare = on_prepare,
	.prepared = on_prepared,
	.gather = on_gather,
	.member = on_member,
	.start = on_start,
	.over = on_over,
	.gone = on_gone,
};

/* ---- life ---- */

/* Somebody opens control connections and asks for nothing: the oldest of them leaves. */
static void make_place(struct nd_server *s)
{
	struct nd_served *oldest = NULL;
	struct nd_err err;
	unsigned idle = 0;

	for (struct nd_served *c = s->tests; c; c = c->next) {
		if (c->number > 0 || c->test.is_over)
			continue;
		idle++;
		oldest = c; /* newest come first */
	}
	if (idle < IDLE_DIALOGS)
		return;
	(void)nd_fail(&err, -EBUSY, "too many control connections ask for nothing");
	nd_test_fail(&oldest->test, ND_END_PEER, &err);
}

static int begin(struct nd_served *c, int fd, const struct nd_addr *peer, const uint8_t *rest,
		 size_t rest_n, struct nd_err *err)
{
	nd_auto_fd int own = fd;
	struct nd_dialog_cfg cfg = { .end = ND_SERVER };
	int r;

	if (getrandom(c->key, sizeof(c->key), 0) != (ssize_t)sizeof(c->key))
		return nd_sysfail(err, "getrandom");
	memcpy(cfg.key, c->key, sizeof(cfg.key));
	/* What crosses the path back; unknown is allowed. */
	if (nd_path_datagram(peer, NULL, NULL, &cfg.datagram_bytes, NULL) < 0)
		cfg.datagram_bytes = 0;
	c->datagram_bytes = cfg.datagram_bytes;
	cfg.longest_ns = c->server->plan->serve.max_time_ns;
	cfg.queue = nd_listen_queue();
	c->test.end = ND_SERVER;
	c->test.plan = &c->plan;
	c->test.here = &c->server->here;
	c->test.trace = c->server->plan->trace_control;
	c->test.threads_max = c->server->plan->threads;
	c->test.peer = *peer;
	r = nd_test_open(&c->test, &cfg, err);
	return r < 0 ? r : nd_test_adopt(&c->test, nd_take_fd(&own), rest, rest_n, err);
}

void nd_served_new(struct nd_server *s, int fd, const struct nd_addr *peer, const uint8_t *rest,
		   size_t rest_n)
{
	nd_auto_fd int own = fd;
	struct nd_served *c;
	struct nd_err err = { 0 };

	make_place(s);
	c = calloc(1, sizeof(*c));
	if (!c)
		return;
	nd_plan_init(&c->plan);
	c->server = s;
	c->listener = -1;
	if (nd_test_init(&c->test, s->loop, s->dialect, &served_ops, c, &err) < 0) {
		nd_plan_done(&c->plan);
		free(c);
		return;
	}
	c->next = s->tests;
	if (c->next)
		c->next->prev = c;
	s->tests = c;
	s->test_n++;
	if (begin(c, nd_take_fd(&own), peer, rest, rest_n, &err) < 0)
		nd_test_fail(&c->test, ND_END_FAILED, &err);
}

void nd_served_free(struct nd_served *c)
{
	if (c->prev)
		c->prev->next = c->next;
	else
		c->server->tests = c->next;
	if (c->next)
		c->next->prev = c->prev;
	c->server->test_n--;
	nd_flows_release(c);
	nd_group_leave(c);
	nd_test_done(&c->test);
	nd_plan_done(&c->plan);
	nd_close_p(&c->listener);
	free(c->given);
	free(c);
}

void nd_server_may_leave(struct nd_server *s)
{
	if (s->is_stopping && !s->tests && !nd_also_is_open(s))
		nd_loop_quit(s->loop);
}

void nd_server_stop(struct nd_server *s, const char *reason)
{
	struct nd_served *c, *next;

	if (s->is_stopping)
		return;
	s->is_stopping = true;
	nd_lobby_free(s->lobby);
	s->lobby = NULL;
	nd_timer_set(s->guard, nd_now_ns() + STOP_NS);
	for (c = s->tests; c; c = next) {
		next = c->next;
		nd_test_stop(&c->test, reason); /* it is freed from the loop, not in here */
	}
	nd_also_stop(s, reason);
	nd_server_may_leave(s);
}
