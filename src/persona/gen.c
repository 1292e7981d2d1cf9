/* SPDX-License-Identifier: MIT */
/* Documents made of the rows: the man page, completions, the overview, the version. */
#include <string.h>

#include "dialect/dialect.h"
#include "engine/engine.h"
#include "load/load.h"
#include "net/net.h"
#include "persona/netperf.h"
#include "persona/ntttcp.h"
#include "persona/sockperf.h"
#include "report/report.h"

#define MAN_DATE "2026-11-30" /* moves with the version */

/* ---- on the terminal */

void nd_persona_overview(struct nd_str *out)
{
	const struct nd_persona *p;
	const struct nd_face *f;
	size_t i;

	nd_str_add(out, "usage: netdyno VERB [options]\na dynamometer for networks\n\n");
	for (f = nd_persona_at(0)->faces; f->set; f++)
		nd_str_addf(out, "  %-8s%-12s %s\n", f->verb, f->set->operands, f->set->summary);
	for (i = 1; (p = nd_persona_at(i)); i++)
		nd_str_addf(out, "  %-21s%s\n", p->name, p->help);
	nd_str_add(out,
		   "\nnetdyno VERB -h shows the common options of a verb, --help all of them;\n"
		   "netdyno --version shows what is built in\n");
}

static const char *persona_names(size_t n, const char **ret_help)
{
	const struct nd_persona *p = nd_persona_at(n);

	*ret_help = p ? p->help : NULL;
	return p ? p->name : NULL;
}

/* clang-format off */
static const struct { const char *title; nd_names_fn names; } registries[] = {
	{ "personas",   persona_names },
	{ "transports", nd_transport_names },
	{ "shapes",     nd_load_names },
	{ "engines",    nd_engine_names },
	{ "ways to send", nd_xfer_tx_names },
	{ "ways to receive", nd_xfer_rx_names },
	{ "languages",  nd_dialect_names },
	{ "formats",    nd_writer_names },
};

/* clang-format on */

void nd_persona_version(struct nd_str *out)
{
	const char *name, *help;
	size_t i, n;

	nd_str_add(out, "netdyno " ND_VERSION "\n");
	nd_str_add(out, "features: " ND_FEATURES "\n");
	for (i = 0; i < ND_COUNTOF(registries); i++) {
		nd_str_addf(out, "%s:", registries[i].title);
		for (n = 0; (name = registries[i].names(n, &help)); n++)
			nd_str_addf(out, " %s", name);
		nd_str_add(out, "\n");
	}
}

/* ---- the man page */

static const char man_exit[] =
	".SH EXIT STATUS\n"
	".TP\n.B 0\nThe test is done and its result complete.\n"
	".TP\n.B 1\nThe run failed, or its result is partial.\n"
	".TP\n.B 2\nThe command line is wrong; one sentence says why.\n"
	".TP\n.B 3\nThe peer did not answer, refused, or broke the protocol.\n"
	".TP\n.B 4\n.B doctor\nhas warnings.\n";

static const char man_rest[] =
	".SH ENVIRONMENT\n"
	"No variable changes what\n.B netdyno\ndoes.\n"
	".SH FILES\n"
	".TP\n.I /proc/sys/net/ipv4/ip_local_port_range\n"
	"Source ports of one address; more flows need more source addresses.\n"
	".TP\n.I /proc/sys/net/core/wmem_max\n"
	"The largest send buffer that is granted;\n.I rmem_max\nbeside it is the largest receive "
	"buffer.\n"
	".TP\n.I /run/netdyno-irq-IFACE\n"
	"What\n.B irq spread --apply\nhas changed, as it was before, for\n.BR irq\\ restore .\n"
	".SH SEE ALSO\n"
	".BR ethtool (8),\n.BR sar (1),\n.BR ss (8),\n.BR tcp (7),\n.BR udp (7)\n";

/* What the text report takes for known. */
static const char *const report_terms[][2] = {
	{ "Throughput, Packets, Transactions",
	  "What the receiving program read in the measured window, and in brackets what the sender offered. This is "
	  "the result; all other lines say what it is worth." },
	{ "Window, Start",
	  "How long was measured, and how far apart the ends and the flows began; +\\- is how well the two clocks "
	  "could be compared." },
	{ "limited by",
	  "TCP: shares of the time in which congestion or pacing, the receiver\\(aqs window or the send buffer held the "
	  "sender back." },
	{ "Jain\\(aqs index",
	  "How evenly flows shared: 1 when all got the same, 1/n when one got all." },
	{ "service, response",
	  "Latency from when a request was sent, and from when it was due by its schedule. In a queue the second "
	  "grows, the first may not." },
	{ "95 % limits",
	  "Between them the percentile lies, by the number of samples; a wide pair asks for a longer test." },
	{ "Ledger, Loss",
	  "Where datagrams were lost, from the sender\\(aqs call to the receiver\\(aqs. What no counter has seen stands "
	  "between: the network, or a firewall of either end when the receiver\\(aqs interface counted all that were sent." },
	{ "core\\-s/GB",
	  "Busy seconds of one core for each 10^9 bytes received, of the whole machine." },
	{ "cycles/B",
	  "Of this program for each byte received; est.: by CPU time and clock, as nothing counted them." },
	{ "program", "This program\\(aqs share of user and system, in cores." },
	{ "Means", "How bytes were moved: engine, and ways to send and to receive." },
	{ "\\-, unknown, not told", "Nobody could see it, or too few samples: it is not 0." },
};

static void man_report(struct nd_str *out)
{
	size_t i;

	nd_str_add(out, ".SH READING A REPORT\n");
	for (i = 0; i < ND_COUNTOF(report_terms); i++)
		nd_str_addf(out, ".TP\n.B %s\n%s\n", report_terms[i][0], report_terms[i][1]);
	nd_str_add(out, ".PP\nEvery key of JSON is explained in doc/results.md of the source.\n");
}

void nd_persona_man_title(const char *gen, const char *name, struct nd_str *out)
{
	nd_str_addf(out,
		    ".\\\" Written by netdyno \\-\\-gen %s; do not edit.\n"
		    ".TH %s 1 " MAN_DATE " \"netdyno " ND_VERSION "\"\n",
		    gen, name);
}

void nd_persona_man_options(const char *title, const struct nd_opt_set *set, struct nd_str *out)
{
	nd_str_addf(out, ".SH %s\n", title);
	nd_opt_roff(out, set->description, true);
	nd_str_add(out, "\n.PP\n");
	nd_opt_man(set, out);
}

static void man_synopsis(const struct nd_face *f, struct nd_str *out)
{
	nd_str_add(out, ".B ");
	nd_opt_roff(out, f->set->prog, true);
	nd_str_add(out, "\n.RI [ options ]\n");
	if (*f->set->operands) {
		nd_str_add(out, ".I ");
		nd_opt_roff(out, f->set->operands, true);
		nd_str_add(out, "\n");
	}
}

static void man_heading(const char *macro, const char *text, struct nd_str *out)
{
	nd_str_addf(out, "%s \"", macro);
	nd_opt_roff(out, text, false);
	nd_str_add(out, "\"\n");
}

/* Lines "command\tsentence". */
void nd_persona_man_examples(const char *text, struct nd_str *out)
{
	nd_auto_str command = { 0 }, sentence = { 0 };
	const char *p = text;
	size_t n;

	while (p && *p) {
		nd_str_reset(&command);
		nd_str_reset(&sentence);
		n = strcspn(p, "\t\n");
		nd_str_addn(&command, p, n);
		p += n + (p[n] == '\t');
		n = strcspn(p, "\n");
		nd_str_addn(&sentence, p, n);
		p += n + (p[n] == '\n');
		nd_str_add(out, ".TP\n.B ");
		nd_opt_roff(out, nd_str_text(&command), true);
		nd_str_add(out, "\n");
		nd_opt_roff(out, nd_str_text(&sentence), true);
		nd_str_add(out, "\n");
	}
}

static void make_man(struct nd_str *out)
{
	const struct nd_face *faces = nd_persona_at(0)->faces, *f;

	nd_persona_man_title("man", "NETDYNO", out);
	nd_str_add(out, ".SH NAME\nnetdyno \\- a dynamometer for networks\n.SH SYNOPSIS\n");
	for (f = faces; f->set; f++) {
		nd_str_add(out, f > faces ? ".br\n" : "");
		man_synopsis(f, out);
	}
	nd_str_add(
		out,
		".br\n.B netdyno help\n.RI [ VERB ]\n.SH DESCRIPTION\n"
		".B netdyno\nmeasures what lies between two machines, and what it costs them "
		"in CPU.\nThe receiver\\(aqs figure is the result.\n"
		"Standard output is the report and nothing else; standard error is for people.\n");
	for (f = faces; f->set; f++) {
		man_heading(".SS", f->set->prog, out);
		nd_opt_roff(out, f->set->description, true);
		nd_str_add(out, "\n");
	}
	nd_str_add(
		out,
		".SH OPTIONS\nAn option means the same under every verb that has it; but under\n"
		".B latency\n\\-q is the number of outstanding requests, and \\-n counts what a verb "
		"counts.\n"
		"Numbers take k, M, G, T (powers of 1000) and Ki, Mi, Gi, Ti (powers of 1024), "
		"times ns, us, ms, s, m, h; a bare time is in seconds.\n"
		"Long options may be abbreviated.\n");
	for (f = faces; f->set; f++) {
		man_heading(".SS Options of", f->set->prog, out);
		nd_opt_man(f->set, out);
	}
	man_report(out);
	nd_str_add(out, ".SH EXAMPLES\n");
	for (f = faces; f->set; f++)
		nd_persona_man_examples(f->set->examples, out);
	nd_str_add(out, man_exit);
	nd_str_add(out, man_rest);
}

/* ---- completions */

/* Words that may stand first: verbs of our own, and the other tools. What such a tool offers is its first face. */
static const char *first_word(size_t n, const struct nd_opt_set **ret_set, const char **ret_help)
{
	const struct nd_face *f = nd_persona_at(0)->faces;
	const struct nd_persona *p;

	for (; f->set && n > 0; f++)
		n--;
	if (f->set) {
		*ret_set = f->set;
		*ret_help = f->set->summary;
		return f->verb;
	}
	p = nd_persona_at(n + 1);
	if (!p)
		return NULL;
	*ret_set = p->faces[0].set;
	*ret_help = p->help;
	return p->name;
}

static void add_words(struct nd_str *out)
{
	const struct nd_opt_set *set;
	const char *word, *help;
	size_t n;

	for (n = 0; (word = first_word(n, &set, &help)); n++)
		nd_str_addf(out, "%s%s", n ? " " : "", word);
}

/* The names of other tools that this program goes by. */
static void add_links(struct nd_str *out)
{
	const struct nd_persona *p;

	for (size_t i = 1; (p = nd_persona_at(i)); i++)
		nd_str_addf(out, " %s", p->name);
	nd_str_add(out, "\n");
}

static const char bash_head[] =
	"# Completion for bash; written by netdyno --gen bash, do not edit.\n"
	"_netdyno() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words='' files=no\n"
	"\tCOMPREPLY=()\n"
	"\tif [ \"$cur\" = = ]; then # --option=value is three words here\n"
	"\t\tcur=''\n"
	"\telif [ \"$prev\" = = ] && [ \"$COMP_CWORD\" -gt 2 ]; then\n"
	"\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}\n"
	"\tfi\n"
	"\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -W '";

static const char bash_tail[] = "\tesac\n"
				"\tif [ $files = yes ]; then\n"
				"\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
				"\telse\n"
				"\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
				"\tfi\n"
				"}\n"
				"complete -F _netdyno netdyno\n"
				"_netdyno_link() { # by another tool's name\n"
				"\tCOMP_WORDS=(netdyno \"${COMP_WORDS[0]##*/}\" "
				"\"${COMP_WORDS[@]:1}\")\n"
				"\tCOMP_CWORD=$((COMP_CWORD + 1))\n"
				"\t_netdyno\n"
				"}\n"
				"complete -F _netdyno_link";

static void make_bash(struct nd_str *out)
{
	const struct nd_opt_set *set;
	const char *word, *help;
	size_t n;

	nd_str_add(out, bash_head);
	add_words(out);
	nd_str_add(out, " help --help --version' -- \"$cur\")\n\t\treturn\n\tfi\n"
			"\tcase ${COMP_WORDS[1]} in\n");
	for (n = 0; (word = first_word(n, &set, &help)); n++)
		nd_opt_bash(set, word, out);
	nd_str_add(out, "\thelp) words='");
	add_words(out);
	nd_str_add(out, "' ;;\n");
	nd_str_add(out, bash_tail);
	add_links(out);
}

static void make_zsh(struct nd_str *out)
{
	const struct nd_opt_set *set;
	const char *word, *help;
	size_t n;

	nd_str_add(out, "#compdef netdyno");
	add_links(out);
	nd_str_add(out, "# Written by netdyno --gen zsh, do not edit.\n");
	for (n = 0; (word = first_word(n, &set, &help)); n++)
		nd_opt_zsh(set, word, out);
	nd_str_add(out, "_netdyno() {\n"
			"\tif [[ $service != netdyno ]]; then # by another tool's name\n"
			"\t\t_netdyno_$service\n\t\treturn\n\tfi\n"
			"\tlocal -a verbs\n\tverbs=(\n");
	for (n = 0; (word = first_word(n, &set, &help)); n++)
		nd_str_addf(out, "\t\t'%s:%s'\n", word, help);
	nd_str_add(out,
		   "\t\t'help:show the options of a verb'\n\t)\n"
		   "\tif (( CURRENT == 2 )); then\n\t\t_describe verb verbs\n\t\treturn\n\tfi\n"
		   "\tlocal verb=${words[2]}\n"
		   "\tshift words\n\t(( CURRENT-- ))\n\tcase $verb in\n");
	for (n = 0; (word = first_word(n, &set, &help)); n++)
		nd_str_addf(out, "\t%s) _netdyno_%s ;;\n", word, word);
	nd_str_add(out, "\thelp) _describe verb verbs ;;\n\tesac\n}\n_netdyno \"$@\"\n");
}

/* clang-format off */
static const struct { const char *name; void (*make)(struct nd_str *out); } generators[] = {
	{ "man",  make_man },
	{ "man-ntttcp", nd_ntttcp_man },
	{ "man-netperf", nd_netperf_man },
	{ "man-netserver", nd_netserver_man },
	{ "man-sockperf", nd_sockperf_man },
	{ "bash", make_bash },
	{ "zsh",  make_zsh },
	{ "protocol-md", nd_dialect_doc },
};

/* clang-format on */

bool nd_persona_generate(const char *what, struct nd_str *out)
{
	size_t i;

	for (i = 0; i < ND_COUNTOF(generators); i++) {
		if (strcmp(generators[i].name, what) != 0)
			continue;
		generators[i].make(out);
		return true;
	}
	return false;
}
