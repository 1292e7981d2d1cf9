/* SPDX-License-Identifier: MIT */
/* netdyno irq: look, say what would be written, write it, keep what was there, and put it back. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "watch/irq.h"
#include "watch/watch.h"

#define STATE_BYTES ((size_t)1 << 20)

static int no_nic(const struct nd_irq_view *v, struct nd_err *err)
{
	struct nd_os_sample s;
	int r = nd_os_sample(v->os, &s);

	if (r < 0)
		return nd_fail(err, -ENODEV, "no interface '%.64s'", v->ask->name);
	r = nd_os_no_nic(&s, v->ask->name, err);
	nd_os_sample_done(&s);
	return r;
}

int nd_irq_look(struct nd_irq_view *v, struct nd_err *err)
{
	int r = nd_os_nic_facts(v->os, v->ask->name, &v->arena, &v->nic);

	if (r == -ENODEV)
		return no_nic(v, err);
	if (r == 0)
		r = nd_os_nic_limits(v->os, v->ask->name, &v->limits);
	if (r == 0)
		r = nd_os_nic_irqs(v->os, v->ask->name, &v->arena, &v->irqs);
	if (r == 0)
		r = nd_os_cpu_places(v->os, &v->arena, &v->places);
	v->balanced = nd_os_runs(v->os, "irqbalance");
	return r < 0 ? nd_fail(err, r, "%s: cannot be read", v->ask->name) : 0;
}

/* ---- writes */

static const char *why(int code, char *buf, size_t size)
{
	switch (code) {
	case -EIO:
		return "the kernel manages this interrupt itself";
	case -EINVAL:
	case -ERANGE:
	case -EOVERFLOW:
		return "no such CPU is online";
	case -ENOSPC:
		return "that CPU has no interrupt vector left";
	case -EPERM:
	case -EACCES:
		return "not allowed: root is needed";
	case -EROFS:
		return "read-only, as in most containers";
	default:
		return nd_strerror(code, buf, size);
	}
}

static void say_writes(const struct nd_list *writes, struct nd_str *out)
{
	const struct nd_irq_write *w = writes->v;
	uint64_t i;

	for (i = 0; i < writes->n; i++)
		nd_str_addf(out, "echo %-4s >/%s   # %s, now %s\n", w[i].value, w[i].path,
			    w[i].what, w[i].was ? w[i].was : "unknown");
}

/* The kernel may take a write and do something else: what is there afterwards counts. */
static bool write_one(const struct nd_irq_view *v, const struct nd_irq_write *w, struct nd_str *out)
{
	char text[256], words[64];
	int r = nd_os_poke(v->os, w->value, "%s", w->path);

	nd_str_addf(out, "%-24s %s -> %s: ", w->what, w->was ? w->was : "?", w->value);
	if (r < 0) {
		nd_str_addf(out, "failed, %s\n", why(r, words, sizeof(words)));
		return false;
	}
	if (w->number == ND_UNKNOWN) {
		nd_str_add(out, "written\n");
		return true;
	}
	if (!nd_os_peek(v->os, text, sizeof(text), "%s", w->path) ||
	    !nd_irq_same_cpus(text, w->value)) {
		nd_str_add(out, "taken, but something else is in force\n");
		return false;
	}
	if (nd_os_peek(v->os, text, sizeof(text), "proc/irq/%llu/effective_affinity_list",
		       (unsigned long long)w->number) &&
	    w->cpu != ND_UNKNOWN && !nd_irq_same_cpus(text, w->value)) {
		text[strcspn(text, "\n")] = '\0';
		nd_str_addf(out, "written; still on CPU %s until its next interrupt\n", text);
		return true;
	}
	nd_str_add(out, "written\n");
	return true;
}

static int write_all(const struct nd_irq_view *v, const struct nd_list *writes, struct nd_str *out,
		     struct nd_err *err)
{
	const struct nd_irq_write *w = writes->v;
	uint64_t i, failed = 0;

	for (i = 0; i < writes->n; i++)
		failed += !write_one(v, &w[i], out);
	if (failed)
		return nd_fail(err, -EIO, "%llu of %llu settings of %s could not be made",
			       (unsigned long long)failed, (unsigned long long)writes->n,
			       v->ask->name);
	return 0;
}

/* ---- spread and restore */

static void state_path(const struct nd_irq_view *v, struct nd_str *out)
{
	if (v->ask->state)
		nd_str_add(out, v->ask->state);
	else
		nd_str_addf(out, "/run/netdyno-irq-%s", v->ask->name);
}

/* Of two spreads one after the other, the first one's state is what restore is to bring back: only what it did not
 * touch is added. */
static void add_new(const char *before, const char *now, struct nd_str *out)
{
	const char *line, *end;
	nd_auto_str key = { 0 };
	size_t n;

	nd_str_add(out, before);
	for (line = now; *line; line = end + (*end == '\n')) {
		end = line + strcspn(line, "\n");
		n = strcspn(line, "\t");
		n += line[n] ? strcspn(line + n + 1, "\t\n") + 2
			     : 0; /* kind and name, with both tabs */
		nd_str_reset(&key);
		nd_str_add(&key, "\n");
		nd_str_addn(&key, line, n);
		if (line == now || strstr(before, nd_str_text(&key)))
			continue;
		nd_str_addn(out, line, (size_t)(end - line) + 1);
	}
}

static int keep_state(const struct nd_irq_view *v, const struct nd_list *writes, struct nd_str *out,
		      struct nd_err *err)
{
	nd_auto_str path = { 0 }, now = { 0 }, text = { 0 };
	nd_auto_free char *before = NULL;
	size_t len;
	int r;

	state_path(v, &path);
	nd_irq_keep(writes, &now);
	r = nd_read_file(nd_str_text(&path), STATE_BYTES, &before, &len, err);
	if (r < 0 && r != -ENOENT)
		return nd_wrap(err, r, "the settings before cannot be kept");
	if (r == 0)
		add_new(before, nd_str_text(&now), &text);
	else
		nd_str_add(&text, nd_str_text(&now));
	if (!nd_str_ok(&text) || !nd_str_ok(&path) || !nd_str_ok(&now))
		return nd_fail(err, -ENOMEM, "irq: out of memory");
	r = nd_write_file(nd_str_text(&path), nd_str_text(&text), text.len, err);
	if (r < 0)
		return nd_wrap(err, r,
			       "the settings before cannot be kept, so nothing was changed");
	nd_str_addf(out, "the settings before are in %s\n", nd_str_text(&path));
	return 0;
}

static int spread(struct nd_irq_view *v, struct nd_str *out, struct nd_err *err)
{
	struct nd_list writes = { 0 };
	nd_auto_str cpus = { 0 };
	uint64_t queues = 0;
	int r = nd_irq_plan(v, &writes, &cpus, &queues, err);

	if (r < 0)
		return r;
	nd_str_addf(out, "# %s: %llu queue%s over CPUs %s\n", v->ask->name,
		    (unsigned long long)queues, queues == 1 ? "" : "s", nd_str_text(&cpus));
	if (v->balanced)
		nd_str_add(out, "# irqbalance runs and will move them again within 10 s: stop it "
				"first\n");
	if (!writes.n) {
		nd_str_add(out, "it is so already\n");
		return 0;
	}
	if (!v->ask->apply) {
		say_writes(&writes, out);
		nd_str_add(out,
			   "# nothing was written; --apply does it. Threads of a test are best "
			   "pinned to other CPUs (--pin)\n");
		return 0;
	}
	r = keep_state(v, &writes, out, err);
	return r < 0 ? r : write_all(v, &writes, out, err);
}

static int restore(struct nd_irq_view *v, struct nd_str *out, struct nd_err *err)
{
	nd_auto_free char *text = NULL;
	struct nd_list writes = { 0 };
	nd_auto_str path = { 0 };
	size_t len;
	int r;

	state_path(v, &path);
	r = nd_read_file(nd_str_text(&path), STATE_BYTES, &text, &len, err);
	if (r == -ENOENT)
		return nd_fail(err, r, "%s is not there: nothing was spread, or it was put back",
			       nd_str_text(&path));
	if (r == 0)
		r = nd_irq_recall(v, text, &writes, err);
	if (r < 0)
		return nd_wrap(err, r, "%s", nd_str_text(&path));
	if (!v->ask->apply) {
		say_writes(&writes, out);
		nd_str_add(out, "# nothing was written; --apply does it\n");
		return 0;
	}
	r = write_all(v, &writes, out, err);
	if (r < 0)
		return r;
	if (unlink(nd_str_text(&path)) < 0)
		return nd_sysfail(err, "remove %s", nd_str_text(&path));
	nd_str_addf(out, "%s is as it was\n", v->ask->name);
	return 0;
}

int nd_irq_run(const struct nd_plan *plan, const struct nd_local_place *place, struct nd_err *err)
{
	struct nd_irq_view v = { .ask = plan->face };
	nd_auto_str out = { 0 };
	int r = nd_os_open(place->root, &v.os, err), w;

	if (r == 0)
		r = nd_irq_look(&v, err);
	if (r == 0 && v.ask->action == ND_IRQ_SHOW)
		(v.ask->format == ND_LOCAL_TEXT ? nd_irq_show : nd_irq_show_json)(&v, &out);
	else if (r == 0)
		r = v.ask->action == ND_IRQ_SPREAD ? spread(&v, &out, err) : restore(&v, &out, err);
	w = nd_str_ok(&out) ? nd_write_all(place->out_fd, nd_str_text(&out), out.len) : -ENOMEM;
	if (w < 0 && w != -EPIPE && r == 0)
		r = nd_fail(err, w, "irq: cannot write");
	nd_os_free(v.os);
	nd_arena_done(&v.arena);
	return r;
}
