/* SPDX-License-Identifier: MIT */
/* From what failed and where to how a session ended, and from there to the program's exit code. */
#include <errno.h>

#include "session/int.h"

#define ANY 0

/* The first row that fits counts; each place has one for any error. */
/* clang-format off */
static const struct {
	enum nd_where where;
	int code; /* negative errno */
	enum nd_ending ending;
} classes[] = {
	/* a value that only the system could judge: a name that means nothing */
	{ ND_AT_OPTION, -ENOMEM,        ND_END_FAILED },
	{ ND_AT_OPTION, ANY,            ND_END_USAGE },
	/* the host that was typed */
	{ ND_AT_HOST,   -ENOMEM,        ND_END_FAILED },
	{ ND_AT_HOST,   ANY,            ND_END_PEER },
	/* a dialog lays it to the peer, but no packet had left yet */
	{ ND_AT_PEER,   -EADDRNOTAVAIL, ND_END_FAILED },
	{ ND_AT_PEER,   -EADDRINUSE,    ND_END_FAILED },
	{ ND_AT_PEER,   -EAFNOSUPPORT,  ND_END_FAILED },
	{ ND_AT_PEER,   -EACCES,        ND_END_FAILED },
	{ ND_AT_PEER,   -ENODEV,        ND_END_FAILED },
	{ ND_AT_PEER,   -EMFILE,        ND_END_FAILED },
	{ ND_AT_PEER,   -ENFILE,        ND_END_FAILED },
	{ ND_AT_PEER,   -ENOMEM,        ND_END_FAILED },
	{ ND_AT_PEER,   ANY,            ND_END_PEER },
	/* flows that cannot be opened are the peer's, or the path's; all else is this end's */
	{ ND_AT_RUN,    -ETIMEDOUT,     ND_END_PEER },
	{ ND_AT_RUN,    -ECONNREFUSED,  ND_END_PEER },
	{ ND_AT_RUN,    -ECONNRESET,    ND_END_PEER },
	{ ND_AT_RUN,    -EHOSTUNREACH,  ND_END_PEER },
	{ ND_AT_RUN,    -ENETUNREACH,   ND_END_PEER },
	{ ND_AT_RUN,    -EPROTO,        ND_END_PEER },
	{ ND_AT_RUN,    ANY,            ND_END_FAILED },
};

/* clang-format on */

enum nd_ending nd_ending_of(enum nd_where where, int code)
{
	size_t i = 0;

	while (classes[i].where != where || (classes[i].code != ANY && classes[i].code != code))
		i++;
	return classes[i].ending;
}

int nd_exit_code(const struct nd_plan *plan, enum nd_ending ending)
{
	/* The other tool's partial result stands, and says so itself. */
	const int codes[] = {
		[ND_END_DONE] = 0,
		[ND_END_PARTIAL] = plan->face ? 0 : 1,
		[ND_END_DAMAGED] = 1,
		[ND_END_FAILED] = 1,
		[ND_END_USAGE] = plan->exits.usage ?: 2,
		[ND_END_PEER] = plan->exits.peer ?: 3,
	};

	return plan->exits.forgives ? 0 : codes[ending];
}
