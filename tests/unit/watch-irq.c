/* SPDX-License-Identifier: MIT */
/* Interrupts spread over machines that do not exist: who gets which CPU, what is written, and put back. */
#include <errno.h>
#include <fcntl.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "os-tree.h"
#include "watch/irq.h"
#include "watch/watch.h"

struct run {
	int r;
	struct nd_err err;
	char out[65536];
};

static void run(const struct nd_irq_ask *ask, struct run *ret)
{
	struct nd_plan plan;
	struct nd_local_place place = { .root = tree_root };
	FILE *f = tmpfile();
	size_t n;

	assert_non_null(f);
	memset(ret, 0, sizeof(*ret));
	nd_plan_init(&plan);
	plan.face = ask;
	place.out_fd = fileno(f);
	ret->r = nd_irq_run(&plan, &place, &ret->err);
	rewind(f);
	n = fread(ret->out, 1, sizeof(ret->out) - 1, f);
	ret->out[n] = '\0';
	(void)fclose(f);
	nd_plan_done(&plan);
}

struct spread {
	const char *label;
	struct tree_machine machine;
	struct nd_irq_ask ask;
	const char *first, *second, *last; /* CPUs of these queues */
	uint64_t queues;
};

static const struct spread spreads[] = {
	{ "a node of 32 cores, then their siblings",
	  TREE_ENA,
	  { .name = "eth0" },
	  "32",
	  "33",
	  "127",
	  64 },
	{ "both nodes, cores only",
	  TREE_ENA,
	  { .name = "eth0", .all_nodes = true },
	  "0",
	  "1",
	  "63",
	  64 },
	{ "node 0 of 8", TREE_MLX5, { .name = "ens1" }, "0", "1", "7", 8 },
	{ "every second CPU, as guides do",
	  TREE_VIRTIO,
	  { .name = "eth0", .stride = 2 },
	  "0",
	  "2",
	  "6",
	  4 },
	{ "cores of a small machine", TREE_VIRTIO, { .name = "eth0" }, "0", "1", "3", 4 },
	{ "named CPUs go round", TREE_VIRTIO, { .name = "eth0", .cpus = "5,7" }, "5", "7", "7", 4 },
	{ "without some", TREE_VIRTIO, { .name = "eth0", .exclude = "0-1" }, "2", "3", "5", 4 },
	{ "named, without some",
	  TREE_VIRTIO,
	  { .name = "eth0", .cpus = "1-3", .exclude = "2" },
	  "1",
	  "3",
	  "3",
	  4 },
};

static void check_cpu(const struct run *r, const struct tree_machine *m, unsigned queue,
		      const char *cpu)
{
	unsigned each = m->name_tx ? 2 : 1, i;
	char line[128];

	for (i = 0; i < each; i++) {
		(void)snprintf(line, sizeof(line), "echo %-4s >/proc/irq/%u/smp_affinity_list", cpu,
			       m->first_irq + 1 + queue * each + i);
		if (!strstr(r->out, line))
			print_message("%s\n", r->out);
		assert_non_null(strstr(r->out, line));
	}
}

static void test_plans(void **state)
{
	static struct run r;
	char text[64];
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(spreads); i++) {
		const struct spread *s = &spreads[i];
		struct nd_irq_ask ask = s->ask;

		print_message("[%s]\n", s->label);
		ask.action = ND_IRQ_SPREAD;
		tree_make(&s->machine);
		run(&ask, &r);
		assert_int_equal(r.r, 0);
		check_cpu(&r, &s->machine, 0, s->first);
		check_cpu(&r, &s->machine, 1, s->second);
		check_cpu(&r, &s->machine, (unsigned)s->queues - 1, s->last);
		(void)snprintf(text, sizeof(text), "%u queues", (unsigned)s->queues);
		assert_non_null(strstr(r.out, text));
		assert_non_null(strstr(r.out, "nothing was written"));
		assert_null(strstr(r.out, s->machine.control)); /* its own interrupt stays */
		tree_end();
	}
}

/* Isolated CPUs are somebody's: none of them is taken. */
static void test_isolated(void **state)
{
	const struct tree_machine m = TREE_VIRTIO;
	const struct nd_irq_ask ask = { .action = ND_IRQ_SPREAD, .name = "eth0" };
	static struct run r;

	(void)state;
	tree_make(&m);
	tree_put("sys/devices/system/cpu/isolated", "0-1\n");
	run(&ask, &r);
	check_cpu(&r, &m, 0, "2");
	check_cpu(&r, &m, 1, "3");
	check_cpu(&r, &m, 2, "4");
	tree_end();
}

static void state_file(char *path, size_t size)
{
	(void)snprintf(path, size, "%s/state", tree_root);
}

static void expect(const char *at, const char *value)
{
	char text[64];

	tree_get(at, text, sizeof(text));
	assert_string_equal(text, value);
}

static void test_apply_and_restore(void **state)
{
	const struct tree_machine m = TREE_VIRTIO;
	struct nd_irq_ask ask = { .action = ND_IRQ_SPREAD, .name = "eth0", .apply = true };
	static struct run r;
	char path[PATH_MAX];

	(void)state;
	tree_make(&m);
	state_file(path, sizeof(path));
	ask.state = path;
	tree_put("sys/class/net/eth0/queues/tx-3/xps_cpus", "ff\n");
	run(&ask, &r);
	if (r.r)
		print_message("%s\n%s", r.err.text, r.out);
	assert_int_equal(r.r, 0);
	expect("proc/irq/38/smp_affinity_list", "0");
	expect("proc/irq/44/smp_affinity_list", "3");
	expect("proc/irq/45/smp_affinity_list", "3");
	expect("proc/irq/37/smp_affinity_list", "0-7"); /* configuration */
	expect("sys/class/net/eth0/queues/tx-3/xps_cpus", "8");
	assert_non_null(strstr(r.out, "still on CPU 0 until its next interrupt"));

	run(&ask, &r);
	assert_int_equal(r.r, 0);
	assert_non_null(strstr(r.out, "so already"));

	ask.cpus = "7"; /* a second spread does not overwrite what was there at first */
	run(&ask, &r);
	assert_int_equal(r.r, 0);
	expect("proc/irq/38/smp_affinity_list", "7");

	ask = (struct nd_irq_ask){ .action = ND_IRQ_RESTORE, .name = "eth0", .state = path };
	run(&ask, &r);
	assert_int_equal(r.r, 0);
	assert_non_null(strstr(r.out, "nothing was written"));
	expect("proc/irq/38/smp_affinity_list", "7");
	ask.apply = true;
	run(&ask, &r);
	assert_int_equal(r.r, 0);
	expect("proc/irq/38/smp_affinity_list", "0-7");
	expect("proc/irq/45/smp_affinity_list", "0-7");
	expect("sys/class/net/eth0/queues/tx-3/xps_cpus", "ff");
	run(&ask, &r);
	assert_int_equal(r.r, -ENOENT); /* it is used up */
	tree_end();
}

/* Numbers change from boot to boot, names do not; what is gone is passed over. */
static void test_restore_by_name(void **state)
{
	struct tree_machine m = TREE_VIRTIO;
	struct nd_irq_ask ask = { .action = ND_IRQ_RESTORE, .name = "eth0", .apply = true };
	static struct run r;
	char path[PATH_MAX];

	(void)state;
	m.first_irq = 50;
	tree_make(&m);
	state_file(path, sizeof(path));
	ask.state = path;
	tree_put("outside", "1\n");
	tree_put("state", "netdyno-irq\t1\nirq\tvirtio2-input.1\t2-3\nirq\tvirtio2-input.9\t1\n"
			  "file\tsys/class/net/eth0/queues/../../../../../outside\t7\n"
			  "file\toutside\t7\n");
	run(&ask, &r);
	assert_int_equal(r.r, 0);
	expect("proc/irq/53/smp_affinity_list", "2-3");
	expect("outside", "1");
	tree_end();
}

struct broken {
	const char *label, *state;
};

static const struct broken broken_states[] = {
	{ "empty", "" },
	{ "another file", "{\"json\": 1}\n" },
	{ "no value", "netdyno-irq\t1\nirq\tvirtio2-input.1\n" },
	{ "no tab", "netdyno-irq\t1\nnonsense\n" },
};

static void test_broken_states(void **state)
{
	const struct tree_machine m = TREE_VIRTIO;
	struct nd_irq_ask ask = { .action = ND_IRQ_RESTORE, .name = "eth0", .apply = true };
	static struct run r;
	char path[PATH_MAX];
	size_t i;

	(void)state;
	tree_make(&m);
	state_file(path, sizeof(path));
	ask.state = path;
	for (i = 0; i < ND_COUNTOF(broken_states); i++) {
		print_message("[%s]\n", broken_states[i].label);
		tree_put("state", broken_states[i].state);
		run(&ask, &r);
		assert_int_equal(r.r, -EBADMSG);
		assert_non_null(strstr(r.err.text, path));
	}
	tree_end();
}

/* What cannot be written is named, the rest is done, and the end is a failure. */
static void test_refused_writes(void **state)
{
	const struct tree_machine m = TREE_VIRTIO;
	struct nd_irq_ask ask = { .action = ND_IRQ_SPREAD, .name = "eth0", .apply = true };
	static struct run r;
	char path[PATH_MAX], victim[PATH_MAX + 64];

	(void)state;
	tree_make(&m);
	state_file(path, sizeof(path));
	ask.state = path;
	(void)snprintf(victim, sizeof(victim), "%s/proc/irq/40/smp_affinity_list", tree_root);
	assert_int_equal(unlink(victim), 0);
	assert_int_equal(mkdir(victim, 0755), 0);
	run(&ask, &r);
	assert_int_equal(r.r, -EIO);
	assert_non_null(strstr(r.err.text, "1 of "));
	assert_non_null(strstr(r.out, "virtio2-input.1"));
	assert_non_null(strstr(r.out, "failed, "));
	expect("proc/irq/42/smp_affinity_list", "2");

	ask.state = "/nonexistent/folder/state";
	ask.cpus = "6";
	run(&ask, &r);
	assert_true(r.r < 0);
	assert_non_null(strstr(r.err.text, "nothing was changed"));
	expect("proc/irq/42/smp_affinity_list", "2");
	tree_end();
}

struct device {
	const char *label, *to, *words;
};

/* Writes that the kernel refuses, by files that refuse alike. */
static const struct device devices[] = {
	{ "managed by the kernel: EIO", "/proc/self/mem", "the kernel manages this interrupt" },
	{ "vectors used up: ENOSPC", "/dev/full", "no interrupt vector left" },
};

static void test_kernel_refuses(void **state)
{
	const struct tree_machine m = TREE_VIRTIO;
	struct nd_irq_ask ask = { .action = ND_IRQ_SPREAD, .name = "eth0", .apply = true };
	static struct run r;
	char path[PATH_MAX], victim[PATH_MAX + 64];
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(devices); i++) {
		print_message("[%s]\n", devices[i].label);
		tree_make(&m);
		state_file(path, sizeof(path));
		ask.state = path;
		(void)snprintf(victim, sizeof(victim), "%s/proc/irq/41/smp_affinity_list",
			       tree_root);
		assert_int_equal(unlink(victim), 0);
		assert_int_equal(symlink(devices[i].to, victim), 0);
		tree_put("proc/99/comm", "irqbalance\n");
		run(&ask, &r);
		assert_int_equal(r.r, -EIO);
		assert_non_null(strstr(r.out, "irqbalance runs and will move them again"));
		assert_non_null(strstr(r.out, devices[i].words));
		assert_non_null(strstr(r.err.text, "1 of "));
		expect("proc/irq/42/smp_affinity_list", "2"); /* the others are made */
		ask.action = ND_IRQ_RESTORE;
		run(&ask, &r); /* what was never changed is not in the way of the rest */
		expect("proc/irq/42/smp_affinity_list", "0-7");
		ask.action = ND_IRQ_SPREAD;
		tree_end();
	}
}

static void unreadable(const char *at)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", tree_root, at);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0755), 0); /* root reads a file whatever its mode */
}

/* Sources that cannot be read are named; the rest is shown. */
static void test_unreadable(void **state)
{
	const struct tree_machine m = TREE_VIRTIO;
	struct nd_irq_ask ask = { .action = ND_IRQ_SHOW, .name = "eth0" };
	static struct run r;

	(void)state;
	tree_make(&m);
	unreadable("proc/irq/38/smp_affinity_list");
	unreadable("proc/irq/38/effective_affinity_list");
	unreadable("proc/irq/40/effective_affinity_list");
	unreadable("sys/devices/system/cpu/online");
	run(&ask, &r);
	assert_int_equal(r.r, 0);
	assert_non_null(strstr(r.out, "smp_affinity_list cannot be read of 1 of 9 interrupts"));
	assert_non_null(strstr(r.out, "effective_affinity_list cannot be read of 2 of 9"));
	assert_non_null(strstr(r.out, "/sys/devices/system/cpu cannot be read"));
	assert_non_null(strstr(r.out, "virtio2-output.3"));
	ask.format = ND_LOCAL_JSON;
	run(&ask, &r);
	assert_int_equal(r.r, 0);
	assert_non_null(strstr(r.out, "\"allowed\": null"));
	assert_non_null(strstr(r.out, "cannot be read of 1 of 9 interrupts"));
	tree_end();
}

struct refusal {
	const char *label;
	struct nd_irq_ask ask;
	int r;
	const char *words;
};

static const struct refusal refusals[] = {
	{ "no such interface", { .action = ND_IRQ_SHOW, .name = "eth7" }, -ENODEV, "eth7" },
	{ "no list",
	  { .action = ND_IRQ_SPREAD, .name = "eth0", .cpus = "all" },
	  -EINVAL,
	  "--cpus" },
	{ "offline", { .action = ND_IRQ_SPREAD, .name = "eth0", .cpus = "8" }, -EINVAL, "CPU 8" },
	{ "no list of others",
	  { .action = ND_IRQ_SPREAD, .name = "eth0", .exclude = "x" },
	  -EINVAL,
	  "--exclude" },
	{ "nothing left",
	  { .action = ND_IRQ_SPREAD, .name = "eth0", .exclude = "0-7" },
	  -EINVAL,
	  "no CPU is left" },
	{ "nothing left of the named",
	  { .action = ND_IRQ_SPREAD, .name = "eth0", .cpus = "1", .exclude = "1" },
	  -EINVAL,
	  "no CPU is left" },
};

static void test_refusals(void **state)
{
	const struct tree_machine m = TREE_VIRTIO;
	static struct run r;
	size_t i;

	(void)state;
	tree_make(&m);
	for (i = 0; i < ND_COUNTOF(refusals); i++) {
		print_message("[%s]\n", refusals[i].label);
		run(&refusals[i].ask, &r);
		assert_int_equal(r.r, refusals[i].r);
		assert_non_null(strstr(r.err.text, refusals[i].words));
	}
	tree_end();
}

static void test_show(void **state)
{
	const struct tree_machine m = TREE_ENA;
	struct nd_irq_ask ask = { .action = ND_IRQ_SHOW, .name = "eth0" };
	static struct run r;

	(void)state;
	tree_make(&m);
	tree_put("proc/99/comm", "irqbalance\n");
	run(&ask, &r);
	assert_int_equal(r.r, 0);
	assert_non_null(strstr(r.out, "node 1"));
	assert_non_null(strstr(r.out, "eth0-Tx-Rx-63"));
	assert_non_null(strstr(r.out, "irqbalance runs"));
	assert_non_null(strstr(r.out, "63 of 64 receive queues share their CPU"));
	assert_non_null(strstr(r.out, "64 receive queues are served far from node 1"));
	ask.format = ND_LOCAL_JSON;
	run(&ask, &r);
	assert_non_null(strstr(r.out, "\"irqbalance\": true"));
	tree_end();

	/* No sysfs: what there is, and a sentence about what there is not. */
	tree_begin();
	tree_put("proc/net/dev", "head\nhead\neth0: 1 1 0 0 0 0 0 0 2 2 0 0 0 0 0 0\n");
	ask.format = ND_LOCAL_TEXT;
	run(&ask, &r);
	assert_int_equal(r.r, 0);
	assert_non_null(strstr(r.out, "no interrupt of this interface was found"));
	ask.action = ND_IRQ_SPREAD;
	run(&ask, &r);
	assert_int_equal(r.r, -EINVAL);
	assert_non_null(strstr(r.err.text, "give --cpus"));
	ask.cpus = "0";
	run(&ask, &r);
	assert_int_equal(r.r, -ENOENT);
	tree_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plans),
		cmocka_unit_test(test_isolated),
		cmocka_unit_test(test_apply_and_restore),
		cmocka_unit_test(test_restore_by_name),
		cmocka_unit_test(test_broken_states),
		cmocka_unit_test(test_refused_writes),
		cmocka_unit_test(test_kernel_refuses),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_show),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
