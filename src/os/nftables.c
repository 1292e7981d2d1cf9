/* SPDX-License-Identifier: MIT */
/* All rules of this network namespace as JSON, told by libnftables, which is loaded for it and let go again. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "os/ruleset.h"

#define LIBRARY     "libnftables.so.1"
#define OUTPUT_JSON (1u << 4) /* of nft_ctx_output_set_flags() */

struct nft_ctx;

/* What is used of the library. */
struct nft {
	void *library;
	struct nft_ctx *(*ctx_new)(uint32_t flags);
	void (*ctx_free)(struct nft_ctx *ctx);
	int (*buffer_output)(struct nft_ctx *ctx);
	int (*buffer_error)(struct nft_ctx *ctx);
	const char *(*output)(struct nft_ctx *ctx);
	void (*output_flags)(struct nft_ctx *ctx, unsigned flags);
	int (*run)(struct nft_ctx *ctx, const char *command);
};

/* ISO C has no cast from an object's address to a function's; POSIX says that they are alike. */
static bool find(const struct nft *n, const char *name, void *to)
{
	void *at = dlsym(n->library, name);

	memcpy(to, &at, sizeof(at));
	return at;
}

static bool load(struct nft *n)
{
	n->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	return n->library && find(n, "nft_ctx_new", &n->ctx_new) &&
	       find(n, "nft_ctx_free", &n->ctx_free) &&
	       find(n, "nft_ctx_buffer_output", &n->buffer_output) &&
	       find(n, "nft_ctx_buffer_error", &n->buffer_error) &&
	       find(n, "nft_ctx_get_output_buffer", &n->output) &&
	       find(n, "nft_ctx_output_set_flags", &n->output_flags) &&
	       find(n, "nft_run_cmd_from_buffer", &n->run);
}

static int list(const struct nft *n, struct nd_str *out)
{
	struct nft_ctx *ctx = n->ctx_new(0);
	const char *text = NULL;

	if (!ctx)
		return -EIO;
	n->output_flags(ctx, OUTPUT_JSON);
	/* What it has to say goes into memory: standard output and error are not its own. */
	if (n->buffer_output(ctx) == 0 && n->buffer_error(ctx) == 0 &&
	    n->run(ctx, "list ruleset") == 0)
		text = n->output(ctx);
	if (text)
		nd_str_add(out, text);
	n->ctx_free(ctx);
	return text ? nd_str_ok(out) ? 0 : -ENOMEM : -EIO;
}

int nd_os_nft_list(struct nd_str *out)
{
	struct nft n = { 0 };
	int r = load(&n) ? list(&n, out) : -ENOENT;

	if (n.library)
		(void)dlclose(n.library); /* what is left of it hurts nobody */
	return r;
}
