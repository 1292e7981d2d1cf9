/* SPDX-License-Identifier: MIT */
/* NTttcp's manual page: head and tail in roff, the options from their rows. */
#include "persona/ntttcp.h"

static const char man_head[] =
	".SH NAME\nntttcp \\- throughput, as NTttcp for Linux and for Windows measure it\n"
	".SH SYNOPSIS\n"
	".B ntttcp\n.RI [ options ]\n.br\n"
	".B netdyno ntttcp\n.RI [ options ]\n"
	".SH DESCRIPTION\n"
	".B ntttcp\nis\n.BR netdyno (1)\nwith the command line, the control protocols and the "
	"reports of two tools of that name.\n"
	"Which of the two command lines is meant follows from the words: switches that only\n"
	".B ntttcp.exe\nhas, sizes behind\n.B \\-l\nor\n.BR \\-n ,\n"
	".B \\-l\nwith\n.B \\-u\nand\n.BR \\-m ,\n"
	".B \\-a\nwithout an address, or two mappings without a switch of Linux stand for Windows; "
	"all else is Linux.\n"
	"The names\n.B ntttcps\nand\n.B ntttcpr\nare the Windows tool as sender and receiver.\n"
	".B \\-\\-dialect=linux\nor\n.B \\-\\-dialect=windows\noverrides.\n"
	"Without any word all switches are listed.\n"
	"Dashes may be the long ones of a text processor.\n"
	".PP\nWhat is clamped or ignored is told in a line.\n";

static const char man_differs[] =
	".SH WHERE IT DIFFERS\n"
	"One receiver serves senders of Linux and of Windows, each with its synchronisation or without\n"
	".RB ( \\-N ,\n.BR \\-ns );\na sender finds out which receiver it has.\n"
	"The test takes exactly the time of\n.BR \\-t ;\na receiver without\n.B \\-t\n"
	"takes the sender\\(aqs. Nothing waits for ever: a port that refuses ends the sender at once, "
	"and a receiver ends when its senders have gone.\n"
	"Exit codes tell whether there is a result.\n"
	".PP\n"
	"Connections may be as many as the system gives descriptors for; threads of\n.B \\-P\nand\n"
	".B \\-n\nare told as they were asked for, but no more than the CPUs can use are started.\n"
	".B \\-m\nmay name several receivers. A rate of\n.B \\-B\nis kept without spinning, from the "
	"first byte on.\n"
	".PP\n"
	"With UDP between two of ours both ends add what was received and lost.\n"
	"In tables of Windows, MB and KB are of 1024 and mbps of 1000; DPCs are the softirqs of the "
	"network, packets are those of the network namespace.\n";

static const char man_exit[] =
	".SH EXIT STATUS\n"
	".TP\n.B 0\nThe test is done, or has ended early with a result that says so.\n"
	".TP\n.B 1\nThe run failed.\n"
	".TP\n.B 3\nWindows: the peer did not answer, refused, or broke the protocol.\n"
	".TP\n.B 9\nWindows: the command line is wrong.\n"
	".TP\n.B 23\nLinux: a switch is unknown, or\n.B \\-h\nwas given.\n"
	".TP\n.B 24\nLinux: the peer did not answer, refused, or broke the protocol.\n"
	".TP\n.B 255\nLinux: a value does not fit.\n"
	".SH SEE ALSO\n.BR netdyno (1)\n";

void nd_ntttcp_man(struct nd_str *out)
{
	nd_persona_man_title("man-ntttcp", "NTTTCP", out);
	nd_str_add(out, man_head);
	nd_persona_man_options("OPTIONS AS ON LINUX", &nd_ntttcp_linux_set, out);
	nd_persona_man_options("OPTIONS AS ON WINDOWS", &nd_ntttcp_windows_set, out);
	nd_str_add(out, man_differs);
	nd_str_add(out, ".SH EXAMPLES\n");
	nd_persona_man_examples(nd_ntttcp_linux_set.examples, out);
	nd_persona_man_examples(nd_ntttcp_windows_set.examples, out);
	nd_str_add(out, man_exit);
}
