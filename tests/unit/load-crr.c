/* SPDX-License-Identifier: MIT */
/* A connection for each transaction, and several requests under way, by tables of events and steps. */
#include <errno.h>
#include <stdlib.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "load-script.h"

#define S  ND_NS_PER_S
#define MS ND_NS_PER_MS

/* clang-format off */
#define OPENED(t)          { .what = ND_HAP_OPENED, .now_ns = (t), .begun_ns = (t) - 7 }
#define SENT(b, t)         { .what = ND_HAP_SENT, .count = 1, .bytes = (b), .now_ns = (t), .begun_ns = (t) - 5 }
#define GOT(b, t)          { .what = ND_HAP_RECEIVED, .count = 1, .bytes = (b), .now_ns = (t) }
#define OPEN(at)           { .op = ND_OP_OPEN, .at_ns = (at) }
#define ACCEPT             { .op = ND_OP_ACCEPT }
#define CLOSE              { .op = ND_OP_CLOSE }
#define SEND(b)            { .op = ND_OP_SEND, .count = 1, .bytes = (b) }
#define ANSWER(b)          { .op = ND_OP_SEND, .count = 1, .bytes = (b), .last = true }
#define RECV(b)            { .op = ND_OP_RECV, .count = 1, .bytes = (b) }
#define END_OF_IT          { .op = ND_OP_RECV }
#define NOTE(s)            { .service_ns = (s), .transactions = 1 }
#define MADE               { .part = ND_CONN_OPENED, .part_ns = 7 }
#define ANSWERED(n)        { .part = ND_CONN_ANSWERED, .part_ns = (n) }
#define ENDED(s, n)        { .service_ns = (s), .transactions = 1, .part = ND_CONN_ENDED, .part_ns = (n) }

static const struct row asks[] = {
	{ START(S),               OPEN(0), NONE },
	{ OPENED(S + 7),          SEND(3), MADE },
	{ SENT(3, S + 10),        RECV(5), NONE },
	{ GOT(5, S + 20),         END_OF_IT, ANSWERED(13) },
	{ GOT(1, S + 25),         END_OF_IT, NONE }, /* more than was agreed upon */
	{ CLOSED(0, S + 30),      CLOSE, ENDED(30, 10) },
	{ CLOSED(0, S + 31),      OPEN(S + 31), NONE },
	{ OPENED(S + 40),         SEND(3), MADE },
	{ STOP(S + 41),           FINISH, NONE },
	END
};
static const struct row asks_twice[] = {
	{ START(S),               OPEN(0), NONE },
	{ OPENED(S + 7),          SEND(1), MADE },
	{ SENT(1, S + 10),        RECV(1), NONE },
	{ GOT(1, S + 20),         END_OF_IT, ANSWERED(13) },
	{ CLOSED(0, S + 30),      CLOSE, ENDED(30, 10) },
	{ CLOSED(0, S + 31),      OPEN(S + 31), NONE },
	{ OPENED(S + 47),         SEND(1), MADE },
	{ SENT(1, S + 50),        RECV(1), NONE },
	{ GOT(1, S + 60),         END_OF_IT, ANSWERED(13) },
	{ CLOSED(0, S + 65),      CLOSE, ENDED(25, 5) },
	{ CLOSED(0, S + 66),      FINISH, NONE },
	END
};
static const struct row no_port[] = {
	{ START(S),                    OPEN(0), NONE },
	{ CLOSED(-EADDRNOTAVAIL, S),   OPEN(S + MS), NONE },
	{ CLOSED(-ECONNREFUSED, S),    FINISH, NONE },
	END
};
/* At instants of their own, late ones too; the clock of the rate does not wait for who is slow. */
static const struct row paced[] = {
	{ START(S),                  OPEN(S), NONE },
	{ OPENED(S + 7),             END_OF_IT, MADE },
	{ CLOSED(0, S + 30),         CLOSE, ENDED(30, 23) },
	{ CLOSED(0, S + 31),         OPEN(S + 10 * MS), NONE },
	{ CLOSED(-EADDRNOTAVAIL, S + 10 * MS), OPEN(S + 11 * MS), NONE },
	{ OPENED(S + 40 * MS + 7),   END_OF_IT, MADE },
	{ CLOSED(0, S + 40 * MS + 9), CLOSE, ENDED(9, 2) },
	{ CLOSED(0, S + 41 * MS),    OPEN(S + 20 * MS), NONE },
	{ OPENED(S + 42 * MS + 7),   END_OF_IT, MADE },
	{ CLOSED(0, S + 42 * MS + 9), CLOSE, ENDED(9, 2) },
	{ CLOSED(0, S + 42 * MS + 9), OPEN(S + 30 * MS), NONE },
	{ STOP(S + 43 * MS),         FINISH, NONE },
	END
};
/* Who does not take a connection is asked again; who breaks one off has ended the test all the same. */
static const struct row insists[] = {
	{ START(S),                    OPEN(0), NONE },
	{ CLOSED(-ECONNREFUSED, S),    OPEN(S + MS), NONE },
	{ CLOSED(-ETIMEDOUT, 2 * S),   OPEN(2 * S + MS), NONE },
	{ OPENED(3 * S),               SEND(3), MADE },
	{ CLOSED(-ECONNRESET, 3 * S),  FINISH, NONE },
	END
};
static const struct row cut_short[] = {
	{ START(S),               OPEN(0), NONE },
	{ OPENED(S + 7),          SEND(3), MADE },
	{ SENT(3, S + 10),        RECV(5), NONE },
	{ CLOSED(0, S + 20),      FINISH, NONE },
	END
};
static const struct row answers[] = {
	{ START(S),               ACCEPT, NONE },
	{ OPENED(S + 7),          RECV(3), NONE },
	{ GOT(3, S + 10),         ANSWER(5), NONE },
	{ SENT(5, S + 20),        CLOSE, NOTE(20) },
	{ CLOSED(0, S + 21),      ACCEPT, NONE },
	{ OPENED(S + 30),         RECV(3), NONE },
	{ STOP(S + 31),           KEEP, NONE },
	{ CLOSED(0, S + 32),      CLOSE, NONE }, /* it asked nothing */
	{ CLOSED(0, S + 33),      ACCEPT, NONE },
	{ OPENED(S + 40),         RECV(3), NONE },
	{ CLOSED(-ECONNRESET, S), ACCEPT, NONE },
	END
};
static const struct row answers_who_asks[] = {
	{ START(S),               ACCEPT, NONE },
	{ OPENED(S + 7),          RECV_TO(3, S + 1007), NONE },
	{ TIME(S + 1008),         CLOSE, NONE },
	{ CLOSED(0, S + 1009),    ACCEPT, NONE },
	{ OPENED(S + 1010),       RECV_TO(3, S + 2010), NONE },
	{ GOT(3, S + 1020),       ANSWER(5), NONE },
	{ SENT(5, S + 1030),      CLOSE, NOTE(27) },
	END
};
static const struct row answers_once[] = {
	{ START(S),               ACCEPT, NONE },
	{ OPENED(S + 7),          RECV(3), NONE },
	{ GOT(3, S + 10),         ANSWER(5), NONE },
	{ SENT(5, S + 20),        CLOSE, NOTE(20) },
	{ CLOSED(0, S + 21),      FINISH, NONE },
	END
};
static const struct row connects[] = {
	{ START(S),               OPEN(0), NONE },
	{ OPENED(S + 7),          END_OF_IT, MADE },
	{ CLOSED(0, S + 30),      CLOSE, ENDED(30, 23) },
	{ CLOSED(0, S + 31),      OPEN(S + 31), NONE },
	END
};
static const struct row takes[] = {
	{ START(S),               ACCEPT, NONE },
	{ OPENED(S + 7),          CLOSE, NOTE(7) },
	{ CLOSED(0, S + 9),       ACCEPT, NONE },
	END
};
/* Three under way: each answer is that of the oldest request. */
static const struct row ahead[] = {
	{ START(S),               SEND(1), NONE },
	{ SENT(1, S + 10),        SEND(1), NONE },
	{ SENT(1, S + 20),        SEND(1), NONE },
	{ SENT(1, S + 30),        RECV(1), NONE },
	{ GOT(1, S + 105),        SEND(1), NOTE(100) },
	{ SENT(1, S + 110),       RECV(1), NONE },
	{ GOT(1, S + 115),        SEND(1), NOTE(100) },
	{ STOP(S + 116),          RECV(1), NONE },
	{ GOT(1, S + 125),        RECV(1), NOTE(100) },
	{ GOT(1, S + 205),        FINISH, NOTE(100) },
	END
};
static const struct row ahead_by_count[] = {
	{ START(S),               SEND(1), NONE },
	{ SENT(1, S + 10),        SEND(1), NONE },
	{ SENT(1, S + 20),        RECV(1), NONE },
	{ GOT(1, S + 105),        SEND(1), NOTE(100) },
	{ SENT(1, S + 110),       RECV(1), NONE },
	{ GOT(1, S + 115),        RECV(1), NOTE(100) },
	{ GOT(1, S + 205),        FINISH, NOTE(100) },
	END
};
static const struct row ahead_lost[] = {
	{ START(S),               SEND(1), NONE },
	{ SENT(1, S + 10),        SEND(1), NONE },
	{ SENT(1, S + 20),        RECV_TO(1, 2 * S + 15), NONE },
	{ TIME(2 * S + 15),       SEND(1), NONE },
	{ SENT(1, 2 * S + 20),    SEND(1), NONE },
	{ STOP(2 * S + 21),       RECV_TO(1, 3 * S + 15), NONE },
	{ TIME(3 * S + 15),       FINISH, NONE },
	END
};

static const struct script scripts[] = {
	{ "asks",           "crr", { .request_bytes = 3, .response_bytes = 5 }, { .active = true }, asks },
	{ "asks twice",     "crr", { .total_ops = 2 }, { .active = true, .ops = 2 }, asks_twice },
	{ "no port",        "crr", { .flows = 1 }, { .active = true }, no_port },
	{ "insists",        "crr", { .request_bytes = 3, .response_bytes = 5, .insists = true }, { .active = true }, insists },
	{ "cut short",      "crr", { .request_bytes = 3, .response_bytes = 5 }, { .active = true }, cut_short },
	{ "answers",        "crr", { .request_bytes = 3, .response_bytes = 5 }, { .active = false }, answers },
	{ "answers who asks", "crr", { .request_bytes = 3, .response_bytes = 5, .patience_ns = 1000 }, { .active = false },
	  answers_who_asks },
	{ "answers once",   "crr", { .request_bytes = 3, .response_bytes = 5, .total_ops = 1 }, { .ops = 1 }, answers_once },
	{ "connects",       "cc",  { .flows = 1 }, { .active = true }, connects },
	{ "paced",          "cc",  { .flows = 2, .rate_ops = 200 }, { .active = true }, paced },
	{ "takes",          "cc",  { .flows = 1 }, { .active = false }, takes },
	{ "ahead",          "rr",  { .ahead = 2 }, { .active = true }, ahead },
	{ "ahead by count", "rr",  { .ahead = 1, .total_ops = 3 }, { .active = true, .ops = 3 }, ahead_by_count },
	{ "ahead lost",     "rr",  { .ahead = 1 }, { .active = true, .datagram = true }, ahead_lost },
};

/* clang-format on */

static void follows_scripts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(scripts); i++)
		script_play(&scripts[i]);
}

static void needs_streams(void **state)
{
	static const char *const names[] = { "crr", "cc" };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(names); i++) {
		const struct nd_load *load = nd_load_find(names[i]);
		struct nd_workload wl = { .flows = 1 };
		struct nd_load_cfg cfg = { .workload = &wl, .datagram = true };
		void *machine = script_machine(load, &wl);

		assert_int_equal(load->init(machine, &cfg), -EOPNOTSUPP);
		free(machine);
	}
}

/* Only other tools' languages know how to agree on them. */
static void is_not_offered(void **state)
{
	const char *name;

	(void)state;
	for (size_t n = 0; (name = nd_load_names(n, NULL)); n++)
		assert_false(nd_load_find(name)->connects);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_scripts),
		cmocka_unit_test(needs_streams),
		cmocka_unit_test(is_not_offered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
