/* SPDX-License-Identifier: MIT */
/* Manual pages of netperf and netserver. */
#include "persona/netperf.h"

static const char netperf_head[] =
	".SH NAME\nnetperf \\- throughput and transactions, as netperf 2.7 measures them\n"
	".SH SYNOPSIS\n"
	".B netperf\n.RI [ options ]\n.RB [ \\-\\-\n.IR \"test options\" ]\n.br\n"
	".B netdyno netperf\n.RI [ options ]\n.RB [ \\-\\-\n.IR \"test options\" ]\n"
	".SH DESCRIPTION\n"
	".B netperf\nis\n.BR netdyno (1)\nwith the command line, the control protocol and the "
	"reports of netperf 2.7.\n"
	"It runs its tests with any\n.BR netserver (1),\nthis one or another.\n"
	"The first interrupt ends a test, and what was measured is reported.\n";

static const char netperf_differs[] =
	".SH WHERE IT DIFFERS\n"
	"One process runs any number of flows with\n.BR \\-\\-parallel ,\n"
	"and one row is their sum.\n"
	"Pacing with\n.B \\-b\nand\n.B \\-w\nis always built in, and keeps to the time asked for.\n"
	"Lines of\n.B \\-D\ncome when their time is over, whatever its sign.\n"
	".B \\-I 99\nleaves the width at 5 percent.\n"
	"The wait of\n.B \\-s\ncomes before netserver is asked, whose time runs from its answer on: it "
	"may be longer than 4 seconds.\n"
	"With\n.B \\-v 2\ntransactions are followed by a histogram of their times, with\n.B \\-j\nadded "
	"the calls of a stream, too.\n"
	"A value that is no number is refused, not read as 0.\n"
	"A test that is unknown is told before anything is connected.\n"
	"This end asks for direct routes alone only with\n.B \\-R 0\namong the options of the test.\n"
	"SCTP, DCCP and sockets of one machine are not among its tests.\n";

static const char netperf_environment[] =
	".SH ENVIRONMENT\n"
	".TP\n.B DUMP_TCP_INFO\nWhen it is set, three lines on standard error show what the kernel "
	"says of the connection at its end.\n";

static const char netperf_exit[] =
	".SH EXIT STATUS\n"
	".TP\n.B 0\nThe test is done.\n"
	".TP\n.B 1\nThe command line is wrong, help was asked for, or the run failed.\n"
	".TP\n.B 255\nNo netserver answers, it refuses, or a value of\n.BR \\-I ,\n.B \\-F\nor a "
	"selection cannot be.\n"
	".SH SEE ALSO\n.BR netserver (1),\n.BR netdyno (1)\n";

void nd_netperf_man(struct nd_str *out)
{
	nd_persona_man_title("man-netperf", "NETPERF", out);
	nd_str_add(out, netperf_head);
	nd_persona_man_options("OPTIONS", &nd_netperf_set, out);
	nd_persona_man_options("OPTIONS OF TESTS", &nd_netperf_test_set, out);
	nd_str_add(out, netperf_differs);
	nd_str_add(out, ".SH EXAMPLES\n");
	nd_persona_man_examples(nd_netperf_set.examples, out);
	nd_str_add(out, netperf_environment);
	nd_str_add(out, netperf_exit);
}

static const char netserver_head[] =
	".SH NAME\nnetserver \\- answer the tests of netperf 2.7\n"
	".SH SYNOPSIS\n"
	".B netserver\n.RI [ options ]\n.br\n"
	".B netdyno netserver\n.RI [ options ]\n"
	".SH DESCRIPTION\n"
	".B netserver\nis\n.BR netdyno (1)\nas the other end of\n.BR netperf (1),\n"
	"this one or another of its version.\n"
	"It writes no files.\n.PP\n";

static const char netserver_exit[] =
	".SH EXIT STATUS\n"
	".TP\n.B 0\nIt serves in the background, or has been told to end.\n"
	".TP\n.B 1\nThe command line is wrong, help was asked for, or no port could be had.\n"
	".SH SEE ALSO\n.BR netperf (1),\n.BR netdyno (1)\n";

void nd_netserver_man(struct nd_str *out)
{
	nd_persona_man_title("man-netserver", "NETSERVER", out);
	nd_str_add(out, netserver_head);
	nd_opt_roff(out, nd_netserver_set.description, true);
	nd_str_add(out, "\n.SH OPTIONS\n");
	nd_opt_man(&nd_netserver_set, out);
	nd_str_add(out, ".SH EXAMPLES\n");
	nd_persona_man_examples(nd_netserver_set.examples, out);
	nd_str_add(out, netserver_exit);
}
