// SPDX-License-Identifier: GPL-2.0
/*
 * prctl(PR_SCHED_CACHE): what it accepts, what it refuses, who has the mode. What
 * the modes do is checked in the prctl_*.sh tests.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "sched_cache_prctl.h"

static int get(pid_t pid)
{
	return prctl(PR_SCHED_CACHE, PR_SCHED_CACHE_GET, pid, 0, 0);
}

static int set(pid_t pid, unsigned long mode)
{
	return prctl(PR_SCHED_CACHE, PR_SCHED_CACHE_SET, pid, mode, 0);
}

/* What a child makes of itself, as its exit status. */
static int child_status(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

FIXTURE(mode) {};

FIXTURE_SETUP(mode)
{
	if (get(0) < 0 && errno == EINVAL)
		SKIP(return, "this kernel has no prctl(PR_SCHED_CACHE)");
}

FIXTURE_TEARDOWN(mode) {}

TEST_F(mode, starts_as_default)
{
	EXPECT_EQ(get(0), PR_SCHED_CACHE_DEFAULT);
}

TEST_F(mode, reads_what_was_set)
{
	unsigned long mode;

	for (mode = 0; mode <= PR_SCHED_CACHE_ALWAYS; mode++) {
		EXPECT_EQ(set(0, mode), 0);
		EXPECT_EQ(get(0), mode);
		EXPECT_EQ(get(getpid()), mode);
	}
}

TEST_F(mode, refuses_what_it_does_not_know)
{
	static const unsigned long args[][4] = {
		{ PR_SCHED_CACHE_SET, 0, PR_SCHED_CACHE_ALWAYS + 1, 0 },
		{ PR_SCHED_CACHE_SET, 0, 1UL << 31, 0 },
		{ PR_SCHED_CACHE_SET, 0, -1UL, 0 },
		{ PR_SCHED_CACHE_SET, 0, PR_SCHED_CACHE_NEVER, 1 },
		{ PR_SCHED_CACHE_SET, -1UL, PR_SCHED_CACHE_NEVER, 0 },
		{ PR_SCHED_CACHE_SET, 1UL << 31, PR_SCHED_CACHE_NEVER, 0 },
		{ PR_SCHED_CACHE_GET, 0, 1, 0 },
		{ PR_SCHED_CACHE_GET, 0, 0, 1 },
		{ PR_SCHED_CACHE_SET + 1, 0, 0, 0 },
		{ -1UL, 0, 0, 0 },
#if ULONG_MAX > 0xffffffff
		/* Not cut down to 32 bits. */
		{ PR_SCHED_CACHE_SET, 0, (1UL << 32) + PR_SCHED_CACHE_NEVER, 0 },
		{ PR_SCHED_CACHE_SET, (1UL << 32), PR_SCHED_CACHE_NEVER, 0 },
		{ PR_SCHED_CACHE_SET + (1UL << 32), 0, PR_SCHED_CACHE_NEVER, 0 },
#endif
	};
	unsigned int i;

	ASSERT_EQ(set(0, PR_SCHED_CACHE_ALWAYS), 0);
	for (i = 0; i < ARRAY_SIZE(args); i++) {
		errno = 0;
		EXPECT_EQ(prctl(PR_SCHED_CACHE, args[i][0], args[i][1], args[i][2],
				args[i][3]), -1);
		EXPECT_EQ(errno, EINVAL) TH_LOG("row %u", i);
		EXPECT_EQ(get(0), PR_SCHED_CACHE_ALWAYS);
	}
}

TEST_F(mode, no_such_process)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	ASSERT_EQ(child_status(pid), 0);
	EXPECT_EQ(set(pid, PR_SCHED_CACHE_NEVER), -1);
	EXPECT_EQ(errno, ESRCH);
	EXPECT_EQ(get(pid), -1);
	EXPECT_EQ(errno, ESRCH);
}

TEST_F(mode, of_another_user_is_out_of_reach)
{
	pid_t pid;

	if (getuid())
		SKIP(return, "needs root, to become somebody else");
	pid = fork();
	if (!pid) {
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(1);
		if (set(getppid(), PR_SCHED_CACHE_NEVER) != -1 || errno != EPERM)
			_exit(2);
		if (get(getppid()) != -1 || errno != EPERM)
			_exit(3);
		_exit(set(0, PR_SCHED_CACHE_NEVER) ? 4 : 0);
	}
	EXPECT_EQ(child_status(pid), 0);
	EXPECT_EQ(get(0), PR_SCHED_CACHE_DEFAULT);
}

TEST_F(mode, of_a_child_can_be_set)
{
	pid_t pid;
	int fds[2];
	char c;

	ASSERT_EQ(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		close(fds[1]);
		_exit(read(fds[0], &c, 1) == 1 ? get(0) : 99);
	}
	EXPECT_EQ(set(pid, PR_SCHED_CACHE_ALWAYS), 0);
	EXPECT_EQ(get(pid), PR_SCHED_CACHE_ALWAYS);
	ASSERT_EQ(write(fds[1], "", 1), 1);
	EXPECT_EQ(child_status(pid), PR_SCHED_CACHE_ALWAYS);
	EXPECT_EQ(get(0), PR_SCHED_CACHE_DEFAULT);
}

TEST_F(mode, is_inherited_by_a_child_but_not_shared)
{
	pid_t pid;

	ASSERT_EQ(set(0, PR_SCHED_CACHE_NEVER), 0);
	pid = fork();
	if (!pid) {
		if (get(0) != PR_SCHED_CACHE_NEVER)
			_exit(1);
		_exit(set(0, PR_SCHED_CACHE_ALWAYS) ? 2 : 0);
	}
	EXPECT_EQ(child_status(pid), 0);
	EXPECT_EQ(get(0), PR_SCHED_CACHE_NEVER);
}

TEST_F(mode, is_inherited_by_a_vfork_child)
{
	pid_t pid;

	ASSERT_EQ(set(0, PR_SCHED_CACHE_ALWAYS), 0);
	pid = vfork();
	if (!pid)
		_exit(get(0));
	EXPECT_EQ(child_status(pid), PR_SCHED_CACHE_ALWAYS);
}

static void *set_always(void *arg)
{
	*(int *)arg = set(0, PR_SCHED_CACHE_ALWAYS) ? errno : 0;
	return NULL;
}

TEST_F(mode, is_that_of_all_threads)
{
	pthread_t thread;
	int ret = -1;

	ASSERT_EQ(pthread_create(&thread, NULL, set_always, &ret), 0);
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_EQ(ret, 0);
	EXPECT_EQ(get(0), PR_SCHED_CACHE_ALWAYS);
}

TEST_F(mode, survives_exec)
{
	char path[PATH_MAX], text[16] = "";
	int fds[2];
	pid_t pid;
	ssize_t n;

	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	ASSERT_GT(n, 0);
	path[n] = 0;
	ASSERT_EQ(chdir(dirname(path)), 0);
	ASSERT_EQ(set(0, PR_SCHED_CACHE_NEVER), 0);
	ASSERT_EQ(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		dup2(fds[1], 1);
		execl("./llc_mode", "llc_mode", "get", NULL);
		_exit(99);
	}
	EXPECT_EQ(child_status(pid), 0);
	close(fds[1]);
	EXPECT_GT(read(fds[0], text, sizeof(text) - 1), 0);
	EXPECT_STREQ(text, "never\n");
}

TEST_HARNESS_MAIN
