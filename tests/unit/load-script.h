/* SPDX-License-Identifier: MIT */
/* Scripts for traffic shapes: what happens, and what must be the answer. Rows of one machine follow each other. */
#ifndef ND_TESTS_LOAD_SCRIPT_H
#define ND_TESTS_LOAD_SCRIPT_H

#include <stdlib.h>

#include "load/load.h"

struct row {
	struct nd_event ev;
	struct nd_step step;
	struct nd_note note;
};

struct script {
	const char *name, *load;
	struct nd_workload wl;
	struct nd_load_cfg cfg;
	const struct row *rows;
};

/* clang-format off */
#define START(t)          { .what = ND_HAP_START, .now_ns = (t) }
#define STOP(t)           { .what = ND_HAP_STOP, .now_ns = (t) }
#define TIME(t)           { .what = ND_HAP_TIME, .now_ns = (t) }
#define CLOSED(e, t)      { .what = ND_HAP_CLOSED, .error = (e), .now_ns = (t) }
#define RECV_TO(b, until) { .op = ND_OP_RECV, .count = 1, .bytes = (b), .until_ns = (until) }
#define FINISH            { .op = ND_OP_FINISH }
#define KEEP              { .op = ND_OP_KEEP }
#define NONE              { 0 }
#define END               { { 0 }, { 0 }, { .transactions = 99 } }

/* clang-format on */

/* A machine of @load, not yet begun; free() it. */
static inline void *script_machine(const struct nd_load *load, const struct nd_workload *wl)
{
	void *machine =
		calloc(1, load->state_bytes + (load->more_bytes ? load->more_bytes(wl) : 0));

	assert_non_null(machine);
	return machine;
}

static inline bool script_same_step(const struct nd_step *a, const struct nd_step *b)
{
	return a->op == b->op && a->count == b->count && a->bytes == b->bytes &&
	       a->at_ns == b->at_ns && a->until_ns == b->until_ns && a->reply == b->reply &&
	       a->last == b->last;
}

static inline bool script_same_note(const struct nd_note *a, const struct nd_note *b)
{
	return a->service_ns == b->service_ns && a->response_ns == b->response_ns &&
	       a->transactions == b->transactions && a->part == b->part && a->part_ns == b->part_ns;
}

static inline void script_play(const struct script *s)
{
	const struct nd_load *load = nd_load_find(s->load);
	struct nd_load_cfg cfg = s->cfg;
	void *machine = script_machine(load, &s->wl);

	cfg.workload = &s->wl;
	assert_int_equal(load->init(machine, &cfg), 0);
	for (const struct row *row = s->rows; row->note.transactions != 99; row++) {
		struct nd_step step;
		struct nd_note note;

		load->next(machine, &row->ev, &step, &note);
		if (!script_same_step(&step, &row->step) || !script_same_note(&note, &row->note))
			fail_msg("%s, row %td: op %d count %u bytes %llu at %llu until %llu, "
				 "service %llu response %llu, part %u of %llu",
				 s->name, row - s->rows, (int)step.op, step.count,
				 (unsigned long long)step.bytes, (unsigned long long)step.at_ns,
				 (unsigned long long)step.until_ns,
				 (unsigned long long)note.service_ns,
				 (unsigned long long)note.response_ns, note.part,
				 (unsigned long long)note.part_ns);
	}
	free(machine);
}

#endif
