/* SPDX-License-Identifier: MIT */
/* What the files of ctl/ share: objects that are freed when no call-back can be inside them any more. */
#ifndef ND_CTL_INT_H
#define ND_CTL_INT_H

#include "ctl/ctl.h"

/* The first member of everything a call-back may free while it runs. */
struct nd_trash {
	struct nd_trash *next; /* borrowed */
	void (*release)(struct nd_trash *t);
};

/** nd_loop_discard() - release @t at the end of the loop's turn, or with the loop. @release NULL: free(),
 * @t being the block's first member. Never fails; once per object. */
void nd_loop_discard(struct nd_loop *l, struct nd_trash *t, void (*release)(struct nd_trash *t));

/* Something that lives on after its owner let go of it (a link that still flushes). The loop does not
 * return from nd_loop_run() before it has left, and ends it when the loop itself is freed. */
struct nd_linger {
	struct nd_linger *next, *prev; /* borrowed */
	void (*end)(struct nd_linger *g);
};

void nd_loop_linger(struct nd_loop *l, struct nd_linger *g);
void nd_loop_leave(struct nd_loop *l, struct nd_linger *g);

#endif
