/* SPDX-License-Identifier: MIT */
/* Descriptors and heap blocks that clean themselves up in set-up code. */
#ifndef ND_BASE_FD_H
#define ND_BASE_FD_H

#include "base/base.h"
#include "base/err.h"

/** nd_close_p() - close *@fd when >= 0 and set it to -1; errno is untouched. */
void nd_close_p(int *fd);
/** nd_free_p() - free *(void **)@p and set it to NULL. */
void nd_free_p(void *p);

#define nd_auto_fd   ND_CLEANUP(nd_close_p)
#define nd_auto_free ND_CLEANUP(nd_free_p)

/** nd_take_fd() - hand a descriptor over: returns *fd and leaves -1 behind. */
static inline int nd_take_fd(int *fd)
{
	int r = *fd;

	*fd = -1;
	return r;
}

/** nd_take_ptr() - hand a heap block over: the pointer, NULL left behind. */
#define nd_take_ptr(p)                         \
	({                                     \
		__typeof__(p) nd_taken_ = (p); \
		(p) = NULL;                    \
		nd_taken_;                     \
	})

/** nd_fd_tables() - may threads have descriptor tables of their own? Not under ThreadSanitizer: it knows descriptors by
 * their number alone, and takes equal numbers of two tables for one descriptor that two threads use. */
static inline bool nd_fd_tables(void)
{
#ifdef __SANITIZE_THREAD__
	return false;
#else
	return true;
#endif
}

/** nd_fd_room() - have room for @n descriptors in the table, best before there are threads: when a table that threads
 * share grows, the kernel holds up who opens one for tens of milliseconds. @fd: any that is open, to be copied for a
 * moment. Best effort. */
void nd_fd_room(int fd, uint64_t n);

/** nd_read_file() - whole file into an owned, terminated buffer. At most @max bytes, else -EFBIG. */
ND_MUST_CHECK int nd_read_file(const char *path, size_t max, char **ret, size_t *ret_len,
			       struct nd_err *err);

/** nd_write_file() - replace @path atomically (temporary in the same folder, rename). */
ND_MUST_CHECK int nd_write_file(const char *path, const char *data, size_t len, struct nd_err *err);

/** nd_write_all() - write everything to a blocking descriptor, EINTR and short writes handled. */
ND_MUST_CHECK int nd_write_all(int fd, const void *data, size_t len);

/** nd_nonblock() - set or clear O_NONBLOCK. */
ND_MUST_CHECK int nd_nonblock(int fd, bool on, struct nd_err *err);

#endif
