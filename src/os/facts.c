/* SPDX-License-Identifier: MIT */
/* What does not change during a run: the kernel, the CPUs, the limits that shape a result. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "base/str.h"
#include "base/time.h"
#include "os/int.h"

#define CPUINFO_BYTES ((size_t)16 << 10) /* the first CPU's part, whatever it can do */
#define CLOCK_ROUNDS  8u
#define CLOCK_READS   256u

static void read_names(struct nd_os_reader *r, struct nd_host_facts *ret)
{
	char text[ND_OS_LINE_BYTES];
	const char *name = NULL;
	struct utsname u;
	bool known = r->os->is_machine && uname(&u) == 0;

	ret->hostname =
		known ? nd_os_keep(r, u.nodename) : nd_os_fact(r, "proc/sys/kernel/hostname");
	ret->kernel = known ? nd_os_keep(r, u.release) : nd_os_fact(r, "proc/sys/kernel/osrelease");
	ret->kernel_build =
		known ? nd_os_keep(r, u.version) : nd_os_fact(r, "proc/sys/kernel/version");
	ret->machine = known ? nd_os_keep(r, u.machine) : nd_os_fact(r, "proc/sys/kernel/arch");
	if (!nd_os_peek(r->os, text, sizeof(text), "etc/os-release") &&
	    !nd_os_peek(r->os, text, sizeof(text), "usr/lib/os-release"))
		return;
	name = nd_os_value_of(text, "PRETTY_NAME");
	if (!name)
		return;
	if (*name == '"' || *name == '\'') {
		text[(size_t)(name - text) + 1 + strcspn(name + 1, "\"'\n")] = '\0';
		name++;
	}
	ret->os_name = nd_os_keep(r, name);
}

/* The target of a link such as proc/self/ns/net. */
static const char *link_target(struct nd_os_reader *r, const char *path)
{
	char full[PATH_MAX], target[256];
	int n = snprintf(full, sizeof(full), "%s/%s", r->os->root, path);
	ssize_t len;

	if (n < 0 || (size_t)n >= sizeof(full))
		return NULL;
	len = readlink(full, target, sizeof(target) - 1);
	if (len <= 0)
		return NULL;
	target[len] = '\0';
	return nd_os_keep(r, target);
}

/* Whether " word " is among the words of this line. */
static bool line_has(const char *line, const char *word)
{
	struct nd_os_word w;

	while (nd_os_word(&line, &w))
		if (nd_os_word_is(w, word))
			return true;
	return false;
}

/* ARM names no model: the makers' numbers stand for it. */
static const char *arm_model(const char *text, struct nd_os_reader *r)
{
	const char *maker = nd_os_value_of(text, "CPU implementer");
	const char *part = nd_os_value_of(text, "CPU part");
	nd_auto_str out = { 0 };

	if (!maker || !part)
		return NULL;
	nd_str_addf(&out, "ARM implementer %.*s part %.*s", (int)strcspn(maker, "\n"), maker,
		    (int)strcspn(part, "\n"), part);
	return nd_os_keep(r, nd_str_text(&out));
}

void nd_os_parse_cpuinfo(const char *text, struct nd_os_reader *r, struct nd_host_facts *ret,
			 int *ret_hypervisor)
{
	const char *flags = nd_os_value_of(text, "flags"), *mhz;
	uint64_t whole = ND_UNKNOWN;

	ret->cpu_model = nd_os_keep(r, nd_os_value_of(text, "model name"));
	if (!ret->cpu_model)
		ret->cpu_model = arm_model(text, r);
	if (!ret->cpu_model)
		ret->cpu_model = nd_os_keep(r, nd_os_value_of(text, "cpu")); /* POWER */
	mhz = nd_os_value_of(text, "cpu MHz");
	if (!mhz)
		mhz = nd_os_value_of(text, "clock"); /* POWER */
	if (mhz && nd_parse_prefix_u64(mhz, &whole))
		ret->cpu_mhz = whole;
	*ret_hypervisor = flags ? line_has(flags, "hypervisor") : -1;
}

static int read_cpuinfo(struct nd_os_reader *r, struct nd_host_facts *ret)
{
	nd_auto_free char *text = malloc(CPUINFO_BYTES);
	int hypervisor = -1;
	uint64_t khz;

	if (!text) {
		r->failed = true;
		return hypervisor;
	}
	if (nd_os_peek(r->os, text, CPUINFO_BYTES, "proc/cpuinfo"))
		nd_os_parse_cpuinfo(text, r, ret, &hypervisor);
	if (ret->cpu_mhz == ND_UNKNOWN) {
		khz = nd_os_fact_u64(r->os, "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
		if (khz != ND_UNKNOWN)
			ret->cpu_mhz = khz / 1000;
	}
	return hypervisor;
}

double nd_os_cpu_mhz(struct nd_os *os)
{
	nd_auto_free char *text = malloc(CPUINFO_BYTES);
	const char *at = NULL;
	double mhz = (double)NAN;
	uint64_t khz;

	if (text && nd_os_peek(os, text, CPUINFO_BYTES, "proc/cpuinfo"))
		at = nd_os_value_of(text, "cpu MHz");
	if (at && nd_parse_prefix_double(at, &mhz) > 0)
		return mhz;
	khz = nd_os_fact_u64(os, "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
	return khz == ND_UNKNOWN ? (double)NAN : (double)khz / 1000;
}

/* How many CPUs (or nodes) a list file names. */
static uint64_t count_of(struct nd_os *os, const char *path)
{
	uint32_t numbers[ND_OS_CPUS_MAX];
	char text[ND_OS_LINE_BYTES];
	int n = nd_os_peek(os, text, sizeof(text), "%s", path)
			? nd_os_cpulist(text, numbers, ND_COUNTOF(numbers))
			: -ENOENT;

	return n < 0 ? ND_UNKNOWN : (uint64_t)n;
}

static uint64_t allowed_count(struct nd_os *os)
{
	uint32_t numbers[ND_OS_CPUS_MAX];
	char text[ND_OS_LINE_BYTES];
	const char *list = NULL;
	int n = -ENOENT;

	if (os->is_machine) {
		n = nd_os_allowed_cpus(numbers, ND_COUNTOF(numbers));
	} else if (nd_os_peek(os, text, sizeof(text), "proc/self/status")) {
		list = nd_os_value_of(text, "Cpus_allowed_list");
		if (list) {
			text[(size_t)(list - text) + strcspn(list, "\n")] = '\0';
			n = nd_os_cpulist(list, numbers, ND_COUNTOF(numbers));
		}
	}
	return n < 0 ? ND_UNKNOWN : (uint64_t)n;
}

static void read_cpus(struct nd_os_reader *r, struct nd_host_facts *ret)
{
	struct nd_os *os = r->os;
	uint64_t active;
	long n;

	ret->cpus_online = count_of(os, "sys/devices/system/cpu/online");
	if (ret->cpus_online == ND_UNKNOWN && os->is_machine) {
		n = sysconf(_SC_NPROCESSORS_ONLN);
		ret->cpus_online = n > 0 ? (uint64_t)n : ND_UNKNOWN;
	}
	ret->cpus_allowed = allowed_count(os);
	ret->numa_nodes = count_of(os, "sys/devices/system/node/online");
	ret->smt = count_of(os, "sys/devices/system/cpu/cpu0/topology/thread_siblings_list");
	if (ret->smt == ND_UNKNOWN) {
		active = nd_os_fact_u64(os, "sys/devices/system/cpu/smt/active");
		ret->smt = active == 0 ? 1 : ND_UNKNOWN;
	}
	ret->governor = nd_os_fact(r, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
	ret->clocksource =
		nd_os_fact(r, "sys/devices/system/clocksource/clocksource0/current_clocksource");
}

static void read_limits(struct nd_os_reader *r, struct nd_host_facts *ret)
{
	char text[ND_OS_LINE_BYTES];
	struct nd_os *os = r->os;
	struct rlimit files;
	const char *p = text;

	ret->congestion_control = nd_os_fact(r, "proc/sys/net/ipv4/tcp_congestion_control");
	ret->default_qdisc = nd_os_fact(r, "proc/sys/net/core/default_qdisc");
	ret->rmem_max_bytes = nd_os_fact_u64(os, "proc/sys/net/core/rmem_max");
	ret->wmem_max_bytes = nd_os_fact_u64(os, "proc/sys/net/core/wmem_max");
	ret->somaxconn = nd_os_fact_u64(os, "proc/sys/net/core/somaxconn");
	ret->netdev_max_backlog = nd_os_fact_u64(os, "proc/sys/net/core/netdev_max_backlog");
	if (getrlimit(RLIMIT_NOFILE, &files) == 0)
		ret->fd_limit = files.rlim_cur;
	if (nd_os_peek(os, text, sizeof(text), "proc/sys/net/ipv4/ip_local_port_range")) {
		ret->port_range_low = nd_os_next_u64(&p);
		ret->port_range_high = nd_os_next_u64(&p);
	}
	if (nd_os_peek(os, text, sizeof(text), "proc/meminfo")) {
		p = nd_os_value_of(text, "MemTotal");
		ret->memory_bytes = p ? nd_os_next_u64(&p) : ND_UNKNOWN;
		if (ret->memory_bytes != ND_UNKNOWN &&
		    __builtin_mul_overflow(ret->memory_bytes, 1024, &ret->memory_bytes))
			ret->memory_bytes = ND_UNKNOWN;
	}
	if (nd_os_peek(os, text, sizeof(text), "proc/self/cgroup"))
		ret->cgroup_cpus = nd_os_cgroup_cpus(os, text);
}

/* The least of several rounds: whatever else ran in between is not the clock's cost. */
static uint64_t clock_cost_ns(void)
{
	uint64_t best = ND_UNKNOWN, from, to = 0;
	unsigned round, i;

	for (round = 0; round < CLOCK_ROUNDS; round++) {
		from = nd_now_ns();
		for (i = 0; i < CLOCK_READS; i++)
			to = nd_now_ns();
		best = ND_MIN(best, (to - from + CLOCK_READS / 2) / CLOCK_READS);
	}
	return best;
}

int nd_os_host(struct nd_os *os, struct nd_arena *a, struct nd_host_facts *ret)
{
	struct nd_os_reader r = { .os = os, .arena = a };
	struct nd_host_facts f = { .cpu_mhz = ND_UNKNOWN,
				   .fd_limit = ND_UNKNOWN,
				   .memory_bytes = ND_UNKNOWN,
				   .port_range_low = ND_UNKNOWN,
				   .port_range_high = ND_UNKNOWN,
				   .cgroup_cpus = (double)NAN };
	int hypervisor;

	read_names(&r, &f);
	hypervisor = read_cpuinfo(&r, &f);
	f.boot_id = nd_os_fact(&r, "proc/sys/kernel/random/boot_id");
	f.netns_id = link_target(&r, "proc/self/ns/net");
	read_cpus(&r, &f);
	read_limits(&r, &f);
	f.virtualization = nd_os_virtualization(&r, hypervisor, f.kernel);
	f.clock_read_ns = clock_cost_ns();
	if (r.failed)
		return -ENOMEM;
	*ret = f;
	return 0;
}
