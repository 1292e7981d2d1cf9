/* SPDX-License-Identifier: MIT */
/* What this machine runs in: a hypervisor by its vendor, a container by the marks it leaves. */
#include <string.h>

#include "base/str.h"
#include "os/int.h"

struct mark {
	const char *path, *kind;
};

/* clang-format off */
static const struct mark container_marks[] = {
	{ "var/run/secrets/kubernetes.io", "kubernetes" },
	{ ".dockerenv",                    "docker" },
	{ "run/.containerenv",             "podman" },
};

/* Makers of no hardware: where the CPU cannot tell, their name in DMI does. */
static const char *const guest_vendors[] = {
	"QEMU", "KVM", "Xen", "VMware", "innotek", "Parallels", "Google", "OpenStack", "Nutanix",
	"Red Hat", "Alibaba Cloud", "DigitalOcean", "Hetzner", "Amazon EC2",
};

/* clang-format on */

static bool is_guest_vendor(const char *vendor, const char *product)
{
	size_t i;

	if (product && strstr(product, ".metal"))
		return false;
	if (product && !strcmp(product, "Virtual Machine"))
		return true;
	for (i = 0; vendor && i < ND_COUNTOF(guest_vendors); i++)
		if (!strncmp(vendor, guest_vendors[i], strlen(guest_vendors[i])))
			return true;
	return false;
}

static void add_hypervisor(struct nd_os_reader *r, int hypervisor, const char *kernel,
			   struct nd_str *out)
{
	const char *vendor = nd_os_fact(r, "sys/class/dmi/id/sys_vendor");
	const char *product = nd_os_fact(r, "sys/class/dmi/id/product_name");
	const char *type = nd_os_fact(r, "sys/hypervisor/type");

	if (kernel && (strstr(kernel, "microsoft") || strstr(kernel, "Microsoft"))) {
		nd_str_add(out, "WSL");
		return;
	}
	if (hypervisor == 0 || (hypervisor < 0 && !type && !is_guest_vendor(vendor, product)))
		return;
	if (!vendor && !product) {
		nd_str_add(out, type ? type : "hypervisor");
		return;
	}
	nd_str_add(out, vendor ? vendor : product);
	if (vendor && product)
		nd_str_addf(out, " %s", product);
}

/* "container=lxc" among the strings of another process' environment; NULL when it is not ours. */
static const char *from_environment(struct nd_os_reader *r)
{
	char text[ND_OS_LINE_BYTES];
	const char *p = text;

	memset(text, 0, sizeof(text));
	if (!nd_os_peek(r->os, text, sizeof(text) - 1, "proc/1/environ"))
		return NULL;
	for (; p < text + sizeof(text) && *p; p += strlen(p) + 1)
		if (!strncmp(p, "container=", 10))
			return nd_os_keep(r, p + 10);
	return NULL;
}

static const char *container(struct nd_os_reader *r)
{
	const char *kind;
	size_t i;

	for (i = 0; i < ND_COUNTOF(container_marks); i++)
		if (nd_os_exists(r->os, "%s", container_marks[i].path))
			return container_marks[i].kind;
	kind = nd_os_fact(r, "run/systemd/container");
	return kind ? kind : from_environment(r);
}

const char *nd_os_virtualization(struct nd_os_reader *r, int hypervisor, const char *kernel)
{
	const char *kind = container(r), *kept;
	nd_auto_str out = { 0 };

	add_hypervisor(r, hypervisor, kernel, &out);
	if (kind)
		nd_str_addf(&out, "%s%s", out.len ? ", " : "", kind);
	kept = nd_os_keep(r, nd_str_text(&out));
	if (!nd_str_ok(&out))
		r->failed = true;
	return kept;
}
