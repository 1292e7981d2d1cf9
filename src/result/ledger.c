/* SPDX-License-Identifier: MIT */
/*
 * Where the datagrams of a direction went, stage by stage. What the stages lost and what was read add up to what
 * was offered: a counter that other programs share is believed only up to what is missing, and what no counter
 * has seen stands between the ends.
 */
#include <errno.h>
#include <string.h>

#include "result/int.h"

#define L struct nd_ledger_row

/* clang-format off */
static const struct nd_field ledger_rows[] = {
	ND_U64(L, counted, ND_M_COUNT, ND_SHOW_COLUMN, "counted",
	       "What the stage counted of datagrams that it passed on; null where it counts none. Counters of the "
	       "kernel are all programs'."),
	ND_U64(L, lost_here, ND_M_COUNT, ND_SHOW_COLUMN, "lost here",
	       "Datagrams of this direction that ended here; with what was read they add up to what was offered."),
	ND_U64(L, dropped, ND_M_COUNT, 0, NULL,
	       "Drops as the counter has them, all programs' and in its own pieces; null where there is none."),
	ND_STR(L, at, 0, NULL, "The end at which it is, or between."),
	ND_STR(L, stage, ND_SHOW_COLUMN, "stage", "The stage."),
	ND_STR(L, source, 0, NULL, "Whose count it is."),
	ND_STR(L, note, ND_SHOW_COLUMN, "note", "What must be known of it."),
	ND_ROWS_END
};

/* clang-format on */

const struct nd_table nd_ledger_table = { .name = "stage", .size = sizeof(L), .rows = ledger_rows };

enum stage {
	AT_OFFER,
	AT_SEND,
	AT_QDISC,
	AT_NIC_OUT,
	AT_BETWEEN,
	AT_NIC_IN,
	AT_BACKLOG,
	AT_FRAGMENTS,
	AT_NO_PORT,
	AT_CHECKSUM,
	AT_BUFFER,
	AT_SOCKET,
	AT_READ,
	STAGES
};

/* clang-format off */
static const struct { const char *stage, *at, *source; } stages[STAGES] = {
	[AT_OFFER]    = { "offered",                  "sender",   "the sending program" },
	[AT_SEND]     = { "taken by the socket",      "sender",   "answers to its calls" },
	[AT_QDISC]    = { "queueing discipline",      "sender",   "dropped by its qdiscs" },
	[AT_NIC_OUT]  = { "interface out",            "sender",   "tx_packets, tx_dropped" },
	[AT_BETWEEN]  = { "between, or not seen",     "between",  "what no other stage has" },
	[AT_NIC_IN]   = { "interface in",             "receiver", "rx_packets, rx_dropped" },
	[AT_BACKLOG]  = { "backlog of a CPU",         "receiver", "softnet_stat: dropped" },
	[AT_FRAGMENTS] = { "fragments missing",       "receiver", "ReasmFails, FRAG inuse" },
	[AT_NO_PORT]  = { "no such port",             "receiver", "Udp: NoPorts" },
	[AT_CHECKSUM] = { "checksum",                 "receiver", "Udp: InCsumErrors" },
	[AT_BUFFER]   = { "receive buffer full",      "receiver", "Udp: RcvbufErrors" },
	[AT_SOCKET]   = { "given by the socket",      "receiver", "Udp: InDatagrams" },
	[AT_READ]     = { "read by the program",      "receiver", "the receiving program" },
};

/* clang-format on */

static void loss_counts(const struct nd_join *j)
{
	struct nd_loss *l = &j->d->loss;

	if (j->tx) {
		l->refused = j->tx->run.tx_refused;
		l->sent = j->tx->run.tx_messages;
		l->offered = nd_plus(l->sent, l->refused);
	}
	if (j->rx) {
		l->received = nd_distinct(j->rx->run.rx_unique, j->rx->run.rx_messages);
		l->duplicate = j->rx->run.rx_duplicate;
		l->reordered = j->rx->run.rx_reordered;
		l->tail = nd_minus(l->sent, j->rx->run.rx_highest);
	}
	l->lost = nd_minus(l->sent, l->received);
	if (nd_known(l->lost) && l->sent > 0)
		l->lost_ratio = (double)l->lost / (double)l->sent;
}

static void loss_places(const struct nd_join *j)
{
	struct nd_loss *l = &j->d->loss;

	if (j->sender) {
		l->qdisc_drops = j->sender->machine.qdisc_drops;
		l->sender_nic_drops = j->sender->machine.nic_tx_dropped;
	}
	if (j->receiver) {
		l->receiver_nic_drops = j->receiver->machine.nic_rx_dropped;
		l->receiver_backlog_drops = j->receiver->machine.softnet_dropped;
		l->receive_buffer_drops = j->receiver->machine.udp_rcvbuf_errors;
		l->no_port = j->receiver->machine.udp_no_ports;
		l->checksum = j->receiver->machine.udp_in_csum_errors;
		l->unassembled = j->receiver->machine.ip_unassembled;
	}
}

/* How many datagrams one piece of the kernel's holds at this end: 1 without segmentation and coalescing. */
static double per_piece(uint64_t messages, uint64_t pieces)
{
	if (!nd_known(messages) || !nd_known(pieces) || pieces == 0 || messages <= pieces)
		return 1;
	return (double)messages / (double)pieces;
}

struct account {
	L *row;
	uint64_t left;             /* lost and in no stage yet; unknown: an end told nothing */
	double tx_piece, rx_piece; /* datagrams */
	bool blind;                /* a counter could not be read */
	char unread[160];          /* which ones */
};

static void cannot_read(struct account *a, enum stage at)
{
	size_t n = strlen(a->unread), more = strlen(stages[at].stage);

	a->blind = true;
	if (n + more + 3 > sizeof(a->unread))
		return;
	if (n > 0) {
		memcpy(a->unread + n, ", ", 2);
		n += 2;
	}
	memcpy(a->unread + n, stages[at].stage, more + 1);
}

/* Drops that a counter has belong to this direction as far as it misses datagrams. */
static void charge(struct account *a, enum stage at, uint64_t drops, double piece)
{
	L *row = &a->row[at];
	uint64_t n = drops;

	row->dropped = drops;
	if (!nd_known(drops)) {
		cannot_read(a, at);
		row->note = "its counter could not be read";
		return;
	}
	if (!nd_known(a->left))
		return;
	if (piece > 1)
		n = (double)drops * piece < (double)a->left ? (uint64_t)((double)drops * piece)
							    : a->left;
	row->lost_here = ND_MIN(n, a->left);
	a->left -= row->lost_here;
	if (n > row->lost_here)
		row->note = "counted more than are missing: other traffic, or the same drop twice";
	else if (piece > 1 && drops > 0)
		row->note = "counts pieces of several datagrams: about so many";
}

/*
 * A packet dropped at a CPU's input queue is also charged to its interface, and some interfaces count it at the
 * other end of their cable, too. The queues are the whole machine's, the interface is the test's.
 */
static void charge_input(struct account *a, const struct nd_loss *l)
{
	uint64_t nic = l->receiver_nic_drops, backlog = l->receiver_backlog_drops;

	if (nd_known(nic) && nd_known(backlog))
		backlog = ND_MIN(backlog, nic);
	charge(a, AT_BACKLOG, backlog, a->tx_piece);
	charge(a, AT_NIC_IN, nd_known(nic) && nd_known(backlog) ? nic - backlog : nic, a->tx_piece);
}

/* What the test's own sockets say (@own) is better than the count of all programs'; wrong check sums are in it. */
static void charge_socket(struct account *a, const struct nd_loss *l, uint64_t own)
{
	if (!nd_known(own)) {
		charge(a, AT_BUFFER, l->receive_buffer_drops, a->rx_piece);
		return;
	}
	charge(a, AT_BUFFER, own - (nd_known(l->checksum) ? ND_MIN(own, l->checksum) : 0),
	       a->rx_piece);
	a->row[AT_BUFFER].source = "drops of its sockets";
}

/*
 * A fragment that another stage dropped is that stage's: here is what none of them has. Where nothing was cut into
 * fragments nobody need count them.
 */
static void charge_fragments(struct account *a, const struct nd_join *j)
{
	uint64_t cut = j->sender ? j->sender->machine.ip_frag_creates : ND_UNKNOWN;

	if (cut == 0 && !nd_known(j->d->loss.unassembled))
		return;
	charge(a, AT_FRAGMENTS, j->d->loss.unassembled, 1);
}

/* The surest first: what is counted at a UDP socket, then what stands in front of it. */
static void charge_all(struct account *a, const struct nd_join *j)
{
	const struct nd_loss *l = &j->d->loss;

	charge_socket(a, l, j->rx ? j->rx->run.rx_dropped : ND_UNKNOWN);
	charge(a, AT_NO_PORT, l->no_port, a->rx_piece);
	charge(a, AT_CHECKSUM, l->checksum, a->rx_piece);
	charge(a, AT_QDISC, l->qdisc_drops, a->tx_piece);
	charge_input(a, l);
	charge(a, AT_NIC_OUT, l->sender_nic_drops, a->tx_piece);
	charge_fragments(a, j);
}

static void note_pieces(L *row, double piece, uint64_t datagrams)
{
	if (piece > 1 && nd_known(row->counted) && nd_known(datagrams) && row->counted < datagrams)
		row->note = "counts pieces of several datagrams";
}

static void count_stages(struct account *a, const struct nd_join *j)
{
	const struct nd_loss *l = &j->d->loss;

	a->row[AT_OFFER].counted = l->offered;
	a->row[AT_SEND].counted = l->sent;
	a->row[AT_READ].counted = l->received;
	if (j->sender)
		a->row[AT_NIC_OUT].counted = j->sender->machine.nic_tx_packets;
	if (j->receiver) {
		a->row[AT_NIC_IN].counted = j->receiver->machine.nic_rx_packets;
		a->row[AT_SOCKET].counted = j->receiver->machine.udp_in_datagrams;
	}
	note_pieces(&a->row[AT_NIC_OUT], a->tx_piece, l->sent);
	note_pieces(&a->row[AT_NIC_IN], a->tx_piece, l->received);
	note_pieces(&a->row[AT_SOCKET], a->rx_piece, l->received);
	if (nd_known(l->lost))
		a->row[AT_OFFER].lost_here = a->row[AT_SOCKET].lost_here =
			a->row[AT_READ].lost_here = 0;
	a->row[AT_SEND].lost_here = l->refused;
	a->row[AT_SEND].dropped = l->refused;
	if (nd_known(l->refused) && l->refused > 0)
		a->row[AT_SEND].note = "refused: no buffer, no permission, no such port there";
	if (j->rx && !nd_known(j->rx->run.rx_highest))
		a->row[AT_READ].note =
			"too small for numbers: what came twice would hide what is missing";
}

/*
 * Did as many come in at the receiver as were sent? Pieces of several datagrams cannot be compared, and with much
 * other traffic it would say nothing.
 */
static bool all_came_in(const struct account *a, const struct nd_loss *l)
{
	uint64_t in = a->row[AT_NIC_IN].counted;

	return nd_known(in) && nd_known(l->sent) && a->left > 0 && a->tx_piece <= 1 &&
	       a->rx_piece <= 1 && in >= l->sent && in - l->sent < a->left / 4;
}

static int note_between(struct account *a, const struct nd_join *j)
{
	L *row = &a->row[AT_BETWEEN];

	row->lost_here = a->left;
	if (!nd_known(a->left)) {
		row->note = "one end has told nothing";
		return 0;
	}
	if (!a->blind && all_came_in(a, &j->d->loss))
		row->note = "the receiver's interface saw as many as were sent: most likely a "
			    "firewall there";
	if (!a->blind)
		return 0;
	row->note = nd_arena_printf(&j->r->arena, "maybe at: %s", a->unread);
	return row->note ? 0 : -ENOMEM;
}

int nd_join_ledger(const struct nd_join *j)
{
	struct nd_direction *d = j->d;
	struct account a = { .tx_piece = 1, .rx_piece = 1 };
	int r = nd_list_new(&j->r->arena, &d->ledger, STAGES, sizeof(L));

	if (r < 0)
		return r;
	loss_counts(j);
	loss_places(j);
	a.row = d->ledger.v;
	a.left = d->loss.lost;
	if (j->tx)
		a.tx_piece = per_piece(j->tx->run.tx_messages, j->tx->run.tx_stacked);
	if (j->rx)
		a.rx_piece = per_piece(j->rx->run.rx_messages, j->rx->run.rx_stacked);
	for (unsigned i = 0; i < STAGES; i++) {
		nd_table_unknown(&nd_ledger_table, &a.row[i]);
		a.row[i].stage = stages[i].stage;
		a.row[i].at = stages[i].at;
		a.row[i].source = stages[i].source;
	}
	count_stages(&a, j);
	charge_all(&a, j);
	d->loss.unplaced = a.blind ? ND_UNKNOWN : a.left;
	return note_between(&a, j);
}
