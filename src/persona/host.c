/* SPDX-License-Identifier: MIT */
/* HOST as people type it: what is no name and no address gets a sentence before anything is looked up. */
#include <errno.h>
#include <string.h>

#include "persona/int.h"

/* "[::1]" is an address; "[::1]:7575" is one for URLs. */
static int bracketed(const char *host, struct nd_err *err)
{
	const char *end = strchr(host, ']');

	if (end && end[1] == ':' && end[2])
		return nd_fail(err, -EINVAL,
			       "HOST '%.255s': the port is an option: HOST %.*s with -p %.20s",
			       host, (int)(end - host - 1), host + 1, end + 2);
	if (end && end > host + 1 && !end[1])
		return 0;
	return nd_fail(err, -EINVAL, "HOST '%.255s' is neither a name nor an address", host);
}

int nd_persona_judge_host(const char *host, struct nd_err *err)
{
	const char *colon = strchr(host, ':');

	if (!*host)
		return nd_fail(err, -EINVAL, "HOST is empty");
	if (*host == '[')
		return bracketed(host, err);
	if (host[strcspn(host, "/@ \t")])
		return nd_fail(err, -EINVAL, "HOST '%.255s' is neither a name nor an address",
			       host);
	if (colon && !strchr(colon + 1, ':'))
		return nd_fail(err, -EINVAL,
			       "HOST '%.255s': the port is an option: HOST %.*s with -p %.20s",
			       host, (int)(colon - host), host, colon + 1);
	return 0;
}
