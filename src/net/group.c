/* SPDX-License-Identifier: MIT */
/* Several sockets that listen at one address, of which the kernel chooses by the CPU on which a connection comes in. */
#include <errno.h>
#include <linux/filter.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "net/int.h"

#define BACKLOG 4096 /* as of the first socket */

static int listen_beside(const struct nd_transport *t, const struct nd_sockopts *o, int first,
			 int *ret_fd, struct nd_err *err)
{
	struct nd_addr at = { .len = sizeof(at.u) };
	nd_auto_fd int fd = -1;
	int r;

	if (getsockname(first, &at.u.sa, &at.len) < 0)
		return nd_sysfail(err, "asking a listening socket for its address");
	fd = socket(at.u.sa.sa_family, t->sock_type | SOCK_NONBLOCK | SOCK_CLOEXEC, t->protocol);
	if (fd < 0)
		return nd_sysfail(err, "no %s socket", t->name);
	r = t->prepare(fd, at.u.sa.sa_family, o, err);
	if (r < 0)
		return r;
	r = nd_sock_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (r == 0)
		r = nd_sock_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (r < 0)
		return nd_fail(err, r, "sockets cannot share a port");
	nd_listener_set(fd, o);
	if (bind(fd, &at.u.sa, at.len) < 0 || listen(fd, BACKLOG) < 0)
		return nd_sysfail(err, "one more socket at a port");
	*ret_fd = nd_take_fd(&fd);
	return 0;
}

/* A number that is no socket's leaves the choice to the kernel. */
static int choose_by_cpu(const struct nd_listen_group *g, struct nd_err *err)
{
	struct sock_filter code[2 * ND_COUNTOF(g->cpu) + 2] = { BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_CPU)) };
	struct sock_fprog program = { .filter = code };
	unsigned short at = 1;

	for (uint32_t i = 0; i < g->n; i++) {
		code[at++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, g->cpu[i], 0, 1);
		code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, i);
	}
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
	program.len = at;
	if (setsockopt(g->fd[0], SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program)) <
	    0)
		return nd_sysfail(err, "choosing sockets by CPU");
	return 0;
}

/* The first one takes its address alone, and shares it only now: no other program's socket can have come to it, and
 * later ones have to be this user's. */
int nd_listen_group(const struct nd_transport *t, const struct nd_sockopts *o,
		    struct nd_listen_group *g, struct nd_err *err)
{
	uint32_t n = 1;
	int r = nd_sock_set(g->fd[0], SOL_SOCKET, SO_REUSEPORT, 1);

	if (r < 0)
		return nd_fail(err, r, "sockets cannot share a port");
	while (n < g->n && r == 0) {
		r = listen_beside(t, o, g->fd[0], &g->fd[n], err);
		n += r == 0;
	}
	if (r == 0)
		r = choose_by_cpu(g, err);
	if (r == 0)
		return 0;
	while (n > 1)
		nd_close_p(&g->fd[--n]);
	(void)nd_sock_set(g->fd[0], SOL_SOCKET, SO_REUSEPORT, 0); /* as it was */
	return r;
}

bool nd_listens_apart(int fd)
{
	return nd_sock_get(fd, SOL_SOCKET, SO_REUSEPORT) > 0;
}
