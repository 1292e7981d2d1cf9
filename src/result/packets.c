/* SPDX-License-Identifier: MIT */
/*
 * Packets per second as three things that must not be mixed: messages of the programs, passes through the stacks,
 * packets on the interfaces; what one cost; and the search for the highest rate that loses no more than so many.
 */
#include <math.h>

#include "result/int.h"

#define P struct nd_packets
#define S struct nd_search
#define T struct nd_trial

#define COLUMN ND_SHOW_COLUMN

/* clang-format off */
static const struct nd_field packet_rows[] = {
	ND_F64(P, sent_per_s, ND_M_RATE, COLUMN, "sent",
	       "Datagrams that the sender's sockets took, per second of its measured window; counted by the program."),
	ND_F64(P, read_per_s, ND_M_RATE, COLUMN, "read",
	       "Datagrams that the receiving program read, per second of its measured window; the result."),
	ND_F64(P, tx_stack_per_s, ND_M_RATE, COLUMN, "sender's stack",
	       "Passes of these datagrams through the sender's stack, counted by the program: with segmentation "
	       "offload one for many."),
	ND_F64(P, rx_stack_per_s, ND_M_RATE, COLUMN, "receiver's stack",
	       "Pieces in which they came from the receiver's sockets, counted by the program: with coalescing one for "
	       "many."),
	ND_F64(P, udp_out_per_s, ND_M_RATE, COLUMN, "Udp: OutDatagrams",
	       "The same by the kernel of the sender, all programs'."),
	ND_F64(P, udp_in_per_s, ND_M_RATE, COLUMN, "Udp: InDatagrams",
	       "The same by the kernel of the receiver, all programs'."),
	ND_F64(P, tx_wire_per_s, ND_M_RATE, COLUMN, "sender's interface",
	       "Packets that the sender's interface sent, all programs'; what sar shows as txpck/s."),
	ND_F64(P, rx_wire_per_s, ND_M_RATE, COLUMN, "receiver's interface",
	       "Packets that the receiver's interface received, all programs'; what sar shows as rxpck/s."),
	ND_STR(P, tx_nic, 0, NULL, "The sender's interface."),
	ND_STR(P, rx_nic, 0, NULL, "The receiver's interface."),
	ND_F64(P, sender_cpu_s_per_mpkt, ND_M_S, COLUMN, "sender's CPU",
	       "Busy core-seconds of the sender's whole machine per 10^6 datagrams read, all directions together; null "
	       "for the server's end when both ends are one machine."),
	ND_F64(P, receiver_cpu_s_per_mpkt, ND_M_S, COLUMN, "receiver's CPU",
	       "The same of the receiver's machine."),
	ND_CALLS_ROWS(P, COLUMN),
	ND_ROWS_END
};

static const struct nd_field trial_rows[] = {
	ND_U64(T, number, ND_M_NONE, COLUMN, "trial", "Its number; the first is 1."),
	ND_F64(T, window_s, ND_M_S, COLUMN, "window", "Measured window of the receiver."),
	ND_F64(T, asked_per_s, ND_M_RATE, COLUMN, "asked", "Rate asked for; null: as fast as it goes."),
	ND_F64(T, offered_per_s, ND_M_RATE, COLUMN, "offered",
	       "Datagrams sent per second of the measured window."),
	ND_F64(T, delivered_per_s, ND_M_RATE, COLUMN, "delivered",
	       "Datagrams read per second of the measured window."),
	ND_U64(T, sent, ND_M_COUNT, 0, NULL, "Datagrams offered in the whole trial."),
	ND_U64(T, lost, ND_M_COUNT, COLUMN, "lost",
	       "Datagrams lost or refused in the whole trial, the last ones included."),
	ND_F64(T, lost_ratio, ND_M_RATIO, COLUMN, "of them", "Of those offered."),
	ND_BOOL(T, passed, COLUMN, "passed",
		"It lost no more than the bound, and no more of what was offered in the window was missing at its end, "
		"5 ms and two datagrams of each flow aside."),
	ND_BOOL(T, reached, 0, NULL, "The sender reached the rate that was asked for."),
	ND_STR(T, reason, COLUMN, "reason",
	       "What it failed by: loss, or queue: what was not lost did not come in time, either, a queue took it; "
	       "sender: it passed, but at less than what was asked for; null: none of them."),
	ND_STR(T, purpose, COLUMN, "purpose",
	       "search, again (what failed, or stalled, once), or re-test. Re-tests are four times as long, as is what is "
	       "tried again because of a queue, and all trials when a re-test has shown that short ones pass too much."),
	ND_ROWS_END
};

static const struct nd_field search_rows[] = {
	ND_F64(S, bound_ratio, ND_M_RATIO, COLUMN, "bound", "Loss that a trial may have."),
	ND_F64(S, trial_s, ND_M_S, COLUMN, "trial", "Measured window of a trial, of most of them."),
	ND_F64(S, found_per_s, ND_M_RATE, COLUMN, "Found",
	       "Highest rate, offered, that passed and passed its re-tests; null: none did."),
	ND_F64(S, low_per_s, ND_M_RATE, COLUMN, "at least",
	       "Lower end of the interval that holds the highest rate that could be kept up for ever: a queue with room or "
	       "a bucket with credit lets trials pass for a while, and trials of two lengths tell how much that can be; null: "
	       "they do not."),
	ND_F64(S, passed_per_s, ND_M_RATE, COLUMN, "passed", "The rate found."),
	ND_F64(S, failed_per_s, ND_M_RATE, COLUMN, "failed",
	       "Upper end of the interval: the lowest rate above it that failed; null: none did, the sender went no faster or was not "
	       "asked to."),
	ND_U64(S, retests, ND_M_COUNT, COLUMN, "re-tests", "Re-tests of the rate found."),
	ND_U64(S, retests_passed, ND_M_COUNT, COLUMN, "passed", "Those of them that passed."),
	ND_STR(S, limit, COLUMN, "limit", "loss; queue: one grows; sender: it goes no faster; asked: --rate or -b was the end."),
	ND_STR(S, confidence, COLUMN, "confidence",
	       "high: all trials agree; medium: some rate both passed and failed; low: re-tests failed, or the search "
	       "ran out of trials; sender-limited: re-tests passed at what the sender came to, more may pass."),
	ND_LIST(S, trials, 0, NULL, "All trials, in their order.", &nd_trial_table),
	ND_ROWS_END
};

/* clang-format on */

const struct nd_table nd_packets_table = { .name = "packets",
					   .size = sizeof(P),
					   .rows = packet_rows };
const struct nd_table nd_trial_table = { .name = "trial", .size = sizeof(T), .rows = trial_rows };
const struct nd_table nd_search_table = { .name = "search",
					  .size = sizeof(S),
					  .rows = search_rows };

static double rate_of(uint64_t n, double seconds)
{
	return nd_known(n) && seconds > 0 ? (double)n / seconds : (double)NAN;
}

static void join_calls(P *p, const struct nd_part *tx)
{
	p->send_calls = tx->send_calls;
	p->gap_p50_us = tx->gap_p50_us;
	p->gap_p99_us = tx->gap_p99_us;
	p->gap_max_us = tx->gap_max_us;
	p->burst_p50 = tx->burst_p50;
	p->burst_p99 = tx->burst_p99;
	p->burst_max = tx->burst_max;
}

void nd_join_packets(const struct nd_join *j)
{
	P *p = &j->d->packets;

	if (j->tx) {
		p->sent_per_s = rate_of(j->tx->window.tx_messages, j->tx->window.seconds);
		p->tx_stack_per_s = rate_of(j->tx->window.tx_stacked, j->tx->window.seconds);
		join_calls(p, j->tx);
	}
	if (j->rx) {
		p->read_per_s = rate_of(j->rx->window.rx_messages, j->rx->window.seconds);
		p->rx_stack_per_s = rate_of(j->rx->window.rx_stacked, j->rx->window.seconds);
	}
	if (j->sender) {
		const struct nd_machine *m = &j->sender->machine;

		p->udp_out_per_s = rate_of(m->window_udp_out_datagrams, m->seconds);
		p->tx_wire_per_s = rate_of(m->window_nic_tx_packets, m->seconds);
		p->tx_nic = m->window_nic;
	}
	if (j->receiver) {
		const struct nd_machine *m = &j->receiver->machine;

		p->udp_in_per_s = rate_of(m->window_udp_in_datagrams, m->seconds);
		p->rx_wire_per_s = rate_of(m->window_nic_rx_packets, m->seconds);
		p->rx_nic = m->window_nic;
	}
}

static double cost_of(const struct nd_side *side, double packets_per_s)
{
	if (!side || !(packets_per_s > 0))
		return (double)NAN;
	return side->machine.busy_cores * 1e6 / packets_per_s;
}

/* CPU belongs to an end, not to a direction, and one machine's is shown once. */
void nd_join_packet_costs(struct nd_result *r)
{
	struct nd_direction *d = r->directions.v;
	double all = 0, client, server;

	for (uint64_t i = 0; i < r->directions.n; i++)
		all += d[i].packets.read_per_s; /* unknown, or no datagrams: unknown */
	client = cost_of(r->client, all);
	server = cost_of(r->server, all);
	if (r->same_host && !isnan(client))
		server = (double)NAN;
	for (uint64_t i = 0; i < r->directions.n; i++) {
		d[i].packets.sender_cpu_s_per_mpkt = d[i].client_active ? client : server;
		d[i].packets.receiver_cpu_s_per_mpkt = d[i].client_active ? server : client;
	}
}
