/* SPDX-License-Identifier: MIT */
/* Private to the NTttcp face: what its two command lines leave behind, and what both make of it. */
#ifndef ND_PERSONA_NTTTCP_H
#define ND_PERSONA_NTTTCP_H

#include "persona/int.h"
#include "plan/ntttcp.h"

#define ND_NTTTCP_PORT        "5001"
#define ND_NTTTCP_MAX_THREADS 25600 /* Linux: of a port; more are cut */
#define ND_NTTTCP_MAX_CONNS   1000  /* Linux: of a thread; more are cut */
#define ND_NTTTCP_USAGE_EXIT \
	255 /* Linux: a value that does not fit; unknown options have another code */

/* What the rows write into. Numbers as typed; settle() puts them into .n. */
struct nd_ntttcp_line {
	struct nd_ntttcp n;
	struct nd_plan *plan;
	const char *dialect;    /* taken out of the words before; here for the help */
	struct nd_list targets; /* of struct nd_target */
	/* Linux */
	bool as_sender, as_receiver, ports_given, address_given;
	bool has_bytes;
	int64_t ports, threads, conns, base_port, source_port;
	int64_t time_s, warmup_s, cooldown_s;
	const char *address; /* of -m, -r, -s, whichever came last */
	/* Windows */
	struct nd_strv maps;
	uint64_t win_time_s, win_warmup_s, win_cooldown_s;
	int64_t io_ports;
	bool has_buffers, has_sndbuf, has_spacing, has_throttle, has_burn, has_qos, has_numa;
	bool has_transmit, has_source, has_timeout, vsock;
};

extern const struct nd_opt_set nd_ntttcp_linux_set, nd_ntttcp_windows_set;
int nd_ntttcp_linux_settle(struct nd_plan *plan, void *target, const struct nd_strv *operands,
			   struct nd_err *err);
int nd_ntttcp_windows_settle(struct nd_plan *plan, void *target, const struct nd_strv *operands,
			     struct nd_err *err);

/** nd_ntttcp_linux_words() - give options whose value may be left out the value that stands in the next word,
 * and make one value of the mappings behind -m. -ENOMEM. */
ND_MUST_CHECK int nd_ntttcp_linux_words(struct nd_words *w);

/** nd_ntttcp_dialects() - values of --dialect. */
const char *nd_ntttcp_dialects(size_t n, const char **ret_help);

/** nd_ntttcp_note() - a sentence about what was clamped or ignored. */
void nd_ntttcp_note(struct nd_ntttcp_line *l, const char *fmt, ...) ND_PRINTF(2, 3);

/** nd_ntttcp_fields() - cut "a,b,c" into @field (NULL behind the last). Return: how many, more than @room: cut;
 * -ENOMEM. */
int nd_ntttcp_fields(struct nd_arena *a, const char *text, const char **field, int room);

/** nd_ntttcp_cpu() - "*" or a number. @name: for the sentence. */
ND_MUST_CHECK int nd_ntttcp_cpu(const char *name, const char *text, int64_t *ret,
				struct nd_err *err);

/** nd_ntttcp_check_address() - does @address fit -6? Names always do. */
ND_MUST_CHECK int nd_ntttcp_check_address(const struct nd_ntttcp *n, const char *name,
					  const char *address, struct nd_err *err);

/** nd_ntttcp_fill() - from .n and .targets to the plan: what both command lines have in common. */
ND_MUST_CHECK int nd_ntttcp_fill(struct nd_ntttcp_line *l, struct nd_err *err);

/** nd_ntttcp_bind_device() - a sender's source address given, and its traffic leaves: bind to the interface that owns
 * the address, too. -ENOMEM. */
ND_MUST_CHECK int nd_ntttcp_bind_device(struct nd_ntttcp_line *l);

/** nd_ntttcp_man() - its manual page. */
void nd_ntttcp_man(struct nd_str *out);

#endif
