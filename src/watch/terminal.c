/* SPDX-License-Identifier: MIT */
/*
 * On Ctrl-C a terminal signals first and then throws away what has not been shown yet: with it what gives the
 * first screen back, if that was written in between.
 */
#include <termios.h>
#include <unistd.h>

#include "watch/int.h"

bool nd_terminal_keep(int fd, struct termios *ret)
{
	struct termios t;

	/* who is not in front would be stopped for it, and gets no Ctrl-C either */
	if (tcgetpgrp(fd) != getpgrp() || tcgetattr(fd, &t) < 0 || (t.c_lflag & NOFLSH))
		return false;
	*ret = t;
	t.c_lflag |= NOFLSH;
	return tcsetattr(fd, TCSANOW, &t) == 0;
}

void nd_terminal_restore(int fd, const struct termios *was)
{
	if (tcgetpgrp(fd) == getpgrp())
		(void)tcsetattr(fd, TCSADRAIN, was); /* it was so before */
}
