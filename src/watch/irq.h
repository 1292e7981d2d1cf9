/* SPDX-License-Identifier: MIT */
/* Shared by the tools for interrupts: what is there, which files to write, and what was in them. */
#ifndef ND_WATCH_IRQ_H
#define ND_WATCH_IRQ_H

#include "base/err.h"
#include "base/field.h"
#include "base/str.h"
#include "os/detail.h"
#include "plan/local.h"

/* One interface as it is set up. Everything in .arena. */
struct nd_irq_view {
	struct nd_arena arena; /* owned */
	struct nd_os *os;      /* owned */
	const struct nd_irq_ask *ask;
	struct nd_nic_facts nic;
	struct nd_nic_limits limits;
	struct nd_list irqs;   /* struct nd_irq */
	struct nd_list places; /* struct nd_cpu_place */
	bool balanced;         /* irqbalance runs */
};

/* One file to write. */
struct nd_irq_write {
	const char *path;        /* below the root */
	const char *what;        /* for people: name of the interrupt, "rx queue 3" */
	const char *value, *was; /* .was NULL: unreadable */
	uint64_t number, cpu;    /* of an interrupt; ND_UNKNOWN: a queue's mask */
};

ND_MUST_CHECK int nd_irq_look(struct nd_irq_view *v, struct nd_err *err);
/** nd_irq_cpus() - CPUs to use, in their order; at most @room. Return: how many, or -EINVAL. */
int nd_irq_cpus(const struct nd_irq_view *v, uint32_t *ret, size_t room, struct nd_err *err);
/** nd_irq_plan() - struct nd_irq_write for all that is not so yet. @ret_cpus, @ret_queues: for the heading. */
ND_MUST_CHECK int nd_irq_plan(struct nd_irq_view *v, struct nd_list *ret, struct nd_str *ret_cpus,
			      uint64_t *ret_queues, struct nd_err *err);
/** nd_irq_keep() - the state before @writes, as text. */
void nd_irq_keep(const struct nd_list *writes, struct nd_str *out);
/** nd_irq_recall() - struct nd_irq_write from such a text; interrupts are found again by name. */
ND_MUST_CHECK int nd_irq_recall(struct nd_irq_view *v, const char *text, struct nd_list *ret,
				struct nd_err *err);
/** nd_irq_same_cpus() - do two lists name the same CPUs? */
bool nd_irq_same_cpus(const char *a, const char *b);
/** nd_irq_show() - as text, or JSON. */
void nd_irq_show(const struct nd_irq_view *v, struct nd_str *out);
void nd_irq_show_json(const struct nd_irq_view *v, struct nd_str *out);

#endif
