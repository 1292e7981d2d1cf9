/* SPDX-License-Identifier: MIT */
/* The manual page of sockperf. */
#include "persona/sockperf.h"

static const char *const titles[ND_SP_MODES] = { "SERVER, SR", "PING\\-PONG, PP",
						 "UNDER\\-LOAD, UL", "THROUGHPUT, TP",
						 "PLAYBACK, PB" };

static const char head[] =
	".SH NAME\nsockperf \\- latency and packet rate, as sockperf 3.7 to 3.10 measure them\n"
	".SH SYNOPSIS\n"
	".B sockperf\n.I mode\n.RI [ options ]\n.br\n"
	".B netdyno sockperf\n.I mode\n.RI [ options ]\n"
	".SH DESCRIPTION\n"
	".B sockperf\nis\n.BR netdyno (1)\n"
	"with the command line, the messages and the reports of sockperf, at either end of a test.\n"
	"Values may follow an option as its next word, directly, or behind an equals sign.\n";

static const char differs[] =
	".SH WHERE IT DIFFERS\n"
	"One server answers any number of connections at once.\n"
	"A lost datagram delays a test by a quarter of a second, and is counted.\n"
	"Messages whose length is wrong are counted and dropped, and end a connection.\n"
	"A test has no silence of two seconds in front of it.\n"
	"Observations go to a temporary file, so that memory does not grow with time.\n"
	"Colours are for terminals, and exit codes for scripts, unless\n.B \\-\\-compat\nis given.\n"
	".B \\-\\-threads\nmakes as many clients in one process; their figures are of all together.\n"
	"Where the server is one of netdyno's,\n.B throughput\n"
	"ends with what has arrived there, in lines that begin with \"Receiver:\"; not with\n"
	".BR \\-\\-compat .\n"
	"Under\n.B \\-\\-nonblocked\nthe process spins; otherwise it waits between answers.\n"
	"A time is at most a day.\n"
	"With\n.B \\-g\na client that begins again at number 1 is a new session; gaps are told of datagrams alone.\n"
	"Rows of\n.B \\-A\ntell the messages that were there, which may be some more than was asked for, by thread.\n"
	"Of an option that is given twice, the later one counts.\n"
	"With\n.B \\-\\-daemonize\nthe command returns when ports or connections are open, or could not be had, which its exit "
	"code tells.\nFrom then on standard output is closed: of a client only\n.B \\-\\-full\\-log\nis left.\n"
	"Unix sockets, TLS and the options of network cards' own libraries are refused.\n";

static const char rest[] =
	".SH EXAMPLES\n"
	".nf\nsockperf sr \\-\\-tcp \\-\\-daemonize\n"
	"sockperf pp \\-\\-tcp \\-i 192.0.2.1 \\-t 30 \\-m 14 \\-\\-full\\-log result.csv\n"
	"sockperf ul \\-i 192.0.2.1 \\-\\-mps 10000 \\-\\-reply\\-every 10\n"
	"sockperf tp \\-i 192.0.2.1 \\-\\-threads 8 \\-t 10\n"
	"sockperf pp \\-i 239.1.2.3 \\-\\-mc\\-rx\\-if 192.0.2.2 \\-\\-mc\\-tx\\-if 192.0.2.2\n.fi\n"
	".SH EXIT STATUS\n"
	".TP\n.B 0\nThe test is done, or help was asked for; with\n.B \\-\\-compat\nalways.\n"
	".TP\n.B 1\nThe run failed, no answer came, the server closed every connection, or answers were not what was sent.\n"
	".TP\n.B 2\nThe command line, or a file it names, is wrong.\n"
	".TP\n.B 3\nNo connection could be had.\n"
	".SH SEE ALSO\n.BR netdyno (1)\n";

void nd_sockperf_man(struct nd_str *out)
{
	nd_persona_man_title("man-sockperf", "SOCKPERF", out);
	nd_str_add(out, head);
	for (unsigned i = 0; i < ND_SP_MODES; i++) {
		const struct nd_opt_set *set = &nd_sockperf_sets[i];

		nd_str_addf(out, ".SH OPTIONS OF %s\n", titles[i]);
		nd_opt_roff(out, set->summary, true);
		nd_str_add(out, ".\n.PP\n");
		nd_opt_man(set, out);
	}
	nd_str_add(out, differs);
	nd_str_add(out, rest);
}
