/* SPDX-License-Identifier: MIT */
/* The source itself: files kept open, one sample of everything, and their release. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "base/time.h"
#include "os/int.h"

#define FIRST_BYTES ((size_t)32 << 10)

/* clang-format off */
static const char *const paths[ND_OS_FILE_COUNT] = {
	[ND_OS_STAT]            = "proc/stat",
	[ND_OS_INTERRUPTS]      = "proc/interrupts",
	[ND_OS_SOFTIRQS]        = "proc/softirqs",
	[ND_OS_SNMP]            = "proc/net/snmp",
	[ND_OS_SNMP6]           = "proc/net/snmp6",
	[ND_OS_SOCKSTAT]        = "proc/net/sockstat",
	[ND_OS_SOCKSTAT6]       = "proc/net/sockstat6",
	[ND_OS_NETSTAT]         = "proc/net/netstat",
	[ND_OS_SOFTNET]         = "proc/net/softnet_stat",
	[ND_OS_NET_DEV]         = "proc/net/dev",
	[ND_OS_SELF_STATUS]     = "proc/self/status",
	[ND_OS_CONNTRACK_COUNT] = "proc/sys/net/netfilter/nf_conntrack_count",
	[ND_OS_CONNTRACK_MAX]   = "proc/sys/net/netfilter/nf_conntrack_max",
};

/* clang-format on */

static void open_files(struct nd_os *os)
{
	char path[PATH_MAX], groups[ND_OS_LINE_BYTES];
	int i, n;

	for (i = 0; i < ND_OS_FILE_COUNT; i++) {
		n = snprintf(path, sizeof(path), "%s/%s", os->root, paths[i]);
		if (n >= 0 && (size_t)n < sizeof(path))
			os->fd[i] = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	}
	if (nd_os_peek(os, groups, sizeof(groups), "proc/self/cgroup"))
		nd_os_group_open(os, groups);
}

int nd_os_open(const char *root, struct nd_os **ret, struct nd_err *err)
{
	const char *at = root ? root : "";
	struct nd_os *os;
	int i;

	if (*at && access(at, X_OK) < 0)
		return nd_sysfail(err, "open %s", at);
	os = calloc(1, sizeof(*os));
	if (!os)
		return nd_fail(err, -ENOMEM, "open the system's counters: out of memory");
	for (i = 0; i < ND_OS_FILE_COUNT; i++)
		os->fd[i] = -1;
	os->rtnl.fd = -1;
	os->genl = (struct nd_os_rtnl){ .fd = -1, .protocol = NETLINK_GENERIC };
	os->is_machine = !*at;
	os->root = strdup(at);
	os->buf = malloc(FIRST_BYTES);
	os->size = FIRST_BYTES;
	if (!os->root || !os->buf) {
		nd_os_free(os);
		return nd_fail(err, -ENOMEM, "open the system's counters: out of memory");
	}
	open_files(os);
	*ret = os;
	return 0;
}

void nd_os_free(struct nd_os *os)
{
	int i;

	if (!os)
		return;
	for (i = 0; i < ND_OS_FILE_COUNT; i++)
		nd_close_p(&os->fd[i]);
	while (os->group_n > 0)
		nd_close_p(&os->group_fd[--os->group_n]);
	nd_os_rtnl_done(&os->rtnl);
	nd_os_rtnl_done(&os->genl);
	free(os->root);
	free(os->interrupt_text);
	free(os->nic_name);
	free(os->buf);
	free(os);
}

static int keep_text(char **at, const char *text)
{
	char *copy = NULL;

	if (text && *text) {
		copy = strdup(text);
		if (!copy)
			return -ENOMEM;
	}
	free(*at);
	*at = copy;
	return 0;
}

int nd_os_watch_interrupts(struct nd_os *os, const char *text)
{
	return keep_text(&os->interrupt_text, text);
}

int nd_os_watch_nic(struct nd_os *os, const char *name)
{
	return keep_text(&os->nic_name, name);
}

/* What a kernel may well be without: IPv6, connection tracking. */
static bool is_optional(int file)
{
	return file == ND_OS_SNMP6 || file == ND_OS_CONNTRACK_COUNT || file == ND_OS_CONNTRACK_MAX;
}

const char *nd_os_unread(const struct nd_os *os, size_t n)
{
	int i;

	for (i = 0; os && i < ND_OS_FILE_COUNT; i++)
		if (os->fd[i] < 0 && !is_optional(i) && n-- == 0)
			return paths[i];
	return NULL;
}

const char *nd_os_watched_nic(const struct nd_os *os)
{
	return os->nic_name;
}

static bool grow(struct nd_os *os)
{
	size_t want = os->size * 2;
	char *p;

	if (want > ND_OS_FILE_BYTES)
		return false;
	p = realloc(os->buf, want);
	if (!p)
		return false;
	os->buf = p;
	os->size = want;
	return true;
}

/* pread() at 0 makes the kernel write the text anew; the reads behind it continue that text. */
const char *nd_os_read(struct nd_os *os, int fd)
{
	size_t len = 0;
	ssize_t n;

	for (;;) {
		n = pread(fd, os->buf + len, os->size - 1 - len, (off_t)len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return NULL;
		if (n == 0)
			break;
		len += (size_t)n;
		if (len + 1 >= os->size && !grow(os))
			return NULL;
	}
	os->buf[len] = '\0';
	return os->buf;
}

const char *nd_os_text(struct nd_os *os, enum nd_os_file file)
{
	return os->fd[file] < 0 ? NULL : nd_os_read(os, os->fd[file]);
}

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * ND_NS_PER_S + (uint64_t)t.tv_usec * ND_NS_PER_US;
}

static uint64_t kib_of(const char *text, const char *key)
{
	const char *p = nd_os_value_of(text, key);
	uint64_t kib = p ? nd_os_next_u64(&p) : ND_UNKNOWN;

	return kib <= UINT64_MAX / 1024 ? kib * 1024 : ND_UNKNOWN;
}

/* The peak is VmHWM: ru_maxrss of a child begins with what its parent held before exec. */
void nd_os_parse_status(const char *text, struct nd_process *ret)
{
	ret->rss_bytes = kib_of(text, "VmRSS");
	ret->peak_rss_bytes = kib_of(text, "VmHWM");
}

static void sample_self(struct nd_os *os, struct nd_process *ret)
{
	const char *text = nd_os_text(os, ND_OS_SELF_STATUS);
	struct rusage u;

	if (text)
		nd_os_parse_status(text, ret);
	if (getrusage(RUSAGE_SELF, &u) < 0)
		return;
	ret->user_ns = timeval_ns(u.ru_utime);
	ret->system_ns = timeval_ns(u.ru_stime);
	ret->voluntary_switches = (uint64_t)u.ru_nvcsw;
	ret->involuntary_switches = (uint64_t)u.ru_nivcsw;
	ret->minor_faults = (uint64_t)u.ru_minflt;
}

static int sample_cpus(struct nd_os *os, struct nd_os_sample *s)
{
	const char *text = nd_os_text(os, ND_OS_STAT);
	int r = text ? nd_os_parse_stat(text, s) : 0;

	if (r < 0)
		return r;
	text = nd_os_text(os, ND_OS_SOFTIRQS);
	r = text ? nd_os_parse_softirqs(text, s) : 0;
	if (r < 0)
		return r;
	text = os->interrupt_text ? nd_os_text(os, ND_OS_INTERRUPTS) : NULL;
	if (text)
		s->watched_interrupts = nd_os_parse_interrupts(text, os->interrupt_text);
	text = nd_os_text(os, ND_OS_SOFTNET);
	return text ? nd_os_parse_softnet(text, s) : 0;
}

/* Those that wait are few, and given up as soon as they are old. */
static uint64_t unassembled(struct nd_os *os, int file, const char *key, uint64_t given_up)
{
	const char *text = nd_os_text(os, file);
	uint64_t wait = text ? nd_os_parse_sockstat(text, key) : ND_UNKNOWN;

	return wait == ND_UNKNOWN || given_up == ND_UNKNOWN ? ND_UNKNOWN : wait + given_up;
}

static void sample_fragments(struct nd_os *os, struct nd_os_sample *s)
{
	uint64_t v4 = unassembled(os, ND_OS_SOCKSTAT, "FRAG", s->snmp.ip_reasm_fails);
	uint64_t v6 = unassembled(os, ND_OS_SOCKSTAT6, "FRAG6", s->snmp.ip6_reasm_fails);

	s->unassembled = v4 == ND_UNKNOWN ? v6 : v6 == ND_UNKNOWN ? v4 : v4 + v6;
}

static void sample_protocols(struct nd_os *os, struct nd_os_sample *s)
{
	const char *text;

	text = nd_os_text(os, ND_OS_SNMP);
	if (text)
		nd_os_parse_snmp(text, &s->snmp);
	text = nd_os_text(os, ND_OS_NETSTAT);
	if (text)
		nd_os_parse_snmp(text, &s->snmp);
	text = nd_os_text(os, ND_OS_SNMP6);
	if (text)
		nd_os_parse_snmp6(text, &s->snmp);
	sample_fragments(os, s);
	text = nd_os_text(os, ND_OS_CONNTRACK_COUNT);
	if (text)
		s->conntrack_count = nd_os_next_u64(&text);
	text = nd_os_text(os, ND_OS_CONNTRACK_MAX);
	if (text)
		s->conntrack_max = nd_os_next_u64(&text);
}

void nd_os_sample_init(struct nd_os_sample *s)
{
	*s = (struct nd_os_sample){ .interrupts = ND_UNKNOWN,
				    .watched_interrupts = ND_UNKNOWN,
				    .context_switches = ND_UNKNOWN,
				    .conntrack_count = ND_UNKNOWN,
				    .conntrack_max = ND_UNKNOWN,
				    .unassembled = ND_UNKNOWN };
	nd_os_blank(&s->all, sizeof(s->all));
	nd_os_blank(&s->softirqs, sizeof(s->softirqs));
	nd_os_blank(&s->snmp, sizeof(s->snmp));
	nd_os_blank(&s->softnet, sizeof(s->softnet));
	nd_os_blank(&s->self, sizeof(s->self));
	nd_os_blank(&s->cgroup, sizeof(s->cgroup));
}

int nd_os_sample(struct nd_os *os, struct nd_os_sample *ret)
{
	struct nd_os_sample s;
	int r;

	nd_os_sample_init(&s);
	s.at_ns = nd_now_ns();
	r = sample_cpus(os, &s);
	if (r == 0)
		r = nd_os_sample_nics(os, &s);
	if (r == 0)
		r = nd_os_sample_qdiscs(os, &s);
	if (r < 0) {
		nd_os_sample_done(&s);
		return r;
	}
	sample_protocols(os, &s);
	sample_self(os, &s.self);
	nd_os_sample_groups(os, &s.cgroup);
	*ret = s;
	return 0;
}

void nd_os_sample_done(struct nd_os_sample *s)
{
	if (!s)
		return;
	free(s->cpu);
	free(s->cpu_net_rx);
	free(s->cpu_softnet);
	free(s->nic);
	s->cpu = NULL;
	s->cpu_net_rx = NULL;
	s->cpu_softnet = NULL;
	s->nic = NULL;
	s->cpus = 0;
	s->nics = 0;
}

const struct nd_nic *nd_os_nic(const struct nd_os_sample *s, const char *name)
{
	uint32_t i;

	for (i = 0; i < s->nics; i++)
		if (!strcmp(s->nic[i].name, name))
			return &s->nic[i];
	return NULL;
}

int nd_os_no_nic(const struct nd_os_sample *s, const char *name, struct nd_err *err)
{
	bool number = *name && !name[strspn(name, "0123456789.")];
	nd_auto_str there = { 0 };
	uint32_t i;

	for (i = 0; i < s->nics; i++)
		nd_str_addf(&there, "%s%s", i ? ", " : "", s->nic[i].name);
	return nd_fail(err, -ENODEV, "no interface '%.64s'; there are: %s%s", name,
		       nd_str_text(&there), number ? " (-i sets the interval, -n how many)" : "");
}
