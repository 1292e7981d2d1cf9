/* SPDX-License-Identifier: MIT */
/*
 * To the background, with an exit code that is true: the test is a child's from its beginning, so that no thread and
 * no descriptor has to survive a fork, and who called waits until the child's ports or flows are open.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "session/session.h"

enum { BY_SIGNAL = 128 }; /* as shells tell it */

static ssize_t read_byte(int fd)
{
	char byte;
	ssize_t n;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n;
}

/* What the child came to: it is ready, or it has ended. */
static int code_of(pid_t child, int fd)
{
	int status = 0;
	pid_t r;

	if (read_byte(fd) == 1)
		return 0;
	do
		r = waitpid(child, &status, 0);
	while (r < 0 && errno == EINTR);
	if (r != child)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : BY_SIGNAL + WTERMSIG(status);
}

int nd_detach(struct nd_detach *d, const struct nd_plan *plan, struct nd_err *err)
{
	int fds[2];
	pid_t child;

	d->fd = -1;
	d->when = plan->verb == ND_VERB_RECEIVE ? ND_PROG_READY : ND_PROG_FLOWS;
	if (!plan->daemon)
		return 0;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return nd_sysfail(err, "going to the background");
	child = fork();
	if (child < 0)
		(void)nd_sysfail(err, "going to the background");
	d->is_parent = child > 0;
	if (child == 0)
		d->fd = nd_take_fd(&fds[1]);
	nd_close_p(&fds[1]); /* the end of the child is the end of the pipe */
	if (child > 0)
		d->code = code_of(child, fds[0]);
	nd_close_p(&fds[0]);
	return child < 0 ? err->code : 0;
}

/* Whoever waits for the end of our output, or for our terminal, need not wait any more. */
static void leave(struct nd_detach *d)
{
	nd_auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)setsid(); /* a child leads no group: it cannot fail */
	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		(void)dup2(null, fd); /* else it stays what it was */
	while (write(d->fd, "", 1) < 0 && errno == EINTR)
		;
	nd_close_p(&d->fd); /* it waits no more if it is gone */
}

void nd_detach_progress(void *detach, const struct nd_progress_event *ev)
{
	struct nd_detach *d = detach;

	d->sink.progress(d->sink.user, ev);
	if (d->fd >= 0 && ev->what == d->when)
		leave(d);
}
