/* SPDX-License-Identifier: MIT */
/* Whole files in and out, and descriptors that clean themselves up. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define FIRST_BYTES 4096u

void nd_close_p(int *fd)
{
	int saved = errno;

	if (*fd < 0)
		return;
	(void)close(*fd); /* set-up code: the error that matters was already reported */
	*fd = -1;
	errno = saved;
}

void nd_free_p(void *p)
{
	void *block;

	memcpy(&block, p, sizeof(block)); /* *p may be any pointer type: no aliasing by void ** */
	free(block);
	block = NULL;
	memcpy(p, &block, sizeof(block));
}

static ssize_t read_some(int fd, char *buf, size_t n)
{
	ssize_t r;

	do
		r = read(fd, buf, n);
	while (r < 0 && errno == EINTR);
	return r;
}

/* Room for one byte more than is there and a terminator; never more than @max + 2. */
static int grow(char **buf, size_t *size, size_t max)
{
	size_t want = *size ? *size : FIRST_BYTES / 2;
	char *p;

	want = want > SIZE_MAX / 2 ? SIZE_MAX : want * 2;
	if (max < SIZE_MAX - 2 && want > max + 2)
		want = max + 2;
	p = realloc(*buf, want);
	if (!p)
		return -ENOMEM;
	*buf = p;
	*size = want;
	return 0;
}

int nd_read_file(const char *path, size_t max, char **ret, size_t *ret_len, struct nd_err *err)
{
	nd_auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	nd_auto_free char *buf = NULL;
	size_t len = 0, size = 0;
	ssize_t n;

	if (fd < 0)
		return nd_sysfail(err, "open %s", path);
	do {
		if (len + 1 >= size && grow(&buf, &size, max) < 0)
			return nd_fail(err, -ENOMEM, "read %s: out of memory", path);
		n = read_some(fd, buf + len, size - 1 - len);
		if (n < 0)
			return nd_sysfail(err, "read %s", path);
		len += (size_t)n;
		if (len > max)
			return nd_fail(err, -EFBIG, "read %s: larger than %zu bytes", path, max);
	} while (n > 0);
	buf[len] = '\0';
	if (ret_len)
		*ret_len = len;
	*ret = nd_take_ptr(buf);
	return 0;
}

int nd_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;
	ssize_t n;

	while (len > 0) {
		n = write(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The descriptor when @path is our own stdout or stderr (/dev/stdout and the like), else -1. */
static int standard_fd(const char *path)
{
	struct stat at, own;
	int fd;

	if (stat(path, &at) < 0)
		return -1;
	for (fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (fstat(fd, &own) == 0 && own.st_dev == at.st_dev && own.st_ino == at.st_ino)
			return fd;
	return -1;
}

/*
 * A device, a pipe or a symbolic link cannot be replaced by rename. What leads to our own stdout is
 * written there: opening /dev/stdout again fails for a socket and truncates a file already begun.
 */
static int write_into(const char *path, const char *data, size_t len, struct nd_err *err)
{
	int own = standard_fd(path), r;
	nd_auto_fd int fd = -1;

	if (own < 0) {
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644);
		if (fd < 0)
			return nd_sysfail(err, "open %s", path);
	}
	r = nd_write_all(own < 0 ? fd : own, data, len);
	if (r == 0 && own < 0 && close(nd_take_fd(&fd)) < 0)
		r = -errno;
	if (r < 0) {
		errno = -r;
		return nd_sysfail(err, "write %s", path);
	}
	return 0;
}

/* mkostemp() creates with 0600; a new file gets what open() would have given it. */
static mode_t new_mode(const struct stat *old)
{
	mode_t mask;

	if (old)
		return old->st_mode & 07777;
	mask = umask(077); /* no call reads it alone; the tighter value is harmless meanwhile */
	(void)umask(mask);
	return 0644 & ~mask;
}

static int write_temporary(char *temporary, mode_t mode, const char *data, size_t len)
{
	nd_auto_fd int fd = mkostemp(temporary, O_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = nd_write_all(fd, data, len);
	if (r == 0 && fchmod(fd, mode) < 0)
		r = -errno;
	if (close(nd_take_fd(&fd)) < 0 && r == 0) /* a network file system reports here */
		r = -errno;
	if (r < 0)
		(void)unlink(temporary); /* the failure above is the one to tell */
	return r;
}

int nd_write_file(const char *path, const char *data, size_t len, struct nd_err *err)
{
	nd_auto_free char *temporary = NULL;
	struct stat old;
	bool exists = lstat(path, &old) == 0;
	int r;

	if (exists && !S_ISREG(old.st_mode))
		return write_into(path, data, len, err);
	if (asprintf(&temporary, "%s.XXXXXX", path) < 0) {
		temporary = NULL;
		return nd_fail(err, -ENOMEM, "write %s: out of memory", path);
	}
	r = write_temporary(temporary, new_mode(exists ? &old : NULL), data, len);
	if (r == 0 && rename(temporary, path) < 0) {
		r = -errno;
		(void)unlink(temporary); /* the failure above is the one to tell */
	}
	if (r < 0) {
		errno = -r;
		return nd_sysfail(err, "write %s", path);
	}
	return 0;
}

void nd_fd_room(int fd, uint64_t n)
{
	if (n > 0 && n <= INT_MAX) {
		int last = fcntl(fd, F_DUPFD_CLOEXEC, (int)n - 1); /* beyond the limit: no room */

		nd_close_p(&last);
	}
}

int nd_nonblock(int fd, bool on, struct nd_err *err)
{
	int flags = fcntl(fd, F_GETFL), want;

	if (flags < 0)
		return nd_sysfail(err, "read flags of descriptor %d", fd);
	want = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	if (want != flags && fcntl(fd, F_SETFL, want) < 0)
		return nd_sysfail(err, "set flags of descriptor %d", fd);
	return 0;
}
