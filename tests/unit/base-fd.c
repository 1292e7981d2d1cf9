/* SPDX-License-Identifier: MIT */
/* Files read and written whole, in a folder of its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/fd.h"

struct folder {
	char path[64], file[96], link[96];
};

struct read_case {
	size_t bytes, max;
	int r;
};

static const struct read_case reads[] = {
	{ 0, 0, 0 },       { 0, 10, 0 },           { 1, 0, -EFBIG },
	{ 10, 10, 0 },     { 11, 10, -EFBIG },     { 4095, 4095, 0 },
	{ 4096, 4096, 0 }, { 4097, 4096, -EFBIG }, { 100000, SIZE_MAX, 0 },
	{ 8190, 8190, 0 }, { 8191, 8190, -EFBIG },
};

static int make_folder(void **state)
{
	struct folder *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	(void)snprintf(f->path, sizeof(f->path), "/tmp/nd-base-fd-XXXXXX"); /* fits */
	if (!mkdtemp(f->path)) {
		free(f);
		return -1;
	}
	(void)snprintf(f->file, sizeof(f->file), "%s/file", f->path); /* fits */
	(void)snprintf(f->link, sizeof(f->link), "%s/link", f->path); /* fits */
	*state = f;
	return 0;
}

/* rmdir fails when a temporary was left behind. */
static int drop_folder(void **state)
{
	struct folder *f = *state;
	int r;

	(void)unlink(f->file); /* may not exist */
	(void)unlink(f->link); /* may not exist */
	r = rmdir(f->path);
	free(f);
	return r;
}

static void expect_file(const char *path, const char *want)
{
	nd_auto_free char *text = NULL;
	struct nd_err err = { 0 };
	size_t len = 0;

	if (nd_read_file(path, 1000, &text, &len, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(len, strlen(want));
	assert_string_equal(text, want);
}

static void reads_up_to_a_limit(void **state)
{
	struct folder *f = *state;
	char *data = malloc(100000);
	size_t i, len;

	assert_non_null(data);
	memset(data, 'x', 100000);
	for (i = 0; i < ND_COUNTOF(reads); i++) {
		nd_auto_free char *text = NULL;
		struct nd_err err = { 0 };
		int r;

		assert_int_equal(nd_write_file(f->file, data, reads[i].bytes, &err), 0);
		len = 0;
		r = nd_read_file(f->file, reads[i].max, &text, &len, &err);
		if (r != reads[i].r || (r == 0 && len != reads[i].bytes) || (r == 0) != !!text)
			fail_msg("row %zu: %d, %zu bytes, %s", i, r, len, err.text);
		if (text && (memcmp(text, data, len) != 0 || text[len] != '\0'))
			fail_msg("row %zu: other text", i);
	}
	free(data);
}

static void says_why_it_cannot_read(void **state)
{
	struct folder *f = *state;
	struct nd_err err = { 0 };
	char *text = NULL;

	assert_int_equal(nd_read_file(f->file, 10, &text, NULL, &err), -ENOENT);
	assert_non_null(strstr(err.text, f->file));
	assert_int_equal(nd_read_file(f->path, 10, &text, NULL, &err), -EISDIR);
	assert_int_equal(nd_write_file("/nonexistent/x", "a", 1, &err), -ENOENT);
	assert_int_equal(nd_write_file(f->path, "a", 1, &err), -EISDIR);
	assert_null(text);
}

static void replaces_a_file(void **state)
{
	struct folder *f = *state;
	mode_t mask = umask(027);
	struct stat before, after;

	assert_int_equal(nd_write_file(f->file, "one", 3, NULL), 0);
	assert_int_equal(umask(mask), 027);
	expect_file(f->file, "one");
	assert_int_equal(stat(f->file, &before), 0);
	assert_int_equal(before.st_mode & 07777, 0640);
	assert_int_equal(chmod(f->file, 0600), 0);
	assert_int_equal(nd_write_file(f->file, "two!", 4, NULL), 0);
	expect_file(f->file, "two!");
	assert_int_equal(stat(f->file, &after), 0);
	assert_int_equal(after.st_mode & 07777, 0600);
	assert_int_not_equal(after.st_ino, before.st_ino);
}

static void follows_a_link(void **state)
{
	struct folder *f = *state;
	struct stat st;

	assert_int_equal(symlink(f->file, f->link), 0);
	assert_int_equal(nd_write_file(f->link, "new", 3, NULL), 0);
	expect_file(f->file, "new");
	assert_int_equal(nd_write_file(f->link, "x", 1, NULL), 0);
	expect_file(f->file, "x");
	assert_int_equal(lstat(f->link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void writes_into_a_pipe(void **state)
{
	int ends[2];
	char path[32], text[8] = { 0 };

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	(void)snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]); /* fits */
	assert_int_equal(nd_write_file(path, "abc", 3, NULL), 0);
	assert_int_equal(read(ends[0], text, sizeof(text)), 3);
	assert_string_equal(text, "abc");
	assert_int_equal(nd_write_file("/dev/null", "abc", 3, NULL), 0);
	nd_close_p(&ends[0]);
	nd_close_p(&ends[1]);
}

/* A file that stdout has already begun is continued, not truncated. */
static void continues_our_own_stdout(void **state)
{
	struct folder *f = *state;
	int file = open(f->file, O_RDWR | O_CREAT | O_CLOEXEC, 0600), saved, r;

	assert_true(file >= 0);
	(void)fflush(stdout); /* the test's own words */
	saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	assert_true(saved >= 0);
	r = dup2(file, STDOUT_FILENO) < 0 ? -errno : nd_write_all(STDOUT_FILENO, "head ", 5);
	if (r == 0)
		r = nd_write_file("/dev/stdout", "body", 4, NULL);
	assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
	nd_close_p(&saved);
	nd_close_p(&file);
	assert_int_equal(r, 0);
	expect_file(f->file, "head body");
}

static void hands_over(void **state)
{
	struct nd_err err = { 0 };
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC), copy, none = -1;
	char *p = malloc(1), *q;

	(void)state;
	assert_true(fd >= 0);
	copy = nd_take_fd(&fd);
	assert_int_equal(fd, -1);
	assert_int_equal(nd_nonblock(copy, true, &err), 0);
	assert_true(fcntl(copy, F_GETFL) & O_NONBLOCK);
	assert_int_equal(nd_nonblock(copy, false, &err), 0);
	assert_false(fcntl(copy, F_GETFL) & O_NONBLOCK);
	errno = EDOM;
	fd = copy;
	nd_close_p(&copy);
	nd_close_p(&none);
	assert_int_equal(errno, EDOM);
	assert_int_equal(copy, -1);
	assert_int_equal(nd_nonblock(fd, true, &err), -EBADF);
	assert_int_equal(nd_write_all(fd, "x", 1), -EBADF);
	q = nd_take_ptr(p);
	assert_null(p);
	nd_free_p(&q);
	assert_null(q);
}

/* Slots of this process's descriptor table. */
static unsigned long slots(void)
{
	nd_auto_free char *status = NULL;
	struct nd_err err = { 0 };
	const char *at;
	size_t n;

	assert_int_equal(nd_read_file("/proc/self/status", 1 << 16, &status, &n, &err), 0);
	at = strstr(status, "FDSize:");
	assert_non_null(at);
	return strtoul(at + strlen("FDSize:"), NULL, 10);
}

static void makes_room_for_descriptors(void **state)
{
	nd_auto_fd int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	unsigned long before = slots(), want = before * 2 < 1000 ? before * 2 : 1000;
	int next;

	(void)state;
	assert_true(fd >= 0);
	nd_fd_room(fd, 0);
	nd_fd_room(fd, UINT64_MAX); /* nothing has so many */
	assert_int_equal(slots(), before);
	nd_fd_room(fd, want);
	assert_true(slots() >= want);
	next = dup(fd); /* nothing was left open */
	assert_true(next >= 0 && next < 64);
	nd_close_p(&next);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_up_to_a_limit, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(says_why_it_cannot_read, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(replaces_a_file, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(follows_a_link, make_folder, drop_folder),
		cmocka_unit_test(writes_into_a_pipe),
		cmocka_unit_test_setup_teardown(continues_our_own_stdout, make_folder, drop_folder),
		cmocka_unit_test(hands_over),
		cmocka_unit_test(makes_room_for_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
